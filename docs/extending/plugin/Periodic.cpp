// A plugin: the function periodic(frequency, offset) = cos(frequency · offset), whose frequency a model learns for each
// head, a term class for scores that have it, and a strategy that computes such terms (SeparableLine.cpp).
//
// A score with a bias `a[h] * cos(w[h] * (i - j))` follows a season in a time series: tokens a period apart attend to
// each other. Frequencies are known at run time only, so no table of integers holds the offsets' values.
#include "Periodic.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

using namespace skewer;

namespace {

class Periodic : public attn::ElementFunction {
public:
  llvm::StringRef name() const override { return "periodic"; }
  llvm::ArrayRef<llvm::StringLiteral> arguments() const override {
    static constexpr llvm::StringLiteral names[] = {"frequency", "offset"};
    return names;
  }
  /// Computes the function in double precision: the reference judges every kernel by this.
  double evaluate(llvm::ArrayRef<double> x) const override { return std::cos(x[0] * x[1]); }
  /// Emits the function in f32, as a kernel computes it.
  mlir::Value emit(mlir::OpBuilder &builder, mlir::Location location, mlir::ValueRange x) const override {
    mlir::Value angle = mlir::arith::MulFOp::create(builder, location, x[0], x[1]);
    return mlir::math::CosOp::create(builder, location, angle);
  }
  /// A multiplication, and about 20 operations for a cosine.
  double flops() const override { return 21; }
};

/// Says what is known of the term: the function is even, and of the offset.
class PeriodicBias : public TermClass {
public:
  llvm::StringRef name() const override { return "periodic bias"; }
  bool isOfFunctions() const override { return true; }

  std::optional<TermAnalysis> match(const attn::Term &term) const override {
    const attn::ScoreSpace &space = *term.space;
    if (space.query.size() != 1 || space.key.size() != 1 ||
        !isPeriodicOfOffset(*term.application, space.query[0], space.key[0]))
      return std::nullopt;
    TermAnalysis analysis;
    analysis.kind = TermKind::Custom;
    analysis.queryExtent = space.queries();
    analysis.keyExtent = space.keys();
    return analysis;
  }

  std::string describe(const attn::Term &, const TermAnalysis &analysis) const override {
    return "a cosine of the offset: two lines of " + std::to_string(analysis.keyExtent) + " numbers a head";
  }
  /// Two products for each pair; the cosines are of the lines, not of the pairs.
  double flops(const attn::Term &, const TermAnalysis &, double pairs) const override { return 4 * pairs; }
};

void add(mlir::DialectRegistry *registry) {
  registry->addExtension(+[](mlir::MLIRContext *, attn::AttnDialect *dialect) {
    attn::ElementFunctions::of(dialect).add(std::make_unique<Periodic>());
    TermClasses::of(dialect).add(std::make_unique<PeriodicBias>(), 50);
    TermStrategies::of(dialect).add(makeSeparableLines(), 50);
  });
}

} // namespace

bool isPeriodicOfOffset(const attn::Application &application, const std::string &queryAxis,
                        const std::string &keyAxis) {
  if (application.function->name() != "periodic")
    return false;
  const attn::Application::Argument &offset = application.arguments[1];
  subscript::Expr query = subscript::Expr::symbol(queryAxis), key = subscript::Expr::symbol(keyAxis);
  return offset.operand < 0 && (offset.position == query - key || offset.position == key - query);
}

SKEWER_PLUGIN("periodic", add)
