// Knows the sizes of axes that their own statement does not determine. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class KnownSizes : public TyperPart {
public:
  using TyperPart::TyperPart;

  /// Forgets what the kernel before has determined.
  void startKernel(const Kernel &);
  /// Knows the sizes in `known`, and adds to `found` those that the typer meets.
  void scoutWith(const AxisFacts &known, bool readsTell, AxisFacts &found);
  void rememberAxes(const Dimensions &);
  void rememberAxis(const Axis &, bool isPosition);
  bool relyOnSize(llvm::StringRef place, const std::string &name);
  bool relyOnSizes(llvm::StringRef place, const Value &function, const Dimensions *beside);
  std::optional<Axis> adoptedAxis(llvm::StringRef place, const std::string &name, bool *isAmbiguous = nullptr);
  bool learnLater(const std::string &name);
  const Axis *axisOfBody(const std::string &name);
  const AxisFacts *factsOfAll(bool readsTell);
  void scoutParts(const Node &);
  void learnFromRead(const Node &subscript, const Dimension &);
  void learnFromOthers(const Node &, const subscript::Einsum &, llvm::ArrayRef<Value> operands,
                       subscript::AxisSizes given);
  void learnFromCall(llvm::ArrayRef<Axis> given);
  void expectResults(const Kernel &);
  void expectOfScheme(const Node &call, const Scheme &);
  std::optional<Axis> expectedAxis(const Node &einsum, const subscript::Einsum &, const std::string &name) const;
  void inheritAxis(const std::string &name, Scope &own);
  void returnAxes(llvm::StringRef call, const Scope &own);

private:
  void sayTwoSizes(llvm::StringRef place, const std::string &name, llvm::ArrayRef<Axis>);
  bool learnFrom(const AxisFacts *, const std::string &name);
  bool scout(AxisFacts &, bool readsTell);
  void expect(const Node &, const std::vector<Statement> &body, const Dimensions &);

  std::map<const Node *, Dimensions> expected; // expressions that have the shape of a result
  AxisFacts *facts = nullptr;                  // only of a scouting typer
  const AxisFacts *knownFacts = nullptr;
  std::optional<AxisFacts> scouted;
  // A dimension that a bare axis reads, a table, and the result, determine axes that nothing else determines.
  bool readsTell = false;
  std::set<std::string> namedByCalls; // axes that only calls of tabulate and gather determine
  // With the calls that lead there.
  std::set<std::pair<const Node *, std::vector<const Node *>>> scoutedParts;
};

} // namespace skewer::language
