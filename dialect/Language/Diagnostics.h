// Errors, warnings and notes of the front end, each with a place in the text.
#pragma once
#include "dialect/Language/Diagnostic.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>
#include <string>
#include <vector>

namespace skewer::language {

/// Every place is a piece of a buffer of the source manager; an empty StringRef with a null pointer is "no place".
class Diagnostics {
public:
  Diagnostics(llvm::SourceMgr &sources, DiagnosticSink sink) : sources(sources), sink(std::move(sink)) {}
  /// Returns diagnostics that report nothing and count nothing, for a walk that only collects what is valid.
  static Diagnostics none(llvm::SourceMgr &sources) {
    Diagnostics silent(sources, [](const Diagnostic &) {});
    silent.counts = false;
    return silent;
  }

  void error(llvm::StringRef place, const std::string &message);
  void warning(llvm::StringRef place, const std::string &message);
  /// Belongs to the error or warning before it.
  void note(llvm::StringRef place, const std::string &message);
  void note(const std::string &message) { note({}, message); }

  bool hasErrors() const { return errors > 0; }
  /// True once so many errors were said that going on helps nobody.
  bool exhausted() const { return errors >= kMaximumErrors; }

  /// While a scheme is inlined, errors say where it was called.
  void enterCall(llvm::StringRef place, llvm::StringRef scheme) { calls.push_back({place, scheme.str()}); }
  void leaveCall() { calls.pop_back(); }
  /// An error of the innermost call; without one, of `place`.
  void errorOfCall(llvm::StringRef place, const std::string &message);
  /// The calls that are open, and what makes them open again for what is found later.
  using Calls = std::vector<std::pair<llvm::StringRef, std::string>>;
  const Calls &openCalls() const { return calls; }
  void reopenCalls(Calls open) { calls = std::move(open); }
  /// A note by itself, with the calls that are open.
  void remark(llvm::StringRef place, const std::string &message);

  llvm::SourceMgr &sources;

private:
  static constexpr unsigned kMaximumErrors = 20;
  DiagnosticSink sink;
  unsigned errors = 0;
  bool counts = true;
  bool silenced = false; // the last error was not said, so its notes are not either
  Calls calls;
};

/// "in scheme 'rope', called here".
std::string noteOfCall(llvm::StringRef scheme);

/// A message without the number of a constraint at its end, "(einsum_c4)": those are for authors of passes.
std::string withoutConstraint(llvm::StringRef message);

/// What a verifier says about an operation, without its name and the number of the constraint: "'attn.einsum' op result
/// names the axis 'i' twice (einsum_c4)" is about "result names the axis 'i' twice". Nothing where the message is not
/// of that kind.
std::optional<std::string> withoutOperation(llvm::StringRef message);

/// " (did you mean 'rel_h'?)" for the candidate nearest to `name` by edit distance, or nothing.
std::string suggestion(llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

} // namespace skewer::language
