// Derives the shape of an attention (AttentionShape.h) from its subscripts. An AttentionAnalyzer holds the state of one
// analysis; shapeOfAttention makes and runs it.
#pragma once
#include "passes/Analysis/AttentionShape.h"

namespace skewer {

/// A flat offset, split into the part over the leading axes (`base`) and the coefficient of every other axis (`axes`).
struct SplitOffset {
  subscript::Expr base;
  std::map<std::string, int64_t> axes;
};

class AttentionAnalyzer {
public:
  AttentionAnalyzer(attn::AttentionOp attention, bool picks)
      : attention(attention), view(attn::viewOf(attention)), picks(picks), operands(operandsOf(attention)),
        space(view->space), mask(view->mask), domain(view->domain) {
    leading.insert(space.leading.begin(), space.leading.end());
    query.insert(space.query.begin(), space.query.end());
    key.insert(space.key.begin(), space.key.end());
  }
  OrRefusal<AttentionShape> run();

private:
  unsigned argumentOf(mlir::Value value) {
    return static_cast<unsigned>(llvm::find(operands, value) - operands.begin());
  }
  subscript::Expr flatten(llvm::ArrayRef<subscript::Expr> subscripts, mlir::Value operand);
  std::optional<SplitOffset> split(const subscript::Expr &offset, const subscript::Domain &domain);
  /// Returns the stride of the flat position if the coefficients of the axes form a row-major product; else nothing.
  std::optional<int64_t> evenStride(const SplitOffset &offset, const std::vector<std::string> &axes);
  std::optional<Walk> walk(const SplitOffset &, unsigned argument, llvm::ArrayRef<std::string> depthAxes);
  /// Returns the walk over rows along `depthAxes` that the keys pick in any way, which `split` cannot express.
  std::optional<Walk> pickedWalk(const subscript::Expr &flat, unsigned argument, llvm::ArrayRef<std::string> depthAxes,
                                 const subscript::Domain &);
  std::optional<Walk> placedWalk(const subscript::Expr &flat, const subscript::Domain &);
  /// With `ofMany`, adds the term only if there are at least as many rows as keys that pick them.
  bool addPickedContent(const attn::Term &, const ElementTerm &, bool ofMany, AttentionShape &);
  OtherTerm otherTerm(const attn::Term &, const ElementTerm &, llvm::ArrayRef<SplitOffset> parts, bool affine);
  /// Sets `insideOffsets`: the offsets of a term, clamped so that they stay inside the operands without the mask.
  void keepInside(OtherTerm &, const std::optional<subscript::Expr> &guard);
  /// Makes the term a BiasKind::Row if its keys lie side by side and the stride between its rows is known only at the
  /// call. Returns false if the term has another form.
  bool findRowsOfCall(OtherTerm &);
  void readAnyWhereHidden(OtherTerm &, const std::optional<subscript::Expr> &guard);
  void addTerm(const attn::Term &, AttentionShape &shape);
  /// Returns a term over operand `table`, whose rows lie in the dimensions `picked`, which are adjacent. Returns
  /// nothing if the rows are not evenly spaced from a place that only the leading axes move, or cannot be packed.
  std::optional<RowTerm> tableOf(const attn::Term &, unsigned table, llvm::ArrayRef<size_t> picked);
  bool addLinearRow(const attn::Term &, llvm::ArrayRef<SplitOffset>, llvm::ArrayRef<unsigned> arguments,
                    AttentionShape &);
  bool addRowTerm(const attn::Term &, llvm::ArrayRef<unsigned> arguments, const std::optional<subscript::Expr> &guard,
                  AttentionShape &);
  bool isLength(const subscript::Expr &conjunct) const;
  std::vector<MapAxis> mapAxes(const std::vector<std::string> &axes);
  void findKind(OtherTerm &, llvm::ArrayRef<SplitOffset>, bool affine);

  // The steps of `run`.
  std::optional<Refusal> readLengths(AttentionShape &);
  std::optional<Refusal> readValues(AttentionShape &);
  void readMask(AttentionShape &);

  attn::AttentionOp attention;
  std::shared_ptr<const attn::AttentionView> view;
  // Whether rows of the result may lie anywhere, and operands are prepared for hidden pairs too.
  bool picks;
  llvm::SmallVector<mlir::Value> operands;
  const attn::ScoreSpace &space;
  const std::optional<subscript::Expr> &mask;
  const subscript::Domain &domain;
  std::set<std::string> leading, query, key;
  subscript::Substitution lengths; // the run-time length of each axis that has one
};

} // namespace skewer
