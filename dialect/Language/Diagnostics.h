// The errors, warnings and notes of the front end, each with a place in the source.
#pragma once
#include "dialect/Language/Diagnostic.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/SourceMgr.h"
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace skewer::language {

/// Reports diagnostics to a sink and counts errors. Every place is a piece of a buffer of the source manager; an empty
/// StringRef with a null pointer means "no place".
class Diagnostics {
public:
  Diagnostics(llvm::SourceMgr &sources, DiagnosticSink sink) : sources(sources), sink(std::move(sink)) {}
  /// Returns diagnostics that report nothing and count nothing, for a walk that only collects what is valid.
  static Diagnostics none(llvm::SourceMgr &sources) {
    Diagnostics silent(sources, [](const Diagnostic &) {});
    silent.counts = false;
    return silent;
  }

  /// Reports an error at its place. An error in the text of a built-in scheme is reported at the call of the scheme in
  /// the user's file, since users can change nothing else.
  void error(llvm::StringRef place, const std::string &message);
  void warning(llvm::StringRef place, const std::string &message);
  /// Reports a note that belongs to the previous error or warning.
  void note(llvm::StringRef place, const std::string &message);
  void note(const std::string &message) { note({}, message); }

  bool hasErrors() const { return errors > 0; }
  /// Returns true after so many errors that further ones do not help.
  bool exhausted() const { return errors >= kMaximumErrors; }

  /// Adds "called here" notes to the errors that follow, while a scheme is inlined.
  void enterCall(llvm::StringRef place, llvm::StringRef scheme) { calls.push_back({place, scheme.str()}); }
  void leaveCall() { calls.pop_back(); }
  /// Reports an error at the innermost open call; without an open call, at `place`.
  void errorOfCall(llvm::StringRef place, const std::string &message);
  /// The open calls. `reopenCalls` opens them again, for errors that are found later.
  using Calls = std::vector<std::pair<llvm::StringRef, std::string>>;
  const Calls &openCalls() const { return calls; }
  void reopenCalls(Calls open) { calls = std::move(open); }
  /// Reports a note of its own, with the open calls.
  void remark(llvm::StringRef place, const std::string &message);

  llvm::SourceMgr &sources;

private:
  static constexpr unsigned kMaximumErrors = 20;
  DiagnosticSink sink;
  unsigned errors = 0;
  bool counts = true;
  bool silenced = false; // the last error was not reported, so its notes are not reported either
  Calls calls;
  std::set<std::pair<const char *, std::string>> saidOfCalls; // the errors of built-in schemes at each call
};

/// Returns "in scheme 'rope', called here".
std::string noteOfCall(llvm::StringRef scheme);

/// Returns the message without the constraint number at its end, "(einsum_c4)": these numbers are for authors of
/// passes.
std::string withoutConstraint(llvm::StringRef message);

/// Returns what a verifier says about an operation, without the operation's name and the constraint number:
/// "'attn.einsum' op result names the axis 'i' twice (einsum_c4)" becomes "result names the axis 'i' twice". Nothing if
/// the message is of another kind.
std::optional<std::string> withoutOperation(llvm::StringRef message);

/// Returns " (did you mean 'rel_h'?)" for the candidate nearest to `name` by edit distance, or an empty string.
std::string suggestion(llvm::StringRef name, llvm::ArrayRef<std::string> candidates);

} // namespace skewer::language
