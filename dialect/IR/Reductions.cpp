// attn.extremum: its verifier, and the resolution of its text.
#include "dialect/IR/Reductions.h"
#include "dialect/IR/Verification.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

ResolvedEinsum skewer::attn::resolve(ExtremumOp op) {
  auto resolved = resolve(op.getSpec(), op.getInput(), op.getSizesAttr(), std::nullopt);
  return resolved ? std::move(*resolved) : ResolvedEinsum();
}

LogicalResult ExtremumOp::verify() {
  static const SubscriptConstraints constraints = {"extremum_c1", "extremum_c1", "extremum_c2", "extremum_c2"};
  if (failed(verifyShapes(*this)) || failed(verifySizes(*this, getSizesAttr())))
    return failure();
  auto spec = verifySpecWithResult(*this, getSpec(), constraints.parses);
  if (!spec)
    return failure();
  for (const Dimensions &operand : spec->operands)
    for (const Dimension &dimension : operand)
      if (!dimension.isProduct())
        return emitOpError()
               << "spec \"" << getSpec()
               << "\" has an index expression; its dimensions are axes and products of axes (extremum_c1)";
  auto sizes = verifyOperands(*this, *spec, shapesOf(getInput()), sizesFrom(getSizesAttr()), constraints);
  if (!sizes)
    return failure();
  std::vector<std::string> known = Einsum{spec->operands, std::nullopt}.axes();
  for (const Dimension &dimension : *spec->result)
    for (const std::string &axis : dimension.axes)
      if (!llvm::is_contained(known, axis))
        return emitOpError() << "the result has an axis '" << axis << "' that the operand lacks (extremum_c3)";
  return verifyResult(*this, *spec->result, *sizes, getResult().getType(), "extremum_c4");
}

#define GET_OP_CLASSES
#include "dialect/IR/Reductions.cpp.inc"
