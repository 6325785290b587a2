// Queries, keys and values as text: how they lie in the operands, and what is done to them before they meet.
#include "tests/fuzz/Text.h"
#include <fmt/format.h>

namespace skewer::fuzz {

std::string keyHeads(const Spec &spec) {
  return spec.headPart.beyond >= 0 && spec.groups < spec.heads ? "all_groups" : "groups";
}

namespace {

/// The queries or the keys.
struct Side {
  std::string name, tokens, axis, heads;
  std::string from; // its dimensions as they lie: "b g j d"
  bool isPart;
};

class VectorPrinter {
public:
  VectorPrinter(const Spec &spec, Text &text) : spec(spec), text(text) {}

  void print() {
    operands();
    text.query = prepared(querySide());
    text.key = prepared(keySide());
  }

  Side querySide() const {
    return {"q", "N", "i", "heads", withBatch(spec, spec.tokenMajor ? "i h d" : "h i d"), spec.queryPart.beyond >= 0};
  }
  Side keySide() const {
    std::string from = spec.depthMajorKeys ? "h d j" : spec.tokenMajor ? "j h d" : "h j d";
    // A key head that several heads read is no part of the heads.
    if (spec.groups < spec.heads)
      from[from.find('h')] = 'g';
    return {"k", "M", "j", keyHeads(spec), withBatch(spec, from), spec.keyPart.beyond >= 0};
  }
  /// The sum of squares, without the last dimension: "b h i".
  std::string squares(const Side &side, const std::string &vector, const std::string &to) const {
    return fmt::format("einsum(\"{0}, {0} -> {1}\", {2}, {2})", side.from, to, vector);
  }

private:
  std::string tensor(const Side &side, const std::string &depth) const {
    if (side.name == "k" && spec.depthMajorKeys && depth == "dim")
      return fmt::format("{}[{}{}, dim, M]", spec.type, batchSize(spec), side.heads);
    return fmt::format("{}[{}{}, {}, {}]", spec.type, batchSize(spec), spec.tokenMajor ? side.tokens : side.heads,
                       spec.tokenMajor ? side.heads : side.tokens, depth);
  }

  void operands() {
    Side query = querySide(), key = keySide();
    if (spec.packing != Packing::All)
      text.operand("q", tensor(query, "dim"));
    if (spec.packing == Packing::None) {
      text.operand("k", tensor(key, "dim"));
      text.operand("v", tensor(key, "width"));
      return;
    }
    bool all = spec.packing == Packing::All;
    unpack(all ? "qkv" : "kv", key.heads, all ? 3 : 2);
  }

  /// One operand, of which queries, keys and values are slices.
  void unpack(const std::string &packed, const std::string &heads, int count) {
    static const char *const shapes[kPackingOrders] = {"M, {1}, {0}, dim", "M, {1}*{0}*dim", "{1}, {0}, M, dim",
                                                       "M, {0}, {1}, dim", "M, {0}, {1}*dim"};
    static const char *const texts[kPackingOrders] = {"n t {0} d", "n (t {0} d)", "t {0} n d", "n {0} t d",
                                                      "n {0} (t d)"};
    auto order = static_cast<int>(spec.packingOrder);
    // Key heads that several heads share are called otherwise.
    const char *head = spec.groups < spec.heads ? "g" : "h";
    auto named = [&](const char *dimensions) { return withBatch(spec, fmt::format(fmt::runtime(dimensions), head)); };
    text.operand(packed, fmt::format("{}[{}{}]", spec.type, batchSize(spec),
                                     fmt::format(fmt::runtime(shapes[order]), heads, count)));
    std::string from = named(texts[order]), to = named(spec.tokenMajor ? "t n {0} d" : "t {0} n d");
    std::string before = spec.batch == Batch::None ? "" : ":, ", whole = packed;
    // No name is needed where the order is that of the slices, tokens before the parts.
    if (spec.packingOrder == PackingOrder::Tokens && spec.tokenMajor) {
      before += ":, ";
    } else if (from != to) {
      whole = "split";
      std::string sizes =
          from.find('(') == std::string::npos ? "" : fmt::format(", t = {}, {} = {}", count, head, heads);
      if (spec.packingOrder == PackingOrder::FlatInHeads)
        sizes = fmt::format(", t = {}", count);
      text.statement(whole, fmt::format("rearrange({}, \"{} -> {}\"{})", packed, from, to, sizes));
    }
    const char *const names[] = {"q", "k", "v"};
    for (int k = 0; k < count; ++k) {
      const char *name = names[3 - count + k];
      std::string slice = fmt::format("{}[{}{}{}]", whole, before, k, before.empty() ? ", :" : "");
      // Lengths of vectors are divided by under the names that queries and keys have in the product.
      if (whole == "split" && (spec.norm == Norm::Euclid || spec.norm == Norm::RootMeanSquare) && *name != 'v') {
        std::string side = named(spec.tokenMajor ? "n {0} d" : "{0} n d");
        side.replace(side.find('n'), 1, *name == 'q' ? "i" : "j");
        slice = fmt::format("rearrange({0}, \"{1} -> {1}\")", slice, side);
      }
      text.statement(name, slice);
    }
  }

