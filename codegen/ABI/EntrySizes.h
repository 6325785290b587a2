// The sizes of a call, as its argument struct gives them.
#pragma once
#include "codegen/ABI/EntryCode.h"
#include "codegen/ABI/ExtentValue.h"
#include "codegen/ABI/Layout.h"
#include "llvm/Support/MathExtras.h"

namespace skewer::entry {

class EntrySizes {
public:
  EntrySizes(EntryCode &code, const KernelPlan &plan, const ArgumentLayout &layout)
      : code(code), b(code.b), plan(plan), layout(layout) {}

  /// Returns x op y. Sets `overflow` to true if the result does not fit signed 64-bit numbers.
  Value *checked(llvm::Intrinsic::ID op, Value *x, Value *y, Value *&overflow) {
    Value *pair = b.CreateBinaryIntrinsic(op, x, y);
    overflow = b.CreateOr(overflow, b.CreateExtractValue(pair, 1));
    return b.CreateExtractValue(pair, 0);
  }
  Value *evaluate(const SizeExpression &size, Value *arguments, Value *&overflow) {
    if (size.scaled == 0)
      return b.getInt64(size.fixed);
    Value *result = b.getInt64(size.scaled);
    for (const std::string &factor : size.factors)
      result = checked(llvm::Intrinsic::smul_with_overflow, result, extentOf(arguments, factor), overflow);
    return checked(llvm::Intrinsic::sadd_with_overflow, result, b.getInt64(size.fixed), overflow);
  }
  /// Evaluates without the overflow check: only after NAME.sizes.
  Value *evaluate(const SizeExpression &size, Value *arguments) {
    Value *overflow = b.getFalse();
    return evaluate(size, arguments, overflow);
  }
  Value *sizeOf(Value *arguments, StringRef name) {
    size_t index = llvm::find(plan.sizes, name) - plan.sizes.begin();
    return code.word(arguments, layout.sizeWord(index), code.i64);
  }
  Value *extentOf(Value *arguments, StringRef name) {
    return extentValue(b, name, [&](StringRef size) { return sizeOf(arguments, size); });
  }
  static SizeExpression bytesOf(const TensorArgument &tensor) {
    SizeExpression bytes{0, fixedBytes(tensor), {}};
    for (const Extent &extent : tensor.shape)
      if (!extent.name.empty())
        bytes.factors.push_back(extent.name);
    return bytes;
  }
  /// The tensors of the caller, with the words of their addresses. `constAlone`: only the `const` operands.
  std::vector<std::pair<unsigned, const TensorArgument *>> tensors(bool constAlone = false) const {
    std::vector<std::pair<unsigned, const TensorArgument *>> result;
    for (size_t k = 0; k < plan.inputs.size(); ++k)
      if (plan.inputs[k].isTensor() && (plan.inputs[k].isConst || !constAlone))
        result.push_back({layout.inputWord(k), &plan.inputs[k]});
    for (size_t k = 0; k < plan.outputs.size() && !constAlone; ++k)
      result.push_back({layout.outputWord(k), &plan.outputs[k]});
    return result;
  }
  int64_t localBytes() const { return llvm::alignTo(plan.localBytes, 64); }
  /// Returns the size of the shared workspace, rounded up so that the memory behind it stays aligned.
  Value *sharedBytes(Value *arguments, Value *&overflow) {
    Value *bytes = evaluate(plan.sharedBytes, arguments, overflow);
    bytes = checked(llvm::Intrinsic::sadd_with_overflow, bytes, b.getInt64(63), overflow);
    return b.CreateAnd(bytes, b.getInt64(-64));
  }

private:
  EntryCode &code;
  IRBuilder<> &b;
  const KernelPlan &plan;
  const ArgumentLayout &layout;
};

} // namespace skewer::entry
