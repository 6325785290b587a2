// Tests what the language computes from positions at compile time: bucket tables, compared with the models' own,
// constant tensors, concatenation, requirements, and the errors of texts that ask for more.
#include "LanguageTesting.h"
#include "codegen/Reference/Reference.h"
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>
#include <cstring>

using namespace skewer;
using namespace skewer::testing;

namespace {
/// Returns the int32 values at the end of a .npy file.
std::vector<int64_t> bucketsOf(const std::string &name, size_t count) {
  std::string bytes = fileText(SKEWER_SOURCE_DIR "/tests/e2e/conformance/" + name + "/bucket_of_offset.npy");
  std::vector<int64_t> values;
  EXPECT_GE(bytes.size(), 4 * count) << name;
  for (size_t k = 0; k < count && bytes.size() >= 4 * count; ++k) {
    int32_t value;
    std::memcpy(&value, bytes.data() + bytes.size() - 4 * (count - k), 4);
    values.push_back(value);
  }
  return values;
}

/// Returns the values of `function` (of d) at the offsets low … low + count - 1, as a kernel uses it to read a table.
std::vector<int64_t> valuesOf(const std::string &function, int64_t low, int64_t count, const std::string &more = "") {
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  std::string text = more + "\nscheme f(d) = " + function + "\nkernel k(table : f32[4000]) -> f32[" +
                     std::to_string(count) + "] {\n  return einsum(\"(f(i - " + std::to_string(-low) +
                     ") + 2000) -> i\", table, i = " + std::to_string(count) + ")\n}\n";
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
  std::string messages;
  llvm::raw_string_ostream out(messages);
  auto module = language::importSource(sources, {}, &context, out);
  EXPECT_TRUE(bool(module)) << messages;
  std::vector<int64_t> values;
  if (!module)
    return values;
  module->walk([&](attn::EinsumOp op) {
    attn::ResolvedEinsum resolved = attn::resolve(op);
    for (int64_t i = 0; i < count; ++i)
      values.push_back(subscript::evaluate(resolved.subscripts[0][0], {{"i", i}}).value_or(9999) - 2000);
  });
  return values;
}

std::vector<double> evaluated(const std::string &text, std::vector<reference::Tensor> inputs = {}) {
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
  std::string messages;
  llvm::raw_string_ostream out(messages);
  auto module = language::importSource(sources, {}, &context, out);
  EXPECT_TRUE(bool(module)) << messages;
  if (!module)
    return {};
  reference::Interpreter interpreter(*module->getOps<mlir::func::FuncOp>().begin(), std::move(inputs));
  std::vector<int64_t> shape = interpreter.resultShape();
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    rows *= shape[d];
  std::vector<double> all;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> leading(shape.size() - 1);
    int64_t rest = row;
    for (size_t d = leading.size(); d-- > 0; rest /= shape[d])
      leading[d] = rest % shape[d];
    auto values = interpreter.row(leading);
    EXPECT_TRUE(values.has_value()) << values.reason;
    if (values)
      all.insert(all.end(), values->begin(), values->end());
  }
  return all;
}

} // namespace

TEST(CompileTime, BucketsAreTheModelsOwn) {
  EXPECT_EQ(valuesOf("t5_bucket(d)", -159, 319), bucketsOf("t5-n160", 319));
  // The models' causal buckets of keys after the query are 0, as here.
  EXPECT_EQ(valuesOf("t5_bucket_causal(d)", -159, 319), bucketsOf("t5-causal-n160", 319));
  EXPECT_EQ(valuesOf("t5_bucket_causal(d)", -69, 70), bucketsOf("t5-decode-q6-k70", 70));
  EXPECT_EQ(valuesOf("wavlm_bucket(d, 64, 80)", -99, 199), bucketsOf("wavlm-n100", 199));
  EXPECT_EQ(valuesOf("clamp(deberta_bucket(d, 8, 32) + 8, 0, 15)", -39, 79), bucketsOf("deberta-v2-n40", 79));
  EXPECT_EQ(valuesOf("clamp(deberta_bucket(d, 16, 64) + 16, 0, 31)", -47, 95), bucketsOf("deberta-v3-n48", 95));
}

