// Reading the texts of options.
#include "tools/skewer/OptionTexts.h"
#include "tools/skewer/Options.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <fmt/format.h>

bool skewer::driver::usage(const std::string &text) {
  llvm::errs() << "skewer: error: " << text << "\n";
  return false;
}

bool skewer::driver::split(const char *option, llvm::StringRef text, std::string &name, llvm::StringRef &value) {
  size_t equals = text.find('=');
  if (equals == llvm::StringRef::npos || equals == 0 || equals + 1 == text.size())
    return usage(fmt::format("{} expects NAME=VALUE, found '{}'", option, text.str()));
  name = text.take_front(equals).str();
  value = text.drop_front(equals + 1);
  return true;
}

bool skewer::driver::readNumbers(const char *option, const llvm::cl::list<std::string> &list,
                                 std::map<std::string, int64_t> &to, int &exitCode) {
  for (const std::string &text : list) {
    std::string name;
    llvm::StringRef value;
    if (!split(option, text, name, value))
      return false;
    llvm::StringRef digits = value;
    digits.consume_front("-");
    if (digits.empty() || !llvm::all_of(digits, llvm::isDigit))
      return usage(fmt::format("{} {}: expected a whole number, found '{}'", option, name, value.str()));
    int64_t number;
    if (value.getAsInteger(10, number)) {
      exitCode = kWrong; // the right form, but no size
      return usage(fmt::format("{} {}: {} does not fit in 64 bits", option, name, value.str()));
    }
    if (!to.emplace(name, number).second)
      return usage(fmt::format("{} {} is given twice", option, name));
  }
  return true;
}
