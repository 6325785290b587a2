// A term of the score or of the result as text.
#include "tests/fuzz/Text.h"
#include <fmt/format.h>

namespace skewer::fuzz {

std::string withBatch(const Spec &spec, const std::string &rest) {
  return (spec.batch == Batch::None ? "" : "b ") + rest;
}

std::string subscripts(const Spec &spec, const std::string &head, const std::string &position,
                       const std::string &depth) {
  return withBatch(spec, (spec.tokenMajor ? position + " " + head : head + " " + position) + " " + depth);
}
std::string scoreSubscripts(const Spec &spec, const Names &names, bool grouped) {
  return withBatch(spec, fmt::format("{} {} {}", grouped ? "(g r)" : "h", names.query(), names.key()));
}
/// The head of k and v that a query's head reads.
static std::string keyHead(const Spec &spec, bool grouped) {
  if (spec.groups == spec.heads)
    return "h";
  return grouped ? "g" : fmt::format("(h // {})", spec.heads / spec.groups);
}
std::string keySubscripts(const Spec &spec, const Names &names, bool grouped) {
  std::string head = keyHead(spec, grouped);
  return spec.depthMajorKeys ? withBatch(spec, head + " d " + names.key()) : subscripts(spec, head, names.key(), "d");
}
std::string valueSubscripts(const Spec &spec, const Names &names, bool grouped) {
  return subscripts(spec, keyHead(spec, grouped), names.key(), "e");
}
std::string resultSubscripts(const Spec &spec, const Names &names, bool grouped) {
  std::string head = grouped ? "(g r)" : "h", position = names.query();
  switch (spec.result) {
  case ResultOrder::Same:
    break;
  case ResultOrder::HeadMajor:
    return withBatch(spec, head + " " + position + " e");
  case ResultOrder::TokenMajor:
    return withBatch(spec, position + " " + head + " e");
  case ResultOrder::Merged:
    return withBatch(spec, position + (grouped ? " (g r e)" : " (h e)"));
  case ResultOrder::DepthMajor:
    return withBatch(spec, head + " e " + position);
  }
  return subscripts(spec, head, position, "e");
}

std::string queryText(const Spec &spec, const std::string &query, const std::string &bias, Text &text) {
  text.operand(bias, spec.tableType + "[heads, dim]");
  return query + " + " + bias + (spec.tokenMajor ? "" : "[:, None, :]");
}

namespace {

class TermPrinter {
public:
  TermPrinter(const Spec &spec, const Term &term, size_t number, Text &text)
      : spec(spec), term(term), number(number), text(text),
        names(spec, term.otherNames ? !spec.mapNames : spec.mapNames), table(fmt::format("t{}", number)),
        value(fmt::format("{}{}", isValueSide(term.kind) ? "r" : "s", number)), bias(fmt::format("u{}", number)) {}

  std::string print() {
    bool isClosedForm =
        term.kind == TermKind::Slope || term.kind == TermKind::Position || term.kind == TermKind::TokenNumber;
    std::string result = isClosedForm                        ? closedForm()
                         : isScalar(term.kind)               ? scalar()
                         : isValueSide(term.kind)            ? valueSide()
                         : term.spelling == Spelling::Einsum ? contraction()
                         : term.spelling == Spelling::Gather ? gathered()
                                                             : pasted();
    // A gathered term has flat positions.
    std::string guard = guardText(spec, term, term.spelling == Spelling::Gather ? Names(spec, false) : names);
    text.statement(value, guard.empty() ? result : guarded(std::move(result), guard));
    return value;
  }

private:
  /// In the einsum, which a sum over the keys needs, or behind it.
  std::string guarded(std::string result, const std::string &guard) const {
    bool isEinsum = result.rfind("einsum(", 0) == 0 && result.back() == ')';
    if (!isValueSide(term.kind) && (!isEinsum || number % 2 == 0))
      return result + " if " + guard + " else 0";
    result.pop_back();
    return result + ", where = " + guard + ")";
  }
  std::string typeOf(const std::string &rows, const std::string &depth) const {
    return fmt::format("{}[{}{}, {}]", spec.tableType, term.perHead ? headLength(spec) + ", " : "", rows, depth);
  }
  std::string query() {
    std::string vector = term.plain ? "q" : text.query;
    return term.bias ? queryText(spec, vector, bias, text) : vector;
  }
  bool ofKey() const { return term.kind == TermKind::OffsetKey || term.kind == TermKind::AxisKey || term.ofKey; }
  /// The vector that meets the row: its text, its subscripts, and the sizes that it does not tell.
  std::string vector() { return !ofKey() ? query() : term.plain ? "k" : text.key; }
  int64_t keyRows() const { return spec.wholeOperands ? wholeKeys(spec) : spec.keys; }
  std::string vectorSubscripts() const {
    return ofKey() ? keySubscripts(spec, names) : subscripts(spec, "h", names.query(), "d");
  }
  std::string sizes() const {
    std::string head = ofKey() && spec.groups != spec.heads ? ", h = heads" : "";
    return names.sizesOf(spec.map || ofKey(), spec.map || !ofKey()) + head;
  }
  std::string head() const { return term.perHead ? "h " : ""; }

