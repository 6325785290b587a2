// Types positions: parts of larger layers, elements of index operands, and the values that they may have. A part of the
// typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class Positions : public TyperPart {
public:
  using TyperPart::TyperPart;

  bool declarePart(const Statement &);
  const Part *partOf(const std::string &axis) const;
  subscript::Expr globalPosition(const std::string &axis) const;
  bool readsWhole(const std::string &axis, int64_t extent) const;
  subscript::Expr positionFor(const subscript::Expr &, int64_t extent) const;
  Value localised(const Node &, const Value &tensor);
  RealPtr withoutOrigins(const RealPtr &, subscript::Domain &, subscript::Substitution &back) const;
  bool isDefined(llvm::StringRef place, const subscript::Expr &, const subscript::Domain &);
  Value whereItFits(const Node &, Value index);
  subscript::Domain domainOf(const Value &) const;
  Value indexOperand(llvm::StringRef name, Dimensions);
  Value typeIndexRead(const Node &, const Value &operand);
  Value typeEndOfRange(const Node &);
  bool isAlikeAtAllLengths(const subscript::Expr &);
  void sizesOfReads(const subscript::Einsum &, std::map<std::string, Axis> &axes);

private:
  bool fits64(llvm::StringRef place, const subscript::Expr &, const subscript::Domain &);
  std::optional<int64_t> endOfRange(const Node &);
  Value readIndex(llvm::StringRef place, const Value &operand, llvm::ArrayRef<subscript::Expr> subscripts,
                  const std::map<std::string, Axis> &axes);
};

} // namespace skewer::language
