// Imports a text of the .attn language, and returns the module's text or the errors, for the tests of the language.
#pragma once
#include "dialect/Language/Language.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

namespace skewer::testing {

struct Imported {
  bool good = false;
  std::string module, messages;
};

inline Imported import(llvm::StringRef text, language::Parameters parameters = {}) {
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
  language::Options options;
  options.parameters = std::move(parameters);
  Imported result;
  llvm::raw_string_ostream messages(result.messages);
  auto module = language::importSource(sources, options, &context, messages);
  result.good = bool(module);
  if (module) {
    llvm::raw_string_ostream out(result.module);
    module->print(out);
  }
  return result;
}

inline std::string fileText(const std::string &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return buffer ? (*buffer)->getBuffer().str() : "";
}

inline ::testing::AssertionResult contains(const std::string &text, const std::string &part) {
  if (text.find(part) != std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected to find\n  " << part << "\nin\n" << text;
}

#define EXPECT_SAYS(messages, part) EXPECT_TRUE(::skewer::testing::contains(messages, part))

/// Returns the errors of a text that must be refused.
inline std::string rejected(const std::string &text) {
  Imported result = import(text);
  EXPECT_FALSE(result.good) << result.module;
  return result.messages;
}

} // namespace skewer::testing
