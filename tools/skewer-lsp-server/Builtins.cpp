// Describes the functions with one line from LANGUAGE.md, and the schemes with their own source.
#include "tools/skewer-lsp-server/Builtins.h"
#include "dialect/Language/Language.h"
#include "tools/skewer-lsp-server/Symbols.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace skewer::lsp {

namespace {
struct Function {
  const char *name, *usage, *text;
};
// All words that a call may begin with. tests/e2e/lsp.test compares the list with the front end.
constexpr Function kFunctions[] = {
    {"einsum", "einsum(\"b h i d, b h j d -> b h i j\", q, k, axis = size, where = P)",
     "multiplies and sums; dimensions in parentheses are index expressions"},
    {"softmax", "softmax(x where P)", "over the last dimension, of the elements that are not absent"},
    {"logsumexp", "logsumexp(x where P)", "log of the sum of exponentials over the last dimension"},
    {"sum", "sum(x, axis)", "over axes by name, or dimensions by place"},
    {"mean", "mean(x, axis)", "over axes by name, or dimensions by place"},
    {"max", "max(a, b), max(x, axis = d)", "of two values, or along axes"},
    {"min", "min(a, b), min(x, axis = d)", "of two values, or along axes"},
    {"cumsum", "cumsum(x, axis)", "the sums of the elements up to each one"},
    {"skew", "skew(x)", "[…, l, 2*l - 1] to [..., l, l]: element (i, j) is x[i, j - i + l - 1]"},
    {"pad", "pad(x, (1, 0))", "elements before and after the last dimensions"},
    {"reshape", "reshape(x, [batch, N, M])", "the same elements in another shape"},
    {"rearrange", "rearrange(x, \"b h (x y) d -> b h x y d\", x = 14)", "split, merge and permute by name"},
    {"broadcast", "broadcast(x, \"b h jx -> b h jy jx\", jy = 14)", "repeat along a new axis"},
    {"concat", "concat(a, b, dim = 1)", "one after another along a dimension"},
    {"gather", "gather(x, index, y = H, k = H, dim = 0)", "the rows that an index expression names"},
    {"tabulate", "tabulate(function, t = 100, k = 24)", "a constant tensor, computed in f64"},
    {"exp", "exp(x)", "element by element"},
    {"log", "log(x)", "element by element"},
    {"sqrt", "sqrt(x)", "element by element"},
    {"rsqrt", "rsqrt(x)", "element by element"},
    {"sigmoid", "sigmoid(x)", "element by element"},
    {"tanh", "tanh(x)", "element by element"},
    {"relu", "relu(x)", "element by element"},
    {"erf", "erf(x)", "element by element"},
    {"sin", "sin(x)", "element by element"},
    {"cos", "cos(x)", "element by element"},
    {"abs", "abs(x)", "of tensors, numbers and positions"},
    {"floor", "floor(x)", "the nearest whole number below"},
    {"ceil", "ceil(x)", "the nearest whole number above"},
    {"round", "round(x)", "the nearest whole number, of two the even one"},
    {"clamp", "clamp(x, low, high)", "between two numbers"},
    {"select", "select(P, a, b)", "a where P holds, else b"},
    {"len", "len(axis)", "the size of an axis"},
    {"highest", "highest(ids)", "the largest value that the range of an index operand allows"},
    {"lowest", "lowest(ids)", "the smallest value that the range of an index operand allows"},
    {"f32", "f32(x)", "a function of positions, rounded to f32"},
    {"f64", "f64(x)", "a function of positions, computed in f64"},
};
} // namespace

ArrayRef<Builtin> builtins() {
  static const std::vector<Builtin> all = [] {
    std::vector<Builtin> list;
    for (const Function &function : kFunctions)
      list.push_back({function.name, function.usage, function.text, false});
    for (const language::SchemeFile &file : language::builtinSchemes()) {
      std::vector<Symbol> symbols = symbolsOf(file.text);
      for (const Symbol &symbol : symbols) {
        if (symbol.kind != SymbolKind::Scheme)
          continue;
        // The source ends at the next scheme of the file, or at a comment, which belongs to the next scheme.
        size_t begin = file.text.take_front(symbol.name.data() - file.text.data()).rfind("scheme");
        StringRef source = file.text.drop_front(begin);
        source = source.take_front(source.find("\nscheme ")).take_front(source.find("\n#")).rtrim();
        std::string usage = symbol.name.str() + "(";
        for (const Symbol &operand : symbols)
          if (operand.kind == SymbolKind::Operand && operand.scope.contains(symbol.line) &&
              operand.scope.begin() <= symbol.name.begin() && operand.scope.end() > symbol.name.begin())
            usage += (usage.back() == '(' ? "" : ", ") + operand.name.str();
        list.push_back({symbol.name.str(), usage + ")", source.str(), true});
      }
    }
    return list;
  }();
  return all;
}

const Builtin *findBuiltin(StringRef name) {
  const auto *found = find_if(builtins(), [&](const Builtin &builtin) { return builtin.name == name; });
  return found == builtins().end() ? nullptr : found;
}

} // namespace skewer::lsp