  std::string contraction() {
    Row row = term.kind == TermKind::KeyTable       ? Row{names.key(), keyRows()}
              : term.kind == TermKind::KeyAxisTable ? Row{names.keyAxis(term.axis), spec.keyMap[term.axis]}
              : term.kind == TermKind::TokenRows    ? tokenRow(spec, term, number, names, text)
                                                    : rowOf(spec, term, names);
    std::string index = term.kind == TermKind::KeyTable ? row.index : "(" + row.index + ")";
    if (index.front() == '(' && row.index.front() == '(' && term.kind == TermKind::KeyAxisTable)
      index = row.index;
    text.operand(table, typeOf(std::to_string(row.rows), "dim"), term.isConst);
    return fmt::format("einsum(\"{}, {}{} d -> {}\", {}, {}{})", vectorSubscripts(), head(), index,
                       scoreSubscripts(spec, names), vector(), table, sizes());
  }

  std::string gathered() {
    Names flat(spec, false);
    Row row = rowOf(spec, term, flat);
    text.operand(table, typeOf(std::to_string(row.rows), "dim"), term.isConst);
    std::string rows = fmt::format("gather({}, {}, i = N, j = M, dim = {})", table, row.index, term.perHead ? 1 : 0);
    std::string from = ofKey() ? keySubscripts(spec, flat) : subscripts(spec, "h", "i", "d");
    return fmt::format("einsum(\"{}, {}i j d -> {}\", {}, {}{})", from, head(), scoreSubscripts(spec, flat), vector(),
                       rows, ofKey() && spec.groups != spec.heads ? ", h = heads" : "");
  }

  /// The whole table's logits, and the ways in which published code moves them into place.
  std::string pasted() {
    bool isCausal = term.spelling == Spelling::CausalShift;
    text.operand(table, typeOf(isCausal ? "N" : "2*N - 1", "dim"), term.isConst);
    std::string logits = "logits_" + table, flat = "flat_" + table, lead = leadingShape();
    text.statement(logits, fmt::format("einsum(\"{}, {}r d -> {}\", {}, {})", subscripts(spec, "h", "i", "d"), head(),
                                       withBatch(spec, "h i r"), query(), table));
    std::string before = spec.batch == Batch::None ? ":, " : ":, :, "; // of a slice
    switch (term.spelling) {
    case Spelling::Skew:
      return "skew(" + logits + ")";
    case Spelling::RelativeToAbsolute:
      text.statement(flat, fmt::format("reshape(pad({}, (0, 1)), [{}2*N*N])", logits, lead));
      return fmt::format("reshape(pad({}, (0, N - 1)), [{}N + 1, 2*N - 1])[{}:N, N-1:]", flat, lead, before);
    case Spelling::RelativeShift:
      text.statement(flat, fmt::format("reshape(pad({}, (1, 0)), [{}2*N, N])[{}1:]", logits, lead, before));
      return fmt::format("reshape({}, [{}N, 2*N - 1])[{}:, :N]", flat, lead, before);
    default:
      return fmt::format("reshape(pad({}, (1, 0)), [{}N + 1, N])[{}1:]", logits, lead, before);
    }
  }
  std::string leadingShape() const { return batchSize(spec) + "heads, "; }

