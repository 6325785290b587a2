// Finds what factors are computed from.
#include "passes/Gpu/Shape/ProductType.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "passes/Stages/NarrowRows.h"
#include "passes/Stages/Stages.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace skewer;

/// Returns whether a tensor holds f32, and so does the largest of the layer's operands that it is computed from: an
/// activation, and not a bias or a scale that goes with it.
static bool isOfF32(Value tensor) {
  if (!getElementTypeOrSelf(tensor).isF32())
    return false;
  llvm::SetVector<Value> made;
  made.insert(tensor);
  int64_t largest = 0;
  bool isWide = true;
  for (size_t number = 0; number < made.size(); ++number) {
    Value value = made[number];
    if (Operation *maker = value.getDefiningOp()) {
      maker->walk([&](Operation *inner) { // the terms of an attention are operations inside it
        for (Value operand : inner->getOperands())
          if (isa<RankedTensorType>(operand.getType()))
            made.insert(operand);
      });
      continue;
    }
    Type type = getElementTypeOrSelf(value);
    if (type.isInteger(32)) // indices
      continue;
    int64_t elements = countElements(value);
    if (elements >= largest)
      isWide = type.isF32() && (isWide || elements > largest);
    largest = std::max(largest, elements);
  }
  return isWide;
}

SmallVector<Value> skewer::gpu::factorsOf(attn::AttentionOp attention, const AttentionShape &shape) {
  SmallVector<Value> operands = operandsOf(attention), factors;
  for (const ContentTerm &term : shape.content)
    factors.append({operands[term.query.argument], operands[term.key.argument]});
  factors.push_back(operands[shape.value.argument]);
  return factors;
}

/// Returns the type to which the attention's result is rounded.
static Type typeOfResult(attn::AttentionOp attention) {
  Value result = attention.getResult();
  auto rounded = result.hasOneUse() ? dyn_cast<arith::TruncFOp>(*result.user_begin()) : arith::TruncFOp();
  return getElementTypeOrSelf(rounded ? rounded.getResult() : result);
}

Type skewer::gpu::typeOfProducts(attn::AttentionOp attention, const AttentionShape &shape) {
  SmallVector<Value> factors = factorsOf(attention, shape);
  const Value *narrow = llvm::find_if(factors, [](Value factor) {
    Type type = getElementTypeOrSelf(factor);
    return type.isF16() || type.isBF16();
  });
  Type wide = Float32Type::get(attention.getContext());
  if (narrow == factors.end()) {
    Type result = typeOfResult(attention);
    bool ofBytes = llvm::any_of(factors, [](Value factor) { return narrowRows(factor).has_value(); });
    return ofBytes && llvm::none_of(factors, isOfF32) && (result.isF16() || result.isBF16()) ? result : wide;
  }
  bool isWide = false;
  for (size_t query = 0; query + 1 < factors.size(); query += 2)
    isWide = isWide || (isOfF32(factors[query]) && isOfF32(factors[query + 1]));
  return isWide && isOfF32(factors.back()) ? wide : getElementTypeOrSelf(*narrow);
}
