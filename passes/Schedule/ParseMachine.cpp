// Reads machine files. An error names its line and column, and what was expected.
#include "passes/Schedule/CodeNames.h"
#include "passes/Schedule/JsonPlaces.h"
#include "passes/Schedule/Machine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <fmt/format.h>

using namespace skewer;
namespace json = llvm::json;

// The most levels of nesting in a machine file.
static constexpr unsigned kDepth = 4;
// The most bytes of a machine file. The files that come with Skewer have 3 KB.
static constexpr uint64_t kMostBytes = 1 << 20;

namespace {
/// Describes a value that was found: "a string", "true", "-3".
std::string shown(const json::Value &value) {
  switch (value.kind()) {
  case json::Value::String:
  case json::Value::Number:
  case json::Value::Boolean:
  case json::Value::Null: {
    std::string text = llvm::formatv("{0}", value).str();
    return text.size() <= 60 ? text : "a text of " + std::to_string(text.size()) + " characters";
  }
  case json::Value::Array:
    return "a list";
  case json::Value::Object:
    return "an object";
  }
  return "";
}

/// Returns the hint " (did you mean 'l2_rate'?)", or an empty string.
std::string nearest(llvm::StringRef name, llvm::ArrayRef<std::string> known) {
  unsigned least = 3;
  std::string text;
  for (const std::string &one : known)
    if (unsigned distance = name.edit_distance(one, true, 3); distance < least) {
      least = distance;
      text = " (did you mean '" + one + "'?)";
    }
  return text;
}

class Parser {
public:
  Parser(llvm::StringRef text, llvm::StringRef file, bool forCode) : text(text), file(file), forCode(forCode) {}

  llvm::Expected<Machine> parse() {
    Machine machine;
    machine.sources.resize(machineFields().size());
    if (!parseInto(machine)) {
      auto [line, column] = lineAndColumn(text, offset);
      return llvm::make_error<MachineError>(file, message, line, column);
    }
    return machine;
  }

private:
  bool fail(size_t at, const llvm::Twine &what) {
    offset = at;
    message = what.str();
    return false;
  }
  /// Fails at the value of a member, or at its name if `atKey`.
  bool failAt(llvm::StringRef path, const llvm::Twine &what, bool atKey = false) {
    auto member = llvm::find_if(members, [&](const JsonMember &one) { return one.path == path; });
    return fail(member == members.end() ? 0 : atKey ? member->key : member->value, what);
  }

  bool parseInto(Machine &machine) {
    if (size_t deep = jsonDeeperThan(text, kDepth); deep != llvm::StringRef::npos)
      return fail(deep, "expected an object of a machine's fields, found objects or lists in each other " +
                            llvm::Twine(kDepth + 1) + " deep");
    auto root = json::parse(text);
    if (!root)
      return failSyntax(root.takeError());
    const json::Object *object = root->getAsObject();
    if (!object)
      return fail(std::min(text.find_first_not_of(" \t\r\n"), text.size()),
                  "expected an object of a machine's fields, found " + shown(*root));
    members = JsonMembers(jsonMembers(text));
    return checkNames(*object) && parseTexts(*object, machine) && parseFields(*object, machine) &&
           checkCaches(machine) && (!forCode || checkCode(machine));
  }

  /// Fails with a syntax error of llvm::json, which has the form "[3:14, byte=40]: Expected …".
  bool failSyntax(llvm::Error error) {
    std::string whole = llvm::toString(std::move(error));
    auto [place, what] = llvm::StringRef(whole).split("]: ");
    size_t at = 0;
    if (place.split("byte=").second.getAsInteger(10, at))
      at = 0;
    return fail(std::min(at, text.size()), "no JSON: " + (what.empty() ? llvm::StringRef(whole) : what));
  }

  static bool isText(llvm::StringRef name) {
    return llvm::is_contained({"name", "about", "origin", "cpu", "features", "cpus"}, name);
  }

  /// Fails for unknown members and for members that occur twice.
  bool checkNames(const json::Object &object) {
    std::vector<std::string> known{"name", "about", "origin", "cpu", "features", "cpus"};
    for (const MachineField &field : machineFields())
      known.push_back(field.name.str());
    for (size_t k = 0; k < members.size(); ++k)
      for (size_t before = 0; before < k; ++before)
        if (members[before].path == members[k].path)
          return fail(members[k].key, "'" + members[k].path + "' is given twice");
    for (const JsonMember &member : members)
      if (!llvm::StringRef(member.path).contains('.') && !llvm::is_contained(known, member.path))
        return fail(member.key, "unknown field '" + member.path + "'" + nearest(member.path, known) +
                                    "; known: " + llvm::join(known, ", "));
    for (const auto &entry : object) // names that are written with escapes
      if (!llvm::is_contained(known, entry.first.str()))
        return fail(0, "unknown field '" + entry.first.str() + "'");
    return true;
  }