  /// One number of a table for each query and key.
  std::string scalar() {
    std::vector<std::string> indices, dimensions;
    std::vector<std::string> shape;
    auto dimension = [&](const std::string &index, const std::string &name, const std::string &size) {
      indices.push_back(index);
      dimensions.push_back(name);
      shape.push_back(size);
    };
    auto rowDimension = [&](const Row &row) { dimension(row.index, "(" + row.index + ")", std::to_string(row.rows)); };
    auto headDimension = [&] { dimension("h", "h", headLength(spec)); };
    if (term.perHead && !term.headLast)
      headDimension();
    bool ofQuery = term.kind != TermKind::KeyScalar, ofKey = term.kind != TermKind::QueryScalar;
    switch (term.kind) {
    case TermKind::ScalarMap: {
      Row y = axisRowOf(spec, term, names, 0), x = axisRowOf(spec, term, names, 1);
      rowDimension({fmt::format("({})*{} + {}", y.index, x.rows, x.index), y.rows * x.rows});
      break;
    }
    case TermKind::ScalarMapAxes:
      rowDimension(axisRowOf(spec, term, names, 0));
      rowDimension(axisRowOf(spec, term, names, 1));
      break;
    case TermKind::TokenScalar:
      rowDimension(tokenRow(spec, term, number, names, text));
      break;
    case TermKind::Matrix: {
      dimension(names.queryAt(), names.query(), queryLength(spec));
      std::string axis = names.keyAxis(term.axis);
      bool ofAxis = spec.map && term.left % 2;
      ofAxis ? dimension(axis, axis, std::to_string(spec.keyMap[term.axis]))
             : dimension(names.keyAt(), names.key(), keyLength(spec));
      break;
    }
    case TermKind::KeyScalar:
      dimension(names.keyAt(), names.key(), keyLength(spec));
      break;
    case TermKind::QueryScalar:
      dimension(names.queryAt(), names.query(), queryLength(spec));
      break;
    default:
      rowDimension(rowOf(spec, term, names));
    }
    if (term.perHead && term.headLast)
      headDimension();
    std::string read = table + "[" + joined(indices, ", ") + "]", operands = table;
    std::string from = joined(dimensions, " "), to = head();
    if (term.steps) {
      std::string weights = fmt::format("w{}", number);
      shape.push_back(std::to_string(term.steps));
      text.operand(weights, fmt::format("f32[{}]", term.steps), term.isConst);
      from += " c, c";
      operands += ", " + weights;
    }
    text.operand(table, fmt::format("{}[{}]", spec.tableType, joined(shape, ", ")), term.isConst);
    if (term.kind == TermKind::Gated) {
      std::string gate = fmt::format("g{}", table.substr(1));
      text.operand(gate, fmt::format("{}[{}{}, {}]", spec.type, batchSize(spec), headLength(spec), queryLength(spec)));
      from = withBatch(spec, "h " + names.query()) + ", " + from;
      operands = gate + ", " + operands;
      read = fmt::format("{}[{}h, {}] * {}", gate, spec.batch == Batch::None ? "" : "b, ", names.queryAt(), read);
      to = withBatch(spec, "h ");
    }
    if (term.spelling == Spelling::Index)
      return read;
    if (term.kind == TermKind::TokenScalar && from.find("[b, ") != std::string::npos)
      to = withBatch(spec, to);
    to += (ofQuery ? names.query() : "") + (ofQuery && ofKey ? " " : "") + (ofKey ? names.key() : "");
    // A query's number is added to each of its keys.
    std::string after = term.kind == TermKind::QueryScalar ? "[..., None]" : "";
    return fmt::format("einsum(\"{} -> {}\", {}{}){}", from, to, operands, names.sizesOf(ofQuery, ofKey), after);
  }

  std::string closedForm() {
    std::string query = names.queryAt(), key = names.keyAt();
    if (term.kind == TermKind::Position) {
      static const char *const forms[] = {"abs({1} - {0})", "({1} - {0})", "({0} + 2*{1})", "min({0}, {1})"};
      return fmt::format(fmt::runtime(forms[term.left % 4]), query, key);
    }
    if (term.kind == TermKind::TokenNumber)
      return fmt::format("({})", tokenRow(spec, term, number, names, text).index);
    text.operand(table, spec.tableType + "[" + headLength(spec) + "]", term.isConst);
    std::string form = term.row == RowForm::Plain ? "(" + key + " - " + query + ")"
                       : term.row == RowForm::Clamped
                           ? fmt::format("clamp({} - {}, -{}, {})", key, query, term.left, term.right)
                           : fmt::format("abs({} - {})", key, query);
    return fmt::format("{}[h] * {}", table, form);
  }

  std::string valueSide() {
    Row row = term.ofKey ? Row{names.key(), keyRows()} : rowOf(spec, term, names);
    if (!term.ofKey)
      row.index = "(" + row.index + ")";
    text.operand(table, typeOf(std::to_string(row.rows), "width"), term.isConst);
    return fmt::format("einsum(\"{}, {}{} e -> {}\", weights, {}{})", scoreSubscripts(spec, names), head(), row.index,
                       resultSubscripts(spec, names), table, spec.map ? names.sizesOf(true, true) : "");
  }

  static std::string joined(const std::vector<std::string> &list, const char *separator) {
    std::string all;
    for (const std::string &item : list)
      all += (all.empty() ? "" : separator) + item;
    return all;
  }

  const Spec &spec;
  const Term &term;
  size_t number;
  Text &text;
  Names names;
  std::string table, value, bias;
};

} // namespace

std::string printTerm(const Spec &spec, const Term &term, size_t number, Text &text) {
  return TermPrinter(spec, term, number, text).print();
}

} // namespace skewer::fuzz
