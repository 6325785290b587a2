// The classes of terms of the score and of the values. A class says how a term's index expressions depend on query and
// key, and so what code generation can do with the term.
//
// A class is derived from a term's subscripts each time it is needed and is never stored. Plugins add classes of their
// own, which are asked before the built-in ones, in a DialectExtension:
//
//   registry->addExtension(+[](mlir::MLIRContext *, skewer::attn::AttnDialect *dialect) {
//     skewer::TermClasses::of(dialect).add(std::make_unique<MyClass>(), 50);
//   });
#pragma once
#include "dialect/IR/Term.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace skewer {
class TermClass;

/// The classes of terms, for code that has a strategy for each of them. The class of a plugin is `Custom`.
enum class TermKind {
  Content,         // q_i·k_j, also q_i·E[j]: one operand read by the query, one by the key, both by whole positions;
                   // heads may share keys, k[h floordiv 4]
  PerToken,        // q_i·E[seg[b, i] != seg[b, j]], T[bucket[b, i, j], h]: rows picked by run-time index operands
  OffsetQuery,     // q_i·R[±(j - i) + c], the query and the key each being a single axis
  AxisOffsetQuery, // q_i·R[±(jy - iy) + c] on one axis of a product
  OffsetKey,       // k_j·R[±(j - i) + c], on whole positions or on one axis
  OffsetFunction, // q_i·R[f(j - i)] or k_j·R[f(j - i)]: clamped or bucketed offsets, or mixed axes, of one pair of axes
  QueryOnly,      // depends on the query, not on the key: softmax is invariant to it
  KeyOnly,        // depends on the key, not on the query
  Position,       // no operands: scale × a function of positions
  ScalarOffset,   // T[h, f(j - i)], Σ_s T[s, j - i]: one number for each offset, of one pair of axes or of several
  GatedOffset,    // g[h, i]·T[h, f(j - i)]: the same, times numbers of the query
  AxisScalar,     // T[h, i, jx]: one number for each query and each index along some axes of a map of keys
  PositionRow,    // q_i·R[f(i, j)], k_j·R[f(i, j)]: a row of a table, picked by any function of positions
  PositionScalar,  // T[h, f(i, j)]: one number from a table that is smaller than the scores
  Function,        // a plugin's function of elements and positions
  ValueOfKey,      // Σ p·V2[j]: added to the values
  ValueOffset,     // Σ p·RV[±(j - i) + c], the query and the key each being a single axis; a guard may be a window
  AxisValueOffset, // Σ p·RV[±(jy - iy) + c] on one axis of a product
  ValueFunction,   // Σ p·RV[f(j - i)]: clamped or bucketed offsets of one pair of axes
  Materialised,    // anything else: "pair by pair"
  Custom
};

/// The class of a term, and the facts that were found about it: operands, axes, and the row that a table is read at.
struct TermAnalysis {
  TermKind kind = TermKind::Materialised;
  std::string className; // "content", "offset, query side", …
  const TermClass *ofPlugin = nullptr;
  /// Index of the operand that plain axes of the query (OffsetKey: of the key) read; -1 if there is none.
  int query = -1;
  /// Index of the other operand: the key tensor or the table; -1 if there is none.
  int other = -1;
  /// Whether operand `query` is a vector of the key.
  bool isOfKey = false;
  /// OffsetQuery, AxisOffsetQuery, OffsetKey and their like for values: row = sign*(key - query) + constant, on the
  /// axes that it names. If the row is another function of the offset, only the axes are set.
  subscript::Offset offset;
  /// The dimension of operand `other` that the row subscripts; -1 if there is none, or more than one.
  int rowDimension = -1;
  /// The row, a function of positions.
  subscript::Expr row;
  /// Number of rows of the table (kRuntime if known only at run time).
  int64_t rows = 0;
  /// Sizes of `offset.query` and `offset.key`.
  int64_t queryExtent = 0, keyExtent = 0;
  /// The product of the contracted axes' sizes.
  int64_t depth = 1;
  /// Whether any leading axis reads operand `query`, or `other`. For a table with rows for each head, `otherLeading` is
  /// true.
  bool queryLeading = false, otherLeading = false;
  /// Whether the term has a guard, and is 0 where the guard does not hold. Terms of every class may have one; code for
  /// a class must check this.
  bool guarded = false;
};

/// The class of a plugin.
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
  /// Returns the useful floating-point operations of the term over `pairs` visible pairs of one leading index; `bench`
  /// counts them.
  virtual double flops(const attn::Term &, const TermAnalysis &, double pairs) const { return 0; }
};

/// The classes of the plugins of one context. The attn dialect of the context holds them.
class TermClasses : public mlir::DialectInterface::Base<TermClasses> {
public:
  explicit TermClasses(mlir::Dialect *dialect) : Base(dialect) {}
  /// Returns the classes of the dialect, and creates them if there are none. Only for extensions, which run while the
  /// dialect is loaded.
  static TermClasses &of(attn::AttnDialect *);
  /// Adds a class at the place `order`: lower orders are asked first, equal orders in the order of addition.
  void add(std::unique_ptr<TermClass> termClass, unsigned order) { classes.emplace(order, std::move(termClass)); }
  /// Returns the first class that matches the term, with its analysis; null if none does.
  const TermClass *find(const attn::Term &, TermAnalysis &) const;

private:
  std::multimap<unsigned, std::unique_ptr<TermClass>> classes;
};

/// Returns the names of the compiler's own classes, in the order of TermKind.
llvm::ArrayRef<llvm::StringLiteral> termClassNames();
/// Returns the class of a term and what was found about it.
TermAnalysis analyse(const attn::Term &);
TermAnalysis analyse(attn::TermOp);
/// Returns one line about the term, for `explain`. The caller adds the formula, "q·rel_h[jy - iy + 13]".
std::string describe(const attn::Term &, const TermAnalysis &);
std::string describe(attn::TermOp);
} // namespace skewer
