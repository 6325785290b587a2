// Derives an attention's shape (AttentionShape.h) from its subscripts: the state of one analysis.
#pragma once
#include "passes/Analysis/AttentionShape.h"

namespace skewer {

/// A flat offset split by who moves it. `axes` holds the coefficient of every non-leading axis.
struct SplitOffset {
  subscript::Expr base;
  std::map<std::string, int64_t> axes;
};

class AttentionAnalyzer {
public:
  AttentionAnalyzer(attn::AttentionOp attention, std::string &reason, bool picks)
      : attention(attention), view(attn::viewOf(attention)), picks(picks), operands(operandsOf(attention)),
        space(view->space), mask(view->mask), domain(view->domain), reason(reason) {
    leading.insert(space.leading.begin(), space.leading.end());
    query.insert(space.query.begin(), space.query.end());
    key.insert(space.key.begin(), space.key.end());
  }
  std::optional<AttentionShape> run();

private:
  unsigned argumentOf(mlir::Value value) {
    return static_cast<unsigned>(llvm::find(operands, value) - operands.begin());
  }
  subscript::Expr flatten(llvm::ArrayRef<subscript::Expr> subscripts, mlir::Value operand);
  std::optional<SplitOffset> split(const subscript::Expr &offset, const subscript::Domain &domain);
  /// The stride of the flat position if the axes' coefficients are those of a row-major product.
  std::optional<int64_t> evenStride(const SplitOffset &offset, const std::vector<std::string> &axes);
  std::optional<Walk> walk(const SplitOffset &, unsigned argument, llvm::ArrayRef<std::string> depthAxes);
  /// Of rows of `depthAxes` that keys pick in any way, of which split says nothing.
  std::optional<Walk> pickedWalk(const subscript::Expr &flat, unsigned argument, llvm::ArrayRef<std::string> depthAxes,
                                 const subscript::Domain &);
  std::optional<Walk> placedWalk(const subscript::Expr &flat, const subscript::Domain &);
  /// `ofMany`: only where there are at least as many rows as keys that pick them.
  bool addPickedContent(const attn::Term &, const ElementTerm &, bool ofMany, AttentionShape &);
  OtherTerm otherTerm(const attn::Term &, const ElementTerm &, llvm::ArrayRef<SplitOffset> parts, bool affine);
  /// Offsets of a term that a mask keeps inside its operands, kept inside by themselves: `insideOffsets`.
  void keepInside(OtherTerm &, const std::optional<subscript::Expr> &guard);
  /// Rows of keys side by side, a number of the call apart: BiasKind::Row. False where the term is none.
  bool findRowsOfCall(OtherTerm &);
  void readAnyWhereHidden(OtherTerm &, const std::optional<subscript::Expr> &guard);
  bool addTerm(const attn::Term &, AttentionShape &shape);
  bool addOffsetTerm(const attn::Term &, llvm::ArrayRef<SplitOffset>, llvm::ArrayRef<unsigned> arguments,
                     AttentionShape &);
  bool addRowTerm(const attn::Term &, llvm::ArrayRef<unsigned> arguments, const std::optional<subscript::Expr> &guard,
                  AttentionShape &);
  bool isLength(const subscript::Expr &conjunct) const;
  std::vector<MapAxis> mapAxes(const std::vector<std::string> &axes);
  void findKind(OtherTerm &, llvm::ArrayRef<SplitOffset>, bool affine);

  // The parts of `run`; false with a reason.
  bool readLengths(AttentionShape &);
  bool readValues(AttentionShape &);
  bool readMask(AttentionShape &);

  attn::AttentionOp attention;
  std::shared_ptr<const attn::AttentionView> view;
  bool picks; // rows of the result may lie anywhere, and what is prepared is prepared for hidden pairs too
  llvm::SmallVector<mlir::Value> operands;
  const attn::ScoreSpace &space;
  const std::optional<subscript::Expr> &mask;
  const subscript::Domain &domain;
  std::string &reason;
  std::set<std::string> leading, query, key;
  subscript::Substitution lengths; // of axes
};

} // namespace skewer
