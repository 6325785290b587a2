// Positions, rows, guards and masks as text.
#include "tests/fuzz/Text.h"
#include <algorithm>
#include <fmt/format.h>

namespace skewer::fuzz {

std::string Names::queryAxis(int axis) const {
  if (isMap)
    return axis ? "ix" : "iy";
  return axis ? "(i % W)" : "(i // W)";
}
std::string Names::keyAxis(int axis) const {
  if (isMap)
    return axis ? "jx" : "jy";
  return axis ? "(j % Wk)" : "(j // Wk)";
}
std::string Names::sizesOf(bool ofQuery, bool ofKey) const {
  std::string text;
  if (ofQuery)
    text += isMap ? ", iy = H, ix = W" : ", i = N";
  if (ofKey)
    text += isMap ? ", jy = Hk, jx = Wk" : ", j = M";
  return text;
}

/// " + 3", " - 3", or nothing.
static std::string plus(int64_t number) {
  return number == 0 ? "" : fmt::format(" {} {}", number < 0 ? '-' : '+', number < 0 ? -number : number);
}

static Row row(const Term &term, const std::string &query, const std::string &key, int64_t queries, int64_t keys) {
  int64_t offsets = queries + keys - 1;
  std::string forward = term.sign > 0 ? key + " - " + query + plus(queries - 1 + term.low)
                                      : query + " - " + key + plus(keys - 1 + term.low);
  switch (term.row) {
  case RowForm::Plain:
    return {forward, offsets + term.low + term.high};
  case RowForm::Clamped:
    return {fmt::format("clamp({} - {}, -{}, {}){}", key, query, term.left, term.right, plus(term.left)),
            term.left + term.right + 1};
  case RowForm::Absolute:
    return {fmt::format("abs({} - {})", key, query), std::max(queries, keys)};
  case RowForm::Halved:
    return {"(" + forward + ") // 2", (offsets - 1) / 2 + 1};
  case RowForm::Windowed:
    return {fmt::format("{} - {}{}", key, query, plus(term.left)), 2 * term.left + 1};
  case RowForm::Bucketed:
    return {fmt::format("t5_bucket({} - {}, buckets = 8, max_distance = {})", key, query, 8 + term.left), 8};
  case RowForm::Causal:
    return {key + " - " + query + plus(queries - 1), queries};
  }
  return {};
}

static bool isOneAxis(TermKind kind) {
  return kind == TermKind::AxisQuery || kind == TermKind::AxisKey || kind == TermKind::StridedAxis ||
         kind == TermKind::ValueAxis;
}

Row axisRowOf(const Spec &spec, const Term &term, const Names &names, int axis) {
  return row(term, names.queryAxis(axis), names.keyAxis(axis), spec.queryMap[axis], spec.keyMap[axis]);
}

Row rowOf(const Spec &spec, const Term &term, const Names &names) {
  if (term.kind == TermKind::StridedAxis) {
    int64_t last = 2 * (spec.keyMap[term.axis] - 1);
    return {fmt::format("{} - 2*{}{}", names.queryAxis(term.axis), names.keyAxis(term.axis), plus(last)),
            spec.queryMap[term.axis] + last};
  }
  if (isOneAxis(term.kind))
    return axisRowOf(spec, term, names, term.axis);
  return row(term, names.queryAt(), names.keyAt(), wholeQueries(spec), wholeKeys(spec));
}

std::string guardText(const Spec &spec, const Term &term, const Names &names) {
  bool onAxis = isOneAxis(term.kind);
  std::string query = onAxis ? names.queryAxis(term.axis) : names.queryAt();
  std::string key = onAxis ? names.keyAxis(term.axis) : names.keyAt();
  switch (term.guard) {
  case Guard::None:
    return "";
  case Guard::Window:
    return fmt::format("abs({} - {}) <= {}", key, query, term.left);
  case Guard::Corner:
    return fmt::format("{} > 0 and {} > 0", names.queryAt(), names.keyAt());
  }
  return "";
}

/// Whether what is there for each query may be read for each key as well.
static bool hasOneLength(const Spec &spec) {
  return spec.wholeOperands ? wholeQueries(spec) == wholeKeys(spec) : spec.queries == spec.keys;
}

std::string maskText(const Spec &spec, const Names &names) {
  std::string q = names.queryAt(), k = names.keyAt();
  int64_t size = spec.maskSize;
  switch (spec.mask) {
  case Mask::None:
    return "";
  case Mask::Causal:
    return fmt::format("{} <= {}", k, q);
  case Mask::CausalBottom:
    return fmt::format("{} <= {}{}", k, q, plus(wholeKeys(spec) - wholeQueries(spec)));
  case Mask::Strict: // the first rows see nothing
    return fmt::format("{} < {}{}", k, q, plus(-(size % 3)));
  case Mask::Sliding:
    return fmt::format("{} <= {} and {} - {} < {}", k, q, q, size, k);
  case Mask::Band:
    return fmt::format("abs({} - {}) <= {}", k, q, size);
  case Mask::Prefix:
    return fmt::format("{} <= {} or {} < {}", k, q, k, size);
  case Mask::Blocks:
    return fmt::format("{} // {} == {} // {}", q, size, k, size);
  case Mask::Odd:
    return fmt::format("({} + {}) % 3 != 1", q, k);
  case Mask::PerHead:
    return fmt::format("{} <= {} + 2*h", k, q);
  case Mask::MapWindow:
    return fmt::format("abs({} - {}) <= {} and abs({} - {}) <= {}", names.keyAxis(0), names.queryAxis(0), size / 3,
                       names.keyAxis(1), names.queryAxis(1), size % 4);
  case Mask::Lengths:
    return fmt::format("{} < lengths[{}]{}", k, spec.batch == Batch::None ? "0" : "b",
                       size % 3 ? "" : fmt::format(" and {} <= {}", k, q));
  case Mask::Documents:
    return fmt::format("{0}[{2}{3}] == {1}[{2}{4}]", "document", hasOneLength(spec) ? "document" : "document_of_key",
                       batchIndex(spec), q, k);
  case Mask::Reach:
    return fmt::format("{} < reach[{}{}]", k, batchIndex(spec), q);
  }
  return "";
}

std::string batchSize(const Spec &spec) {
  return spec.batch == Batch::None ? "" : spec.batch == Batch::Fixed ? "B, " : "batch, ";
}
std::string batchIndex(const Spec &spec) { return spec.batch == Batch::None ? "" : "b, "; }

std::string queryLength(const Spec &spec) { return spec.wholeOperands && spec.queryPart.beyond >= 0 ? "NN" : "N"; }
std::string keyLength(const Spec &spec) { return spec.wholeOperands && spec.keyPart.beyond >= 0 ? "MM" : "M"; }
std::string headLength(const Spec &spec) {
  return spec.wholeOperands && spec.headPart.beyond >= 0 ? "all_heads" : "heads";
}
void maskOperands(const Spec &spec, Text &text) {
  // An index operand that picks no row needs no range.
  std::string range = spec.maskSize % 2 ? " in 0..M" : "";
  std::string documents = fmt::format(" in 0..{}", spec.maskSize % 4);
  std::string batch = batchSize(spec);
  switch (spec.mask) {
  case Mask::Lengths:
    return text.operand("lengths",
                        fmt::format("i32[{}]{}", batch.empty() ? "1" : batch.substr(0, batch.size() - 2), range));
  case Mask::Documents:
    text.operand("document", fmt::format("i32[{}{}]{}", batch, queryLength(spec), documents));
    if (!hasOneLength(spec))
      text.operand("document_of_key", fmt::format("i32[{}{}]{}", batch, keyLength(spec), documents));
    return;
  case Mask::Reach:
    return text.operand("reach", fmt::format("i32[{}{}]{}", batch, queryLength(spec), range));
  default:
    return;
  }
}

Row tokenRow(const Spec &spec, const Term &term, size_t number, const Names &names, Text &text) {
  std::string a = fmt::format("a{}", number), c = fmt::format("c{}", number);
  std::string q = names.queryAt(), k = names.keyAt();
  auto tokens = [&](int last, bool ofQuery) {
    std::string type = fmt::format("] in 0..{}", last), batch = batchSize(spec);
    bool isShared = ofQuery && hasOneLength(spec) && term.axis == 0;
    if (ofQuery)
      text.operand(a, "i32[" + batch + queryLength(spec) + type);
    if (isShared)
      c = a;
    else
      text.operand(c, "i32[" + batch + keyLength(spec) + type);
    a += fmt::format("[{}{}]", batchIndex(spec), q);
    c += fmt::format("[{}{}]", batchIndex(spec), k);
  };
  switch (term.token) {
  case TokenForm::Differ:
    tokens(2, true);
    return {fmt::format("{} != {}", a, c), 2};
  case TokenForm::Clamped:
    tokens(6, true);
    return {fmt::format("clamp({} - {}, -2, 2) + 2", a, c), 5};
  case TokenForm::Key:
    tokens(4, false);
    return {c, 5};
  case TokenForm::Buckets:
    text.operand(a, fmt::format("i32[{}] in 0..3", wholeQueries(spec) + wholeKeys(spec) - 1));
    return {fmt::format("{}[{} - {}{}]", a, k, q, plus(wholeQueries(spec) - 1)), 4};
  case TokenForm::Pairs:
    text.operand(a, fmt::format("i32[{}, {}] in 0..3", queryLength(spec), keyLength(spec)));
    return {fmt::format("{}[{}, {}]", a, q, k), 4};
  case TokenForm::AndOrder:
    tokens(2, true);
    return {fmt::format("({} == {}) + 2*({} <= {})", a, c, k, q), 4};
  }
  return {};
}

void Text::operand(const std::string &name, const std::string &type, bool isConst) {
  operands +=
      fmt::format("{}{}{} : {}", operands.empty() ? "" : ",\n             ", isConst ? "const " : "", name, type);
}
void Text::statement(const std::string &name, const std::string &value) {
  statements += fmt::format("  {} = {}\n", name, value);
}

std::string numberText(double number) { return fmt::format("{:g}", number); }

} // namespace skewer::fuzz
