// attn-name-axes: names axes by their place, whatever names the program has.
#include "dialect/IR/Reductions.h"
#include "passes/Analysis/AxisNames.h"
#include "passes/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace skewer {
#define GEN_PASS_DEF_ATTNNAMEAXES
#include "passes/Passes.h.inc"
} // namespace skewer

using namespace mlir;
using namespace skewer;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// The new names of one operation's axes; they mean nothing outside of the operation.
class Names {
public:
  /// Names the axes of the result by their dimension; the axes of a product get the names of a map's axes.
  void nameResult(const Dimensions &result) {
    std::vector<std::string> stems = dimensionNames(result.size());
    for (auto [stem, dimension] : llvm::zip(stems, result))
      for (auto [axis, name] : llvm::zip(dimension.axes, axisNames(stem, dimension.axes.size())))
        give(axis, name);
  }
  /// Names the other axes in the order in which they come.
  void nameRest(const std::vector<std::string> &axes) {
    size_t count = 0;
    for (const std::string &axis : axes)
      if (!names.count(axis))
        give(axis, numbered(kDepthAxis, count++));
  }

  std::string of(const Expr &e) const { return print(renamed(e)); }
  Dimensions of(Dimensions dimensions) const {
    for (Dimension &dimension : dimensions) {
      for (std::string &axis : dimension.axes)
        axis = names.at(axis);
      dimension.index = renamed(dimension.index);
    }
    return dimensions;
  }
  DictionaryAttr of(DictionaryAttr sizes) const {
    if (!sizes)
      return sizes;
    AxisSizes result;
    for (const auto &[axis, size] : sizesFrom(sizes))
      if (auto name = names.find(axis); name != names.end())
        result[name->second] = size;
    return result.empty() ? DictionaryAttr() : sizesTo(sizes.getContext(), result);
  }

private:
  void give(const std::string &axis, const std::string &name) {
    names[axis] = name;
    substitution[axis] = Expr::symbol(name);
  }
  Expr renamed(const Expr &e) const { return substitute(e, substitution); }

  std::map<std::string, std::string> names;
  Substitution substitution;
};

struct NameAxes : skewer::impl::AttnNameAxesBase<NameAxes> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case([](EinsumOp einsum) {
            if (auto names = renameSpec(einsum); names && einsum.getGuard())
              if (auto guard = parse(std::string_view(*einsum.getGuard())))
                einsum.setGuard(names->of(*guard));
          })
          .Case([](RearrangeOp rearrange) { renameSpec(rearrange); })
          .Case([](ExtremumOp extremum) { renameSpec(extremum); })
          .Case([](SoftmaxOp softmax) { renameRows(softmax); })
          .Case([](LogSumExpOp logSumExp) { renameRows(logSumExp); })
          .Case([](PositionOp position) {
            auto axes = parseDimensions(std::string_view(position.getAxes()));
            auto expression = parse(std::string_view(position.getExpression()));
            if (!axes || !expression)
              return;
            Names names;
            names.nameResult(*axes);
            position.setAxes(print(names.of(*axes)));
            position.setExpression(names.of(*expression));
            position.setSizesAttr(names.of(position.getSizesAttr()));
          });
    });
  }

  template <typename Op> static std::optional<Names> renameSpec(Op op) {
    auto spec = parseEinsum(std::string_view(op.getSpec()));
    if (!spec || !spec->result)
      return std::nullopt;
    Names names;
    names.nameResult(*spec->result);
    names.nameRest(spec->axes());
    for (Dimensions &operand : spec->operands)
      operand = names.of(std::move(operand));
    spec->result = names.of(*spec->result);
    op.setSpec(print(*spec));
    op.setSizesAttr(names.of(op.getSizesAttr()));
    return names;
  }

  template <typename Op> static void renameRows(Op op) {
    auto axes = parseDimensions(std::string_view(op.getAxes()));
    auto over = parseDimensions(std::string_view(op.getOver()));
    auto mask = op.getMask() ? parse(std::string_view(*op.getMask())) : std::nullopt;
    if (!axes || !over || (op.getMask() && !mask))
      return;
    Names names;
    names.nameResult(*axes);
    op.setAxes(print(names.of(*axes)));
    op.setOver(print(names.of(*over)));
    if (mask)
      op.setMask(names.of(*mask));
    op.setSizesAttr(names.of(op.getSizesAttr()));
  }
};
} // namespace
