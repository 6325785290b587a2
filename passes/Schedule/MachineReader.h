// Reads the JSON of machine files, of processors and of GPUs. An error names its line and column, and what was
// expected.
#pragma once
#include "passes/Schedule/JsonPlaces.h"
#include "passes/Schedule/Machine.h"
#include "llvm/Support/JSON.h"

namespace skewer {

/// Holds a file's text, and its first error. Functions return false, or nothing, after an error.
class MachineReader {
public:
  MachineReader(llvm::StringRef text, llvm::StringRef file) : text(text), file(file) {}

  /// Parses the text, which is an object of these members, each given once. Returns null after an error.
  template <typename Described>
  const llvm::json::Object *open(std::vector<std::string> known, llvm::ArrayRef<NumberField<Described>> numbers) {
    for (const NumberForm &form : numbers)
      known.push_back(form.name.str());
    return open(known);
  }
  /// Reads a text of one line.
  bool readText(const llvm::json::Object &, llvm::StringRef name, std::string &value, bool isNeeded,
                const std::string &above = "");
  /// Reads a list of texts of the file's object. `what` says what they are: "names of …".
  bool readTexts(llvm::StringRef name, llvm::StringRef what, std::vector<std::string> &values);
  /// Reads a number, {"value": …, "unit": "…", "source": "…"}, which is a member of `in` and has the path `above` + its
  /// name in the file ("devices[0]." + "clock"), and its source.
  std::optional<double> readNumber(const llvm::json::Object &in, llvm::StringRef name, const NumberForm &,
                                   const std::string &above = "", std::string *source = nullptr);
  /// Reads the numbers of `described`, and the source of each.
  template <typename Described>
  bool readNumbers(const llvm::json::Object &in, llvm::ArrayRef<NumberField<Described>> fields, Described &described,
                   const std::string &above = "", std::vector<std::string> *sources = nullptr) {
    for (const NumberField<Described> &field : fields) {
      std::string source = "not given";
      if (!field.isOptional || in.get(field.name)) {
        auto number = readNumber(in, field.name, field, above, &source);
        if (!number)
          return false;
        field.set(described, *number);
      }
      if (sources)
        sources->push_back(std::move(source));
    }
    return true;
  }
  /// Fails at the value of a member, or at its name if `atKey`; at the beginning of the file if there is no such
  /// member.
  bool failAt(llvm::StringRef path, const llvm::Twine &what, bool atKey = false);

  /// Describes a value that was found: "a string", "true", "-3".
  static std::string shown(const llvm::json::Value &);
  llvm::Error takeError() const;

private:
  const llvm::json::Object *open(const std::vector<std::string> &known);
  bool fail(size_t at, const llvm::Twine &what);
  bool failSyntax(llvm::Error);
  bool checkNames(const std::vector<std::string> &known);

  llvm::StringRef text, file;
  std::optional<llvm::json::Value> root;
  std::vector<JsonMember> members;
  size_t offset = 0;
  std::string message;
};

} // namespace skewer