TEST(CompileTime, RoundingIsWhatIsWritten) {
  // One operation at a time in f32, unless inside f64(…): 1/3 is not the same number.
  EXPECT_EQ(valuesOf("select(d / 3 == f64(d / 3), 1, 0)", 1, 1), std::vector<int64_t>{0});
  EXPECT_EQ(valuesOf("select(d / 2 == f64(d / 2), 1, 0)", 1, 1), std::vector<int64_t>{1});
  // 2^24 + 1 is no f32.
  EXPECT_EQ(valuesOf("floor((d * 1.0 + 16777216) - 16777216)", 1, 1), std::vector<int64_t>{0});
  EXPECT_EQ(valuesOf("floor(f64((d * 1.0 + 16777216) - 16777216))", 1, 1), std::vector<int64_t>{1});
  // Edges of buckets move when constants are folded: T5's in f64 at 64, DeBERTa's in f32 at 511.
  auto differences = [](const std::string &one, const std::string &other, int64_t low) {
    std::vector<int64_t> a = valuesOf(one, low, 500), b = valuesOf(other, low, 500), where;
    for (size_t k = 0; k < a.size() && k < b.size(); ++k)
      if (a[k] != b[k])
        where.push_back(low + static_cast<int64_t>(k));
    return where;
  };
  EXPECT_EQ(differences("floor(f64(log(d / 8) / log(16) * 8))", "floor(f64(log(d / 8) * (8 / log(16))))", 8),
            std::vector<int64_t>{64});
  EXPECT_EQ(differences("floor(log(d / 8) / log(16) * 8)", "floor(log(d / 8) * (8 / log(16)))", 8),
            std::vector<int64_t>{});
  EXPECT_EQ(differences("deberta_bucket(d) - 128", "ceil(log(d / 128) * (127 / log(511 / 128)))", 129),
            std::vector<int64_t>{511});
}

TEST(CompileTime, FunctionsOfWholeNumbers) {
  EXPECT_EQ(valuesOf("floor(sqrt(d))", 0, 10), (std::vector<int64_t>{0, 1, 1, 1, 2, 2, 2, 2, 2, 3}));
  EXPECT_EQ(valuesOf("ceil(d / 3)", -3, 7), (std::vector<int64_t>{-1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(valuesOf("-floor(d / 2 + 0.5) % 3", 0, 4), (std::vector<int64_t>{0, 2, 2, 1}));
  EXPECT_EQ(valuesOf("floor(2^d) // 3", 0, 5), (std::vector<int64_t>{0, 0, 1, 2, 5}));
  EXPECT_EQ(valuesOf("select(not (d > 1.5) and d / 2 != 0.5, 7, -7)", 0, 4), (std::vector<int64_t>{7, -7, -7, -7}));
  EXPECT_EQ(valuesOf("min(floor(exp(d)), max(d, 2) * 1)", 0, 4), (std::vector<int64_t>{1, 2, 2, 3}));
  EXPECT_EQ(valuesOf("clamp(floor(d * 1.5), -1, 4)", -2, 6), (std::vector<int64_t>{-1, -1, 0, 1, 3, 4}));
}

TEST(CompileTime, TablesAreAsLongAsTheOffsetsAre) {
  Imported r = import("param N = 300\nkernel k(table : f32[64, 2]) -> f32[2, N, N] {\n"
                      "  return einsum(\"(t5_bucket(j - i)) h -> h i j\", table, i = N)\n}\n");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "([15 x 209, 14 x 27,"));
  EXPECT_TRUE(contains(r.module, "][j - i + 299]) h -> h i j"));
  // Two offsets, one a direction: a table over both.
  r = import(
      "param H = 5, W = 7\nkernel k(table : f32[9]) -> f32[H*W, H*W] {\n"
      "  return einsum(\"(floor(sqrt((jy - iy)^2 + (ix - jx)^2))) -> (iy ix) (jy jx)\", table, iy = H, ix = W, "
      "jy = H, jx = W)\n}\n");
  ASSERT_TRUE(r.good) << r.messages;
}

TEST(CompileTime, FunctionsAsTensors) {
  // Arithmetic stays arithmetic; any other function is a constant over the offsets.
  Imported r = import("kernel k(x : f32[6, 6]) -> f32[6, 6] {\n"
                      "  y = einsum(\"i j -> i j\", x)\n  return y + exp(-0.5 * abs(i - j)) - 0.25 * (i - j)\n}\n");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "tensor<11xf32>"));
  EXPECT_TRUE(contains(r.module, "attn.position \"i j\" = \"i - j\""));
  std::vector<double> values = evaluated("kernel k(x : f32[3, 3]) -> f32[3, 3] {\n"
                                         "  y = einsum(\"i j -> i j\", x)\n  return y + sqrt(i + 2*j)\n}\n",
                                         {{{3, 3}, std::vector<double>(9, 1)}});
  ASSERT_EQ(values.size(), 9u);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      EXPECT_EQ(values[3 * i + j], 1 + static_cast<double>(static_cast<float>(std::sqrt(i + 2.0 * j))));
}

