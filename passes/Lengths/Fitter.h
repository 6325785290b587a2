// The state of one comparison of layers, operation by operation. Private to this folder.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/Builders.h"
#include "passes/Lengths/FitLengths.h"

namespace skewer {

/// The extents of dimensions or axes that vary. Constant extents are in the type.
using Extents = std::map<std::string, LengthPolynomial>;

class Fitter {
public:
  explicit Fitter(llvm::ArrayRef<mlir::func::FuncOp> layers)
      : layers(layers.begin(), layers.end()), bounds(boundsOf(layers[0])), builder(this->layers[0].getContext()) {}
  mlir::LogicalResult run();
  mlir::LogicalResult fitSignature();

private:
  /// The operations at one place of each layer; the first is the operation of the layer at the bounds.
  using Same = llvm::SmallVector<mlir::Operation *>;

  mlir::LogicalResult refuse(mlir::Operation *op, const llvm::Twine &what) { return refuse(op->getLoc(), what); }
  mlir::LogicalResult refuse(mlir::Location place, const llvm::Twine &what) {
    return mlir::emitError(place) << "a layer of run-time length: " << what
                                  << "; give the length its value at compile time (-D), or write this in another way";
  }
  mlir::LogicalResult fitBlocks(llvm::ArrayRef<mlir::Block *>);
  mlir::LogicalResult fit(const Same &);
  mlir::LogicalResult fitAttribute(const Same &, llvm::StringRef name, llvm::ArrayRef<mlir::Attribute>);
  mlir::LogicalResult fitTexts(const Same &, llvm::StringRef name, llvm::ArrayRef<mlir::Attribute>);
  mlir::LogicalResult fitResults(const Same &);
  mlir::LogicalResult checkMap(const Same &);
  bool isPrefixAtAllLengths(const Same &, int64_t dimension) const;
  std::optional<LengthPolynomial> fitSizes(llvm::ArrayRef<int64_t> sizes) const {
    return LengthPolynomial::through(sizes, bounds);
  }
  std::optional<Extents> axisExtents(const Same &);
  mlir::LogicalResult hideBehindLengths(mlir::Operation *, const Extents &);
  mlir::LogicalResult checkReads(mlir::Operation *);
  mlir::LogicalResult checkProducts(const Same &, const Extents &, llvm::ArrayRef<subscript::Dimensions>);
  /// Returns the entry of `attn.shape` for a dimension; a number if it does not vary, null if it is not a polynomial.
  mlir::Attribute extentOf(llvm::ArrayRef<int64_t> sizes);
  mlir::LogicalResult fitShapes();
  mlir::LogicalResult fitRanges();
  void addLengths();

  /// Numbers the values that an operation or a block defines among all values of a layer.
  void number(size_t layer, mlir::ValueRange defined) {
    for (mlir::Value value : defined)
      places[layer].insert({value, places[layer].size()});
  }

  llvm::SmallVector<mlir::func::FuncOp> layers;
  llvm::SmallVector<llvm::DenseMap<mlir::Value, size_t>> places; // the values' numbers, in order of definition
  Lengths bounds;
  mlir::Builder builder;
};

} // namespace skewer
