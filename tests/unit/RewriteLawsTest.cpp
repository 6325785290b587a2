// Tests that every rewrite of einsums and sums adds as many terms as were written. Random programs of repetitions,
// concatenations, moves, guards and sums run before fusion and after it in the float64 interpreter.
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Passes.h"
#include "passes/Pipelines/Pipelines.h"
#include "tests/unit/FusionTesting.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace {
using namespace mlir;
using namespace skewer;
using namespace skewer::attn;

/// One random program, operation by operation.
class RandomProgram {
public:
  explicit RandomProgram(unsigned seed) : engine(seed) {
    for (int k = 0; k < 3; ++k) {
      std::vector<int64_t> shape;
      for (int64_t d = 0, rank = 1 + below(3); d < rank; ++d)
        shape.push_back(1 + below(4));
      std::string name = "%x" + std::to_string(k);
      arguments += (k ? ", " : "") + name + ": " + typeOf(shape);
      values.push_back({name, shape});
    }
    for (int64_t step = 0, steps = 3 + below(5); step < steps; ++step)
      grow();
  }

  std::string text() const {
    const Tensor &last = values.back();
    return "func.func @f(" + arguments + ") -> " + typeOf(last.shape) + " {\n" + body + "  return " + last.name +
           " : " + typeOf(last.shape) + "\n}\n";
  }

private:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
  };
  int64_t below(int64_t k) { return std::uniform_int_distribution<int64_t>(0, k - 1)(engine); }
  static std::string typeOf(const std::vector<int64_t> &shape) {
    std::string text = "tensor<";
    for (int64_t size : shape)
      text += std::to_string(size) + "x";
    return text + "f32>";
  }
  static std::string list(const std::vector<int64_t> &numbers) {
    std::string text;
    for (int64_t number : numbers)
      text += (text.empty() ? "" : ", ") + std::to_string(number);
    return "[" + text + "]";
  }
  /// Returns one of the tensors; later ones are more likely.
  const Tensor &any() {
    return values[values.size() - 1 - std::min<int64_t>(below(values.size()), below(values.size()))];
  }
  void add(const std::string &operation, const std::vector<int64_t> &shape) {
    std::string name = "%v" + std::to_string(values.size());
    body += "  " + name + " = " + operation + "\n";
    values.push_back({name, shape});
  }

  void grow() {
    Tensor x = any();
    switch (below(7)) {
    case 0:
      return x.shape.size() < 4 ? repeat(x) : sum();
    case 1:
      return x.shape.empty() ? sum() : concat(x);
    case 2:
      return x.shape.empty() ? sum() : cut(x);
    case 3:
      return arithmetic(x);
    default:
      return sum();
    }
  }

  void repeat(const Tensor &x) {
    size_t place = static_cast<size_t>(below(static_cast<int64_t>(x.shape.size()) + 1));
    int64_t times = 1 + below(4);
    std::string from, to;
    std::vector<int64_t> shape;
    for (size_t d = 0; d <= x.shape.size(); ++d) {
      if (d == place)
        to += " r", shape.push_back(times);
      if (d < x.shape.size())
        from += " a" + std::to_string(d), to += " a" + std::to_string(d), shape.push_back(x.shape[d]);
    }
    add("attn.rearrange \"" + from + " ->" + to + "\" sizes {r = " + std::to_string(times) + " : i64} " + x.name +
            " : " + typeOf(x.shape) + " to " + typeOf(shape),
        shape);
  }

  void concat(const Tensor &x) {
    size_t along = static_cast<size_t>(below(static_cast<int64_t>(x.shape.size())));
    Tensor other = x;
    for (const Tensor &value : values)
      if (value.shape == x.shape && below(2))
        other = value;
    std::vector<int64_t> shape = x.shape;
    shape[along] *= 2;
    if (shape[along] > 6)
      return cut(x);
    add("attn.concat " + x.name + ", " + other.name + " dimension " + std::to_string(along) + " : (" + typeOf(x.shape) +
            ", " + typeOf(x.shape) + ") -> " + typeOf(shape),
        shape);
  }

  void cut(const Tensor &x) {
    std::vector<int64_t> shape = x.shape, first(x.shape.size(), 0), second(x.shape.size(), 0);
    bool pads = below(3) == 0;
    size_t d = static_cast<size_t>(below(static_cast<int64_t>(shape.size())));
    if (pads) {
      first[d] = below(2), second[d] = below(2);
      shape[d] += first[d] + second[d];
      add("attn.pad " + x.name + " low " + list(first) + " high " + list(second) + " : " + typeOf(x.shape) + " to " +
              typeOf(shape),
          shape);
      return;
    }
    first[d] = below(shape[d]);
    shape[d] = 1 + below(shape[d] - first[d]);
    add("attn.slice " + x.name + " offsets " + list(first) + " strides " + list(std::vector<int64_t>(shape.size(), 1)) +
            " : " + typeOf(x.shape) + " to " + typeOf(shape),
        shape);
  }

  void arithmetic(const Tensor &x) {
    Tensor other = x;
    for (const Tensor &value : values)
      if (value.shape == x.shape && below(2))
        other = value;
    const char *names[] = {"arith.addf", "arith.subf", "arith.mulf"};
    add(names[below(3)] + (" " + x.name + ", " + other.name + " : " + typeOf(x.shape)), x.shape);
  }

  /// Makes an einsum of one to three operands, which may be equal: axes, products of axes, index expressions, a guard.
  void sum() {
    std::map<std::string, int64_t> sizes, untold;
    std::vector<std::string> axes;
    std::string text, operands, types;
    auto fresh = [&](int64_t size) {
      axes.push_back(std::string(1, static_cast<char>('a' + axes.size())));
      sizes[axes.back()] = size;
      return axes.back();
    };
    std::set<std::string> told;
    for (int64_t k = 0, count = 1 + below(3); k < count; ++k) {
      Tensor x = any();
      std::string own;
      for (int64_t size : x.shape) {
        std::vector<std::string> fitting;
        for (const std::string &axis : axes)
          if (sizes[axis] == size)
            fitting.push_back(axis);
        std::string place;
        if (!axes.empty() && below(5) == 0) {
          std::string one = axes[below(axes.size())], two = axes[below(axes.size())], last = std::to_string(size - 1);
          std::string options[] = {"clamp(" + one + " - " + two + ", 0, " + last + ")",
                                   "min(" + one + " floordiv 2, " + last + ")",
                                   "(" + one + " + " + two + ") mod " + std::to_string(size), last};
          place = "(" + options[below(4)] + ")";
        } else if (axes.size() < 6 && (fitting.empty() || below(3) == 0)) {
          place = fresh(size);
          told.insert(place);
        } else if (!fitting.empty()) {
          place = fitting[below(fitting.size())];
          told.insert(place);
        } else {
          place = "(" + std::to_string(below(size)) + ")";
        }
        own += " " + place;
      }
      text += (k ? "," : "") + own;
      operands += (k ? ", " : "") + x.name;
      types += (k ? ", " : "") + typeOf(x.shape);
    }
    std::string result;
    std::vector<int64_t> shape;
    for (const std::string &axis : axes)
      if (told.count(axis) && shape.size() < 3 && below(2)) {
        result += " " + axis;
        shape.push_back(sizes[axis]);
      }
    std::string guard;
    if (!told.empty() && below(4) == 0) {
      std::vector<std::string> known(told.begin(), told.end());
      guard = " where \"" + known[below(known.size())] + " <= " + std::to_string(below(5)) + "\"";
    }
    add("attn.einsum \"" + text + " ->" + result + "\"" + guard + "(" + operands + ") : (" + types + ") -> " +
            typeOf(shape),
        shape);
  }

  std::mt19937 engine;
  std::string arguments, body;
  std::vector<Tensor> values;
};

