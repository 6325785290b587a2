// `skewer schemes`: the built-in scheme files: what to call and with what, and the comments that say why.
#include "dialect/Language/Language.h"
#include "tools/skewer/Commands.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

/// A definition up to the parenthesis that closes its arguments.
static std::string headOf(llvm::StringRef text) {
  int depth = 0;
  std::string head;
  for (char c : text) {
    bool space = c == ' ' || c == '\n';
    if (!space || (!head.empty() && head.back() != ' '))
      head += space ? ' ' : c;
    depth += (c == '(') - (c == ')');
    if (c == ')' && depth == 0)
      break;
  }
  return head;
}

int schemes(const Options &) {
  for (const language::SchemeFile &file : language::builtinSchemes()) {
    llvm::outs() << file.name << "\n";
    for (llvm::StringRef rest = file.text; !rest.empty(); rest = rest.split('\n').second) {
      if (rest.starts_with("#"))
        llvm::outs() << "    " << rest.split('\n').first.drop_front(1).trim() << "\n";
      else if (rest.starts_with("scheme "))
        llvm::outs() << "  " << headOf(rest) << "\n";
    }
    llvm::outs() << "\n";
  }
  return kDone;
}

} // namespace skewer::driver
