// Tests the instructions that order warps in the interpreter: mbarriers and their phases, named barriers, elect.sync,
// setmaxnreg. Also tests that the interpreter distinguishes a kernel that waits forever from one that runs long.
#include "tests/unit/HopperProgram.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdlib>
#include <set>

using namespace skewer;
using namespace skewer::gpu;
using namespace skewer::testing;

namespace {

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return text.replace(text.find(from), from.size(), to);
}

/// Runs a kernel whose argument is `out`, an i32 for each thread.
Outcome run(const std::string &text, unsigned threads, std::vector<int32_t> &out, unsigned seed = 0,
            bool assembles = false) {
  HopperKernel kernel(text, "%out: !llvm.ptr<1>", threads, 4096);
  EXPECT_TRUE(kernel.parsed()) << text;
  if (!kernel.parsed())
    return {};
  if (assembles)
    EXPECT_EQ(kernel.assembles(), "");
  out.assign(threads, -1);
  return kernel.run({LaunchArgument::output(out.data(), out.size() * 4, "out")}, seed);
}
void expectIn(const Outcome &report, FaultKind kind, const std::string &text) {
  EXPECT_TRUE(has(report, kind)) << text << "\n" << report.text();
  EXPECT_NE(report.text().find(text), std::string::npos) << text << "\n" << report.text();
}
const std::string kStore = "  %p = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32\n"
                           "  llvm.store %x, %p : i32, !llvm.ptr<1>\n  llvm.return\n";

//===- mbarriers ----------------------------------------------------------------------===//

/// A kernel in which two warps pass a row of 32 words three times through one place: warp 0 writes round + lane, and
/// warp 1 adds the words up. `full` and `empty` are mbarriers for one warp's arrivals.
const std::string kExchange =
    shared("full", 0) + shared("empty", 8) + number("ticks", 1000) + number("rounds", 3) + number("mask", 31) +
    number("all", -1) + "  %lane = llvm.and %tid, %mask : i32\n  %warp = llvm.lshr %tid, %c5 : i32\n" +
    number("c64", 64) +
    "  %slot = llvm.getelementptr %s[%slotAt] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
    "  %first = llvm.icmp \"eq\" %tid, %c0 : i32\n  %leader = llvm.icmp \"eq\" %lane, %c0 : i32\n"
    "  llvm.cond_br %first, ^init, ^ready\n^init:\n  nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32 // init full\n"
    "  nvvm.mbarrier.init %empty, %c1 : !llvm.ptr<3>, i32\n  llvm.br ^ready\n^ready:\n  nvvm.barrier0 // ready\n"
    "  %writes = llvm.icmp \"eq\" %warp, %c0 : i32\n"
    "  llvm.cond_br %writes, ^write(%c0, %c1 : i32, i32), ^read(%c0, %c0, %c0 : i32, i32, i32)\n"
    "^write(%i: i32, %wp: i32):\n"
    "  nvvm.mbarrier.try_wait.parity %empty, %wp, %ticks : !llvm.ptr<3>, i32, i32 // wait empty\n"
    "  %value = llvm.add %i, %lane : i32\n  llvm.store %value, %slot : i32, !llvm.ptr<3>\n"
    "  nvvm.bar.warp.sync %all : i32 // write sync\n  llvm.cond_br %leader, ^give, ^written\n^give:\n"
    "  %state = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64 // arrive full\n  llvm.br ^written\n^written:\n"
    "  %i1 = llvm.add %i, %c1 : i32\n  %wp1 = llvm.xor %wp, %c1 : i32 // flip write\n"
    "  %moreWrites = llvm.icmp \"ult\" %i1, %rounds : i32\n"
    "  llvm.cond_br %moreWrites, ^write(%i1, %wp1 : i32, i32), ^end(%c0 : i32)\n"
    "^read(%j: i32, %rp: i32, %sum: i32):\n"
    "  nvvm.mbarrier.try_wait.parity %full, %rp, %ticks : !llvm.ptr<3>, i32, i32 // wait full\n"
    "  %other = llvm.sub %mask, %lane : i32\n  %at = llvm.add %other, %c128 : i32\n"
    "  %from = llvm.getelementptr %s[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
    "  %word = llvm.load %from : !llvm.ptr<3> -> i32\n  %sum1 = llvm.add %sum, %word : i32\n"
    "  nvvm.bar.warp.sync %all : i32 // read sync\n  llvm.cond_br %leader, ^take, ^taken\n^take:\n"
    "  %state2 = nvvm.mbarrier.arrive %empty : !llvm.ptr<3> -> i64 // arrive empty\n  llvm.br ^taken\n^taken:\n"
    "  %j1 = llvm.add %j, %c1 : i32\n  %rp1 = llvm.xor %rp, %c1 : i32 // flip read\n"
    "  %moreReads = llvm.icmp \"ult\" %j1, %rounds : i32\n"
    "  llvm.cond_br %moreReads, ^read(%j1, %rp1, %sum1 : i32, i32, i32), ^end(%sum1 : i32)\n^end(%x: i32):\n" +
    kStore;