  std::string prepared(const Side &side) {
    std::string vector = side.name;
    if (spec.norm == Norm::Euclid || spec.norm == Norm::RootMeanSquare) {
      text.statement(side.name + "_unit", unit(side, vector));
      vector = side.name + "_unit";
    }
    if (spec.turn != Turn::None) {
      text.statement(side.name + "_turned", turned(side, vector));
      vector = side.name + "_turned";
    }
    return vector;
  }

  std::string unit(const Side &side, const std::string &vector) {
    bool isDepthLast = side.from.back() == 'd';
    std::string to = side.from;
    to.erase(to.find(" d"), 2);
    std::string repeated = isDepthLast ? "[..., None]" : spec.batch == Batch::None ? "[:, None, :]" : "[:, :, None, :]";
    std::string sum = squares(side, vector, to);
    if (spec.norm == Norm::Euclid)
      return fmt::format("{} / max(sqrt({}), 1e-6){}", vector, sum, repeated);
    std::string gain = side.name + "_gain";
    text.operand(gain, spec.tableType + "[dim]");
    return fmt::format("{} * rsqrt({} / dim + 1e-5){} * {}{}", vector, sum, repeated, gain,
                       isDepthLast ? "" : "[:, None]");
  }

  /// The schemes take heads before tokens before dimensions, and see the part of an axis that has its name.
  std::string turned(const Side &side, const std::string &vector) {
    char head = side.from.find('g') == std::string::npos ? 'h' : 'g';
    std::string canonical = withBatch(spec, fmt::format("{} {} d", head, side.axis)), argument = vector;
    if (side.isPart)
      argument = fmt::format("einsum(\"{} -> {}\", {})", side.from, canonical, vector);
    else if (side.from != canonical)
      argument = fmt::format("rearrange({}, \"{} -> {}\")", vector, side.from, canonical);
    std::string call = turn(side, argument);
    if (side.from == canonical)
      return call;
    return fmt::format("rearrange({}, \"{} -> {}\")", call, canonical, side.from);
  }

  std::string turn(const Side &side, const std::string &argument) {
    std::string map = side.name == "q" ? "map = (H, W)" : "map = (Hk, Wk)";
    switch (spec.turn) {
    case Turn::None:
      break;
    case Turn::Rope:
      return fmt::format("rope({}, base = {}, start = {})", argument, 100, spec.maskSize % 4);
    case Turn::RopeHalf:
      return fmt::format("rope_half({}, prefix = {})", argument, spec.maskSize % 2);
    case Turn::Rope2d:
      return fmt::format("rope2d({}, {})", argument, map);
    case Turn::Rope2dHalf:
      return fmt::format("rope2d_half({}, {})", argument, map);
    case Turn::Rotate:
    case Turn::RotateHalf:
      // As large as a cosine and a sine are: a turned vector is no longer than it was.
      for (const char *table : {"cosines_", "sines_"})
        text.operand(table + side.name, fmt::format("{}[{}, dim // 2] ~ 0.7", spec.tableType, side.tokens));
      return fmt::format("{0}({1}, cosines_{2}, sines_{2})", spec.turn == Turn::Rotate ? "rotate" : "rotate_half",
                         argument, side.name);
    }
    return argument;
  }

  const Spec &spec;
  Text &text;
};

} // namespace

void printVectors(const Spec &spec, Text &text) { VectorPrinter(spec, text).print(); }

void printCosine(const Spec &spec, Text &text) {
  VectorPrinter printer(spec, text);
  auto length = [&](const Side &side, const std::string &vector) {
    return fmt::format("max(sqrt({}), 1e-6)", printer.squares(side, vector, withBatch(spec, "h " + side.axis)));
  };
  text.statement("q_length", length(printer.querySide(), text.query));
  text.statement("k_length", length(printer.keySide(), text.key));
  text.statement("content", fmt::format("product / (q_length[..., None] * k_length[{}:, None, :])",
                                        spec.batch == Batch::None ? "" : ":, "));
}

} // namespace skewer::fuzz