TEST(CompileTime, SinusoidsOfThePaper) {
  std::vector<double> golden = {0,      1,       0,      1,      0.8415, 0.5403,  0.0998, 0.9950,
                                0.9093, -0.4161, 0.1987, 0.9801, 0.1411, -0.9900, 0.2955, 0.9553};
  std::vector<double> values = evaluated("kernel k() -> f32[4, 4] {\n  return sincos1d(4, 4, base = 100)\n}\n");
  ASSERT_EQ(values.size(), golden.size());
  for (size_t k = 0; k < golden.size(); ++k)
    EXPECT_NEAR(values[k], golden[k], 5e-5) << k;
  EXPECT_SAYS(
      rejected("kernel k() -> f32[4, 7] {\n  return sincos1d(4, 7)\n}\n"),
      "test.attn:2:10: error: scheme 'sincos1d': half of the channels are sines and half cosines, so c is even");
  EXPECT_SAYS(rejected("kernel k() -> f32[4, 7] {\n  return sincos1d(4, 7)\n}\n"), "note: required here, with c = 7");
}

TEST(CompileTime, Tabulate) {
  EXPECT_EQ(evaluated("kernel k() -> f32[2, 3] {\n  return tabulate(10*a + b, a = 2, b = 3)\n}\n"),
            (std::vector<double>{0, 1, 2, 10, 11, 12}));
  // Other axes have a length.
  EXPECT_EQ(evaluated("scheme s(x : [n]) = tabulate(a + len(n), a = 3)\n"
                      "kernel k(x : f32[4]) -> f32[3] {\n  return s(x)\n}\n",
                      {{{4}, {0, 0, 0, 0}}}),
            (std::vector<double>{4, 5, 6}));
  EXPECT_SAYS(rejected("kernel k() -> f32[3] { return tabulate(log(a), a = 3) }"),
              "1:40: error: the value at a = 0 is no finite number of type f32");
  EXPECT_SAYS(rejected("kernel k() -> f32[3] { return tabulate(1) }"), "usage: tabulate(");
  EXPECT_SAYS(rejected("kernel k() -> f32[3] { return tabulate(a + b, a = 3) }"), "1:44: error: unknown name 'b'");
  EXPECT_SAYS(rejected("kernel k() -> f32[3] { return tabulate(a, a = 0) }"), "1:47: error: a table has 1 to 2^24");
  EXPECT_SAYS(rejected("kernel k() -> f32[3] { return tabulate(a, a = 5000, b = 5000) }"), "a table has 1 to 2^24");
  EXPECT_SAYS(rejected("kernel k(x : f32[3]) -> f32[3] { return tabulate(x, a = 3) }"),
              "1:50: error: 'tabulate' takes a function of the positions along its axes, found a tensor [3]");
}