std::string exchange() {
  return replaced(kExchange, "  %slot =", "  %slotAt = llvm.add %lane, %c128 : i32\n  %slot =");
}

TEST(GpuOrder, MbarriersPassMemoryOn) {
  std::vector<int32_t> out;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Outcome report = run(exchange(), 64, out, seed, seed == 0);
    ASSERT_TRUE(report.faults.empty()) << "seed " << seed << "\n" << report.text();
    for (int lane = 0; lane < 32; ++lane)
      EXPECT_EQ(out[size_t(32 + lane)], 3 * (31 - lane) + 3) << "seed " << seed;
  }
}

/// A mistake in a text: the replaced text, and its replacement.
struct Edit {
  const char *name;
  const char *from;
  const char *to;
};
std::string nameOf(const ::testing::TestParamInfo<Edit> &info) { return info.param.name; }
class GpuExchange : public ::testing::TestWithParam<Edit> {};

TEST_P(GpuExchange, MistakesAreCaught) {
  std::vector<int32_t> out;
  bool caught = false;
  for (unsigned seed = 0; seed < kSeeds && !caught; ++seed)
    caught = !run(replaced(exchange(), GetParam().from, GetParam().to), 64, out, seed).faults.empty();
  EXPECT_TRUE(caught);
}
INSTANTIATE_TEST_SUITE_P(
    Mistakes, GpuExchange,
    ::testing::Values(
        Edit{"no_wait_empty", "nvvm.mbarrier.try_wait.parity %empty, %wp, %ticks : !llvm.ptr<3>, i32, i32", ""},
        Edit{"no_wait_full", "nvvm.mbarrier.try_wait.parity %full, %rp, %ticks : !llvm.ptr<3>, i32, i32", ""},
        Edit{"no_arrive_full", "%state = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64", ""},
        Edit{"no_arrive_empty", "%state2 = nvvm.mbarrier.arrive %empty : !llvm.ptr<3> -> i64", ""},
        Edit{"no_sync_of_writes", "nvvm.bar.warp.sync %all : i32 // write sync", ""},
        Edit{"no_sync_of_reads", "nvvm.bar.warp.sync %all : i32 // read sync", ""},
        Edit{"no_flip_of_writes", "%wp1 = llvm.xor %wp, %c1", "%wp1 = llvm.xor %wp, %c0"},
        Edit{"no_flip_of_reads", "%rp1 = llvm.xor %rp, %c1", "%rp1 = llvm.xor %rp, %c0"},
        Edit{"writes_begin_with_0", "^write(%c0, %c1", "^write(%c0, %c0"},
        Edit{"reads_begin_with_1", "^read(%c0, %c0, %c0", "^read(%c0, %c1, %c0"},
        Edit{"no_barrier", "nvvm.barrier0 // ready", ""},
        Edit{"no_init", "nvvm.mbarrier.init %full, %c1 : !llvm.ptr<3>, i32 // init full", ""},
        Edit{"two_arrivals", "nvvm.mbarrier.init %full, %c1", "nvvm.mbarrier.init %full, %c2"},
        Edit{"arrives_twice", "%state = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64 // arrive full",
             "%state = nvvm.mbarrier.arrive %full, %c2 : !llvm.ptr<3> -> i64"},
        Edit{"all_arrive", "llvm.cond_br %leader, ^give, ^written", "llvm.br ^give"}),
    nameOf);

