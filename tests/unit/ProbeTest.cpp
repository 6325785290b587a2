// Tests which measurements are accepted. tests/e2e/machines.test makes measurements, and reads their file.
#include "tools/skewer/Probe.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace skewer;
using namespace skewer::driver;

namespace {

TEST(Probe, SpreadIsAShareOfTheMedian) {
  Repeats repeats = repeatsOf({3, 1, 2, 2, 2.5});
  EXPECT_EQ(repeats.median, 2);
  EXPECT_EQ(repeats.spread, 1);
  EXPECT_EQ(repeatsOf({4, 4, 4}).spread, 0);
  EXPECT_TRUE(std::isinf(repeatsOf({0, 0, 0}).spread));
}

class ProbeFields : public ::testing::Test {
protected:
  void believe(double value, double spread, std::string doubt = "") {
    apply(machine, {{"l2_rate", value, spread, std::move(doubt)}}, "2026-01-02", notes);
  }
  const std::string &source() const {
    for (auto [number, field] : llvm::enumerate(machineFields()))
      if (field.name == "l2_rate")
        return machine.sources[number];
    return machine.about;
  }
  Machine machine = knownMachines().front();
  double before = machine.target.l2Rate;
  std::string sourceBefore = source();
  std::vector<std::string> notes;
};

TEST_F(ProbeFields, QuietOnesReplaceTheValue) {
  believe(before + 7, 0.03);
  EXPECT_EQ(machine.target.l2Rate, before + 7);
  EXPECT_EQ(source(), "measured by --probe on 2026-01-02, spread 3 %");
  EXPECT_TRUE(notes.empty());
}

TEST_F(ProbeFields, NoisyOnesKeepItAndSaySo) {
  believe(before + 7, 0.34);
  EXPECT_EQ(machine.target.l2Rate, before);
  EXPECT_EQ(source(), sourceBefore + "; kept by --probe on 2026-01-02: its repeats spread by 34 %");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes.front(), "l2_rate: not believed, its repeats spread by 34 %; 32 bytes/cycle stays");
}

TEST_F(ProbeFields, ImpossibleOnesKeepIt) {
  for (double value : {0.0, 1e6, double(NAN), double(INFINITY)})
    believe(value, 0);
  believe(before + 7, NAN);
  believe(before + 7, 0, "of some doubt");
  EXPECT_EQ(machine.target.l2Rate, before);
  EXPECT_EQ(notes.size(), 6u);
}

TEST_F(ProbeFields, WhatIsLeftIsStillAMachineFile) {
  believe(before + 7, 0.34);
  auto read = parseMachine(textOf(machine), "my.json");
  EXPECT_TRUE(bool(read)) << llvm::toString(read.takeError());
}

} // namespace
