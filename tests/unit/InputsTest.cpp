// Tests the operands of a run: seeded numbers, run-time sizes from files and options, and the errors.
#include "tools/skewer/Inputs.h"
#include "tools/skewer/Npy.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <cmath>
#include <random>
#include <set>

using namespace skewer;
using namespace skewer::driver;

namespace {

KernelPlan planOf(ElementType type = ElementType::F32) {
  KernelPlan plan;
  plan.name = "kernel";
  plan.sizes = {"batch"};
  plan.inputs = {{"q", type, {{"batch", 1}, {"", 2}, {"", 3}}}, {"k", type, {{"batch", 1}, {"", 2}, {"", 3}}}};
  plan.outputs = {{"output", type, {{"batch", 1}, {"", 2}, {"", 3}}}};
  return plan;
}

struct InputFiles : ::testing::Test {
  llvm::SmallString<128> folder;
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("skewer-inputs", folder)); }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }
  std::string write(const char *name, const std::vector<int64_t> &shape, const char *type = "<f4") {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    Array array{shape, std::vector<double>(*elementsOf(shape), 0.1)};
    EXPECT_FALSE(static_cast<bool>(writeFiles({{path.str().str(), npyBytes(array, type)}})));
    return path.str().str();
  }
  std::string errorOf(const KernelPlan &plan, const std::map<std::string, std::string> &files,
                      const std::map<std::string, int64_t> &sizes = {}) {
    auto operands = prepareOperands(plan, files, sizes, 1);
    return operands ? "no error" : llvm::toString(operands.takeError());
  }
};

TEST(Inputs, NormalNumbersAreTheSameEverywhereAndNormal) {
  std::vector<double> values = normalNumbers(100001, 7);
  EXPECT_EQ(values, normalNumbers(100001, 7));
  EXPECT_NE(values, normalNumbers(100001, 8));
  double sum = 0, squares = 0;
  for (double value : values) {
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 100001, 0, 0.02);
  EXPECT_NEAR(squares / 100001, 1, 0.02);
  // A change of these numbers would change the output of every documented run.
  std::mt19937_64 generator(7);
  double u = (static_cast<double>(generator() >> 11) + 0.5) * 0x1p-53;
  double angle = 6.283185307179586 * ((static_cast<double>(generator() >> 11) + 0.5) * 0x1p-53);
  EXPECT_NEAR(values[0], std::sqrt(-2 * std::log(u)) * std::cos(angle), 1e-15);
}

TEST_F(InputFiles, SizesComeFromFilesElseOptionsElseOne) {
  auto one = prepareOperands(planOf(), {}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(one));
  EXPECT_EQ(one->sizes, std::vector<int64_t>{1});
  auto given = prepareOperands(planOf(), {}, {{"batch", 4}}, 1);
  ASSERT_TRUE(static_cast<bool>(given));
  EXPECT_EQ(given->outputShapes.front(), (std::vector<int64_t>{4, 2, 3}));
  auto read = prepareOperands(planOf(), {{"q", write("q.npy", {5, 2, 3})}}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(read));
  EXPECT_EQ(read->sizes, std::vector<int64_t>{5});
  EXPECT_EQ(read->inputs[0].values[0], 0.1f);
  EXPECT_EQ(read->inputs[1].values.size(), 30u);
}

TEST_F(InputFiles, NarrowTypesAreRounded) {
  auto read = prepareOperands(planOf(ElementType::BF16), {{"q", write("q.npy", {1, 2, 3})}}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(read));
  EXPECT_EQ(read->inputs[0].values[0], roundTo(ElementType::BF16, 0.1f));
  for (double value : read->inputs[1].values)
    EXPECT_EQ(value, roundTo(ElementType::BF16, value));
}

TEST_F(InputFiles, NumbersOf8BitsAreGivenAsBitsOrAsNumbers) {
  KernelPlan plan = planOf(ElementType::F8E4M3);
  auto read = prepareOperands(plan, {{"q", write("q.npy", {1, 2, 3})}}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(read));
  EXPECT_EQ(read->inputs[0].values[0], roundTo(ElementType::F8E4M3, 0.1f));
  for (double value : read->inputs[1].values)
    EXPECT_EQ(value, roundTo(ElementType::F8E4M3, value));
  llvm::SmallString<128> path(folder);
  llvm::sys::path::append(path, "bits.npy");
  Array numbers{{1, 2, 3}, {0, 1, 0x81, 0x38, 0x7e, 0xfe}};
  ASSERT_FALSE(static_cast<bool>(writeFiles({{path.str().str(), npyBytes(numbers, "|u1")}})));
  auto bits = prepareOperands(plan, {{"q", path.str().str()}}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(bits));
  EXPECT_EQ(bits->inputs[0].values, (std::vector<double>{0, 0x1p-9, -0x1p-9, 1, 448, -448}));
  std::string error = errorOf(planOf(ElementType::I8), {{"q", path.str().str()}});
  EXPECT_NE(error.find("expected elements of type |i1 for i8, found |u1"), std::string::npos) << error;
}

TEST_F(InputFiles, IndicesAreWholeNumbersInTheirRange) {
  KernelPlan plan = planOf();
  plan.inputs.push_back({"seg", ElementType::I32, {{"batch", 1}, {"", 200}}, IndexRange{-2, 1}});
  plan.inputs.push_back({"lengths", ElementType::I32, {{"", 200}}, std::nullopt});
  auto made = prepareOperands(plan, {}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(made));
  auto valuesOf = [&](size_t input) {
    return std::set<double>(made->inputs[input].values.begin(), made->inputs[input].values.end());
  };
  EXPECT_EQ(valuesOf(2), (std::set<double>{-2, -1, 0, 1}));
  EXPECT_EQ(valuesOf(3), (std::set<double>{0, 1, 2})); // the result is [batch, 2, 3]: of two queries
  auto same = prepareOperands(plan, {}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(same));
  EXPECT_EQ(same->inputs[2].values, made->inputs[2].values);
  std::string error = errorOf(plan, {{"lengths", write("lengths.npy", {200})}});
  EXPECT_NE(error.find("expected elements of type <i4 or <i8 for i32, found <f4"), std::string::npos) << error;
}