TEST(GpuOrder, ADeadlockSaysWhatEachWarpWaitsFor) {
  std::vector<int32_t> out;
  Outcome report = run(replaced(exchange(), "%state = nvvm.mbarrier.arrive %full : !llvm.ptr<3> -> i64", ""), 64, out);
  expectIn(report, FaultKind::Deadlock,
           "no warp of block 0 can go on; warp 0 waits for parity 0 of the mbarrier at 8, whose phase 0 lacks 1 of 1 "
           "arrivals and 0 bytes; warp 1 waits for parity 0 of the mbarrier at 0, whose phase 0 lacks 1 of 1 arrivals");
}

TEST(GpuOrder, MbarriersAndTheirMemory) {
  const std::string begin =
                        shared("m", 64) + number("ticks", 1000) +
                        "  %first = llvm.icmp \"eq\" %tid, %c0 : i32\n  llvm.cond_br %first, ^init, ^ready\n^init:\n"
                        "  nvvm.mbarrier.init %m, %c1 : !llvm.ptr<3>, i32\n",
                    end = "  llvm.br ^ready\n^ready:\n  %x = llvm.add %tid, %c1 : i32\n" + kStore;
  std::vector<int32_t> out;
  expectIn(run(begin + "  llvm.store %tid, %m : i32, !llvm.ptr<3>\n" + end, 32, out), FaultKind::Misuse,
           "thread 0 of block 0 writes shared address 64, which is an mbarrier");
  expectIn(run(begin + "  nvvm.mbarrier.init %m, %c1 : !llvm.ptr<3>, i32\n" + end, 32, out), FaultKind::Misuse,
           "initialises the mbarrier at 64 again, without mbarrier.inval");
  Outcome right =
      run(begin + "  nvvm.mbarrier.inval %m : !llvm.ptr<3>\n  llvm.store %tid, %m : i32, !llvm.ptr<3>\n" + end, 32, out,
          0, true);
  EXPECT_TRUE(right.faults.empty()) << right.text();
  expectIn(
      run(begin +
              "  %state = nvvm.mbarrier.arrive %m : !llvm.ptr<3> -> i64\n  nvvm.mbarrier.inval %m : !llvm.ptr<3>\n" +
              end,
          32, out),
      FaultKind::Race, "has not waited for its last phase");
  expectIn(run(begin +
                   "  nvvm.mbarrier.arrive.expect_tx %m, %c32 : !llvm.ptr<3>, i32\n"
                   "  nvvm.mbarrier.inval %m : !llvm.ptr<3>\n" +
                   end,
               32, out),
           FaultKind::Misuse, "invalidates the mbarrier at 64 during a phase");
  expectIn(run(replaced(begin, "getelementptr %s[64]", "getelementptr %s[60]") + end, 32, out), FaultKind::Misaligned,
           "initialises an mbarrier at 60");
  expectIn(run(replaced(begin, "%m, %c1", "%m, %c0") + end, 32, out), FaultKind::Misuse, "an mbarrier for 0 arrivals");
  expectIn(run(begin + "  %state = nvvm.mbarrier.arrive %m, %c2 : !llvm.ptr<3> -> i64\n" + end, 32, out),
           FaultKind::Misuse, "arrives 2 times at the mbarrier at 64, whose phase 0 lacks 1 of 1 arrivals");
}

//===- Named barriers -------------------------------------------------------------------===//

