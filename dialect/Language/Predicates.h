// Types conditions, and writes them over the axes or places of a tensor. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class Predicates : public TyperPart {
public:
  using TyperPart::TyperPart;

  static bool isConditionOnValues(const Value &);
  Value compare(const Node &, llvm::StringRef op, Value left, Value right);
  Value joinTruths(const Node &, llvm::StringRef op, Value left, Value right);
  Value chooseByValues(const Node &, const Node &place, const Value &condition, Value yes, Value no);
  /// `taker` is the construct that takes the condition, for messages.
  std::optional<Value> predicate(const Node &, const Value &tensor, llvm::StringRef taker = "'where'");
  Value evaluateAmong(const Node &, const Value &tensor);
  std::optional<Value> asPredicate(const Node &, Value evaluated, const Value &tensor, llvm::StringRef taker);
  bool neverHolds(const subscript::Expr &, llvm::ArrayRef<Naming>);
  bool expressIn(const Node &, const Value &predicate, const Value &tensor, const std::vector<Naming> &,
                 subscript::Expr &, llvm::StringRef taker = "'where'");
  bool placed(const Node &, const Value &predicate, const Value &tensor, const std::vector<Naming> &, subscript::Expr &,
              llvm::StringRef taker = "'where'");
  subscript::Expr canonical(const subscript::Expr &condition, llvm::ArrayRef<Naming>) const;
  std::optional<subscript::Expr> conditionOf(const Node &, const RealPtr &, const Value &axes);

private:
  subscript::Domain rangesOf(llvm::ArrayRef<Naming>) const;
};

} // namespace skewer::language