TEST(CompileTime, WhatAnIndexCannotBe) {
  auto einsum = [](const std::string &index) {
    return rejected("param N = 600\nkernel k(t : f32[8]) -> f32[N, N] {\n  return einsum(\"(" + index +
                    ") -> i j\", t, i = N, j = N)\n}\n");
  };
  EXPECT_SAYS(einsum("sqrt(i)"), "test.attn:3:19: error: what is called in an index expression gives a whole number or "
                                 "a position, but this function of positions is real-valued");
  // A division of positions gives its rounding; a division of numbers must leave no rest.
  EXPECT_SAYS(einsum("i / 100"),
              "3:19: error: an index expression is a whole number or an expression of positions, but "
              "this function of positions is real-valued");
  EXPECT_SAYS(einsum("i // (N / 7)"), "error: '//' takes whole numbers and positions, found the number 85.7");
  EXPECT_SAYS(einsum("floor(log(j - i))"), "3:19: error: this function of positions has no value at j - i = -599");
  EXPECT_SAYS(einsum("floor(sqrt(i * j))"), "error: the table of this function would have 360000 entries");
  EXPECT_SAYS(einsum("floor(sqrt(i * j))"), "note: it depends on i, j; write it as a function of one offset");
  EXPECT_SAYS(einsum("floor(sqrt(abs(k - i)))"), "3:34: error: unknown name 'k'");
  EXPECT_SAYS(einsum("flor(i / 2)"), "unknown function or scheme 'flor' (did you mean 'floor'?)");
  EXPECT_SAYS(einsum("floor(i / 2"), "is never closed");
  EXPECT_SAYS(einsum("floor(sqrt(i)) + 1"), "table 't' is read outside its rows");
  EXPECT_SAYS(rejected("kernel k(t : f32[8]) -> f32[8] {\n  x = einsum(\"i -> i\", t)\n  return x * t[i / 2]\n}\n"),
              "3:16: error: an index is a whole number or an expression of positions, but this function of positions "
              "is real-valued");
  EXPECT_SAYS(
      rejected("kernel k(t : f32[8]) -> f32[8] {\n  return f64(t)\n}\n"),
      "2:14: error: 'f64' takes a function of positions, which is computed at compile time, found a tensor [8]");
  EXPECT_SAYS(rejected("size n\nkernel k(t : f32[n, 8]) -> f32[n, 8] {\n  x = einsum(\"m d -> m d\", t)\n"
                       "  return x if floor(sqrt(m)) > 1 else 0\n}\n"),
              "needs a size known at compile time; 'm' has the run-time size 'n'");
}

TEST(CompileTime, FunctionsThatDouble) {
  std::string text = "scheme twice(d) = d * (d - 1) / 3\n";
  std::string call = "j";
  for (int n = 0; n < 24; ++n)
    call = "twice(" + call + ")";
  EXPECT_SAYS(
      rejected(text + "kernel k(t : f32[8]) -> f32[8] {\n  x = einsum(\"j -> j\", t)\n  return x * " + call + "\n}\n"),
      "this function of positions, written out, has more than 16384 operations");
}

TEST(CompileTime, ConditionsThatGrow) {
  std::string moved = "kernel k(x : f32[4, 64]) -> f32[4, 64] {\n"
                      "  z = einsum(\"i j -> i j\", x) where (i*7 + j) % 5 < 3 and j % 7 != i\n";
  std::string last = "z", added = "kernel k(x : f32[8, 8]) -> f32[8, 8] {\n  z = einsum(\"i j -> i j\", x)\n";
  for (int n = 0; n < 12; ++n) {
    std::string rows = std::to_string(4 + n), next = "z" + std::to_string(n);
    moved +=
        "  " + next + " = pad(rearrange(reshape(" + last + ", [64, " + rows + "]), \"a b -> b a\"), (1, 0), (0, 0))\n";
    last = next;
  }
  EXPECT_SAYS(rejected(moved + "  return softmax(reshape(" + last + ", [16, 64])[:4, :])\n}\n"),
              "2:37: error: this condition cannot be followed through so many moves of elements");
  last = "z";
  for (int n = 0; n < 257; ++n) {
    std::string next = "z" + std::to_string(n);
    added += "  " + next + " = " + last + " + (0 if j != " + std::to_string(n) + "*i + 1 else -inf)\n";
    last = next;
  }
  EXPECT_SAYS(rejected(added + "  return softmax(" + last + ")\n}\n"),
              "error: more than 256 conditions with -inf come together here");
}