/// A kernel in which warps 0 and 1 write a word for each thread and arrive at barrier 1; warps 2 and 3 wait there and
/// read. Then warps 0 and 2 meet at barrier 2, and warps 1 and 3 at barrier 3.
const std::string kHandOver =
    number("count", 128) + number("pair", 64) + number("c64", 64) +
    "  %warp = llvm.lshr %tid, %c5 : i32\n  %writes = llvm.icmp \"ult\" %warp, %c2 : i32\n"
    "  llvm.cond_br %writes, ^write, ^read\n^write:\n"
    "  %to = llvm.getelementptr %s[%tid] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i32\n"
    "  llvm.store %tid, %to : i32, !llvm.ptr<3>\n"
    "  nvvm.barrier.arrive id = %c1 number_of_threads = %count // arrive\n  llvm.br ^pairs(%tid : i32)\n^read:\n"
    "  nvvm.barrier id = %c1 number_of_threads = %count // sync\n"
    "  %at = llvm.sub %tid, %c64 : i32\n  %from = llvm.getelementptr %s[%at] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, "
    "i32\n"
    "  %word = llvm.load %from : !llvm.ptr<3> -> i32\n  llvm.br ^pairs(%word : i32)\n^pairs(%x: i32):\n"
    "  %odd = llvm.and %warp, %c1 : i32\n  %id = llvm.add %odd, %c2 : i32\n"
    "  nvvm.barrier id = %id number_of_threads = %pair // pairs\n" +
    kStore;

/// What a GPU shall give too is written once, and only of a kernel that assembles.
TEST(GpuOrder, LaunchesAreWritten) {
  llvm::SmallString<128> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("launches", folder));
  const char *variable = "SKEWER_LAUNCHES", *before = std::getenv(variable);
  std::string kept = before ? before : "";
  setenv(variable, folder.c_str(), 1);
  std::string text = "  %x = llvm.add %tid, %c5 : i32\n" + kStore;
  std::vector<int32_t> out;
  run(text, 32, out);
  run(text, 32, out, 0, /*assembles=*/true);
  before ? setenv(variable, kept.c_str(), 1) : unsetenv(variable);

  std::vector<std::string> files;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; it != end && !error; it.increment(error))
    files.push_back(it->path());
  ASSERT_EQ(files.size(), 1u);
  auto file = llvm::MemoryBuffer::getFile(files.front());
  ASSERT_TRUE(bool(file));
  auto launch = llvm::json::parse((*file)->getBuffer());
  ASSERT_TRUE(bool(launch)) << llvm::toString(launch.takeError());
  const llvm::json::Object &object = *launch->getAsObject();
  EXPECT_EQ(object.getString("test"), "GpuOrder.LaunchesAreWritten");
  EXPECT_EQ(object.getInteger("threads"), 32);
  EXPECT_EQ(object.getInteger("shared_bytes"), 4096);
  EXPECT_FALSE(object.getString("code")->empty());
  ASSERT_EQ(object.getArray("arguments")->size(), 1u);
  std::vector<char> bytes;
  auto result = (*object.getArray("arguments"))[0].getAsObject()->getString("output");
  ASSERT_TRUE(result);
  ASSERT_FALSE(bool(llvm::decodeBase64(*result, bytes)));
  ASSERT_EQ(bytes.size(), 128u);
  EXPECT_EQ(bytes[4 * 7], 5 + 7);
  llvm::sys::fs::remove_directories(folder);
}

TEST(GpuOrder, NamedBarriersPassMemoryOn) {
  std::vector<int32_t> out;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Outcome report = run(kHandOver, 128, out, seed, seed == 0);
    ASSERT_TRUE(report.faults.empty()) << "seed " << seed << "\n" << report.text();
    for (int thread = 0; thread < 128; ++thread)
      EXPECT_EQ(out[size_t(thread)], thread % 64) << "seed " << seed;
  }
}
TEST(GpuOrder, NamedBarriersThatAreUsedWrongly) {
  std::vector<int32_t> out;
  auto with = [&](const std::string &from, const std::string &to) {
    return run(replaced(kHandOver, from, to), 128, out);
  };
  const std::string arrive = "nvvm.barrier.arrive id = %c1 number_of_threads = %count // arrive",
                    sync = "nvvm.barrier id = %c1 number_of_threads = %count // sync";
  expectIn(with(arrive, ""), FaultKind::Deadlock, "warp 2 waits for barrier 1, where 64 of 128 threads have come");
  expectIn(with(sync, ""), FaultKind::Race, "and no barrier or wait lies between");
  expectIn(with(arrive, "nvvm.barrier.arrive id = %c1 number_of_threads = %pair"), FaultKind::Misuse,
           "barrier 1 of 128 threads, where warp 1 came for 64");
  expectIn(with(sync, "nvvm.barrier id = %c1 number_of_threads = %pair"), FaultKind::Misuse,
           "barrier 1 of 64 threads, where warp 1 came for 128");
  expectIn(with("%id = llvm.add %odd, %c2", "%id = llvm.add %odd, %c15"), FaultKind::Misuse, "there is no barrier 16");
  expectIn(with(number("pair", 64), number("pair", 65)), FaultKind::Misuse, "a multiple of 32 is needed");
  expectIn(with("%id = llvm.add %odd, %c2", "%id = llvm.add %tid, %c2"), FaultKind::Divergence,
           "lanes of a warp name different barriers");
  expectIn(with(arrive, arrive + "\n  nvvm.barrier.arrive id = %c1 number_of_threads = %count"), FaultKind::Misuse,
           "comes to barrier 1 again before the others have come once");
}

