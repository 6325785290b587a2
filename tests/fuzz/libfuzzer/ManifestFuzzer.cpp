// Manifests and headers of kernels with any names: each line of the input is one, of the kernel, of its operands, of
// its sizes, and the last is the details, which are JSON or a text.
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/Layout.h"
#include "codegen/GPU/Build.h"
#include "tests/fuzz/libfuzzer/Fuzzing.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include <set>

using namespace skewer;
using skewer::fuzzing::finding;

static bool isIdentifier(llvm::StringRef name) {
  return !name.empty() && !llvm::isDigit(name[0]) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

static KernelPlan planFrom(llvm::ArrayRef<llvm::StringRef> names) {
  KernelPlan plan;
  plan.name = names.empty() ? "layer" : names[0].str();
  TensorArgument output{"out", ElementType::F32, {{"", 3}}, std::nullopt, std::nullopt, std::nullopt};
  for (auto [k, name] : llvm::enumerate(names.drop_front(names.empty() ? 0 : 1))) {
    bool isSize = k % 3 == 2;
    if (isSize && !llvm::is_contained(plan.sizes, name) && !name.empty()) {
      plan.sizes.push_back(name.str());
      output.shape.push_back({name.str(), 1});
    } else {
      plan.inputs.push_back(
          {name.str(), ElementType(k % 4), {{"", 2}}, IndexRange{0, int64_t(k)}, std::nullopt, std::nullopt});
    }
  }
  plan.outputs = {output};
  plan.phases = {{"phase_0", plan.name, {1, 0, {}}}};
  return plan;
}

/// Lowest demands on C: comments and texts end, and what stands outside of them is made of C's characters.
static void judgeHeader(llvm::StringRef text) {
  while (!text.empty()) {
    unsigned char c = static_cast<unsigned char>(text.front());
    if (text.consume_front("/*")) {
      size_t end = text.find("*/");
      if (end == llvm::StringRef::npos || text.take_front(end).contains("/*"))
        finding("a comment without an end, or within a comment", text);
      text = text.drop_front(end + 2);
      continue;
    }
    if (text.consume_front("\"")) {
      for (size_t k = 0;; ++k) {
        if (k == text.size() || text[k] == '\n')
          finding("a text without an end", text.take_front(k));
        if (text[k] == '"') {
          text = text.drop_front(k + 1);
          break;
        }
        k += text[k] == '\\';
      }
      continue;
    }
    if (text.starts_with("*/") || (c != '\n' && (c < 32 || c > 126)))
      finding("what C does not have", text.take_front(80));
    text = text.drop_front();
  }
}

SKEWER_FUZZ_TARGET(manifest) {
  llvm::SmallVector<llvm::StringRef> names;
  input.split(names, '\n');
  llvm::StringRef details = names.pop_back_val();
  if (names.size() > 12)
    return;
  KernelPlan plan = planFrom(names);
  if (llvm::Error error = llvm::joinErrors(checkName(plan), validateSignature(plan)))
    return llvm::consumeError(std::move(error));
  std::string text = manifestText(plan, knownTargets().front(), "0123456789abcdef", details);
  text = gpu::addGpuTargets(text, {});
  auto parsed = llvm::json::parse(text);
  if (!parsed)
    finding("a manifest that is no JSON: " + llvm::toString(parsed.takeError()), text);
  std::set<llvm::StringRef> fields;
  for (const char *kind : {"inputs", "outputs", "sizes"})
    for (const llvm::json::Value &argument : *parsed->getAsObject()->getArray(kind)) {
      llvm::StringRef field = *argument.getAsObject()->getString("field");
      if (!isIdentifier(field) || !fields.insert(field).second)
        finding("two arguments have one field, or one that is no identifier: " + field.str(), text);
    }
  judgeHeader(headerText(plan, "0123456789abcdef"));
}
