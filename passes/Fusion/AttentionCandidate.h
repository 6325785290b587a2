// The state of attn-form-attention while it turns weights into one attention: which dimensions are queries and keys,
// the terms of the score and of the values, and the attn.attention that is built from them.
#pragma once
#include "passes/Fusion/ScoreFunction.h"
#include "passes/Fusion/Summands.h"
#include "passes/Fusion/ValueSide.h"

namespace skewer {

/// Weights, the einsum that applies them to the values, and the other uses of the weights, which together may become
/// one attention.
class AttentionCandidate {
public:
  AttentionCandidate(const WeightSource &source, attn::EinsumOp product, const WeightUses &uses)
      : source(source), product(product), uses(uses) {
    for (mlir::Operation *user : source.scores.getUsers())
      if (auto other = llvm::dyn_cast<attn::LogSumExpOp>(user);
          other && !source.direct && *attn::rowReductionOf(other) == *attn::rowReductionOf(source.operation))
        logSumExps.push_back(other);
  }

  /// Builds the attention. Changes nothing unless every step succeeds; otherwise `why` says why the weights are not
  /// fused.
  bool form(std::string &why) {
    if (!findRoles(why) || !findFunction(why) || !expandScore(why) || !expandValues(why) || readsItsWeights(why))
      return false;
    if (dependsOnLse())
      logSumExps.clear();
    return dropQueryOnly() && factorise() && build(why);
  }

private:
  struct WeightDimensions;
  bool findRoles(std::string &why);
  bool readProduct(WeightDimensions &, std::string &why);
  bool assignRoles(WeightDimensions &, std::string &why);
  void separateHeads(WeightDimensions &);
  void joinGroups(WeightDimensions &);
  bool indexScore(const WeightDimensions &, std::string &why);
  bool indexValues(const WeightDimensions &, std::string &why);
  bool readMask(const WeightDimensions &, std::string &why);
  bool findFunction(std::string &why);
  bool isPlainSoftmax() const { return !source.direct && !function; }
  bool expandScore(std::string &why);
  bool expandValues(std::string &why);
  attn::TermOp buildTerm(mlir::OpBuilder &, const Summand &) const;
  bool sizesAxis(const Factor &, const std::string &axis, const subscript::AxisSizes &contracted) const;
  bool dropQueryOnly();
  Summand nothingIn(int64_t sum) const;
  std::optional<Summand> infinitiesOf(const Summand &);
  mlir::Value rowsOf(mlir::OpBuilder &, const Summand &);
  bool isAddedAfterwards(const Summand &);
  mlir::Value withQueryOnly(mlir::OpBuilder &, mlir::Value lse) const;
  bool readsWhatFollows(llvm::function_ref<bool(mlir::Operation *)>) const;
  bool dependsOnLse() const;
  bool readsItsWeights(std::string &why) const;
  std::optional<subscript::Einsum> arrangementOf(const subscript::Dimensions &has,
                                                 llvm::ArrayRef<subscript::Expr> wanted, llvm::ArrayRef<int64_t> shape,
                                                 bool &same) const;
  bool factorise();
  void leadWithGroups();
  bool build(std::string &why);
  struct FusedForm;
  bool hasRows() const;
  int64_t positions(const std::vector<std::string> &axes) const;
  std::optional<FusedForm> fusedForm();
  subscript::AxisSizes untoldSizes(const FusedForm &);
  attn::AttentionOp create(mlir::OpBuilder &, const FusedForm &);
  void replaceProgram(mlir::OpBuilder &, attn::AttentionOp, const FusedForm &);
  void replaceTotals(mlir::OpBuilder &, mlir::Value total) const;
  subscript::Einsum nameContracted(const Summand &, subscript::AxisSizes &, subscript::Substitution &) const;
  std::vector<subscript::Expr *> expressions();

  const WeightSource &source;
  attn::EinsumOp product;
  const WeightUses &uses;
  llvm::SmallVector<attn::LogSumExpOp> logSumExps; // of the same scores
  // Tensors, each with its scale, that the lse depends on and the weights do not.
  llvm::SmallVector<std::pair<mlir::Value, double>> queryOnly;
  double valueScale = 1; // the scale of the product, as a number and as a tensor
  mlir::Value valueFactor;
  size_t weightOperand = 0, keyDimension = 0;
  std::vector<std::string> leading, query, key, valueAxes;
  subscript::AxisSizes sizes;           // sizes of the leading, query, key and value axes
  std::vector<subscript::Expr> at;      // the indices of the score, over those axes
  std::optional<subscript::Expr> mask;
  std::optional<ScoreFunction> function;      // from the sums of terms to the scores, if there is one
  Summand value{source.location()};           // a single factor: the values
  std::vector<subscript::Expr> resultIndices; // indices of the product's result
  std::vector<Summand> terms, valueTerms;
};

} // namespace skewer
