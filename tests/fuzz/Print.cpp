// A spec as .attn text.
#include "tests/fuzz/Text.h"
#include <fmt/format.h>

namespace skewer::fuzz {
namespace {

std::string parameters(const Spec &spec) {
  std::string text = "param ";
  if (spec.map)
    text += fmt::format("H = {}, W = {}, Hk = {}, Wk = {}, N = H*W, M = Hk*Wk", spec.queryMap[0], spec.queryMap[1],
                        spec.keyMap[0], spec.keyMap[1]);
  else
    text += fmt::format("N = {}, M = {}", spec.queries, spec.keys);
  text += fmt::format(", heads = {}, groups = {}, dim = {}, width = {}", spec.heads, spec.groups, spec.dim, spec.width);
  if (spec.batch == Batch::Fixed)
    text += fmt::format(", B = {}", spec.batchSize);
  return text + (spec.batch == Batch::RunTime ? "\nsize batch\n" : "\n");
}

std::string tensor(const Spec &spec, const std::string &head, const std::string &tokens, const std::string &depth) {
  return fmt::format("{}[{}{}, {}, {}]", spec.type, batchSize(spec), spec.tokenMajor ? tokens : head,
                     spec.tokenMajor ? head : tokens, depth);
}
std::string keyTensor(const Spec &spec) {
  if (!spec.depthMajorKeys)
    return tensor(spec, "groups", "M", "dim");
  return fmt::format("{}[{}groups, dim, M]", spec.type, batchSize(spec));
}

std::string scaled(const std::string &value, double scale) {
  if (scale == 0)
    return value + " * dim^-0.5";
  return scale == 1 ? value : fmt::format("{} * {}", value, numberText(scale));
}

std::string contentText(const Spec &spec, Text &text) {
  Names names(spec, spec.mapNames);
  std::string query = spec.contentBias ? queryText(spec, "u", text) : "q";
  std::string position = subscripts(spec, spec.groupedText ? "(g r)" : "h", names.query(), "d");
  // Products of a map's axes have sizes of their own.
  return fmt::format("einsum(\"{}, {} -> {}\", {}, k{}{})", position, keySubscripts(spec, names, spec.groupedText),
                     scoreSubscripts(spec, names, spec.groupedText), query,
                     spec.map && spec.mapNames ? names.sizesOf(true, true) : "",
                     spec.groupedText ? fmt::format(", r = {}", spec.heads / spec.groups) : "");
}

} // namespace

std::string print(const Spec &spec) {
  Names names(spec, spec.mapNames);
  Text text;
  text.operand("q", tensor(spec, "heads", "N", "dim"));
  text.operand("k", keyTensor(spec));
  text.operand("v", tensor(spec, "groups", "M", "width"));
  maskOperands(spec, text);

  std::vector<std::string> sum;
  if (spec.content) {
    text.statement("content", contentText(spec, text));
    if (!spec.contentLast)
      sum.push_back(spec.commonScale ? "content" : scaled("content", spec.contentScale));
  }
  std::vector<std::pair<size_t, const Term *>> values;
  for (size_t k = 0; k < spec.terms.size(); ++k) {
    const Term &term = spec.terms[k];
    if (isValueSide(term.kind)) {
      values.push_back({k, &term});
      continue;
    }
    std::string name = printTerm(spec, term, k, text);
    if (!spec.commonScale || !isContracted(term.kind))
      name = scaled(name, term.scale);
    // Without content the first of the sum is one that has all axes.
    sum.insert(!spec.content && isWholeScore(term.kind) ? sum.begin() : sum.end(), name);
  }
  if (spec.content && spec.contentLast)
    sum.push_back(spec.commonScale ? "content" : scaled("content", spec.contentScale));

  std::string score;
  for (const std::string &term : sum)
    score += (score.empty() ? "" : " + ") + term;
  if (spec.commonScale)
    score = sum.size() == 1 ? score + " * dim^-0.5" : "(" + score + ") * dim^-0.5";
  if (spec.cap != 0)
    score = fmt::format("{0} * tanh(({1}) / {0})", numberText(spec.cap), score);
  std::string mask = maskText(spec, names);
  if (!mask.empty())
    score += (spec.maskArgument ? ", where = " : " where ") + mask;
  text.statement("weights", "softmax(" + score + ")");

  Names flat(spec, false);
  std::string result =
      fmt::format("einsum(\"{}, {} -> {}\", weights, v{})", scoreSubscripts(spec, flat, spec.groupedText),
                  valueSubscripts(spec, flat, spec.groupedText), resultSubscripts(spec, flat, spec.groupedText),
                  spec.groupedText ? fmt::format(", r = {}", spec.heads / spec.groups) : "");
  for (auto [number, term] : values)
    result += " + " + printTerm(spec, *term, number, text);
  if (spec.residual)
    result += " + q";
  return fmt::format("{}kernel layer({})\n    -> {} {{\n{}  return {}\n}}\n", parameters(spec), text.operands,
                     tensor(spec, "heads", "N", "width"), text.statements, result);
}

} // namespace skewer::fuzz
