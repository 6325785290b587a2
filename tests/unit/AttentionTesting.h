// Makes attentions from a few words, for the tests of the analyses and schedules, and evaluates their masks by brute
// force.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "passes/Analysis/AttentionShape.h"
#include "passes/Cpu/Schedule/ChosenStrategies.h"
#include "llvm/ADT/STLExtras.h"
#include <gtest/gtest.h>

namespace skewer::testing {

/// One term: subscripts such as "b h i d, (j - i + 5) d", the shapes of its operands ("2x6x8"), and the text after them
/// ("times …", "where …").
struct TermText {
  std::string subscripts;
  std::vector<std::string> shapes = {};
  std::string rest = "scale 1.0";
  std::string indices = {};
};

struct AttentionText {
  std::string space = "h i j", sizes = {}, mask = {};
  std::string value = "h j e -> h i e", valueShape = "2x9x8", resultShape = "2x7x8";
  std::vector<TermText> score = {}, values = {};
  std::string arguments = {}; // further ones: run-time index operands
};

/// Returns a layer with one content term, 40 queries and 48 keys.
inline AttentionText contentLayer() {
  AttentionText layer;
  layer.valueShape = "2x48x8", layer.resultShape = "2x40x8";
  layer.score = {{"h i d, h j d", {"2x40x8", "2x48x8"}, "scale 0.25"}};
  return layer;
}

/// A function with one attention, and its context.
class ParsedAttention {
public:
  explicit ParsedAttention(const AttentionText &text) {
    context.loadDialect<attn::AttnDialect, mlir::func::FuncDialect>();
    auto tensor = [](const std::string &shape) { return "tensor<" + shape + "xf32>"; };
    std::string arguments = "%v: " + tensor(text.valueShape), terms;
    size_t count = 0;
    auto add = [&](const std::vector<TermText> &list) {
      for (const TermText &term : list) {
        std::string operands, types;
        for (const std::string &shape : term.shapes) {
          std::string name = "%a" + std::to_string(count++);
          arguments += ", " + name + ": " + tensor(shape);
          operands += (operands.empty() ? "" : ", ") + name;
          types += (types.empty() ? " : " : ", ") + tensor(shape);
        }
        terms += "    attn.term \"" + term.subscripts + "\"" + term.indices + "(" + operands + ") " + term.rest +
                 types + "\n";
      }
    };
    add(text.score);
    if (!text.values.empty()) {
      terms += "  } values {\n";
      add(text.values);
    }
    std::string source = "func.func @f(" + arguments + text.arguments + ") -> " + tensor(text.resultShape) +
                         " attributes {attn.kernel} {\n  %o = attn.attention \"" + text.space + "\"" + text.mask +
                         text.sizes + " value \"" + text.value + "\" (%v) score {\n" + terms +
                         "  } : " + tensor(text.valueShape) + " -> " + tensor(text.resultShape) +
                         "\n  return %o : " + tensor(text.resultShape) + "\n}\n";
    module = mlir::parseSourceString<mlir::ModuleOp>(source, &context);
    EXPECT_TRUE(module) << source;
    if (module)
      module->walk([&](attn::AttentionOp found) { op = found; });
  }
  explicit operator bool() const { return bool(op); }

  std::optional<AttentionShape> shape() {
    auto shape = op ? shapeOfAttention(op) : Refusal{"there is no attention"};
    EXPECT_TRUE(shape) << shape.reason();
    return shape;
  }

  attn::AttentionOp op;

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// Returns the cost model's choice, if a strategy fits each term.
inline ChosenStrategies chosenBy(const TermStrategies &known, const AttentionShape &shape, const Target &target) {
  auto chosen = chooseStrategies(shape, known, target);
  EXPECT_TRUE(chosen) << chosen.reason();
  return chosen.value_or(ChosenStrategies());
}

/// Sets the axes' values at a flat position.
inline void setAxes(subscript::Assignment &at, const std::vector<std::string> &axes, const attn::ScoreSpace &space,
                    int64_t position) {
  for (const std::string &axis : llvm::reverse(axes)) {
    at[axis] = position % space.sizes.at(axis);
    position /= space.sizes.at(axis);
  }
}

/// Returns whether the query sees the key, by the mask's text. Masks of leading axes do not count.
inline bool sees(attn::AttentionOp attention, const attn::ScoreSpace &space, int64_t query, int64_t key) {
  if (!attention.getMask())
    return true;
  auto mask = subscript::parse(std::string_view(*attention.getMask()));
  subscript::Assignment at;
  setAxes(at, space.query, space, query);
  setAxes(at, space.key, space, key);
  return mask && subscript::evaluate(*mask, at).value_or(0) != 0;
}

} // namespace skewer::testing
