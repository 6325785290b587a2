// Printing of diagnostics: the line, a caret, an underline.
#include "dialect/Language/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace skewer::language {

void Diagnostics::error(StringRef place, const std::string &message) {
  silenced = exhausted();
  if (silenced)
    return;
  ++errors;
  print(place, "error", message);
  for (auto &[call, scheme] : reverse(calls))
    note(call, "in scheme '" + scheme + "', called here");
  if (exhausted())
    out << "error: too many errors, stopping here\n";
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
  if (!silenced)
    print(place, "warning", message);
}

void Diagnostics::remark(StringRef place, const std::string &message) {
  silenced = exhausted();
  note(place, message);
  for (auto &[call, scheme] : reverse(calls))
    note(call, "in scheme '" + scheme + "', called here");
}

void Diagnostics::note(StringRef place, const std::string &message) {
  if (!silenced)
    print(place, "note", message);
}

namespace {
/// Long lines are shown around the place; what a terminal cannot show becomes '?', a tab a space.
std::string printable(StringRef text) {
  std::string shown;
  for (char c : text)
    shown += c == '\t' ? ' ' : static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  return shown;
}
/// UTF-8 continuation bytes take no column.
size_t columns(StringRef text) {
  return count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}
} // namespace

/// Without "(einsum_c4)" at its end.
static std::string withoutConstraint(StringRef message) {
  StringRef rest = message.rtrim();
  size_t open = rest.ends_with(")") ? rest.rfind('(') : StringRef::npos;
  StringRef number = open == StringRef::npos ? StringRef() : rest.drop_front(open + 1).drop_back();
  bool isConstraint = number.rsplit("_c").second.size() > 0 &&
                      all_of(number, [](char c) { return isAlnum(c) || c == '_'; }) && isDigit(number.back());
  return (isConstraint ? rest.take_front(open).rtrim() : rest).str();
}

void Diagnostics::print(StringRef place, const char *kind, const std::string &message) {
  SMLoc location = SMLoc::getFromPointer(place.data());
  unsigned buffer = place.data() ? sources.FindBufferContainingLoc(location) : 0;
  if (!buffer) {
    out << kind << ": " << message << "\n";
    return;
  }
  const MemoryBuffer *memory = sources.getMemoryBuffer(buffer);
  auto [line, column] = sources.getLineAndColumn(location, buffer);
  out << memory->getBufferIdentifier() << ":" << line << ":" << column << ": " << kind << ": " << message << "\n";

  constexpr ptrdiff_t kBefore = 100, kAfter = 120; // bytes of a long line that are shown
  const char *begin = place.data(), *end = place.data();
  while (begin > memory->getBufferStart() && begin[-1] != '\n' && begin[-1] != '\r' && place.data() - begin < kBefore)
    --begin;
  while (end < memory->getBufferEnd() && *end != '\n' && *end != '\r' && end - place.data() < kAfter)
    ++end;
  StringRef before(begin, place.data() - begin);
  StringRef marked = place.take_front(end - place.data());
  out << printable(StringRef(begin, end - begin)) << "\n";
  out << std::string(columns(before), ' ') << "^";
  if (columns(marked) > 1)
    out << std::string(columns(marked) - 1, '~');
  out << "\n";
}

std::optional<std::string> withoutOperation(StringRef message) {
  bool isOperation = message.consume_front("'");
  StringRef name = message.take_until([](char c) { return c == '\''; });
  isOperation &= name.contains('.') && !name.contains(' ') && message.drop_front(name.size()).starts_with("' op ");
  if (isOperation)
    return withoutConstraint(message.drop_front(name.size() + 5));
  // What the translation to LLVM says of operations that it does not know.
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
