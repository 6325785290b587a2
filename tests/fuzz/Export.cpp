// A judged spec as files.
#include "tests/fuzz/Export.h"
#include "codegen/Reference/Reference.h"
#include "tools/skewer/Npy.h"
#include "tools/skewer/WriteFiles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <fmt/format.h>

namespace skewer::fuzz {

using namespace driver;

/// Every row of a result in float64.
static llvm::Expected<Array> referenceOf(reference::Interpreter &interpreter, size_t number) {
  Array all{interpreter.resultShape(number), {}};
  for (const std::vector<int64_t> &leading : reference::sampleRows(all.shape, /*limit=*/1 << 30, /*seed=*/0)) {
    auto row = interpreter.row(leading, number);
    if (!row)
      return llvm::createStringError(std::errc::invalid_argument, "%s", row.reason.c_str());
    llvm::append_range(all.values, *row);
  }
  return all;
}

static llvm::json::Object named(const std::map<std::string, int64_t> &values) {
  llvm::json::Object object;
  for (const auto &[name, value] : values)
    object[name] = value;
  return object;
}

llvm::Error writeCase(const std::string &folder, const Case &written) {
  if (std::error_code error = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(error, "%s", folder.c_str());
  std::vector<OutputFile> files = {{folder + "/layer.attn", written.subject.text}};
  std::vector<reference::Tensor> inputs;
  llvm::json::Array operands, results, types;
  for (auto [argument, array] : llvm::zip_equal(written.plan.inputs, written.operands.inputs)) {
    inputs.push_back({array.shape, array.values});
    if (argument.origin) // a number of the argument struct, and no operand
      continue;
    const char *type = argument.type == ElementType::I32 ? "<i8" : "<f8";
    files.push_back({fmt::format("{}/operand-{}.npy", folder, argument.name), npyBytes(array, type)});
    operands.push_back(argument.name);
  }
  reference::Interpreter interpreter(written.einsumForm, std::move(inputs));
  for (auto [number, output] : llvm::enumerate(written.plan.outputs)) {
    auto expected = referenceOf(interpreter, number);
    if (!expected)
      return expected.takeError();
    files.push_back({fmt::format("{}/kernel-{}.npy", folder, number), npyBytes(written.resultOf(number), "<f8")});
    files.push_back({fmt::format("{}/reference-{}.npy", folder, number), npyBytes(*expected, "<f8")});
    results.push_back(output.name);
    types.push_back(nameOf(output.type));
  }
  llvm::json::Value description = llvm::json::Object{{"kernel", written.kernel},
                                                     {"operands", std::move(operands)},
                                                     {"results", std::move(results)},
                                                     {"types", std::move(types)},
                                                     {"sizes", named(written.operands.sizeByName)},
                                                     {"origins", named(written.subject.origins)},
                                                     {"tolerance", written.tolerance}};
  files.push_back({folder + "/case.json", llvm::formatv("{0:2}\n", description).str()});
  return writeFiles(files);
}

} // namespace skewer::fuzz
