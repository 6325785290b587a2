// Tests the typed tensors of a kernel: their dimensions are those of the emitted operations, one by one.
#include "dialect/Language/Language.h"
#include "dialect/Language/Typed.h"
#include "tests/unit/LanguageTesting.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace skewer;
using llvm::StringRef;

namespace {

struct Both {
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::optional<language::TypedText> typed;

  explicit Both(StringRef text) {
    sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "test.attn"), llvm::SMLoc());
    auto silent = [](const language::Diagnostic &) {};
    module = language::importSource(sources, {}, &context, silent);
    typed = language::typedTensors(sources, {}, &context, silent);
  }
};

/// Returns the type in a line of the typed text, "f32[batch, 196]", with ? for a run-time size; nothing for operands.
std::optional<std::string> typeOf(StringRef line) {
  auto [head, dimensions] = line.split("[");
  if (!line.starts_with("  ") || dimensions.empty() || !head.contains("%") || line.ends_with("] operand"))
    return std::nullopt;
  std::string text = (head.rsplit(": ").second + "[").str();
  for (StringRef rest = dimensions.split("] ").first; !rest.empty();) {
    auto [one, others] = rest.split(", ");
    StringRef size = one.rsplit(" = ").second;
    bool isNumber = llvm::all_of(size, llvm::isDigit);
    text += (text.back() == '[' ? "" : ", ") + (isNumber ? size.str() : "?");
    rest = others;
  }
  return text + "]";
}

std::string typeOf(mlir::RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream out(text);
  out << type.getElementType() << "[";
  llvm::interleaveComma(type.getShape(), out, [&](int64_t size) {
    mlir::ShapedType::isDynamic(size) ? out << "?" : out << size;
  });
  out << "]";
  return text;
}

void expectSameTypes(const std::string &path) {
  Both both(skewer::testing::fileText(path));
  ASSERT_EQ(bool(both.module), both.typed.has_value()) << path;
  if (!both.module)
    return;
  std::vector<std::string> typed, emitted;
  for (StringRef rest = both.typed->text; !rest.empty();) {
    auto [line, others] = rest.split("\n");
    if (auto type = typeOf(line))
      typed.push_back(*type);
    rest = others;
  }
  for (auto function : both.module->getOps<mlir::func::FuncOp>())
    for (mlir::Operation &op : function.front())
      if (op.getNumResults() == 1)
        if (auto type = mlir::dyn_cast<mlir::RankedTensorType>(op.getResultTypes()[0]))
          emitted.push_back(typeOf(type));
  EXPECT_FALSE(typed.empty()) << path;
  EXPECT_EQ(typed, emitted) << path << "\n" << both.typed->text;
}

TEST(Typed, DimensionsAreThoseOfTheOperations) {
  size_t count = 0;
  for (const char *folder : {"/tests/bench/specs", "/tests/oracle/texts", "/examples"}) {
    std::error_code failed;
    for (llvm::sys::fs::recursive_directory_iterator at(std::string(SKEWER_SOURCE_DIR) + folder, failed), end;
         at != end && !failed; at.increment(failed))
      if (llvm::sys::path::extension(at->path()) == ".attn") {
        expectSameTypes(at->path());
        ++count;
      }
    EXPECT_FALSE(failed) << folder;
  }
  EXPECT_GT(count, 40u);
}

/// Returns "name: type, axes" for each name, in the order of the statements.
std::vector<std::string> namesOf(StringRef text) {
  Both both(text);
  std::vector<std::string> names;
  if (both.typed)
    for (const language::NamedTensor &named : both.typed->names)
      names.push_back(named.name + ": " + named.type + ", " + named.axes);
  return names;
}

TEST(Typed, NamesHaveTheAxesOfTheirStatements) {
  EXPECT_EQ(namesOf(R"(
size batch, rows
scheme scaled(x : [b, h, m, n]) -> [b, h, m, n] = x * 2
kernel layer(q : f16[batch, 2, 12, 3], w : f32[rows, 4], u : f32[12, 4])
    -> (a : f32[batch, 2, 12, 12], r : f32[rows, 4], f : f16[batch, 2, 6, 3], g : f16[batch, 2, 6, 3], o : f32[4, 12]) {
  s = einsum("b h (y x) d, b h j d -> b h (y x) j", q, q, y = 4)
  t = scaled(s)
  row = einsum("r e -> r e", w)
  named = u[j, e]
  (first, second) = rearrange(q, "b h (two m) d -> two b h m d", two = 2)
  reshaped = reshape(named, [4, 12])
  return t, row, first, second, reshaped
})"),
            (std::vector<std::string>{
                "s: f32[batch, 2, 12, 12], b h (y x) j", "t: f32[batch, 2, 12, 12], b h (y x) j",
                "row: f32[rows, 4], r e", "named: f32[12, 4], j e", "first: f16[batch, 2, 6, 3], b h m d",
                "second: f16[batch, 2, 6, 3], b h m d", "reshaped: f32[4, 12], "}));
}

TEST(Typed, ATextWithAnErrorHasNone) {
  EXPECT_FALSE(Both("kernel layer(q : f32[4]) -> f32[4] {\n  return q + r\n}\n").typed.has_value());
  // An error that only the finished kernel shows: the table has fewer rows than are read.
  EXPECT_FALSE(Both("kernel layer(t : f32[4]) -> f32[5] {\n  return einsum(\"(i) -> i\", t, i = 5)\n}\n").typed.has_value());
}

// A function of one argument is a function of numbers, of positions and of tensors; emission decides its meaning for
// tensors.
TEST(Functions, OfOneArgumentAreOfEverything) {
  EXPECT_GE(language::functionsOfOneArgument().size(), 14u);
  for (StringRef name : language::functionsOfOneArgument()) {
    std::string text = "kernel k(x : f32[4]) -> f32[4] {\n  y = einsum(\"n -> n\", x)\n  return NAME(y) + NAME((n + 1) / 3) + NAME(0.5)\n}\n";
    for (size_t at; (at = text.find("NAME")) != std::string::npos;)
      text.replace(at, 4, name.str());
    Both both(text);
    EXPECT_TRUE(both.module && both.typed) << name.str();
  }
}

TEST(Functions, OfElementsHaveOneNameEach) {
  std::set<StringRef> names;
  for (int k = 0; k <= static_cast<int>(language::typed::Function::Maximum); ++k) {
    auto function = static_cast<language::typed::Function>(k);
    StringRef name = language::typed::nameOf(function);
    EXPECT_TRUE(names.insert(name).second) << name.str();
    EXPECT_EQ(language::typed::functionNamed(name), function) << name.str();
  }
  EXPECT_EQ(language::typed::functionNamed("//"), std::nullopt);
}

} // namespace
