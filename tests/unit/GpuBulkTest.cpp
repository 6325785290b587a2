// Tests bulk copies in the interpreter: boxes of tensors of rank 2 to 5 with each swizzle, inside and over the edges,
// stores, copies without a tensor, and the faults of accesses to the bytes while a copy runs.
#include "codegen/GPU/Interpreter/BulkCopies.h"
#include "tests/unit/HopperProgram.h"

using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::testing;

namespace {

const std::string kInit = "  %first = llvm.icmp \"eq\" %tid, %c0 : i32\n  llvm.cond_br %first, ^init, ^ready\n^init:\n"
                          "  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32 // init\n"
                          "  nvvm.fence.mbarrier.init // init fence\n"
                          "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>} // proxy fence\n"
                          "  llvm.br ^ready\n^ready:\n  nvvm.barrier0 // ready\n"
                          "  llvm.cond_br %first, ^copy, ^wait\n^copy:\n"
                          "  nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32 // expect\n";
const std::string kWait = "  llvm.br ^wait\n^wait:\n"
                          "  nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32 // wait\n";

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

/// Returns the definitions of a copy's coordinates; `names` receives their names.
std::string coordinatesOf(const std::vector<int> &coordinates, std::string &names) {
  std::string text;
  for (size_t k = 0; k < coordinates.size(); ++k) {
    text += number("at" + std::to_string(k), coordinates[k]);
    names += (k ? ", %at" : "%at") + std::to_string(k);
  }
  return text;
}

/// Returns a kernel in which 32 threads copy a box to shared address 1024, and from there, word by word, to `out`.
std::string loadKernel(const TensorMap &map, const std::vector<int> &coordinates) {
  std::string names, places = coordinatesOf(coordinates, names);
  return shared("full", 0) + shared("box", 1024) + number("bytes", map.boxBytes()) + number("ticks", 1000) + places +
         number("words", map.boxBytes() / 4) + kInit +
         "  %place = llvm.addrspacecast %box : !llvm.ptr<3> to !llvm.ptr<7>\n"
         "  nvvm.cp.async.bulk.tensor.shared.cluster.global %place, %map, %full, box [" +
         names + "] : !llvm.ptr<7>, !llvm.ptr // copy\n" + kWait +
         "  llvm.br ^loop(%tid : i32)\n^loop(%i: i32):\n"
         "  %from = llvm.getelementptr %box[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
         "  %x = llvm.load %from : !llvm.ptr<3> -> i32 // read\n"
         "  %to = llvm.getelementptr %out[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
         "  llvm.store %x, %to : i32, !llvm.ptr<1>\n  %j = llvm.add %i, %c32 : i32\n"
         "  %more = llvm.icmp \"ult\" %j, %words : i32\n  llvm.cond_br %more, ^loop(%j : i32), ^end\n^end:\n"
         "  llvm.return\n";
}

struct BoxCase {
  const char *name;
  TensorMapType type;
  unsigned rank, swizzle;
  std::array<uint64_t, 5> dims;
  std::array<uint32_t, 5> box;
  std::vector<int> at;
  bool overlaps =
      false; // the last dimension goes on by as much as the one before, as places of rows do (TensorBoxes.h)
};
/// Returns a map with gaps between its rows; strides stay multiples of 16 bytes.
TensorMap mapOf(const BoxCase &how) {
  TensorMap map{how.type, how.rank, 0, how.dims, {}, how.box, how.swizzle};
  uint64_t stride = (how.dims[0] * bytesOf(how.type) + 15) / 16 * 16;
  for (unsigned k = 0; k + 1 < how.rank; ++k, stride *= how.dims[k] + 1)
    map.strides[k] = stride;
  if (how.overlaps)
    map.strides[how.rank - 2] = map.strides[how.rank - 3];
  return map;
}
size_t bytesOfTensor(const TensorMap &map) {
  size_t bytes = map.strides[0];
  for (unsigned k = 1; k < map.rank; ++k)
    bytes += (map.dims[k] - 1) * map.strides[k - 1];
  return bytes;
}

class GpuBox : public ::testing::TestWithParam<BoxCase> {};

TEST_P(GpuBox, LandsWhereTheAddressSays) {
  const BoxCase &how = GetParam();
  TensorMap map = mapOf(how);
  ASSERT_EQ(map.problem(), "");
  std::vector<uint8_t> in(bytesOfTensor(map));
  for (size_t k = 0; k < in.size(); ++k)
    in[k] = uint8_t(1 + k * 7 % 255);
  HopperKernel kernel(loadKernel(map, how.at), mapParameter("map") + ", %in: !llvm.ptr<1>, %out: !llvm.ptr<1>", 32,
                      1024 + map.boxBytes());
  ASSERT_TRUE(kernel.parsed());
  EXPECT_EQ(kernel.assembles(), "");
  for (unsigned seed = 0; seed < kSeeds; seed += 7) {
    std::vector<uint8_t> out(map.boxBytes());
    Outcome report = kernel.run({LaunchArgument::tensorMap(map, 1), LaunchArgument::input(in.data(), in.size(), "in"),
                                 LaunchArgument::output(out.data(), out.size(), "out")},
                                seed);
    ASSERT_TRUE(report.faults.empty()) << report.text();
    // Compute the place of each element in the box and in the tensor. Bits 7 to 9 of its address change bits 4 to 6.
    unsigned each = bytesOf(how.type), elements = map.boxBytes() / each;
    for (unsigned e = 0; e < elements; ++e) {
      bool inside = true;
      uint64_t from = 0;
      unsigned rest = e;
      for (unsigned k = 0; k < how.rank; rest /= how.box[k], ++k) {
        int64_t place = how.at[k] + int64_t(rest % how.box[k]);
        inside = inside && place >= 0 && uint64_t(place) < how.dims[k];
        from += uint64_t(place) * (k ? map.strides[k - 1] : each);
      }
      unsigned address = 1024 + e * each;
      if (how.swizzle)
        address ^= address % (8 * how.swizzle) >> 7 << 4;
      for (unsigned byte = 0; byte < each; ++byte)
        ASSERT_EQ(out[address - 1024 + byte], inside ? in[from + byte] : 0) << "element " << e << ", seed " << seed;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(
    Boxes, GpuBox,
    ::testing::Values(BoxCase{"swizzle128", TensorMapType::BF16, 2, 128, {200, 100}, {64, 32}, {64, 8}},
                      BoxCase{"swizzle64", TensorMapType::F32, 2, 64, {64, 40}, {16, 24}, {16, 3}},
                      BoxCase{"swizzle32", TensorMapType::U8, 2, 32, {96, 40}, {32, 20}, {32, 0}},
                      BoxCase{"plain", TensorMapType::F16, 2, 0, {80, 20}, {40, 8}, {8, 4}},
                      BoxCase{"before", TensorMapType::BF16, 2, 128, {64, 40}, {64, 16}, {-8, -5}},
                      BoxCase{"behind", TensorMapType::BF16, 2, 128, {70, 40}, {64, 16}, {64, 33}},
                      BoxCase{"outside", TensorMapType::BF16, 2, 128, {64, 40}, {64, 8}, {0, -8}},
                      BoxCase{"rank3", TensorMapType::BF16, 3, 64, {32, 10, 4}, {32, 8, 2}, {0, 5, 1}},
                      BoxCase{"overlapping", TensorMapType::BF16, 3, 64, {32, 10, 14}, {32, 8, 1}, {0, 5, 3}, true},
                      BoxCase{"rank4", TensorMapType::F32, 4, 0, {16, 5, 3, 4}, {8, 4, 2, 2}, {8, 3, 2, 1}},
                      BoxCase{
                          "rank5", TensorMapType::F16, 5, 128, {64, 3, 3, 2, 3}, {64, 2, 2, 2, 2}, {0, 1, 2, 1, -1}}),
    [](const auto &info) { return std::string(info.param.name); });

//===- One box, spoiled ------------------------------------------------------------===//

const BoxCase kBox{"box", TensorMapType::F32, 2, 128, {32, 40}, {32, 32}, {0, 4}};

Outcome runBox(
    const std::string &from, const std::string &to, unsigned seed = 10,
    const std::function<void(TensorMap &)> &change = [](TensorMap &) {}) {
  TensorMap map = mapOf(kBox);
  std::string text = loadKernel(map, kBox.at);
  size_t bytes = bytesOfTensor(map);
  change(map);
  HopperKernel kernel(from.empty() ? text : replaced(text, from, to),
                      mapParameter("map") + ", %in: !llvm.ptr<1>, %out: !llvm.ptr<1>", 32, 1024 + 4096);
  EXPECT_TRUE(kernel.parsed());
  std::vector<uint8_t> in(bytes, 1), out(4096);
  return kernel.run({LaunchArgument::tensorMap(map, 1), LaunchArgument::input(in.data(), in.size(), "in"),
                     LaunchArgument::output(out.data(), out.size(), "out")},
                    seed);
}
void expectIn(const Outcome &report, FaultKind kind, const std::string &text) {
  EXPECT_TRUE(has(report, kind)) << text << "\n" << report.text();
  EXPECT_NE(report.text().find(text), std::string::npos) << text << "\n" << report.text();
}
const std::string kRead = "nvvm.mbarrier.try_wait.parity %full, %c0, %ticks : !llvm.ptr<3>, i32, i32 // wait";

TEST(GpuBulk, TheBoxIsWaitedFor) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Outcome right = runBox("", "", seed);
    EXPECT_TRUE(right.faults.empty()) << right.text();
    expectIn(runBox(kRead, "", seed), FaultKind::Race, "which a copy that completes on the mbarrier at 0 wrote");
  }
}
TEST(GpuBulk, NoCopyOutlivesItsBlock) {
  // No thread waits or reads.
  TensorMap map = mapOf(kBox);
  std::string text = loadKernel(map, kBox.at);
  text = text.substr(0, text.find("  llvm.br ^wait\n")) + "  llvm.br ^wait\n^wait:\n  llvm.return\n";
  HopperKernel kernel(text, mapParameter("map") + ", %in: !llvm.ptr<1>, %out: !llvm.ptr<1>", 32, 1024 + 4096);
  ASSERT_TRUE(kernel.parsed());
  std::vector<uint8_t> in(bytesOfTensor(map), 1), out(4096);
  for (unsigned seed = 0; seed < kSeeds; ++seed)
    expectIn(kernel.run({LaunchArgument::tensorMap(map, 1), LaunchArgument::input(in.data(), in.size(), "in"),
                         LaunchArgument::output(out.data(), out.size(), "out")},
                        seed),
             FaultKind::Race, "block 0 ends before this copy has arrived");
}
TEST(GpuBulk, MapsAndPlacesThatAreRefused) {
  expectIn(runBox("%bytes = llvm.mlir.constant(4096", "%bytes = llvm.mlir.constant(4112"), FaultKind::Deadlock,
           "lacks 0 of 1 arrivals and 16 bytes");
  expectIn(runBox("%bytes = llvm.mlir.constant(4096", "%bytes = llvm.mlir.constant(2048", 0), FaultKind::Misuse,
           "expect_tx of too few bytes");
  expectIn(runBox("%bytes = llvm.mlir.constant(4096", "%bytes = llvm.mlir.constant(4080"), FaultKind::Misuse,
           "gets 16 bytes more than expect_tx has announced");
  expectIn(runBox("getelementptr %s[1024]", "getelementptr %s[1040]"), FaultKind::Misaligned,
           "a box of a tensor at shared address 1040; a multiple of 1024 is needed");
  expectIn(runBox("getelementptr %s[1024]", "getelementptr %s[2048]"), FaultKind::OutOfBounds, "of shared memory");
  std::vector<uint8_t> zeros(128), out(4096);
  HopperKernel kernel(loadKernel(mapOf(kBox), kBox.at), mapParameter("map") + ", %in: !llvm.ptr<1>, %out: !llvm.ptr<1>",
                      32, 1024 + 4096);
  ASSERT_TRUE(kernel.parsed());
  expectIn(kernel.run({LaunchArgument::input(zeros.data(), 128, "map"), LaunchArgument::input(zeros.data(), 128, "in"),
                       LaunchArgument::output(out.data(), out.size(), "out")}),
           FaultKind::Misuse, "there is no tensor map");
}
TEST(GpuBulk, MapsThatTheDriverRefuses) {
  auto problem = [](const std::function<void(TensorMap &)> &change) {
    TensorMap map = mapOf(kBox);
    change(map);
    return map.problem();
  };
  EXPECT_EQ(problem([](TensorMap &map) { map.address = 8; }), "address 0x8 is no multiple of 16");
  EXPECT_EQ(problem([](TensorMap &map) { map.strides[0] = 136; }),
            "stride 1 is 136 bytes, not a multiple of 16 below 2^40");
  EXPECT_EQ(problem([](TensorMap &map) { map.box[1] = 257; }), "the box has 257 elements of dimension 1, not 1 to 256");
  EXPECT_EQ(problem([](TensorMap &map) { map.dims[1] = 0; }), "dimension 1 has 0 elements, not 1 to 2^32");
  EXPECT_EQ(problem([](TensorMap &map) { map.rank = 6; }), "rank 6 is not between 1 and 5");
  EXPECT_EQ(problem([](TensorMap &map) { map.box[0] = 16; }), "a row of the box has 64 bytes, the swizzle has 128");
  EXPECT_EQ(problem([](TensorMap &map) { map.swizzleBytes = 96; }), "there is no swizzle of 96 bytes");
  EXPECT_EQ(problem([](TensorMap &map) { map.box[0] = 2; }), "a row of the box has 8 bytes, no multiple of 16");
  // A kernel that is launched with such a map reports the same.
  expectIn(runBox("", "", 0, [](TensorMap &map) { map.strides[0] = 136; }), FaultKind::Misuse, "tensor map: stride 1");
  expectIn(runBox("", "", 0, [](TensorMap &map) { map.rank = 3, map.dims[2] = map.box[2] = 1; }), FaultKind::Misuse,
           "2 coordinates for a tensor map of rank 3");
}
TEST(GpuBulk, MapsGoThroughBytes) {
  TensorMap map = mapOf(kBox);
  map.address = 0x1234567890;
  auto back = decodeTensorMap(encode(map));
  ASSERT_TRUE(back);
  EXPECT_EQ(encode(*back), encode(map));
  EXPECT_EQ(back->address, map.address);
  EXPECT_EQ(back->strides, map.strides);
  EXPECT_FALSE(decodeTensorMap({}));
}
TEST(GpuBulk, MbarriersAreFencedForCopies) {
  for (const char *line :
       {"nvvm.fence.mbarrier.init // init fence", "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>} // proxy fence"})
    expectIn(runBox(line, ""), FaultKind::Race, "has not executed fence.mbarrier_init and then fence.proxy.async");
  expectIn(runBox("nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32 // init", ""), FaultKind::Misuse,
           "where none has been initialised");
  expectIn(runBox("nvvm.barrier0 // ready", "", 0), FaultKind::Race, "initialises with no barrier between");
}

/// Runs a kernel whose threads write or read bytes that a copy then overwrites; `between` is the text in between.
Outcome overwrite(bool reads, const std::string &between) {
  TensorMap map = mapOf(kBox);
  std::string access = "  %own = llvm.getelementptr %box[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
                       "  llvm.store %tid, %own : i32, !llvm.ptr<3>\n";
  if (reads)
    access += "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}\n  %old = llvm.load %own : !llvm.ptr<3> -> i32\n";
  std::string text = loadKernel(map, kBox.at), first = "  %first = ";
  text.insert(text.find(first), access + between);
  HopperKernel kernel(text, mapParameter("map") + ", %in: !llvm.ptr<1>, %out: !llvm.ptr<1>", 32, 1024 + 4096);
  EXPECT_TRUE(kernel.parsed());
  std::vector<uint8_t> in(bytesOfTensor(map), 1), out(4096);
  return kernel.run({LaunchArgument::tensorMap(map, 1), LaunchArgument::input(in.data(), in.size(), "in"),
                     LaunchArgument::output(out.data(), out.size(), "out")});
}
TEST(GpuBulk, GenericAccessesAreFencedFromCopies) {
  const std::string fence =
      "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}\n";
  for (bool reads : {false, true}) {
    Outcome right = overwrite(reads, fence);
    EXPECT_TRUE(right.faults.empty()) << right.text();
    expectIn(overwrite(reads, ""), FaultKind::Race, "through the generic proxy, with no fence.proxy.async after it");
  }
}

/// Runs a kernel in which 32 threads fetch 16 bytes each by cp.async, and one thread sends all of them on by a bulk
/// copy.
Outcome sendOn(const std::string &from, const std::string &to, std::vector<int32_t> &out) {
  std::string text =
      shared("box", 128) + number("bytes", 512) + number("c16", 16) +
      "  %at = llvm.mul %tid, %c16 : i32\n"
      "  %to = llvm.getelementptr %box[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8\n"
      "  %from = llvm.getelementptr %in[%at] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i8\n"
      "  nvvm.cp.async.shared.global %to, %from, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>\n"
      "  nvvm.cp.async.commit.group // commit\n  nvvm.cp.async.wait.group 0 // wait\n"
      "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>} // fence\n  nvvm.barrier0 // barrier\n"
      "  %first = llvm.icmp \"eq\" %tid, %c0 : i32\n  llvm.cond_br %first, ^store, ^end\n^store:\n"
      "  nvvm.cp.async.bulk.global.shared.cta %out, %box, %bytes : !llvm.ptr<1>, !llvm.ptr<3>\n"
      "  nvvm.cp.async.bulk.commit.group\n  nvvm.cp.async.bulk.wait_group 0\n  llvm.br ^end\n^end:\n  llvm.return\n";
  HopperKernel kernel(from.empty() ? text : replaced(text, from, to), "%in: !llvm.ptr<1>, %out: !llvm.ptr<1>", 32,
                      1024);
  EXPECT_TRUE(kernel.parsed());
  std::vector<int32_t> in(128);
  for (int k = 0; k < 128; ++k)
    in[size_t(k)] = 3 * k;
  out.assign(128, -1);
  Outcome outcome =
      kernel.run({LaunchArgument::input(in.data(), 512, "in"), LaunchArgument::output(out.data(), 512, "out")});
  if (outcome.faults.empty())
    EXPECT_EQ(in, out);
  return outcome;
}
TEST(GpuBulk, GenericCopiesAreFencedToo) {
  std::vector<int32_t> out;
  Outcome right = sendOn("", "", out);
  EXPECT_TRUE(right.faults.empty()) << right.text();
  expectIn(sendOn("nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>} // fence", "", out), FaultKind::Race,
           "which cp.async of thread 0 wrote");
  expectIn(sendOn("nvvm.cp.async.wait.group 0", "nvvm.cp.async.wait.group 1", out), FaultKind::Race,
           "which cp.async of thread 0 wrote");
  expectIn(sendOn("nvvm.barrier0 // barrier", "", out), FaultKind::Race, "which cp.async of thread 1 wrote");
}

//===- Stores -----------------------------------------------------------------------===//

/// Runs a kernel in which 32 threads fill 32 rows of 128 bytes with the numbers of the words, and one thread stores the
/// box. `edits` are replacements in its text.
Outcome runStore(const std::vector<std::pair<std::string, std::string>> &edits, std::vector<int32_t> &out,
                 bool *assembles = nullptr) {
  TensorMap map{TensorMapType::F32, 2, 0, {40, 30}, {160}, {32, 32}, 128};
  std::string text =
      shared("box", 1024) + number("words", 1024) + number("column", 16) +
      "  llvm.br ^loop(%tid : i32)\n^loop(%i: i32):\n"
      "  %own = llvm.getelementptr %box[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
      "  llvm.store %i, %own : i32, !llvm.ptr<3> // write\n  %j = llvm.add %i, %c32 : i32\n"
      "  %more = llvm.icmp \"ult\" %j, %words : i32\n  llvm.cond_br %more, ^loop(%j : i32), ^go\n^go:\n"
      "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>} // fence\n"
      "  nvvm.barrier0 // barrier\n  %one = nvvm.elect.sync -> i1\n  llvm.cond_br %one, ^store, ^end\n"
      "^store:\n  nvvm.cp.async.bulk.tensor.global.shared.cta %map, %box, box [%column, %c4] : !llvm.ptr, "
      "!llvm.ptr<3> // copy\n"
      "  nvvm.cp.async.bulk.commit.group // commit\n  nvvm.cp.async.bulk.wait_group 0 {read} // wait\n"
      "  llvm.br ^end\n^end:\n  nvvm.barrier0 // reuse\n  // again\n  llvm.return\n";
  for (const auto &[from, to] : edits)
    text = replaced(text, from, to);
  HopperKernel kernel(text, mapParameter("map") + ", %out: !llvm.ptr<1>", 32, 1024 + 4096);
  EXPECT_TRUE(kernel.parsed());
  if (assembles)
    EXPECT_EQ(kernel.assembles(), "");
  out.assign(1200, -1);
  return kernel.run({LaunchArgument::tensorMap(map, 1), LaunchArgument::output(out.data(), out.size() * 4, "out")});
}
TEST(GpuBulk, StoresAreClipped) {
  std::vector<int32_t> out;
  bool assembles = true;
  Outcome report = runStore({}, out, &assembles);
  ASSERT_TRUE(report.faults.empty()) << report.text();
  for (int row = 0; row < 30; ++row)
    for (int column = 0; column < 40; ++column) {
      int r = row - 4, c = column - 16; // in the box
      int address = 1024 + r * 128 + c * 4;
      address ^= address % 1024 >> 7 << 4;
      int expected = r < 0 || c < 0 ? 0 : (address - 1024) / 4; // memory begins as zeros
      EXPECT_EQ(out[size_t(row * 40 + column)], expected) << row << ", " << column;
    }
}
TEST(GpuBulk, StoresAreFencedAndWaitedFor) {
  std::vector<int32_t> out;
  const std::string fence =
      "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>} // fence";
  expectIn(runStore({{fence, ""}}, out), FaultKind::Race, "with no fence.proxy.async after it");
  expectIn(runStore({{"nvvm.barrier0 // barrier", ""}}, out), FaultKind::Race, "and no barrier or wait lies between");
  expectIn(runStore({{"nvvm.cp.async.bulk.commit.group // commit", ""}}, out), FaultKind::Race,
           "ends before its bulk stores have read shared memory");
  expectIn(runStore({{"nvvm.cp.async.bulk.wait_group 0 {read} // wait", ""}}, out), FaultKind::Race,
           "ends before its bulk stores have read shared memory");
  // The bytes may be overwritten after the wait and the barrier.
  const std::string again = "llvm.store %tid, %box : i32, !llvm.ptr<3>";
  std::string one = "%all = llvm.icmp \"eq\" %tid, %c3 : i32\n  llvm.cond_br %all, ^again, ^last\n^again:\n  " + again +
                    "\n  llvm.br ^last\n^last:\n";
  Outcome right = runStore({{"// again", one}}, out);
  EXPECT_TRUE(right.faults.empty()) << right.text();
  expectIn(runStore({{"// again", one}, {"wait_group 0", "wait_group 1"}}, out), FaultKind::Race,
           "which a bulk store of thread");
}

TEST(GpuBulk, CopiesWithoutATensor) {
  std::string text =
      shared("full", 0) + shared("box", 128) + number("bytes", 512) + number("ticks", 1000) + kInit +
      "  %to = llvm.addrspacecast %box : !llvm.ptr<3> to !llvm.ptr<7>\n"
      "  nvvm.cp.async.bulk.shared.cluster.global %to, %in, %full, %bytes : !llvm.ptr<7>, !llvm.ptr<1>\n" +
      kWait +
      "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>}\n  nvvm.barrier0\n"
      "  llvm.cond_br %first, ^store, ^end\n^store:\n"
      "  nvvm.cp.async.bulk.global.shared.cta %out, %box, %bytes : !llvm.ptr<1>, !llvm.ptr<3>\n"
      "  nvvm.cp.async.bulk.commit.group\n  nvvm.cp.async.bulk.wait_group 0\n  llvm.br ^end\n^end:\n"
      "  llvm.return\n";
  std::vector<int32_t> in(128), out(128);
  for (int k = 0; k < 128; ++k)
    in[size_t(k)] = k * k;
  auto run = [&](const std::string &from, const std::string &to) {
    HopperKernel kernel(from.empty() ? text : replaced(text, from, to), "%in: !llvm.ptr<1>, %out: !llvm.ptr<1>", 64,
                        1024);
    EXPECT_TRUE(kernel.parsed());
    if (from.empty())
      EXPECT_EQ(kernel.assembles(), "");
    return kernel.run({LaunchArgument::input(in.data(), 512, "in"), LaunchArgument::output(out.data(), 512, "out")});
  };
  Outcome report = run("", "");
  EXPECT_TRUE(report.faults.empty()) << report.text();
  EXPECT_EQ(in, out);
  expectIn(run("constant(512", "constant(520"), FaultKind::Misuse, "multiples of 16 are needed");
  expectIn(run("constant(512", "constant(528"), FaultKind::OutOfBounds, "'in'");
}

} // namespace
