// The reporting of errors, warnings and notes: adds the calls of schemes that led to them, and removes operation names
// from verifier messages.
#include "dialect/Language/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace skewer::language {

void Diagnostics::error(StringRef place, const std::string &message) {
  silenced = exhausted();
  if (silenced || !counts)
    return;
  auto fileOf = [&](StringRef at) {
    return at.data() ? sources.FindBufferContainingLoc(SMLoc::getFromPointer(at.data())) : 0;
  };
  // Kernels stand in the file of the user, and so does the outermost call.
  StringRef own = place;
  size_t outer = calls.size();
  while (outer > 0 && fileOf(own) != fileOf(calls.front().first))
    own = calls[--outer].first;
  bool isInside = outer < calls.size();
  // Several places of a scheme may have one fault for the same reason.
  silenced = isInside && !saidOfCalls.insert({own.data(), message}).second;
  if (silenced)
    return;
  ++errors;
  sink(diagnosticAt(sources, own, Severity::Error,
                    isInside ? "scheme '" + calls[outer].second + "': " + message : message));
  if (isInside && place.data())
    note(place, "this is the place in the built-in scheme");
  for (size_t k = calls.size(); k-- > 0;)
    if (k != outer)
      note(calls[k].first, noteOfCall(calls[k].second));
  if (exhausted())
    sink({Severity::Error, "too many errors, stopping here"});
}

void Diagnostics::errorOfCall(StringRef place, const std::string &message) {
  if (calls.empty())
    return error(place, message);
  auto call = calls.back();
  calls.pop_back();
  error(call.first, "scheme '" + call.second + "': " + message);
  calls.push_back(call);
}

void Diagnostics::warning(StringRef place, const std::string &message) {
  silenced = exhausted();
  if (silenced)
    return;
  sink(diagnosticAt(sources, place, Severity::Warning, message));
  for (auto &[call, scheme] : reverse(calls))
    note(call, noteOfCall(scheme));
}

void Diagnostics::remark(StringRef place, const std::string &message) {
  silenced = exhausted();
  if (silenced)
    return;
  sink(diagnosticAt(sources, place, Severity::Note, message));
  for (auto &[call, scheme] : reverse(calls))
    note(call, noteOfCall(scheme));
}

void Diagnostics::note(StringRef place, const std::string &message) {
  if (silenced)
    return;
  Diagnostic note = diagnosticAt(sources, place, Severity::Note, message);
  note.isAttached = true;
  sink(std::move(note));
}

std::string noteOfCall(StringRef scheme) { return "in scheme '" + scheme.str() + "', called here"; }

std::string withoutConstraint(StringRef message) {
  StringRef rest = message.rtrim();
  size_t open = rest.ends_with(")") ? rest.rfind('(') : StringRef::npos;
  StringRef number = open == StringRef::npos ? StringRef() : rest.drop_front(open + 1).drop_back();
  bool isConstraint = number.rsplit("_c").second.size() > 0 &&
                      all_of(number, [](char c) { return isAlnum(c) || c == '_'; }) && isDigit(number.back());
  return (isConstraint ? rest.take_front(open).rtrim() : rest).str();
}

std::optional<std::string> withoutOperation(StringRef message) {
  bool isOperation = message.consume_front("'");
  StringRef name = message.take_until([](char c) { return c == '\''; });
  isOperation &= name.contains('.') && !name.contains(' ') && message.drop_front(name.size()).starts_with("' op ");
  if (isOperation)
    return withoutConstraint(message.drop_front(name.size() + 5));
  // Messages of the translation to LLVM about operations that it does not know.
  if (message.contains("LLVMTranslationDialectInterface") || message.contains("has no form in LLVM's IR") ||
      message.contains("failed to legalize") || message.contains("unrealized_conversion_cast"))
    return std::string("an operation is left over that has no machine code");
  return std::nullopt;
}

std::string suggestion(StringRef name, ArrayRef<std::string> candidates) {
  unsigned limit = name.size() <= 2 ? 1 : name.size() <= 5 ? 2 : 3;
  const std::string *best = nullptr;
  for (const std::string &candidate : candidates) {
    if (candidate == name || name.size() > 64 || candidate.size() > 64)
      continue;
    unsigned distance = name.edit_distance(candidate, true, limit);
    if (distance <= limit && distance < std::max(name.size(), candidate.size())) {
      if (!best || name.edit_distance(*best) > distance)
        best = &candidate;
    }
  }
  return best ? " (did you mean '" + *best + "'?)" : "";
}

} // namespace skewer::language
