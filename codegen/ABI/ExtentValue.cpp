// Parses the names of extents as index expressions and emits them. They contain only sums and products, because
// LengthPolynomial writes no others.
#include "codegen/ABI/ExtentValue.h"
#include "dialect/Subscript/Expr.h"

using namespace skewer;
using subscript::Expr;

static llvm::Value *emit(llvm::IRBuilderBase &b, const Expr &e,
                         llvm::function_ref<llvm::Value *(llvm::StringRef)> sizeOf) {
  switch (e.kind()) {
  case subscript::Kind::Constant:
    return b.getInt64(e.value());
  case subscript::Kind::Symbol:
    return sizeOf(e.name());
  case subscript::Kind::Mul:
    return b.CreateMul(emit(b, e.operands()[0], sizeOf), emit(b, e.operands()[1], sizeOf));
  default:
    return b.CreateAdd(emit(b, e.operands()[0], sizeOf), emit(b, e.operands()[1], sizeOf));
  }
}

llvm::Value *skewer::extentValue(llvm::IRBuilderBase &b, llvm::StringRef name,
                                 llvm::function_ref<llvm::Value *(llvm::StringRef)> sizeOf) {
  return emit(b, *subscript::parse(std::string_view(name)), sizeOf);
}
