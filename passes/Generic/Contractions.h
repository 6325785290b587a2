// Emits sums of products, running sums and extrema over buffers, with vectors along an axis if the subscripts allow it.
// The stages of Operations.cpp and the scores of ScoreTerms.h are computed with it.
#pragma once
#include "passes/Generic/Elements.h"

namespace skewer {
struct PrefixSum;
}

namespace skewer::generic {

/// One operand of a product.
struct Factor {
  const Storage *storage;
  std::vector<subscript::Expr> subscripts;
  mlir::Value computed = {}; // the tensor, if it is not in memory: its elements are computed for each product
};

/// A contraction: target[subscripts] = finish(Σ over `contracted` of Π factors where the guard holds), for all values
/// of the `parallel` axes.
struct Contraction {
  std::vector<Factor> factors;
  std::vector<Axis> parallel, contracted;
  std::optional<subscript::Expr> guard;
  const Storage *target = nullptr;
  std::vector<subscript::Expr> targetSubscripts;
  std::function<mlir::Value(mlir::Value)> finish; // on an f32 or a vector of them; may be absent
};

class Contractions {
public:
  Contractions(mlir::ImplicitLocOpBuilder &b, PhaseCode &code, Elements &elements)
      : b(b), code(code), elements(elements) {}

  void contract(const Contraction &, Symbols &);
  /// Returns the sum over the `contracted` axes at one point of the other axes, as one f32.
  mlir::Value dot(const Contraction &, Symbols &);
  /// Returns an element of a factor; with a `vectorAxis`, the elements of the lanes along it, or one if all are equal.
  mlir::Value elementOf(const Factor &, const Symbols &, const std::string &vectorAxis);
  /// Returns the same, with the number 0 for absent elements.
  mlir::Value numberOf(const Factor &, const Symbols &, const std::string &vectorAxis);
  bool vectorises(const Contraction &, const Axis &, int64_t lanes = kLanes);
  /// Moves an axis along which the operands have consecutive elements behind the other axes, if no other axis gives
  /// vectors.
  void turnToOperands(Contraction &);
  /// Emits running sums (PrefixSums.cpp).
  void prefixSums(Contraction, const PrefixSum &, Symbols &);
  /// Returns the extremum along all contracted axes, at one point of the others (Extrema.cpp).
  mlir::Value extremeOf(const Contraction &, bool least, Symbols &);

private:
  /// Returns the number from which a contraction's sums begin.
  mlir::Value zeroOf(const Contraction &, bool vector);
  mlir::Value addProduct(mlir::Value sum, const Contraction &, const Symbols &, const std::string &vectorAxis);
  void contractAcross(const Contraction &, Symbols &);
  /// Finishes a sum, and stores it in the target's element at these symbols.
  void put(mlir::Value sum, const Contraction &, const Symbols &);
  void runAcross(const Contraction &, const PrefixSum &, int64_t size, Symbols &, const std::string &vectorAxis,
                 mlir::Value first, int64_t vectors);
  void runWithin(const Contraction &, const PrefixSum &, int64_t size, Symbols &);

  mlir::ImplicitLocOpBuilder &b;
  PhaseCode &code;
  Elements &elements;
};

} // namespace skewer::generic
