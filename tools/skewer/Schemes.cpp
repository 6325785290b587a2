// `skewer schemes`: the built-in scheme files with their leading comments.
#include "dialect/Language/Language.h"
#include "tools/skewer/Commands.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

/// A definition up to the parenthesis that closes its arguments.
static llvm::StringRef headOf(llvm::StringRef line) {
  int depth = 0;
  for (size_t k = 0; k < line.size(); ++k) {
    depth += (line[k] == '(') - (line[k] == ')');
    if (line[k] == ')' && depth == 0)
      return line.take_front(k + 1);
  }
  return line;
}

int schemes(const Options &) {
  for (const language::SchemeFile &file : language::builtinSchemes()) {
    llvm::outs() << file.name << "\n";
    llvm::StringRef rest = file.text, line;
    while (true) {
      std::tie(line, rest) = rest.split('\n');
      if (!line.consume_front("#"))
        break;
      llvm::outs() << "    " << line.trim() << "\n";
    }
    // The definitions' heads say what to call and with what.
    while (!line.empty() || !rest.empty()) {
      if (line.starts_with("scheme "))
        llvm::outs() << "    " << headOf(line) << "\n";
      std::tie(line, rest) = rest.split('\n');
    }
    llvm::outs() << "\n";
  }
  return kDone;
}

} // namespace skewer::driver
