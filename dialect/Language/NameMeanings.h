// Says what a name stands for, and complains about unknown and ambiguous names. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class NameMeanings : public TyperPart {
public:
  using TyperPart::TyperPart;

  llvm::StringRef wholeText() const;
  std::vector<std::string> visibleNames() const;
  Value unknownName(const Node &);
  Value unknownCall(const Node &, const std::vector<std::string> &names);
  Value notAnOperand(llvm::StringRef place, const std::string &who, const Value &);
  const Value *lookup(const std::string &name);
  Value ambiguous(llvm::StringRef place, const std::string &name, const Value &);
  Value clashing(llvm::StringRef place, const std::string &name, const Clash &);
  Value positionAlong(const Node &, const std::string &axis, const Axis &);
  Value typePosition(const Node &);
  bool nameIndices(subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &given);
  bool checkAxisNames(const subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &);
  void noteInnerAxes(const Node &, const Value &condition, const Dimensions &);

private:
  bool isPartOfAxis(const std::string &name) const;
  bool noteOnAxis(const std::string &name);
  bool isAfterSlashes(llvm::StringRef place) const;
};

} // namespace skewer::language
