// The classes of terms of the score and of the values. A class says how a term's index expressions depend on query and
// key, and so what code generation can do with the term.
//
// A class is derived from a term's subscripts each time it is needed and is never stored. The attn dialect of each
// context holds the registry of the classes. The registry is ordered, and the first class that matches wins. Plugins
// add their classes as the built-in ones are added, in a DialectExtension:
//
//   registry->addExtension(+[](mlir::MLIRContext *, skewer::attn::AttnDialect *dialect) {
//     skewer::TermClasses::of(dialect).add(std::make_unique<MyClass>(), 50);
//   });
#pragma once
#include "dialect/IR/Term.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace skewer {

/// How a class uses its operands, for code that has a strategy for each kind. The class of a plugin is `Custom`.
enum class TermKind {
  Content,         // q_i·k_j, also q_i·E[j]: one operand read by the query, one by the key, both by whole positions;
                   // heads may share keys, k[h floordiv 4]
  OffsetQuery,     // q_i·R[±(j - i) + c], the query and the key each being a single axis
  AxisOffsetQuery, // q_i·R[±(jy - iy) + c] on one axis of a product
  OffsetKey,       // k_j·R[±(j - i) + c], on whole positions or on one axis
  OffsetFunction, // q_i·R[f(j - i)] or k_j·R[f(j - i)]: clamped or bucketed offsets, or mixed axes, of one pair of axes
  KeyOnly,        // depends on the key, not on the query
  QueryOnly,      // depends on the query, not on the key: softmax is invariant to it
  ScalarOffset,   // T[h, f(j - i)]: nothing contracted, one operand; also products of per-axis offsets
  PerToken,       // q_i·E[seg[b, i] != seg[b, j]], T[bucket[b, i, j], h]: rows picked by run-time index operands
  PositionFunction, // q_i·R[f(i, j)], k_j·R[f(i, j)], T[f(i, j)]: picked from a table by any function of positions
  Position,         // no operands: scale × a function of positions
  ValueOfKey,       // Σ p·V2[j]: added to the values
  ValueOffset,      // Σ p·RV[±(j - i) + c], the query and the key each being a single axis; a guard may be a window
  AxisValueOffset,  // Σ p·RV[±(jy - iy) + c] on one axis of a product
  ValueFunction,    // Σ p·RV[f(j - i)]: clamped or bucketed offsets of one pair of axes
  Materialised,     // anything else: "pair by pair"
  Function,         // a plugin's function of elements and positions
  Custom
};

/// The class of a term, and the facts that the class found about it: operands, axes, and the row that a table is read
/// at.
struct TermAnalysis {
  TermKind kind = TermKind::Materialised;
  std::string className; // "content", "offset, query side", …
  /// Index of the operand that plain axes of the query (OffsetKey: of the key) read; -1 if there is none.
  int query = -1;
  /// Index of the other operand: the key tensor or the table; -1 if there is none.
  int other = -1;
  /// OffsetQuery, AxisOffsetQuery, OffsetKey: row = sign*(key - query) + constant, on the axes that it names.
  subscript::Offset offset;
  /// The dimension of operand `other` that the row subscripts; -1 if there is none.
  int rowDimension = -1;
  /// The row, a function of `offset.query` and `offset.key` (also for OffsetFunction).
  subscript::Expr row;
  /// Number of rows of the table (kRuntime if known only at run time).
  int64_t rows = 0;
  /// Sizes of `offset.query` and `offset.key`.
  int64_t queryExtent = 0, keyExtent = 0;
  /// Place of `offset.query` in space.query and of `offset.key` in space.key: 0 is the outermost axis (y of a map).
  int queryPlace = -1, keyPlace = -1;
  /// Contracted axes and the product of their sizes.
  std::vector<std::string> contracted;
  int64_t depth = 1;
  /// Whether any leading axis reads operand `query`, or `other`. For a table with rows for each head, `otherLeading` is
  /// true.
  bool queryLeading = false, otherLeading = false;
  /// Whether the term has a guard, and is 0 where the guard does not hold. Terms of every class may have one; code for
  /// a class must check this.
  bool guarded = false;
};

class TermClass {
public:
  virtual ~TermClass() = default;
  virtual llvm::StringRef name() const = 0;
  /// Returns whether the class is for terms of the values (`valueSide`) or of the score; `match` gets only such terms.
  virtual bool isOf(bool valueSide) const { return !valueSide; }
  /// Returns whether the class is for terms that apply a plugin's function, or for terms that do not.
  virtual bool isOfFunctions() const { return false; }
  /// Returns the analysis if the term is of this class. `analyse` fills in `className` and `guarded`.
  virtual std::optional<TermAnalysis> match(const attn::Term &) const = 0;
  /// Returns one line for a reader: "offset jy - iy + 13 on axis y of 14 of 27 rows, query side".
  virtual std::string describe(const attn::Term &, const TermAnalysis &) const = 0;
  /// Returns the useful floating-point operations of the term over `pairs` visible pairs of one leading index, for the
  /// class of a plugin; `bench` counts them.
  virtual double flops(const attn::Term &, const TermAnalysis &, double pairs) const { return 0; }
};

/// The classes of one context. The attn dialect of the context holds them.
class TermClasses : public mlir::DialectInterface::Base<TermClasses> {
public:
  /// Creates a registry that contains the built-in classes.
  explicit TermClasses(mlir::Dialect *dialect);
  /// Returns the classes of the dialect, and creates them if there are none. Only for extensions, which run while the
  /// dialect is loaded.
  static TermClasses &of(attn::AttnDialect *);
  /// Adds a class at the place `order`: lower orders come first, equal orders in the order of addition. The built-in
  /// classes have the orders 100, 200, …; `pair by pair` matches every term and comes last, whatever its order.
  void add(std::unique_ptr<TermClass>, unsigned order);
  /// Calls `visit` for each class in order until it returns true.
  void forEach(llvm::function_ref<bool(const TermClass &)> visit) const;

private:
  std::multimap<unsigned, std::unique_ptr<TermClass>> classes;
};

/// Calls `visit` for each class of the context in order until it returns true. Uses the built-in classes if nothing was
/// added to the context, or if there is no context.
void forEachTermClass(mlir::MLIRContext *, llvm::function_ref<bool(const TermClass &)> visit);

/// Returns the class of a term; stores what the class found in the TermAnalysis.
const TermClass &classify(const attn::Term &, TermAnalysis &);
TermAnalysis analyse(const attn::Term &);
TermAnalysis analyse(attn::TermOp);
/// Returns the line of the class about a term, for `explain`. The caller adds the formula, "q·rel_h[jy - iy + 13]".
std::string describe(attn::TermOp);

} // namespace skewer
