// A spec as .attn text.
#include "tests/fuzz/Text.h"
#include <fmt/format.h>

namespace skewer::fuzz {
namespace {

std::string parameters(const Spec &spec) {
  std::string text = "param ";
  if (spec.map)
    text += fmt::format("H = {}, W = {}, Hk = {}, Wk = {}, ", spec.queryMap[0], spec.queryMap[1], spec.keyMap[0],
                        spec.keyMap[1]);
  if (spec.map && !isPart(spec))
    text += "N = H*W, M = Hk*Wk";
  else
    text += fmt::format("N = {}, M = {}", spec.queries, spec.keys);
  if (isPart(spec))
    text += fmt::format(", NN = {}, MM = {}, all_heads = {}", wholeQueries(spec), wholeKeys(spec), wholeHeads(spec));
  if (spec.headPart.beyond >= 0)
    text += fmt::format(", all_groups = {}", wholeHeads(spec) / (spec.heads / spec.groups));
  text += fmt::format(", heads = {}, groups = {}, dim = {}, width = {}", spec.heads, spec.groups, spec.dim, spec.width);
  if (spec.batch == Batch::Fixed)
    text += fmt::format(", B = {}", spec.batchSize);
  return text + (spec.batch == Batch::RunTime ? "\nsize batch\n" : "\n");
}

std::string resultType(const Spec &spec) {
  std::string batch = batchSize(spec);
  switch (spec.result) {
  case ResultOrder::Same:
    break;
  case ResultOrder::HeadMajor:
    return fmt::format("{}[{}heads, N, width]", spec.type, batch);
  case ResultOrder::TokenMajor:
    return fmt::format("{}[{}N, heads, width]", spec.type, batch);
  case ResultOrder::Merged:
    return fmt::format("{}[{}N, heads*width]", spec.type, batch);
  case ResultOrder::DepthMajor:
    return fmt::format("{}[{}heads, width, N]", spec.type, batch);
  }
  return fmt::format("{}[{}{}, width]", spec.type, batch, spec.tokenMajor ? "N, heads" : "heads, N");
}
/// The result's heads stand behind its tokens; so do those of lse.
bool hasTokensFirst(const Spec &spec) {
  return spec.result == ResultOrder::TokenMajor || spec.result == ResultOrder::Merged;
}

void printParts(const Spec &spec, Text &text) {
  auto part = [&](const Part &part, const char *axis, const char *size, const char *whole, const char *origin) {
    if (part.beyond >= 0)
      text.statements += fmt::format("  part {} = {} of {} from {}\n", axis, size, whole, origin);
  };
  part(spec.queryPart, "i", "N", "NN", "q0");
  part(spec.keyPart, "j", "M", "MM", "k0");
  part(spec.headPart, "h", "heads", "all_heads", "head0");
}

/// As options of `skewer run`: what a file that is judged again begins with.
std::string originsText(const Spec &spec) {
  std::string options;
  for (const auto &[name, value] : originsOf(spec))
    options += fmt::format(" --origin {}={}", name, value);
  return options.empty() ? "" : "#" + options + "\n";
}

std::string scaled(const std::string &value, double scale) {
  if (scale == 0)
    return value + " * dim^-0.5";
  return scale == 1 ? value : fmt::format("{} * {}", value, numberText(scale));
}

std::string contentText(const Spec &spec, Text &text) {
  Names names(spec, spec.mapNames);
  std::string query = spec.contentBias ? queryText(spec, text.query, "u", text) : text.query, key = text.key;
  if (spec.keyBias) {
    text.operand("w", spec.tableType + "[" + keyHeads(spec) + ", dim]");
    key += std::string(" + w") + (spec.depthMajorKeys ? "[:, :, None]" : spec.tokenMajor ? "" : "[:, None, :]");
  }
  std::string position = subscripts(spec, spec.groupedText ? "(g r)" : "h", names.query(), "d");
  // Products of a map's axes have sizes of their own.
  return fmt::format("einsum(\"{}, {} -> {}\", {}, {}{}{})", position, keySubscripts(spec, names, spec.groupedText),
                     scoreSubscripts(spec, names, spec.groupedText), query, key,
                     spec.map && spec.mapNames ? names.sizesOf(true, true) : "",
                     spec.groupedText ? fmt::format(", r = {}", spec.heads / spec.groups) : "");
}

} // namespace

/// The content, scaled where the whole score is not; other terms are behind the function that it may go through.
static std::string contentOf(const Spec &spec) {
  std::string content = spec.commonScale ? "content" : scaled("content", spec.contentScale);
  return spec.weights == Weights::Shifted ? fmt::format("4 * tanh({} / 4)", content) : content;
}

/// Returns the text of the weights that are a function of the scores, without a softmax.
static std::string directWeights(const Spec &spec, const Names &names, const std::string &mask) {
  std::string weights;
  switch (spec.weights) {
  case Weights::Softmax:
  case Weights::Shifted:
  case Weights::Linear:
    weights = "scores";
    break;
  case Weights::Sigmoid:
    weights = "sigmoid(scores)";
    break;
  case Weights::SquaredRelu:
    weights = "max(scores, 0)^2";
    break;
  case Weights::Swish:
    weights = "scores * sigmoid(scores)";
    break;
  case Weights::Exponential:
    weights = "exp(scores)";
    break;
  case Weights::Decayed:
    weights = fmt::format("scores * exp(-abs({} - {}) / 8)", names.queryAt(), names.keyAt());
    break;
  }
  if (mask.empty())
    return weights;
  return fmt::format(spec.maskArgument ? "({}) * ({})" : "({}) if {} else 0", weights, mask);
}

/// Adds the further results, the lse or the weights, to the kernel's type and to its result.
static void addResults(const Spec &spec, const std::string &score, std::string &type, std::string &result) {
  if (!spec.lse && !spec.stored)
    return;
  type = "(out : " + type;
  if (spec.lse) {
    bool tokensFirst = hasTokensFirst(spec);
    type += fmt::format(", lse : f32[{}{}]", batchSize(spec), tokensFirst ? "N, heads" : "heads, N");
    std::string lse = "logsumexp(" + score + ")";
    if (tokensFirst)
      lse = fmt::format("rearrange({}, \"{} -> {}\")", lse, withBatch(spec, "h i"), withBatch(spec, "i h"));
    result += ", " + lse;
  }
  if (spec.stored) {
    type += fmt::format(", weights : {}[{}heads, N, M]", spec.type, batchSize(spec));
    result += ", weights";
  }
  type += ")";
}

std::string print(const Spec &spec) {
  Names names(spec, spec.mapNames);
  Text text;
  printParts(spec, text);
  printVectors(spec, text);
  maskOperands(spec, text);

  std::vector<std::string> sum;
  if (spec.content) {
    text.statement(spec.norm == Norm::Cosine ? "product" : "content", contentText(spec, text));
    if (spec.norm == Norm::Cosine)
      printCosine(spec, text);
    if (!spec.contentLast)
      sum.push_back(contentOf(spec));
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
    sum.push_back(contentOf(spec));
  if (spec.gated) {
    text.operand("forget", fmt::format("f32[{}heads, M] ~ 0.3", batchSize(spec)));
    sum.push_back(
        fmt::format("cumsum(log(sigmoid(forget + 3)), -1)[{}:, None, :]", spec.batch == Batch::None ? "" : ":, "));
  }

  std::string score;
  for (const std::string &term : sum)
    score += (score.empty() ? "" : " + ") + term;
  if (spec.commonScale)
    score = sum.size() == 1 ? score + " * dim^-0.5" : "(" + score + ") * dim^-0.5";
  if (spec.cap != 0)
    score = fmt::format("{0} * tanh(({1}) / {0})", numberText(spec.cap), score);
  if (spec.compared) {
    text.operand("near", fmt::format("f32[{}{}]", batchSize(spec), keyLength(spec)));
    text.operand("far", fmt::format("f32[{}{}]", batchSize(spec), queryLength(spec)));
    text.statement("all", score);
    score = fmt::format("(all if near[{0}{1}] <= far[{0}{2}] + 0.5 else -inf)", batchIndex(spec), names.keyAt(),
                        names.queryAt());
  }
  std::string mask = maskText(spec, names);
  if (spec.weights == Weights::Softmax || spec.weights == Weights::Shifted) {
    if (spec.weights == Weights::Shifted)
      score = fmt::format("{} + abs({} - {}) / 8", score, names.queryAt(), names.keyAt());
    if (spec.lse) {
      text.statement("scores", score);
      score = "scores";
    }
    if (!mask.empty())
      score += (spec.maskArgument ? ", where = " : " where ") + mask;
    text.statement("weights", "softmax(" + score + ")");
  } else {
    text.statement("scores", score);
    text.statement("weights", directWeights(spec, names, mask));
  }

  Names flat(spec, false);
  std::string result =
      fmt::format("einsum(\"{}, {} -> {}\", weights, v{})", scoreSubscripts(spec, flat, spec.groupedText),
                  valueSubscripts(spec, flat, spec.groupedText), resultSubscripts(spec, flat, spec.groupedText),
                  spec.groupedText ? fmt::format(", r = {}", spec.heads / spec.groups) : "");
  for (auto [number, term] : values)
    result += " + " + printTerm(spec, *term, number, text);
  if (spec.divided)
    result = fmt::format("({}) / max(sum(weights, -1), 1)[..., None]", result);
  if (spec.residual) {
    // Queries that come out of one operand have the names of its text, others have none and go by place.
    std::string axes = resultSubscripts(spec, flat, spec.groupedText);
    bool isNamed = spec.packing == Packing::All && axes.find('(') == std::string::npos;
    result += isNamed ? fmt::format(" + rearrange(q, \"{0} -> {0}\")", axes) : " + q";
  }
  std::string type = resultType(spec);
  addResults(spec, score, type, result);
  return fmt::format("{}{}kernel layer({})\n    -> {} {{\n{}  return {}\n}}\n", originsText(spec), parameters(spec),
                     text.operands, type, text.statements, result);
}

} // namespace skewer::fuzz