//===- elect.sync, setmaxnreg -----------------------------------------------------------===//

TEST(GpuOrder, OneLaneIsElected) {
  const std::string text = "  %one = nvvm.elect.sync -> i1\n  %x = llvm.zext %one : i1 to i32\n" + kStore;
  std::vector<int32_t> out;
  std::set<size_t> leaders;
  for (unsigned seed = 0; seed < 6; ++seed) {
    Outcome report = run(text, 64, out, seed, seed == 0);
    EXPECT_TRUE(report.faults.empty()) << report.text();
    for (int warp = 0; warp < 2; ++warp) {
      EXPECT_EQ(std::count(out.begin() + warp * 32, out.begin() + warp * 32 + 32, 1), 1);
      EXPECT_EQ(std::count(out.begin() + warp * 32, out.begin() + warp * 32 + 32, 0), 31);
    }
    leaders.insert(size_t(std::find(out.begin(), out.end(), 1) - out.begin()));
  }
  EXPECT_GT(leaders.size(), 1u) << "no kernel may rely on one lane";
  expectIn(run("  %few = llvm.icmp \"ult\" %tid, %c3 : i32\n  llvm.cond_br %few, ^some, ^end\n^some:\n"
               "  %one = nvvm.elect.sync -> i1\n  llvm.br ^end\n^end:\n  %x = llvm.add %tid, %c1 : i32\n" +
                   kStore,
               32, out),
           FaultKind::Divergence, "elect.sync names lanes 0xffffffff, and 0x00000007 run it");
}

/// Returns a kernel of three warpgroups: the first gives registers back, the others take them.
std::string registersKernel(int given, int taken) {
  return "  %group = llvm.lshr %tid, %c7 : i32\n  %gives = llvm.icmp \"eq\" %group, %c0 : i32\n"
         "  llvm.cond_br %gives, ^give, ^take\n^give:\n  nvvm.setmaxregister decrease " +
         std::to_string(given) + "\n  llvm.br ^end\n^take:\n  nvvm.setmaxregister increase " + std::to_string(taken) +
         "\n  llvm.br ^end\n^end:\n  %x = llvm.add %tid, %c1 : i32\n" + kStore;
}
TEST(GpuOrder, RegistersAreSharedOut) {
  std::vector<int32_t> out;
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    Outcome report = run(registersKernel(24, 240), 384, out, seed, seed == 0);
    EXPECT_TRUE(report.faults.empty()) << report.text();
  }
  EXPECT_TRUE(run(registersKernel(32, 232), 384, out).faults.empty());
  expectIn(run(registersKernel(40, 240), 384, out), FaultKind::Deadlock, "waits for 240 registers a thread");
  expectIn(run(registersKernel(176, 168), 384, out), FaultKind::Misuse,
           "has 168 registers a thread, and setmaxnreg.dec "
           "asks for 176");
  const std::string bounds = "nvvm.setmaxregister decrease 24";
  expectIn(run(replaced(registersKernel(24, 240), bounds, ""), 384, out), FaultKind::Deadlock,
           "waits for 240 registers a thread");
}

} // namespace
