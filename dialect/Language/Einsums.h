// Types einsums and reads t[h, i, j]. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class Einsums : public TyperPart {
public:
  using TyperPart::TyperPart;

  Value typeEinsum(const Node &);
  bool checkOnes(const subscript::Einsum &, llvm::ArrayRef<Value>, llvm::StringRef text);
  bool nameNumbers(subscript::Einsum &, llvm::StringRef text, const std::vector<Value> &,
                   const std::map<std::string, int64_t> &numbers, subscript::AxisSizes &given);
  Value typeRead(const Node &, const Value &base);
  bool keywordSizes(const Node &, subscript::AxisSizes &given, llvm::ArrayRef<llvm::StringRef> others = {});
  Value buildEinsum(const Node &, subscript::Einsum &, std::vector<Value>, const subscript::AxisSizes &given,
                    const subscript::AxisSizes &all, llvm::ArrayRef<std::string> written = {});

private:
  bool checkRanks(const Node &, const subscript::Einsum &, const std::vector<Value> &, llvm::StringRef text);
  void addOnes(const Node &, subscript::Einsum &, std::vector<Value> &operands, const subscript::AxisSizes &all,
               llvm::ArrayRef<std::string> written);
  void noteOnWord(llvm::StringRef word);
  bool checkRead(llvm::StringRef place, llvm::StringRef tensor, const Axis &);
  bool einsumSizes(const Node &, subscript::Einsum &, const std::vector<Value> &, llvm::StringRef text,
                   llvm::ArrayRef<std::string> written, subscript::AxisSizes &given, subscript::AxisSizes &all);
  bool checkResultAxes(const subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &given);
  bool adoptSizes(const Node &, const subscript::Einsum &, llvm::StringRef text,
                  llvm::ArrayRef<std::vector<int64_t>> shapes, llvm::ArrayRef<std::string> written,
                  subscript::AxisSizes &given);
  bool substituteLengths(subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &all);
  bool substituteNames(subscript::Einsum &, llvm::StringRef text, llvm::ArrayRef<std::string> written,
                       const subscript::AxisSizes &given);
  std::optional<subscript::Expr> standInFor(const std::string &symbol, llvm::StringRef call,
                                            const std::set<std::string> &axes);
  bool evaluateCalls(subscript::Einsum &, const subscript::AxisSizes &all);
  std::optional<subscript::Expr> evaluateCallsIn(const subscript::Expr &, const subscript::AxisSizes &all);
  std::optional<subscript::Expr> replaceReads(const subscript::Expr &, llvm::StringRef place);
  std::vector<std::string> writtenAxes(const subscript::Einsum &, llvm::StringRef symbols,
                                       const subscript::AxisSizes &given);
  subscript::Expr builtIndex(const subscript::Dimension &, const Dimension &own, const subscript::AxisSizes &all,
                             const subscript::Domain &, const std::map<std::string, Axis> &readAxes) const;
  bool nameRuntime(const subscript::Dimension &, const Dimension &own, const subscript::AxisSizes &all,
                   llvm::StringRef place, std::map<std::string, std::string> &runtimes);
  std::optional<Dimensions> einsumResult(const subscript::Einsum &, llvm::StringRef text,
                                         const subscript::AxisSizes &all,
                                         const std::map<std::string, std::string> &runtimes);
  std::optional<std::set<std::string>> meantSums(const Node &, const subscript::Einsum &, llvm::StringRef text);
  void warnOfLoneSums(const subscript::Einsum &, llvm::StringRef text, const subscript::AxisSizes &,
                      const std::set<std::string> &meant);

  std::map<std::string, llvm::StringRef> textCalls; // of the current einsum: the functions in its index expressions
  std::set<const char *> warnedSums;                // places, because a scheme is inlined more than once
};

} // namespace skewer::language
