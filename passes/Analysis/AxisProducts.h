// Dimensions that are products of axes: conversion of an index into the indices of the axes, and of an index expression
// into the axes that it combines.
#pragma once
#include "dialect/Subscript/Einsum.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>
#include <vector>

namespace skewer {

/// Returns whether one of the expressions uses one of the axes.
bool usesAny(llvm::ArrayRef<subscript::Expr> expressions, const std::vector<std::string> &axes);
/// Returns the axes that one of the expressions uses, in the order of `axes`.
std::vector<std::string> axesIn(llvm::ArrayRef<subscript::Expr> expressions, const std::vector<std::string> &axes);

/// Returns the indices of the axes of a row-major product that is read at `index`; nothing if a needed size is unknown.
std::optional<std::vector<subscript::Expr>>
splitProduct(const subscript::Expr &index, const std::vector<std::string> &axes, const subscript::AxisSizes &);
/// Returns the axes of dimensions that are read at these indices, as functions of the indices. Returns nothing if the
/// dimensions have another number, or if a needed size is unknown.
std::optional<subscript::Substitution> axesAt(const subscript::Dimensions &, llvm::ArrayRef<subscript::Expr> indices,
                                              const subscript::AxisSizes &);
/// Returns the dimension that reads `index`: an axis, a product of axes in row-major order, or an index expression. A
/// single axis stands for a whole dimension. So if `extent`, the size of the dimension, is known and differs from the
/// size of the axis, the result is an index expression.
subscript::Dimension dimensionFor(const subscript::Expr &index, const subscript::AxisSizes &,
                                  int64_t extent = subscript::kRuntime);
/// Appends the dimension that is the product of the axes to the dimensions and the shape of a tensor. Its size is
/// dynamic if one of the axes has a run-time size.
void addProduct(const std::vector<std::string> &axes, const subscript::AxisSizes &, subscript::Dimensions &,
                llvm::SmallVectorImpl<int64_t> &shape);
/// Returns the tensor type of these sizes, in which kRuntime is a dynamic one.
mlir::RankedTensorType tensorType(llvm::ArrayRef<int64_t> sizes, mlir::Type element);
/// Returns the sizes of the dimensions' axes that are known at compile time.
subscript::AxisSizes knownSizes(const subscript::Dimensions &, const subscript::AxisSizes &);

} // namespace skewer
