// `skewer format`: lays out specifications in one style.
#include "codegen/Compiler/Compiler.h"
#include "dialect/Language/Format.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/Support/raw_ostream.h"

namespace skewer::driver {

int format(const Options &options) {
  bool good = true;
  for (const std::string &path : options.specs) {
    llvm::SourceMgr sources;
    SpecKind kind;
    bool isOpen = path == "-" ? openStandardInput(sources, kind) : openSpec(path, sources, kind);
    if (!isOpen) {
      good = false;
      continue;
    }
    if (kind != SpecKind::Attn) {
      sayErrorOf(path, "only .attn texts are laid out; modules are printed anew by skewer-opt");
      good = false;
      continue;
    }
    auto text = language::formatted(sources, say);
    if (!text) {
      good = false;
      continue;
    }
    bool isSame = sources.getMemoryBuffer(sources.getMainFileID())->getBuffer() == *text;
    if (options.check && !isSame) {
      sayErrorOf(path == "-" ? "<stdin>" : path, path == "-" ? "not laid out"
                                                             : "not laid out; 'skewer format -i " + path + "' does it");
      good = false;
    } else if (options.inPlace && !isSame) {
      if (llvm::Error error = writeFiles({{path, *text}}, OtherNames::ChangeToo)) {
        sayError(std::move(error));
        good = false;
      }
    } else if (!options.check && !options.inPlace) {
      printed() << *text;
    }
  }
  return good ? kDone : kWrong;
}

} // namespace skewer::driver
