// Parses the messages of llvm::cl and rewrites them.
#include "tools/skewer/OptionErrors.h"
#include "tools/skewer/Messages.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Regex.h"
#include <fmt/format.h>

namespace skewer::driver {

/// Returns an error, given without the program's name, in the driver's words.
static std::string inOurWords(llvm::StringRef line, llvm::StringRef help) {
  llvm::SmallVector<llvm::StringRef> parts;
  if (llvm::Regex("^Unknown command line argument '(.*)'\\. +Try").match(line, &parts))
    return fmt::format("unknown option '{}'; {} lists those there are", parts[1].str(), help.str());
  if (llvm::Regex("^for the (-[^ ]*) option: requires a value!").match(line, &parts))
    return fmt::format("{}: a value is missing", parts[1].str());
  if (llvm::Regex("^for the (-[^ ]*) option: does not allow a value! '(.*)' specified").match(line, &parts))
    return fmt::format("{}: it takes no value, found '{}'", parts[1].str(), parts[2].str());
  if (llvm::Regex("^for the (-[^ ]*) option: may only occur zero or one times!").match(line, &parts))
    return fmt::format("{} is given twice", parts[1].str());
  if (llvm::Regex("^Too many positional arguments").match(line))
    return fmt::format("too many arguments; {} says what is expected", help.str());
  return line.str();
}

void sayOptionErrors(llvm::StringRef text, llvm::StringRef command) {
  std::string help = command.empty() ? "'skewer --help'" : fmt::format("'skewer {} --help'", command.str());
  llvm::SmallVector<llvm::StringRef> lines, parts;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    line = line.drop_front(std::min(line.find(": "), line.size() - 2) + 2); // removes the program's name
    if (llvm::Regex("^Did you mean '(.*)'\\?").match(line, &parts))
      sayNote("did you mean '" + parts[1] + "'?");
    else
      sayError(inOurWords(line, help));
  }
}

} // namespace skewer::driver
