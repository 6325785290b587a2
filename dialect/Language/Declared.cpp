// Reads the declarations of a text, without its meaning.
#include "dialect/Language/Declared.h"
#include "dialect/Language/Ast.h"
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Parser.h"

namespace skewer::language {

DeclaredNames declaredNames(llvm::SourceMgr &sources) {
  Diagnostics silent = Diagnostics::none(sources);
  Program program;
  Parser(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(), silent).program(program);
  DeclaredNames names;
  for (const ParamDeclaration &param : program.params)
    names.params.push_back(param.name.str());
  for (llvm::StringRef size : program.sizes)
    names.sizes.push_back(size.str());
  for (const LengthDeclaration &length : program.lengths)
    names.sizes.push_back(length.name.str());
  return names;
}

} // namespace skewer::language
