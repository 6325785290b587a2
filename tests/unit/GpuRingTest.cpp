// Runs a kernel in the style of Hopper in the interpreter: a producer warp fills a ring of three stages by TMA, two
// warpgroups multiply the stages by wgmma with one group in flight, and a TMA store writes the result. Then plants each
// mistake that a programmer could make: some order of warps must show it.
#include "codegen/GPU/Interpreter/Numbers.h"
#include "tests/unit/HopperProgram.h"

using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::testing;

namespace {

constexpr unsigned kSteps = 7, kRows = 128, kColumns = 16, kDepth = 64; // of a stage: 128 × 64 of A, 16 × 64 of B
constexpr unsigned kBytesA = kRows * kDepth * 2, kStage = kBytesA + kColumns * kDepth * 2, kBase = 1024;
constexpr unsigned kResult = kBase + 3 * kStage, kShared = kResult + kRows * kColumns * 4;

/// Returns the text of block arguments: "%x0: f32, …".
std::string arguments(const WgmmaText &wgmma, const std::string &name) { return wgmma.list(name, ": f32"); }

std::string ring() {
  WgmmaText wgmma{"bf16", kColumns};
  const std::string sums = floats(kColumns / 2);
  std::string text = number("ticks", 10000) + number("bytes", kStage) + number("stageBytes", kStage) +
                     number("steps", kSteps) + number("c16", 16) + number("c64", 64) + number("c256", 256) +
                     number("consumers", 8) + number("lanes", 31) + number("quarter", 63);
  text += "  %warp = llvm.lshr %tid, %c5 : i32\n  %group = llvm.lshr %tid, %c7 : i32\n"
          "  %first = llvm.icmp \"eq\" %tid, %c0 : i32\n  llvm.cond_br %first, ^init, ^ready\n^init:\n";
  for (int stage = 0; stage < 3; ++stage) {
    std::string n = std::to_string(stage);
    text += shared("full" + n, 8 * stage) + shared("empty" + n, 24 + 8 * stage) + "  nvvm.mbarrier.init %full" + n +
            ", %c1 : !llvm.ptr<3>, i32\n  nvvm.mbarrier.init %empty" + n + ", %consumers : !llvm.ptr<3>, i32\n";
  }
  text += "  nvvm.fence.mbarrier.init // init fence\n"
          "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>} // init proxy fence\n  llvm.br ^ready\n^ready:\n"
          "  nvvm.barrier0 // ready\n  %produces = llvm.icmp \"eq\" %group, %c0 : i32\n"
          "  llvm.cond_br %produces, ^producer, ^consumer\n";

  // The producer.
  text += "^producer:\n  nvvm.setmaxregister decrease 24\n  %isFirst = llvm.icmp \"eq\" %warp, %c0 : i32\n"
          "  llvm.cond_br %isFirst, ^elect, ^end\n^elect:\n  %leader = nvvm.elect.sync -> i1\n"
          "  llvm.cond_br %leader, ^load(%c0, %c0, %c1 : i32, i32, i32), ^end\n"
          "^load(%i: i32, %stage: i32, %parity: i32):\n  %barrierAt = llvm.mul %stage, %c8 : i32\n";
  text += shared("full", 0, "barrierAt") + shared("empty", 24, "barrierAt") +
          "  %place = llvm.mul %stage, %stageBytes : i32\n" + shared("a", kBase, "place") +
          shared("b", kBase + kBytesA, "place") +
          "  %aw = llvm.addrspacecast %a : !llvm.ptr<3> to !llvm.ptr<7>\n"
          "  %bw = llvm.addrspacecast %b : !llvm.ptr<3> to !llvm.ptr<7>\n  %k = llvm.mul %i, %c64 : i32\n"
          "  nvvm.mbarrier.try_wait.parity %empty, %parity, %ticks : !llvm.ptr<3>, i32, i32 // wait empty\n"
          "  nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32 // expect\n"
          "  nvvm.cp.async.bulk.tensor.shared.cluster.global %aw, %amap, %full, box [%k, %c0] : "
          "!llvm.ptr<7>, !llvm.ptr // load a\n"
          "  nvvm.cp.async.bulk.tensor.shared.cluster.global %bw, %bmap, %full, box [%k, %c0] : "
          "!llvm.ptr<7>, !llvm.ptr // load b\n"
          "  %i1 = llvm.add %i, %c1 : i32\n  %s1 = llvm.add %stage, %c1 : i32\n"
          "  %wraps = llvm.icmp \"eq\" %s1, %c3 : i32\n  %s2 = llvm.select %wraps, %c0, %s1 : i1, i32\n"
          "  %flip = llvm.zext %wraps : i1 to i32\n  %parity1 = llvm.xor %parity, %flip : i32 // flip producer\n"
          "  %more = llvm.icmp \"ult\" %i1, %steps : i32\n"
          "  llvm.cond_br %more, ^load(%i1, %s2, %parity1 : i32, i32, i32), ^end\n";

  // The consumers. Stage j is free when the products of step j + 1 are issued and the wait for the products of step j
  // is over.
  text += "^consumer:\n  nvvm.setmaxregister increase 240\n  %member = llvm.sub %group, %c1 : i32\n"
          "  %rowBytes = llvm.mul %member, %c512 : i32\n  %row64 = llvm.zext %rowBytes : i32 to i64\n" +
          wgmma.begin("z") + "  llvm.br ^step(%c0, %c0, %c0, %c0, " + wgmma.list("z") + " : i32, i32, i32, i32, " +
          sums + ")\n^step(%j: i32, %at: i32, %phase: i32, %before: i32, " + arguments(wgmma, "d") +
          "):\n  %fullAt = llvm.mul %at, %c8 : i32\n" + shared("filled", 0, "fullAt") +
          "  nvvm.mbarrier.try_wait.parity %filled, %phase, %ticks : !llvm.ptr<3>, i32, i32 // wait full\n"
          "  %from = llvm.mul %at, %stageUnits : i32\n  %fromBase = llvm.zext %from : i32 to i64\n"
          "  %from64 = llvm.add %fromBase, %s16 : i64\n"
          "  %da = llvm.add %descriptorA, %from64 : i64\n  %da0 = llvm.add %da, %row64 : i64\n"
          "  %db0 = llvm.add %descriptorB, %from64 : i64\n  %goesOn = llvm.icmp \"ne\" %j, %c0 : i32\n"
          "  %scale = llvm.zext %goesOn : i1 to i32 // scale\n  nvvm.wgmma.fence.aligned // fence\n";
  std::string from = "d";
  for (int k = 0; k < 4; ++k) {
    std::string n = std::to_string(k), to = "e" + n + "_";
    if (k)
      text += "  %da" + n + " = llvm.add %da0, %advance" + n + " : i64\n  %db" + n + " = llvm.add %db0, %advance" + n +
              " : i64\n";
    text += wgmma.issue(from, to, {"da" + n}, "db" + n, k ? "c1" : "scale");
    from = to;
  }
  text += "  nvvm.wgmma.commit.group.sync.aligned // commit\n  nvvm.wgmma.wait.group.sync.aligned 1 // wait one\n"
          "  %gives = nvvm.elect.sync -> i1\n  %mayGive = llvm.and %gives, %goesOn : i1\n"
          "  llvm.cond_br %mayGive, ^give, ^given\n^give:\n  %emptyAt = llvm.mul %before, %c8 : i32 // give\n" +
          shared("freed", 24, "emptyAt") +
          "  %state = nvvm.mbarrier.arrive %freed : !llvm.ptr<3> -> i64 // arrive empty\n  llvm.br ^given\n^given:\n"
          "  %j1 = llvm.add %j, %c1 : i32\n  %t1 = llvm.add %at, %c1 : i32\n"
          "  %turns = llvm.icmp \"eq\" %t1, %c3 : i32\n  %t2 = llvm.select %turns, %c0, %t1 : i1, i32\n"
          "  %turn = llvm.zext %turns : i1 to i32\n  %phase1 = llvm.xor %phase, %turn : i32 // flip consumer\n"
          "  %again = llvm.icmp \"ult\" %j1, %steps : i32\n  llvm.cond_br %again, ^step(%j1, %t2, %phase1, %at, " +
          wgmma.list(from) + " : i32, i32, i32, i32, " + sums + "), ^finish\n^finish:\n" + wgmma.wait(0, from, "f") +
          "  %own = llvm.sub %tid, %c128 : i32\n  %lane = llvm.and %own, %lanes : i32\n"
          "  %ownWarp = llvm.lshr %own, %c5 : i32\n  %row16 = llvm.mul %ownWarp, %c16 : i32\n"
          "  %g = llvm.lshr %lane, %c2 : i32\n  %t = llvm.and %lane, %c3 : i32\n  %row = llvm.add %row16, %g : i32\n"
          "  %rowAt = llvm.mul %row, %c64 : i32\n  %columnAt = llvm.mul %t, %c8 : i32\n"
          "  %to = llvm.add %rowAt, %columnAt : i32\n";
  for (unsigned k = 0; k < kColumns / 2; ++k) {
    std::string n = std::to_string(k);
    text += shared("p" + n, kResult + k / 4 * 32 + k / 2 % 2 * 512 + k % 2 * 4, "to") + "  llvm.store %f" + n + ", %p" +
            n + " : f32, !llvm.ptr<3>\n";
  }
  text += "  nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>} // store fence\n"
          "  nvvm.barrier id = %c1 number_of_threads = %c256 // store barrier\n"
          "  %stores = llvm.icmp \"eq\" %own, %c0 : i32\n  llvm.cond_br %stores, ^store, ^end\n^store:\n" +
          shared("result", kResult) +
          "  nvvm.cp.async.bulk.tensor.global.shared.cta %omap, %result, box [%c0, %c0] : !llvm.ptr, !llvm.ptr<3>\n"
          "  nvvm.cp.async.bulk.commit.group // store commit\n  nvvm.cp.async.bulk.wait_group 0 {read} // store wait\n"
          "  llvm.br ^end\n^end:\n  llvm.return\n";
  std::string constants = number("c512", 512) + number("stageUnits", kStage / 16);
  constants += "  %descriptorA = llvm.mlir.constant(" + std::to_string(int64_t(descriptor(kBase, 16, 1024, 128))) +
               " : i64) : i64 // descriptor a\n" + "  %descriptorB = llvm.mlir.constant(" +
               std::to_string(int64_t(descriptor(kBase + kBytesA, 16, 1024, 128))) + " : i64) : i64 // descriptor b\n" +
               number("advance1", 2, 64) + number("advance2", 4, 64) + number("advance3", 6, 64);
  return constants + text;
}

/// Operands of small whole numbers, and the expected result.
struct Operands {
  Operands() : a(kRows * kSteps * kDepth), b(kColumns * kSteps * kDepth), expected(kRows * kColumns) {
    constexpr unsigned kAll = kSteps * kDepth;
    auto small = [](unsigned k) { return float(int(k * 2654435761u >> 20) % 7 - 3); };
    for (unsigned k = 0; k < a.size(); ++k)
      a[k] = toBrain(small(k));
    for (unsigned k = 0; k < b.size(); ++k)
      b[k] = toBrain(small(k + 12345));
    for (unsigned row = 0; row < kRows; ++row)
      for (unsigned column = 0; column < kColumns; ++column)
        for (unsigned k = 0; k < kAll; ++k)
          expected[row * kColumns + column] += fromBrain(a[row * kAll + k]) * fromBrain(b[column * kAll + k]);
    amap = {TensorMapType::BF16, 2, 0, {kAll, kRows}, {kAll * 2}, {kDepth, kRows}, 128};
    bmap = {TensorMapType::BF16, 2, 0, {kAll, kColumns}, {kAll * 2}, {kDepth, kColumns}, 128};
    omap = {TensorMapType::F32, 2, 0, {kColumns, kRows}, {kColumns * 4}, {kColumns, kRows}, 0};
  }
  std::vector<uint16_t> a, b;
  std::vector<float> expected;
  TensorMap amap, bmap, omap;
};

struct Ring {
  explicit Ring(const std::string &text)
      : kernel(text,
               mapParameter("amap") + ", " + mapParameter("bmap") + ", " + mapParameter("omap") +
                   ", %x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %out: !llvm.ptr<1>",
               384, kShared) {}
  Outcome run(unsigned seed, std::vector<float> &out) {
    out.assign(kRows * kColumns, -1);
    return kernel.run({LaunchArgument::tensorMap(operands.amap, 3), LaunchArgument::tensorMap(operands.bmap, 4),
                       LaunchArgument::tensorMap(operands.omap, 5),
                       LaunchArgument::input(operands.a.data(), operands.a.size() * 2, "a"),
                       LaunchArgument::input(operands.b.data(), operands.b.size() * 2, "b"),
                       LaunchArgument::output(out.data(), out.size() * 4, "out")},
                      seed);
  }
  Operands operands;
  HopperKernel kernel;
};

TEST(GpuRing, GivesTheProduct) {
  Ring ring(::ring());
  ASSERT_TRUE(ring.kernel.parsed());
  EXPECT_EQ(ring.kernel.assembles(), "");
  for (unsigned seed = 0; seed < 2 * kSeeds; ++seed) {
    std::vector<float> out;
    Outcome report = ring.run(seed, out);
    ASSERT_TRUE(report.faults.empty()) << "seed " << seed << "\n" << report.text();
    ASSERT_EQ(out, ring.operands.expected) << "seed " << seed;
  }
}

/// A mistake in the kernel: the replaced text, and its replacement.
struct Mistake {
  const char *name;
  const char *from;
  std::string to;
};
std::string drop() { return ""; }

std::vector<Mistake> mistakes() {
  auto constant = [](uint64_t bits, const char *name) {
    return "%" + std::string(name) + " = llvm.mlir.constant(" + std::to_string(int64_t(bits)) +
           " : i64) : i64\n  %unused_" + name + " = llvm.mlir.constant(";
  };
  auto a = [&](uint64_t bits) { return constant(bits, "descriptorA"); };
  auto b = [&](uint64_t bits) { return constant(bits, "descriptorB"); };
  constexpr const char *kA = "%descriptorA = llvm.mlir.constant(", *kB = "%descriptorB = llvm.mlir.constant(";
  constexpr unsigned kAtB = kBase + kBytesA;
  return {
      {"no_init_fence", "nvvm.fence.mbarrier.init", drop()},
      {"no_init_proxy_fence", "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async>} // init proxy fence", drop()},
      {"no_barrier_after_init", "nvvm.barrier0", drop()},
      {"full_counts_2", "init %full1, %c1", "init %full1, %c2"},
      {"empty_counts_7", "init %empty1, %consumers", "init %empty1, %c7"},
      {"empty_counts_9", "init %empty1, %consumers", "init %empty1, %c9"},
      {"no_wait_empty", "nvvm.mbarrier.try_wait.parity %empty, %parity, %ticks : !llvm.ptr<3>, i32, i32", drop()},
      {"no_expect", "nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32", drop()},
      {"arrive_without_expect", "nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32",
       "%state3 = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64"},
      {"expects_less", "%bytes = llvm.mlir.constant(18432", "%bytes = llvm.mlir.constant(18416"},
      {"expects_more", "%bytes = llvm.mlir.constant(18432", "%bytes = llvm.mlir.constant(18448"},
      {"expects_half", "%bytes = llvm.mlir.constant(18432", "%bytes = llvm.mlir.constant(16384"},
      {"no_load_of_b",
       "nvvm.cp.async.bulk.tensor.shared.cluster.global %bw, %bmap, %full, box [%k, %c0] : "
       "!llvm.ptr<7>, !llvm.ptr",
       drop()},
      {"loads_one_tile", "%aw, %amap, %full, box [%k, %c0]", "%aw, %amap, %full, box [%c0, %c0]"},
      {"loads_rows_further", "%bw, %bmap, %full, box [%k, %c0]", "%bw, %bmap, %full, box [%k, %c8]"},
      {"loads_to_other_stage", "%place = llvm.mul %stage, %stageBytes", "%place = llvm.mul %c0, %stageBytes"},
      {"loads_16_bytes_further", "getelementptr %b_m[17408]", "getelementptr %b_m[17424]"},
      {"completes_on_other_barrier", "%bw, %bmap, %full, box", "%bw, %bmap, %empty, box"},
      {"no_wait_full", "nvvm.mbarrier.try_wait.parity %filled, %phase, %ticks : !llvm.ptr<3>, i32, i32", drop()},
      {"no_wgmma_fence", "nvvm.wgmma.fence.aligned", drop()},
      {"no_commit", "nvvm.wgmma.commit.group.sync.aligned", drop()},
      {"no_wait_one", "nvvm.wgmma.wait.group.sync.aligned 1", drop()},
      {"waits_for_two", "nvvm.wgmma.wait.group.sync.aligned 1", "nvvm.wgmma.wait.group.sync.aligned 2"},
      {"no_arrive_empty", "%state = nvvm.mbarrier.arrive %freed : !llvm.ptr<3> -> i64", drop()},
      {"all_lanes_arrive", "%mayGive = llvm.and %gives, %goesOn", "%mayGive = llvm.and %goesOn, %goesOn"},
      {"frees_own_stage", "%emptyAt = llvm.mul %before, %c8", "%emptyAt = llvm.mul %at, %c8"},
      {"frees_from_the_first_step", "%mayGive = llvm.and %gives, %goesOn", "%mayGive = llvm.and %gives, %gives"},
      {"producer_begins_with_0", "^load(%c0, %c0, %c1", "^load(%c0, %c0, %c0"},
      {"consumer_begins_with_1", "^step(%c0, %c0, %c0, %c0", "^step(%c0, %c0, %c1, %c0"},
      {"producer_never_flips", "%parity1 = llvm.xor %parity, %flip", "%parity1 = llvm.xor %parity, %c0"},
      {"consumer_never_flips", "%phase1 = llvm.xor %phase, %turn", "%phase1 = llvm.xor %phase, %c0"},
      {"producer_always_flips", "%parity1 = llvm.xor %parity, %flip", "%parity1 = llvm.xor %parity, %c1"},
      {"consumer_always_flips", "%phase1 = llvm.xor %phase, %turn", "%phase1 = llvm.xor %phase, %c1"},
      {"a_fields_swapped", kA, a(descriptor(kBase, 1024, 16, 128))},
      {"b_fields_swapped", kB, b(descriptor(kAtB, 1024, 16, 128))},
      {"a_stride_halved", kA, a(descriptor(kBase, 16, 512, 128))},
      {"b_stride_doubled", kB, b(descriptor(kAtB, 16, 2048, 128))},
      {"a_other_swizzle", kA, a(descriptor(kBase, 16, 1024, 64))},
      {"b_no_swizzle", kB, b(descriptor(kAtB, 16, 1024, 0))},
      {"a_16_bytes_further", kA, a(descriptor(kBase + 16, 16, 1024, 128))},
      {"b_a_row_further", kB, b(descriptor(kAtB + 128, 16, 1024, 128))},
      {"b_base_offset", kB, b(descriptor(kAtB, 16, 1024, 128) | uint64_t(1) << 49)},
      {"b_bit_without_meaning", kB, b(descriptor(kAtB, 16, 1024, 128) | uint64_t(1) << 46)},
      {"k_stands_still", "%advance2 = llvm.mlir.constant(4", "%advance2 = llvm.mlir.constant(2"},
      {"warpgroups_read_the_same_rows", "%rowBytes = llvm.mul %member, %c512", "%rowBytes = llvm.mul %c0, %c512"},
      {"adds_to_nothing", "%scale = llvm.zext %goesOn : i1 to i32", "%scale = llvm.add %c1, %c0 : i32"},
      {"begins_anew", "%scale = llvm.zext %goesOn : i1 to i32", "%scale = llvm.add %c0, %c0 : i32"},
      {"waits_for_all_but_one", "wgmma.wait_group.sync.aligned 0", "wgmma.wait_group.sync.aligned 1"},
      {"no_fence_before_store",
       "nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}", drop()},
      {"no_barrier_before_store", "nvvm.barrier id = %c1 number_of_threads = %c256", drop()},
      {"barrier_of_half", "number_of_threads = %c256", "number_of_threads = %c128"},
      {"no_commit_of_store", "nvvm.cp.async.bulk.commit.group", drop()},
      {"no_wait_for_store", "nvvm.cp.async.bulk.wait_group 0 {read}", drop()},
      {"producer_keeps_registers", "nvvm.setmaxregister decrease 24", drop()},
      {"consumers_take_too_much", "nvvm.setmaxregister increase 240", "nvvm.setmaxregister increase 256"},
  };
}

class GpuRingMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(GpuRingMistakes, AreCaught) {
  const Mistake &mistake = GetParam();
  std::string text = ring();
  size_t place = text.find(mistake.from);
  ASSERT_NE(place, std::string::npos) << mistake.from;
  text.replace(place, std::string(mistake.from).size(), mistake.to);
  Ring ring(text);
  ASSERT_TRUE(ring.kernel.parsed());
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    std::vector<float> out;
    Outcome report = ring.run(seed, out);
    if (report.faults.empty() && out == ring.operands.expected)
      continue;
    // The report goes into the test's output, to show why the mistake was caught.
    RecordProperty("caught", report.faults.empty() ? "wrong values" : report.text());
    EXPECT_FALSE(has(report, FaultKind::Unsupported)) << report.text();
    return;
  }
  ADD_FAILURE() << "no order of warps shows it";
}
INSTANTIATE_TEST_SUITE_P(Ring, GpuRingMistakes, ::testing::ValuesIn(mistakes()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