  bool parseTexts(const json::Object &object, Machine &machine) {
    struct Text {
      const char *name;
      std::string *value;
      bool isNeeded;
    };
    for (Text one : {Text{"name", &machine.target.name, true}, Text{"about", &machine.about, false},
                     Text{"origin", &machine.origin, false}, Text{"cpu", &machine.target.cpu, true},
                     Text{"features", &machine.target.features, true}}) {
      const json::Value *value = object.get(one.name);
      if (!value && one.isNeeded)
        return fail(0, llvm::Twine("'") + one.name + "' is missing: expected a text");
      if (!value)
        continue;
      auto string = value->getAsString();
      if (!string)
        return failAt(one.name, llvm::Twine(one.name) + ": expected a text, found " + shown(*value));
      if (llvm::any_of(*string, [](char c) { return static_cast<unsigned char>(c) < ' '; }))
        return failAt(one.name, llvm::Twine(one.name) + ": expected a text of one line");
      *one.value = string->str();
    }
    // The name becomes part of symbols, file names and attributes.
    const std::string &name = machine.target.name;
    if (name.empty() || name.size() > 64 ||
        !llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '-' || c == '_' || c == '.'; }))
      return failAt("name", "name: expected up to 64 letters, digits, '-', '_' and '.', found '" + name + "'");
    return parseCpus(object, machine);
  }

  bool parseCpus(const json::Object &object, Machine &machine) {
    const json::Value *cpus = object.get("cpus");
    if (!cpus)
      return true;
    const json::Array *list = cpus->getAsArray();
    if (!list)
      return failAt("cpus", "cpus: expected a list of LLVM's names of processors, found " + shown(*cpus));
    for (const json::Value &one : *list) {
      auto name = one.getAsString();
      if (!name)
        return failAt("cpus", "cpus: expected a list of LLVM's names of processors, found " + shown(one) + " in it");
      machine.cpus.push_back(name->str());
    }
    return true;
  }

  bool parseFields(const json::Object &object, Machine &machine) {
    for (auto [number, field] : llvm::enumerate(machineFields())) {
      std::string form = R"({"value": …, "unit": ")" + field.unit.str() + R"(", "source": "…"})";
      const json::Value *value = object.get(field.name);
      if (!value && field.isOptional) {
        machine.sources[number] = "not given";
        continue;
      }
      if (!value)
        return fail(0, "'" + field.name + "' is missing: expected " + form);
      const json::Object *parts = value->getAsObject();
      if (!parts)
        return failAt(field.name, field.name + ": expected " + form + ", found " + shown(*value));
      for (const auto &part : *parts)
        if (!llvm::is_contained({"value", "unit", "source"}, part.first.str()))
          return failAt(path(field, part.first),
                        field.name + ": unknown part '" + part.first.str() + "', expected " + form, /*atKey=*/true);
      for (llvm::StringRef part : {"value", "unit", "source"})
        if (!parts->get(part))
          return failAt(field.name, field.name + ": '" + part + "' is missing, expected " + form);
      auto unit = parts->getString("unit");
      if (!unit || *unit != field.unit)
        return failAt(path(field, "unit"),
                      field.name + ": expected the unit \"" + field.unit + "\", found " + shown(*parts->get("unit")));
      auto source = parts->getString("source");
      if (!source || source->trim().empty())
        return failAt(path(field, "source"), field.name +
                                                 ": expected a text that says where the value comes from, found " +
                                                 shown(*parts->get("source")));
      machine.sources[number] = source->str();
      if (!parseNumber(field, *parts->get("value"), machine.target))
        return false;
    }
    return true;
  }

  bool parseNumber(const MachineField &field, const json::Value &value, Target &target) {
    auto number = value.getAsNumber();
    bool fits = number && *number >= field.least && *number <= field.most;
    if (fits && field.count)
      fits = std::floor(*number) == *number;
    if (fits && field.isPowerOfTwo)
      fits = llvm::isPowerOf2_64(static_cast<uint64_t>(*number));
    if (!fits)
      return failAt(path(field, "value"),
                    field.name + ": expected " + field.range() + " (" + field.unit + "), found " + shown(value));
    field.set(target, *number);
    return true;
  }

  bool checkCaches(const Machine &machine) {
    if (machine.target.l1Bytes <= machine.target.l2Bytes)
      return true;
    return failAt("l2_size.value", fmt::format("l2_size: expected at least the {} bytes of l1_size, found {}",
                                               machine.target.l1Bytes, machine.target.l2Bytes));
  }

  /// Fails for names that LLVM does not know. LLVM would warn, ignore them, and generate code for a generic processor.
  bool checkCode(const Machine &machine) {
    const CodeNames names;
    if (!names.isCpu(machine.target.cpu))
      return failAt("cpu", "cpu: LLVM knows no processor '" + machine.target.cpu + "' for " + names.architecture() +
                               "; `llc -mcpu=help` lists those that it knows");
    llvm::SmallVector<llvm::StringRef> features;
    llvm::StringRef(machine.target.features).split(features, ',', -1, false);
    for (llvm::StringRef feature : features) {
      if (!feature.starts_with("+") && !feature.starts_with("-"))
        return failAt("features", "features: expected a list like \"+avx2,-avx512f\", found '" + feature + "' in it");
      if (!names.isFeature(feature.drop_front()))
        return failAt("features", "features: LLVM knows no feature '" + feature.drop_front() + "' of " +
                                      names.architecture() + "; `llc -mattr=help` lists those that it knows");
    }
    return true;
  }

  static std::string path(const MachineField &field, llvm::StringRef part) { return (field.name + "." + part).str(); }

  using JsonMembers = std::vector<JsonMember>;
  llvm::StringRef text, file;
  bool forCode;
  JsonMembers members;
  size_t offset = 0;
  std::string message;
};
} // namespace

char MachineError::ID;

std::string MachineError::place() const {
  return line ? file + ":" + std::to_string(line) + ":" + std::to_string(column) : file;
}

void MachineError::log(llvm::raw_ostream &os) const { os << place() << ": error: " << message; }

llvm::Expected<Machine> skewer::parseMachine(llvm::StringRef text, llvm::StringRef file, bool forCode) {
  return Parser(text, file, forCode).parse();
}

llvm::Expected<Machine> skewer::readMachineFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::make_error<MachineError>(path, "cannot read the machine file: " + buffer.getError().message());
  if ((*buffer)->getBufferSize() > kMostBytes)
    return llvm::make_error<MachineError>(path, "is no machine file: it has more than 1 MiB");
  auto machine = parseMachine((*buffer)->getBuffer(), path);
  if (machine)
    machine->target.file = path.str();
  return machine;
}