TEST(CompileTime, FunctionsByName) {
  // A function that has a name, inside a text and as a condition.
  Imported r = import(
      "param N = 16\nkernel k(t : f32[5]) -> f32[N, N] {\n  x = einsum(\"(clamp(j - i, 0, 4)) -> i j\", t, i = N)\n"
      "  root = floor(sqrt(abs(j - i)))\n  y = einsum(\"(root + 1) -> i j\", t, i = N) if root < 3 else 0\n"
      "  return x + y\n}\n");
  ASSERT_TRUE(r.good) << r.messages;
  EXPECT_TRUE(contains(r.module, "where \"[0 x 7, 1 x 17, 0 x 7][j - i + 15]\""));
}

TEST(CompileTime, Requirements) {
  const char *text = "scheme half(x : [n, d]) {\n  require len(d) % 2 == 0, \"d is even\"\n  return x * 0.5\n}\n"
                     "kernel k(x : f32[3, 5]) -> f32[3, 5] {\n  return half(x)\n}\n";
  EXPECT_EQ(rejected(text), "test.attn:6:10: error: scheme 'half': d is even\n  return half(x)\n         ^~~~~~~\n"
                            "test.attn:2:11: note: required here\n  require len(d) % 2 == 0, \"d is even\"\n"
                            "          ^~~~~~~~~~~~~~~\n");
  EXPECT_TRUE(
      import("param N = 4\nkernel k(x : f32[N]) -> f32[N] {\n  require N > 3, 'N is large'\n  return x\n}\n").good);
  EXPECT_SAYS(rejected("param N = 4\nkernel k(x : f32[N]) -> f32[N] {\n  require N > 5, 'N is large'\n  return x\n}\n"),
              "test.attn:3:11: error: N is large");
  EXPECT_SAYS(rejected("kernel k(x : f32[3]) -> f32[3] {\n  require x > 5, 'no'\n  return x\n}\n"), "2:11: error: 'require' takes");
  EXPECT_SAYS(rejected("kernel k(x : f32[3]) -> f32[3] {\n  require 1 > 5\n  return x\n}\n"),
              "expected ',' after the condition");
  EXPECT_SAYS(rejected("kernel k(x : f32[3]) -> f32[3] {\n  require 1 > 5, 7\n  return x\n}\n"),
              "2:18: error: expected what to say where the condition does not hold, in quotes");
  EXPECT_SAYS(rejected("kernel k(x : f32[3]) -> f32[3] {\n  require = x * 2\n  return x\n}\n"),
              "2:3: error: 'require' is a word of the language and names nothing else");
}

TEST(CompileTime, Concatenation) {
  EXPECT_EQ(evaluated("kernel k(a : f32[2, 1], b : f32[2, 3]) -> f32[2, 4] {\n  return concat(a, b, dim = 1)\n}\n",
                      {{{2, 1}, {1, 2}}, {{2, 3}, {3, 4, 5, 6, 7, 8}}}),
            (std::vector<double>{1, 3, 4, 5, 2, 6, 7, 8}));
  // A class token that all images share: repeated over the batch.
  EXPECT_EQ(evaluated("size batch\nkernel k(x : f32[batch, 2, 2], token : f32[2]) -> f32[batch, 3, 2] {\n"
                      "  return concat(token, x, dim = -2)\n}\n",
                      {{{2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}}, {{2}, {9, 9.5}}}),
            (std::vector<double>{9, 9.5, 1, 2, 3, 4, 9, 9.5, 5, 6, 7, 8}));
  auto errors = [](const std::string &call) {
    return rejected(
        "size batch\nkernel k(x : f32[batch, 2, 2], y : f32[batch, 3, 4], z : f32[2]) -> f32[2] {\n  return " + call +
        "\n}\n");
  };
  EXPECT_SAYS(errors("concat(x, y, dim = 1)"),
              "3:20: error: dimension 2 has size 4, but 2 in a part before; only along "
              "dim = 1 may sizes differ");
  EXPECT_SAYS(errors("concat(x, x)"), "3:17: error: tensors are joined along a size known at compile time, but "
                                      "dimension 0 has the run-time size 'batch'");
  EXPECT_SAYS(errors("concat(x, x, dim = 3)"),
              "3:29: error: the tensors have 3 dimensions, counted from 0; found dim = 3");
  EXPECT_SAYS(errors("concat(x, 3, dim = 1)"), "argument 2 of 'concat' is a tensor, found the number 3");
}

