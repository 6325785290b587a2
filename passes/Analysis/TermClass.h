// The classes of terms, of the score and of the values: what an index expression's dependence on query and key lets
// code generation do.
//
// A class is derived from a term's subscripts each time it is asked for and is never stored. The registry, which each
// context's attn dialect holds, has the classes in a stated order, and the first that matches wins. Plugins add theirs
// as the built-in ones are added, in a DialectExtension:
//
//   registry->addExtension(+[](mlir::MLIRContext *, skewer::attn::AttnDialect *dialect) {
//     skewer::TermClasses::of(dialect).add(std::make_unique<MyClass>(), 50);
//   });
#pragma once
#include "dialect/IR/Term.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace skewer {

/// What a class does with its operands, for code that has a strategy for each kind. A plugin's class is `Custom`.
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

/// A factor of an operand that is the row of a table: f(difference) for one query axis and one key axis.
struct TermAnalysis {
  TermKind kind = TermKind::Materialised;
  std::string className; // "content", "offset, query side", …
  /// Index of the operand that is read by plain axes of the query (OffsetKey: of the key); -1 if there is none.
  int query = -1;
  /// Index of the other operand: the key tensor or the table; -1 if there is none.
  int other = -1;
  /// OffsetQuery, AxisOffsetQuery, OffsetKey: row = sign*(key - query) + constant on the axes named in it.
  subscript::Offset offset;
  /// Which dimension of operand `other` the row subscripts; -1 if none does.
  int rowDimension = -1;
  /// The row itself, a function of `offset.query` and `offset.key` (OffsetFunction too).
  subscript::Expr row;
  /// Rows of the table (kRuntime if only known at run time).
  int64_t rows = 0;
  /// Sizes of `offset.query` and `offset.key`.
  int64_t queryExtent = 0, keyExtent = 0;
  /// Place of `offset.query` in space.query and of `offset.key` in space.key: 0 is the outermost axis (y of a map).
  int queryPlace = -1, keyPlace = -1;
  /// Contracted axes and the product of their sizes.
  std::vector<std::string> contracted;
  int64_t depth = 1;
  /// Whether operand `query`, or `other`, is read by any leading axis: a table a head has true for `other`.
  bool queryLeading = false, otherLeading = false;
  /// The term is 0 where its guard is: every class may be guarded, and code for a class must ask.
  bool guarded = false;
};

class TermClass {
public:
  virtual ~TermClass() = default;
  virtual llvm::StringRef name() const = 0;
  /// Whether the class is about terms of the values, or of the score; only such terms are asked for.
  virtual bool isOf(bool valueSide) const { return !valueSide; }
  /// Whether the class is about terms that apply a plugin's function, or about those that do not.
  virtual bool isOfFunctions() const { return false; }
  /// The analysis if the term is of this class; `className` and `guarded` are filled in by `analyse`.
  virtual std::optional<TermAnalysis> match(const attn::Term &) const = 0;
  /// One line for a reader: "offset jy - iy + 13 on axis y of 14 of 27 rows, query side".
  virtual std::string describe(const attn::Term &, const TermAnalysis &) const = 0;
  /// Useful floating-point operations of the term over `pairs` visible pairs of one leading index, of a class that a
  /// plugin brings; `bench` counts them.
  virtual double flops(const attn::Term &, const TermAnalysis &, double pairs) const { return 0; }
};

/// The classes of one context, held by its attn dialect.
class TermClasses : public mlir::DialectInterface::Base<TermClasses> {
public:
  /// With the built-in classes.
  explicit TermClasses(mlir::Dialect *dialect);
  /// The dialect's; made where there are none yet. Only for extensions, which run while the dialect is loaded.
  static TermClasses &of(attn::AttnDialect *);
  /// Where a class stands: lower comes first, equal orders stand as added. The built-in classes stand at 100, 200, …;
  /// `pair by pair` matches all and stands last whatever the order says.
  void add(std::unique_ptr<TermClass>, unsigned order);
  /// Calls `visit` for each class in order until it returns true.
  void forEach(llvm::function_ref<bool(const TermClass &)> visit) const;

private:
  std::multimap<unsigned, std::unique_ptr<TermClass>> classes;
};

/// The context's classes; the built-in ones where nothing was added to it, or without a context.
void forEachTermClass(mlir::MLIRContext *, llvm::function_ref<bool(const TermClass &)> visit);

/// The class of a term, and what it found.
const TermClass &classify(const attn::Term &, TermAnalysis &);
TermAnalysis analyse(const attn::Term &);
TermAnalysis analyse(attn::TermOp);
/// The class's line about a term, for `explain`: "q·rel_h[jy - iy + 13]" is the caller's business.
std::string describe(attn::TermOp);

} // namespace skewer
