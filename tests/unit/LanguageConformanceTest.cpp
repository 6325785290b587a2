// Compares each specification of tests/e2e/conformance, evaluated in float64, with the stored output of the model.
#include "codegen/Reference/Reference.h"
#include "dialect/Language/Language.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using skewer::reference::Interpreter;
using skewer::reference::Tensor;

namespace {
/// Reads a little-endian, C-order .npy file of float32, float64 or int32, version 1.
bool readNpy(const std::string &path, Tensor &tensor) {
  auto file = llvm::MemoryBuffer::getFile(path, false, false);
  if (!file || !(*file)->getBuffer().starts_with("\x93NUMPY"))
    return false;
  llvm::StringRef bytes = (*file)->getBuffer();
  size_t header = static_cast<unsigned char>(bytes[8]) + 256 * static_cast<unsigned char>(bytes[9]);
  llvm::StringRef text = bytes.substr(10, header), data = bytes.drop_front(10 + header);
  llvm::StringRef sizes = text.split("'shape': (").second.split(')').first;
  while (!sizes.empty()) {
    auto [one, rest] = sizes.split(',');
    int64_t size = 0;
    if (!one.trim().getAsInteger(10, size))
      tensor.shape.push_back(size);
    sizes = rest;
  }
  bool wide = text.contains("<f8");
  if (text.contains("True") || data.size() != static_cast<size_t>(tensor.elements()) * (wide ? 8 : 4))
    return false;
  for (int64_t k = 0; k < tensor.elements(); ++k) {
    double value;
    float narrow;
    int32_t whole;
    if (wide)
      std::memcpy(&value, data.data() + 8 * k, 8);
    else if (text.contains("<i4"))
      std::memcpy(&whole, data.data() + 4 * k, 4), value = whole;
    else
      std::memcpy(&narrow, data.data() + 4 * k, 4), value = narrow;
    tensor.values.push_back(value);
  }
  return true;
}

class Conformance : public ::testing::TestWithParam<std::string> {};

std::vector<std::string> cases() {
  std::vector<std::string> names;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator at(SKEWER_SOURCE_DIR "/tests/e2e/conformance", error), end;
       at != end && !error; at.increment(error))
    if (llvm::sys::fs::exists(at->path() + "/spec.attn"))
      names.push_back(at->path());
  return names;
}
} // namespace

TEST_P(Conformance, SpecificationGivesTheModelsOutput) {
  std::string folder = GetParam();
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  auto text = llvm::MemoryBuffer::getFile(folder + "/spec.attn");
  ASSERT_TRUE(bool(text));
  sources.AddNewSourceBuffer(std::move(*text), llvm::SMLoc());
  std::string messages;
  llvm::raw_string_ostream out(messages);
  auto module = skewer::language::importSource(sources, {}, &context, out);
  ASSERT_TRUE(bool(module)) << messages;
  mlir::func::FuncOp kernel = *module->getOps<mlir::func::FuncOp>().begin();
  std::vector<Tensor> inputs(kernel.getNumArguments());
  for (unsigned k = 0; k < inputs.size(); ++k) {
    auto name = kernel.getArgAttrOfType<mlir::StringAttr>(k, "attn.name");
    ASSERT_TRUE(name && readNpy(folder + "/" + name.str() + ".npy", inputs[k])) << name.str();
  }
  Tensor expected;
  ASSERT_TRUE(readNpy(folder + "/output.npy", expected));
  Interpreter interpreter(kernel, inputs);
  ASSERT_EQ(interpreter.resultShape(), expected.shape);
  int64_t width = expected.shape.back(), rows = expected.elements() / width;
  double worst = 0, size = 0;
  for (int64_t row = 0; row < rows; ++row) {
    std::vector<int64_t> leading(expected.shape.size() - 1);
    int64_t rest = row;
    for (size_t d = leading.size(); d-- > 0; rest /= expected.shape[d])
      leading[d] = rest % expected.shape[d];
    auto values = interpreter.row(leading);
    ASSERT_TRUE(values.has_value()) << values.reason;
    for (int64_t e = 0; e < width; ++e) {
      worst = std::max(worst, std::fabs((*values)[e] - expected.values[row * width + e]));
      size = std::max(size, std::fabs(expected.values[row * width + e]));
    }
  }
  // The scale is a float32 constant in the operations; everything else is float64. Some models' own tables are float32.
  auto description = llvm::MemoryBuffer::getFile(folder + "/case.json");
  ASSERT_TRUE(bool(description));
  auto json = llvm::json::parse((*description)->getBuffer());
  ASSERT_TRUE(bool(json));
  double own = json->getAsObject()->getNumber("formula_error").value_or(0);
  EXPECT_LE(worst, std::max(1e-6, 1.1 * own) * size);
}

INSTANTIATE_TEST_SUITE_P(Models, Conformance, ::testing::ValuesIn(cases()), [](const auto &info) {
  std::string name;
  for (char c : llvm::StringRef(info.param).rsplit('/').second)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
});
