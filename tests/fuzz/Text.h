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
/// Returns the row that `term` reads, of flat positions or on one axis of the map.
Row rowOf(const Spec &, const Term &, const Names &);
/// Does the same on a given axis, whatever axis the term says.
Row axisRowOf(const Spec &, const Term &, const Names &, int axis);
/// Returns the condition under which the term is not 0; an empty text if there is none.
std::string guardText(const Spec &, const Term &, const Names &);
/// Returns the predicate of the mask; an empty text if there is none.
std::string maskText(const Spec &, const Names &);
/// "B, ", "batch, " or nothing: before the other dimensions of an operand's type. "b, ": before its other indices.
std::string withBatch(const Spec &, const std::string &rest); // "b ", unless there is none, and the rest
std::string batchSize(const Spec &);
std::string batchIndex(const Spec &);

/// Return the length of an operand with an element for each query, key or head: "N", or "NN" if it holds the whole of
/// which the layer reads a part.
std::string queryLength(const Spec &);
std::string keyLength(const Spec &);
std::string headLength(const Spec &);
/// Returns the number of heads of k and v: "groups", or all heads if the layer reads a part of them.
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
/// Returns the row of a table that term `number` reads by index operands, which are added to the text.
Row tokenRow(const Spec &, const Term &, size_t number, const Names &, Text &);
/// Adds what a term needs; returns the name that holds its value, of the score or of the result.
std::string printTerm(const Spec &, const Term &, size_t number, Text &);
/// Returns the subscripts "b h i d" of an operand with these position and depth, in the order of the spec.
std::string subscripts(const Spec &, const std::string &head, const std::string &position, const std::string &depth);
/// Returns "b h i j", or "b (g r) i j".
std::string scoreSubscripts(const Spec &, const Names &, bool grouped = false);
/// Return the subscripts of k (depth "d") and of v ("e"), read by the query's head.
std::string keySubscripts(const Spec &, const Names &, bool grouped = false);
std::string valueSubscripts(const Spec &, const Names &, bool grouped = false);
/// Returns the subscripts of the result: "b h i e", or in the order that the spec has for it.
std::string resultSubscripts(const Spec &, const Names &, bool grouped = false);
/// Returns the text of the query plus a vector of its head.
std::string queryText(const Spec &, const std::string &query, const std::string &bias, Text &);
/// Declares q, k and v, packed or not, and normalises and turns what the spec says.
void printVectors(const Spec &, Text &);
/// Divides the content by the lengths of query and key, for Norm::Cosine.
void printCosine(const Spec &, Text &);
std::string numberText(double);

} // namespace skewer::fuzz
