// Reads members of machine files, and finds the places of errors.
#include "passes/Schedule/MachineReader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace skewer;
namespace json = llvm::json;

// The most levels of nesting in a machine file.
static constexpr unsigned kDepth = 4;

/// Returns the hint " (did you mean 'l2_rate'?)", or an empty string.
static std::string nearest(llvm::StringRef name, llvm::ArrayRef<std::string> known) {
  unsigned least = 3;
  std::string text;
  for (const std::string &one : known)
    if (unsigned distance = name.edit_distance(one, true, 3); distance < least) {
      least = distance;
      text = " (did you mean '" + one + "'?)";
    }
  return text;
}

std::string MachineReader::shown(const json::Value &value) {
  if (value.getAsArray())
    return "a list";
  if (value.getAsObject())
    return "an object";
  std::string text = llvm::formatv("{0}", value).str();
  return text.size() <= 60 ? text : "a text of " + std::to_string(text.size()) + " characters";
}

llvm::Error MachineReader::takeError() const {
  auto [line, column] = lineAndColumn(text, offset);
  return llvm::make_error<MachineError>(file, message, line, column);
}

bool MachineReader::fail(size_t at, const llvm::Twine &what) {
  offset = at;
  message = what.str();
  return false;
}

bool MachineReader::failAt(llvm::StringRef path, const llvm::Twine &what, bool atKey) {
  auto member = llvm::find_if(members, [&](const JsonMember &one) { return one.path == path; });
  return fail(member == members.end() ? 0 : atKey ? member->key : member->value, what);
}

/// Fails with a syntax error of llvm::json, which has the form "[3:14, byte=40]: Expected …".
bool MachineReader::failSyntax(llvm::Error error) {
  std::string whole = llvm::toString(std::move(error));
  auto [place, what] = llvm::StringRef(whole).split("]: ");
  size_t at = 0;
  if (place.split("byte=").second.getAsInteger(10, at))
    at = 0;
  return fail(std::min(at, text.size()), "no JSON: " + (what.empty() ? llvm::StringRef(whole) : what));
}

const json::Object *MachineReader::open(const std::vector<std::string> &known) {
  constexpr llvm::StringLiteral kExpected = "expected an object of a machine's fields, found ";
  if (size_t deep = jsonDeeperThan(text, kDepth); deep != llvm::StringRef::npos)
    return fail(deep, kExpected + "objects or lists in each other " + llvm::Twine(kDepth + 1) + " deep"), nullptr;
  auto parsed = json::parse(text);
  if (!parsed)
    return failSyntax(parsed.takeError()), nullptr;
  root = std::move(*parsed);
  if (!root->getAsObject())
    return fail(std::min(text.find_first_not_of(" \t\r\n"), text.size()), kExpected + shown(*root)), nullptr;
  members = jsonMembers(text);
  return checkNames(known) ? root->getAsObject() : nullptr;
}

bool MachineReader::checkNames(const std::vector<std::string> &known) {
  for (size_t k = 0; k < members.size(); ++k)
    for (size_t before = 0; before < k; ++before)
      if (members[before].path == members[k].path)
        return fail(members[k].key, "'" + members[k].path + "' is given twice");
  for (const JsonMember &member : members)
    if (!llvm::StringRef(member.path).contains('.') && !llvm::is_contained(known, member.path))
      return fail(member.key, "unknown field '" + member.path + "'" + nearest(member.path, known) +
                                  "; known: " + llvm::join(known, ", "));
  for (const auto &entry : *root->getAsObject()) // names that are written with escapes
    if (!llvm::is_contained(known, entry.first.str()))
      return fail(0, "unknown field '" + entry.first.str() + "'");
  return true;
}

bool MachineReader::readText(const json::Object &in, llvm::StringRef name, std::string &result, bool isNeeded,
                             const std::string &above) {
  const json::Value *value = in.get(name);
  std::string path = above + name.str();
  if (!value)
    return !isNeeded || failAt("", "'" + path + "' is missing: expected a text");
  auto string = value->getAsString();
  if (!string)
    return failAt(path, path + ": expected a text, found " + shown(*value));
  if (llvm::any_of(*string, [](char c) { return static_cast<unsigned char>(c) < ' '; }))
    return failAt(path, path + ": expected a text of one line");
  result = string->str();
  return true;
}

bool MachineReader::readTexts(llvm::StringRef name, llvm::StringRef what, std::vector<std::string> &values) {
  const json::Value *value = root->getAsObject()->get(name);
  if (!value)
    return true;
  const json::Array *list = value->getAsArray();
  if (!list)
    return failAt(name, name + ": expected a list of " + what + ", found " + shown(*value));
  for (const json::Value &one : *list) {
    auto text = one.getAsString();
    if (!text)
      return failAt(name, name + ": expected a list of " + what + ", found " + shown(one) + " in it");
    values.push_back(text->str());
  }
  return true;
}

std::optional<double> MachineReader::readNumber(const json::Object &in, llvm::StringRef name, const NumberForm &wanted,
                                                const std::string &above, std::string *source) {
  std::string path = above + name.str();
  std::string form = R"({"value": …, "unit": ")" + wanted.unit.str() + R"(", "source": "…"})";
  const json::Value *value = in.get(name);
  if (!value)
    return failAt("", "'" + path + "' is missing: expected " + form), std::nullopt;
  const json::Object *parts = value->getAsObject();
  if (!parts)
    return failAt(path, path + ": expected " + form + ", found " + shown(*value)), std::nullopt;
  auto failPart = [&](llvm::StringRef part, const llvm::Twine &what, bool atKey = false) {
    failAt(part.empty() ? path : path + "." + part.str(), path + ": " + what, atKey);
    return std::nullopt;
  };
  for (const auto &part : *parts)
    if (!llvm::is_contained({"value", "unit", "source"}, part.first.str()))
      return failPart(part.first, "unknown part '" + part.first.str() + "', expected " + form, /*atKey=*/true);
  for (const char *part : {"value", "unit", "source"})
    if (!parts->get(part))
      return failPart("", llvm::Twine("'") + part + "' is missing, expected " + form);
  if (parts->getString("unit").value_or("") != wanted.unit)
    return failPart("unit", "expected the unit \"" + wanted.unit + "\", found " + shown(*parts->get("unit")));
  llvm::StringRef origin = parts->getString("source").value_or("");
  if (origin.trim().empty())
    return failPart("source",
                    "expected a text that says where the value comes from, found " + shown(*parts->get("source")));
  if (source)
    *source = origin.str();
  auto number = parts->getNumber("value");
  if (!number || !wanted.holds(*number))
    return failPart("value",
                    "expected " + wanted.range() + " (" + wanted.unit + "), found " + shown(*parts->get("value")));
  return number;
}