TEST_F(InputFiles, IndicesAreInTheRangeOfTheseLengths) {
  KernelPlan plan = planOf();
  plan.inputs.push_back({"rows", ElementType::I32, {{"", 200}}, IndexRange{2, 99, {{"", 2}, {"2*batch - 1", 1}}}});
  auto made = prepareOperands(plan, {}, {{"batch", 2}}, 1);
  ASSERT_TRUE(static_cast<bool>(made));
  EXPECT_EQ(std::set<double>(made->inputs[2].values.begin(), made->inputs[2].values.end()), (std::set<double>{2, 3}));
  EXPECT_EQ(errorOf(plan, {}, {{"batch", 1}}),
            "argument 'rows' has the range 2..2*batch - 1, which is 2..1 at these sizes: empty");
}

TEST_F(InputFiles, SeededNumbersHaveTheDeclaredDeviationAndFilesAreReadAsTheyAre) {
  KernelPlan plan = planOf();
  auto plain = prepareOperands(plan, {}, {}, 1);
  plan.inputs[0].deviation = 0.25;
  auto scaled = prepareOperands(plan, {}, {}, 1);
  ASSERT_TRUE(plain && scaled);
  for (size_t k = 0; k < plain->inputs[0].values.size(); ++k)
    EXPECT_EQ(scaled->inputs[0].values[k], 0.25 * plain->inputs[0].values[k]); // a power of two rounds alike
  EXPECT_EQ(scaled->inputs[1].values, plain->inputs[1].values);
  auto read = prepareOperands(plan, {{"q", write("q.npy", {1, 2, 3})}}, {}, 1);
  ASSERT_TRUE(static_cast<bool>(read));
  EXPECT_EQ(read->inputs[0].values[0], 0.1f);
}

TEST_F(InputFiles, SeededNumbersLieAroundAMeanOrInARange) {
  TensorArgument argument{"gain", ElementType::F32, {{"", 20000}}};
  auto of = [&](uint64_t seed) { return seededValues(argument, 20000, seed, {0, 1}); };
  auto meanOf = [](const std::vector<double> &values) {
    double sum = 0;
    for (double value : values)
      sum += value;
    return sum / static_cast<double>(values.size());
  };
  std::vector<double> plain = of(7);
  argument.deviation = 0.1;
  argument.mean = 3;
  std::vector<double> around = of(7);
  for (size_t k = 0; k < around.size(); ++k)
    EXPECT_EQ(around[k], 3 + plain[k] * 0.1);
  argument.deviation.reset();
  argument.mean.reset();
  argument.between = {-0.5, 1.5};
  std::vector<double> uniform = of(7);
  EXPECT_GE(*std::min_element(uniform.begin(), uniform.end()), -0.5);
  EXPECT_LE(*std::max_element(uniform.begin(), uniform.end()), 1.5);
  EXPECT_NEAR(meanOf(uniform), 0.5, 0.02); // deviation 2/√12, of 20000: 0.004
  EXPECT_LT(*std::min_element(uniform.begin(), uniform.end()), -0.49);
  EXPECT_GT(*std::max_element(uniform.begin(), uniform.end()), 1.49);
  EXPECT_EQ(uniform, of(7));
  EXPECT_NE(uniform, of(8));
  argument.between = {2, 2};
  EXPECT_EQ(of(7), std::vector<double>(20000, 2));
}

TEST_F(InputFiles, ErrorsNameArgumentExpectedAndFound) {
  auto expect = [](const std::string &error, std::vector<const char *> parts) {
    for (const char *part : parts)
      EXPECT_NE(error.find(part), std::string::npos) << "'" << part << "' in: " << error;
  };
  expect(errorOf(planOf(), {{"q", write("a.npy", {1, 2, 4})}}),
         {"input 'q'", "expected shape [batch, 2, 3]", "found [1, 2, 4]"});
  expect(errorOf(planOf(), {{"q", write("a.npy", {2, 3})}}), {"input 'q'", "found [2, 3]"});
  expect(errorOf(planOf(), {{"q", write("a.npy", {1, 2, 3}, "<f8")}}),
         {"input 'q'", "expected elements of type <f4", "found <f8"});
  expect(errorOf(planOf(), {{"q", write("a.npy", {2, 2, 3})}, {"k", write("b.npy", {3, 2, 3})}}),
         {"batch = 2", "input 'k'", "found 3"});
  expect(errorOf(planOf(), {{"q", write("a.npy", {2, 2, 3})}}, {{"batch", 3}}), {"batch = 3", "--size", "found 2"});
  expect(errorOf(planOf(), {{"v", "v.npy"}}), {"no argument 'v'", "q, k"});
  expect(errorOf(planOf(), {{"q", "/no/such/file.npy"}}), {"input 'q'", "cannot read"});
  expect(errorOf(planOf(), {}, {{"rows", 3}}), {"no run-time size 'rows'", "batch"});
  expect(errorOf(planOf(), {}, {{"batch", 0}}), {"size 'batch'", "at least 1", "found 0"});
  expect(errorOf(planOf(), {}, {{"batch", -2}}), {"size 'batch'", "found -2"});
  expect(errorOf(planOf(), {}, {{"batch", INT64_MAX}}), {"does not fit"});
  expect(errorOf(planOf(), {}, {{"batch", 1LL << 55}}), {"does not fit"});
}

} // namespace
