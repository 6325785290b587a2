// Pieces of .attn text that several parts of a spec share.
#pragma once
#include "tests/fuzz/RandomSpec.h"

namespace skewer::fuzz {

/// Positions as a text names them: i and j, or the axes of a map.
class Names {
public:
  Names(const Spec &spec, bool isMap) : isMap(isMap && spec.map) {}

  /// Dimensions of an einsum.
  std::string query() const { return isMap ? "(iy ix)" : "i"; }
  std::string key() const { return isMap ? "(jy jx)" : "j"; }
  /// Positions in expressions: flat, or on one axis of the map.
  std::string queryAt() const { return isMap ? "(iy*W + ix)" : "i"; }
  std::string keyAt() const { return isMap ? "(jy*Wk + jx)" : "j"; }
  std::string queryAxis(int axis) const;
  std::string keyAxis(int axis) const;
  /// ", iy = H, ix = W": arguments of an einsum whose operands do not tell these sizes.
  std::string sizesOf(bool ofQuery, bool ofKey) const;

private:
  bool isMap;
};

/// A row of a table: its index, and how many rows the table has.
struct Row {
  std::string index;
  int64_t rows = 1;
};
/// The row that `term` reads, of flat positions or on one axis of the map.
Row rowOf(const Spec &, const Term &, const Names &);
/// On a given axis, whatever the term says.
Row axisRowOf(const Spec &, const Term &, const Names &, int axis);
/// Where the term is not 0, or nothing.
std::string guardText(const Spec &, const Term &, const Names &);
/// The predicate, or nothing.
std::string maskText(const Spec &, const Names &);
/// "B, ", "batch, " or nothing: before the other dimensions of an operand's type. "b, ": before its other indices.
std::string withBatch(const Spec &, const std::string &rest); // "b ", unless there is none, and the rest
std::string batchSize(const Spec &);
std::string batchIndex(const Spec &);

/// Of operands with an element for each query, key or head: "N", or where they hold the whole of a part "NN".
std::string queryLength(const Spec &);
std::string keyLength(const Spec &);
std::string headLength(const Spec &);
/// Of k and v: "groups", or all of them where the heads are a part.
std::string keyHeads(const Spec &);

/// The text of a spec as it grows: operands and statements, and what the vectors of queries and keys are called.
struct Text {
  std::string operands, statements;
  std::string query = "q", key = "k"; // behind norms and turns
  void operand(const std::string &name, const std::string &type, bool isConst = false);
  void statement(const std::string &name, const std::string &value);
};

/// Adds the index operands of the mask.
void maskOperands(const Spec &, Text &);
/// The row of a table that term `number` reads by index operands, which are added to the text.
Row tokenRow(const Spec &, const Term &, size_t number, const Names &, Text &);
/// Adds what a term needs; returns the name that holds its value, of the score or of the result.
std::string printTerm(const Spec &, const Term &, size_t number, Text &);
/// "b h i d" of an operand with these position and depth, in the order that the spec has them.
std::string subscripts(const Spec &, const std::string &head, const std::string &position, const std::string &depth);
/// "b h i j", or "b (g r) i j".
std::string scoreSubscripts(const Spec &, const Names &, bool grouped = false);
/// Of k (depth "d") or v ("e"), read by the query's head.
std::string keySubscripts(const Spec &, const Names &, bool grouped = false);
std::string valueSubscripts(const Spec &, const Names &, bool grouped = false);
/// Of the result: "b h i e", or in the order that the spec has for it.
std::string resultSubscripts(const Spec &, const Names &, bool grouped = false);
/// The query with a vector a head added to it.
std::string queryText(const Spec &, const std::string &query, const std::string &bias, Text &);
/// Declares q, k and v, packed or not, and normalises and turns what the spec says.
void printVectors(const Spec &, Text &);
/// Of the content with Norm::Cosine: over the lengths of query and key.
void printCosine(const Spec &, Text &);
std::string numberText(double);

} // namespace skewer::fuzz
