// Evaluates the body of a scheme at its call, under the names of the scheme. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class Schemes : public TyperPart {
public:
  using TyperPart::TyperPart;

  Value inlineScheme(const Node &, const Scheme &);

private:
  struct SchemeCall;
  bool checkCall(const Node &, const Scheme &);
  bool evaluateArguments(SchemeCall &);
  bool bindArguments(SchemeCall &);
  bool bindOther(SchemeCall &, const SchemeOperand &, Value argument, const Node &place);
  bool bindAxes(SchemeCall &, const SchemeOperand &, const Value &tensor, const Node &place);
  void settleNames(SchemeCall &);
  bool nameScoreAxis(SchemeCall &, const std::string &axis);
  bool takeCallersAxis(SchemeCall &, const std::string &axis, const Axis &callers, llvm::StringRef place);
  void hideAxes(SchemeCall &);
  void inheritParts(SchemeCall &);
  Value withSignature(SchemeCall &, Value result);
  Value broughtOut(SchemeCall &, Value result);

  std::vector<const Scheme *> openSchemes; // the schemes whose bodies are being evaluated, the outermost first
};

} // namespace skewer::language