TEST(CompileTime, RotaryPositions) {
  auto rope = [](const std::string &call, int dim) {
    return "kernel k(x : f32[1, 1, 6, " + std::to_string(dim) + "]) -> f32[1, 1, 6, " + std::to_string(dim) +
           "] {\n  return " + call + "\n}\n";
  };
  auto input = [](int dim) {
    reference::Tensor x{{1, 1, 6, dim}, {}};
    for (int k = 0; k < 6 * dim; ++k)
      x.values.push_back(std::sin(1.0 + k));
    return x;
  };
  struct Layout {
    const char *call;
    bool half, map;
    int start, prefix;
  };
  for (const Layout &layout : {Layout{"rope(x, base = 100, start = 3)", false, false, 3, 0},
                               Layout{"rope_half(x, base = 100)", true, false, 0, 0},
                               Layout{"rope(x, base = 100, prefix = 2)", false, false, 0, 2},
                               Layout{"rope2d(x, map = (3, 2), base = 100)", false, true, 0, 0},
                               Layout{"rope2d_half(x, map = (2, 2), base = 100, prefix = 2)", true, true, 0, 2}}) {
    std::vector<double> got = evaluated(rope(layout.call, 8), {input(8)});
    std::vector<double> x = input(8).values;
    ASSERT_EQ(got.size(), x.size()) << layout.call;
    for (int n = 0; n < 6; ++n)
      for (int pair = 0; pair < 4; ++pair) {
        double position = n < layout.prefix ? 0 : n - layout.prefix + layout.start, steps = 4;
        int k = pair;
        if (layout.map) {
          position = n < layout.prefix ? 0 : pair < 2 ? (n - layout.prefix) / 2 : (n - layout.prefix) % 2;
          steps = 2, k = pair % 2;
        }
        double angle = position * std::pow(100.0, -k / steps);
        int first = n * 8 + (layout.half ? pair : 2 * pair), second = first + (layout.half ? 4 : 1);
        EXPECT_NEAR(got[first], x[first] * std::cos(angle) - x[second] * std::sin(angle), 1e-6) << layout.call;
        EXPECT_NEAR(got[second], x[second] * std::cos(angle) + x[first] * std::sin(angle), 1e-6) << layout.call;
      }
  }
  EXPECT_SAYS(rejected(rope("rope(x)", 7)), "test.attn:2:10: error: scheme 'rope': dimensions turn in pairs");
  EXPECT_SAYS(rejected(rope("rope2d(x, map = (3, 2))", 6)),
              "2:10: error: scheme 'rope2d': pairs of dimensions turn with");
  EXPECT_SAYS(rejected(rope("rope2d(x, map = (3, 3))", 8)),
              "scheme 'rope2d': there is a token for each place of the map");
}

TEST(CompileTime, BuiltInSchemesSeeNothingOfTheFile) {
  // Names that schemes use inside.
  EXPECT_TRUE(import("param t = 3, k = 4, P = 5, f = 6, half = 7\nkernel q(x : f32[1, 1, t, k]) -> f32[1, 1, t, k] {\n"
                     "  return rope(x) + sincos1d(t, k)\n}\n")
                  .good);
}
