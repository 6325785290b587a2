// Reads the JSON of machine files, of processors and of GPUs. An error names its line and column, and what was
// expected.
#pragma once
#include "passes/Schedule/JsonPlaces.h"
#include "passes/Schedule/Machine.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/JSON.h"

namespace skewer {

/// A number of a machine file: {"value": …, "unit": "…", "source": "…"}.
struct Quantity {
  std::string path; // of the object: "l2_rate", "devices[0].clock"
  llvm::StringRef unit;
  std::string range; // the valid values: "a whole number from 8 to 64"
  llvm::function_ref<bool(double)> isValid;
};

/// Holds a file's text, and its first error. Functions return false, or nothing, after an error.
class MachineReader {
public:
  MachineReader(llvm::StringRef text, llvm::StringRef file) : text(text), file(file) {}

  /// Parses the text, which is an object of these members, each given once. Returns null after an error.
  const llvm::json::Object *open(const std::vector<std::string> &known);
  /// Reads a text of one line.
  bool readText(const llvm::json::Object &, llvm::StringRef name, std::string &value, bool isNeeded,
                const std::string &above = "");
  /// Reads a list of texts of the file's object. `what` says what they are: "names of …".
  bool readTexts(llvm::StringRef name, llvm::StringRef what, std::vector<std::string> &values);
  /// Reads a number, whose object is a member of `in`, and its source.
  std::optional<double> readNumber(const llvm::json::Object &in, const Quantity &, std::string *source = nullptr);
  /// Fails at the value of a member, or at its name if `atKey`; at the beginning of the file if there is no such
  /// member.
  bool failAt(llvm::StringRef path, const llvm::Twine &what, bool atKey = false);

  /// Describes a value that was found: "a string", "true", "-3".
  static std::string shown(const llvm::json::Value &);
  llvm::Error takeError() const;

private:
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
