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

  /// Builds the attention. Changes nothing unless every step succeeds. The reason of a refusal is empty if the program
  /// is better as it is.
  std::optional<Refusal> form() {
    for (auto step :
         {&AttentionCandidate::findRoles, &AttentionCandidate::findFunction, &AttentionCandidate::expandScore,
          &AttentionCandidate::expandValues, &AttentionCandidate::refuseOwnWeights})
      if (auto refusal = (this->*step)())
        return refusal;
    if (dependsOnLse())
      logSumExps.clear();
    dropQueryOnly();
    factorise();
    return build();
  }

private:
  struct WeightDimensions;
  std::optional<Refusal> findRoles();
  std::optional<Refusal> readProduct(WeightDimensions &);
  std::optional<Refusal> assignRoles(WeightDimensions &);
  void separateHeads(WeightDimensions &);
  void joinGroups(WeightDimensions &);
  std::optional<Refusal> indexScore(WeightDimensions &);
  std::optional<Refusal> indexValues(WeightDimensions &);
  std::optional<Refusal> readMask(WeightDimensions &);
  std::optional<Refusal> findFunction();
  bool isPlainSoftmax() const { return !source.direct && !function; }
  std::optional<Refusal> expandScore();
  std::optional<Refusal> expandValues();
  attn::TermOp buildTerm(mlir::OpBuilder &, const Summand &) const;
  bool sizesAxis(const Factor &, const std::string &axis, const subscript::AxisSizes &contracted) const;
  void dropQueryOnly();
  Summand nothingIn(int64_t sum) const;
  std::optional<Summand> infinitiesOf(const Summand &);
  mlir::Value rowsOf(mlir::OpBuilder &, const Summand &);
  bool isAddedAfterwards(const Summand &);
  mlir::Value withQueryOnly(mlir::OpBuilder &, mlir::Value lse) const;
  bool readsWhatFollows(llvm::function_ref<bool(mlir::Operation *)>) const;
  bool dependsOnLse() const;
  std::optional<Refusal> refuseOwnWeights();
  std::optional<subscript::Einsum> arrangementOf(const subscript::Dimensions &has,
                                                 llvm::ArrayRef<subscript::Expr> wanted, llvm::ArrayRef<int64_t> shape,
                                                 bool &same) const;
  void factorise();
  void leadWithGroups();
  std::optional<Refusal> build();
  struct FusedForm;
  bool hasRows() const;
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
