// Index expressions and einsum texts: what stands in .attn files and in the dialect's attributes. An expression is also
// simplified and compared with itself at all points of a small box.
#include "dialect/Subscript/Analysis.h"
#include "dialect/Subscript/Einsum.h"
#include "tests/fuzz/libfuzzer/Fuzzing.h"
#include "tests/unit/RandomExpr.h"

using namespace skewer::fuzzing;
using namespace skewer::subscript;

static void expectPlace(const ParseError &error, llvm::StringRef text) {
  if (error.message.empty() || error.position > text.size())
    finding("an error without a message, or behind the text", text);
}

/// The first three symbols from -2 to 3, others 5: small enough to try all, and on both sides of 0.
static Domain boxOf(const Expr &e) {
  Domain domain;
  for (const std::string &symbol : symbolsOf(e))
    domain[symbol] = domain.size() < 3 ? Range{-2, 3} : Range{5, 5};
  return domain;
}

static void judgeExpression(llvm::StringRef text) {
  Parsed<Expr> e = parse({text.data(), text.size()});
  if (!e)
    return expectPlace(e.error(), text);
  std::string printed = print(*e);
  Parsed<Expr> again = parse(printed);
  if (!again && again.error().message.find("nested deeper") != std::string::npos)
    return; // at the limit by the parentheses that the given text does without
  if (!again)
    finding("what is printed cannot be parsed", printed);
  constexpr size_t kLargest = 400;
  if (sizeOf(*e) > kLargest)
    return;
  Domain domain = boxOf(*e);
  Expr simplified = simplify(*e, domain);
  if (print(simplify(*again, domain)) != print(simplified))
    finding("printed and parsed it simplifies to something else", printed);
  auto read = [](const std::string &name, const std::vector<int64_t> &at) -> std::optional<int64_t> {
    int64_t value = int64_t(name.size());
    for (int64_t subscript : at)
      value = (value * 31 + subscript % 97) % 11;
    return value;
  };
  auto bounds = bound(*e, domain);
  testing::forEachPoint(domain, [&](const Assignment &at) {
    std::optional<int64_t> value = evaluate(*e, at, read);
    if (!value)
      return; // then the simplified one is free
    if (evaluate(simplified, at, read) != value)
      finding("'" + printed + "' is not '" + print(simplified) + "'", testing::describe(*e, domain));
    if (bounds && readsOf(*e).empty() && (*value < bounds->range.low || *value > bounds->range.high))
      finding("'" + printed + "' leaves its bounds", testing::describe(*e, domain));
  });
}

static void judgeEinsum(llvm::StringRef text) {
  Parsed<Einsum> einsum = parseEinsum({text.data(), text.size()});
  if (!einsum)
    return expectPlace(einsum.error(), text);
  std::string printed = print(*einsum);
  Parsed<Einsum> again = parseEinsum(printed);
  if (!again || print(*again) != printed)
    finding("an einsum that is printed is not read as it was", printed);
}

SKEWER_FUZZ_TARGET(subscript) {
  judgeExpression(input);
  judgeEinsum(input);
}