class RewriteLaws : public skewer::testing::RewriteTest {
protected:
  static std::string print(ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    module.print(stream);
    return text;
  }
};
} // namespace

TEST_F(RewriteLaws, RandomProgramsKeepTheirMeaning) {
  int changed = 0, programs = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    std::string text = RandomProgram(seed).text();
    OwningOpRef<ModuleOp> module;
    {
      ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) { return success(); }); // no proof may cover an index
      module = parseSourceString<ModuleOp>(text, &context);
    }
    if (!module)
      continue;
    ++programs;
    auto inputs = randomInputs(kernel(*module), seed);
    std::vector<double> expected = evaluate(kernel(*module), inputs);
    std::string before = print(*module);
    PassManager manager(&context);
    addFusionPipeline(manager);
    ASSERT_TRUE(succeeded(manager.run(*module))) << text;
    bool hasAttention = module->walk([](AttentionOp) { return WalkResult::interrupt(); }).wasInterrupted();
    std::string after = print(*module);
    changed += before != after;
    if (hasAttention)
      continue;
    std::vector<double> actual = evaluate(kernel(*module), inputs);
    ASSERT_EQ(actual.size(), expected.size()) << text << after;
    for (size_t k = 0; k < expected.size(); ++k)
      ASSERT_NEAR(actual[k], expected[k], 1e-6 * (1 + std::fabs(expected[k])))
          << "seed " << seed << ", element " << k << "\n"
          << text << after;
  }
  EXPECT_GT(programs, 400);
  EXPECT_GT(changed, 250);
}
