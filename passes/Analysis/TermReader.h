// Relates the subscripts of a term's operands to the axis groups (leading, query, key). The built-in term classes share
// it.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include "passes/Analysis/AxisProducts.h"
#include "passes/Analysis/TermClass.h"
#include <algorithm>

namespace skewer {

inline bool contains(const std::vector<std::string> &list, const std::string &name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}
inline int placeOf(const std::vector<std::string> &list, const std::string &name) {
  auto found = std::find(list.begin(), list.end(), name);
  return found == list.end() ? -1 : int(found - list.begin());
}
inline std::set<std::string> asSet(const std::vector<std::string> &list) { return {list.begin(), list.end()}; }

/// Which axis groups the subscripts of one operand use.
struct Reading {
  bool plain = true; // positions occur only as an axis or in a product of axes; leading and contracted axes in any way
  bool leading = false, query = false, key = false, contracted = false;
  int oddDimensions = 0, odd = -1; // number of dimensions that use positions in another way, and the last of them
};

class TermReader {
public:
  explicit TermReader(const attn::Term &term) : term(term), space(*term.space) {
    domain = subscript::domainOf(term.einsum.sizes);
    for (const auto &[axis, range] : subscript::domainOf(space.sizes))
      domain[axis] = range;
    sizes = term.einsum.sizes;
    sizes.insert(space.sizes.begin(), space.sizes.end());
    queryPosition = subscript::simplify(positionOf(space.query), domain);
    keyPosition = subscript::simplify(positionOf(space.key), domain);
  }

  Reading read(size_t operand) const {
    Reading reading;
    const auto &subscripts = term.einsum.subscripts[operand];
    for (size_t d = 0; d < subscripts.size(); ++d) {
      subscript::Expr e = subscript::simplify(subscripts[d], domain);
      for (const std::string &symbol : symbolsOf(e)) {
        reading.leading |= contains(space.leading, symbol);
        reading.query |= contains(space.query, symbol);
        reading.key |= contains(space.key, symbol);
        reading.contracted |= contains(term.einsum.contracted, symbol);
      }
      bool positions = false; // whether the subscript uses positions of the query or the key
      for (const std::string &symbol : symbolsOf(e))
        positions |= contains(space.query, symbol) || contains(space.key, symbol);
      bool known =
          !positions || e.isSymbol() || e == queryPosition || e == keyPosition || dimensionFor(e, sizes).isProduct();
      if (!known) {
        reading.plain = false;
        ++reading.oddDimensions;
        reading.odd = int(d);
      }
    }
    return reading;
  }

  /// Returns whether the operand reads every axis of the query (or key) once and in order, so that it has a row for
  /// each position. Axes of size 1 are ignored: a single query has no axis that a subscript could name.
  bool readsWhole(size_t operand, bool query) const {
    std::vector<std::string> axes, read;
    for (const std::string &axis : query ? space.query : space.key)
      if (space.sizes.at(axis) != 1)
        axes.push_back(axis);
    for (const subscript::Expr &subscript : term.einsum.subscripts[operand])
      for (const std::string &axis : dimensionFor(subscript::simplify(subscript, domain), sizes).axes)
        if (contains(axes, axis))
          read.push_back(axis);
    return read == axes;
  }

  /// Returns whether the operand reads whole positions in this way, or rows at an even stride from any place: part of a
  /// tensor, every second row, blocks that overlap.
  bool readsEvenly(size_t operand, bool query) const {
    std::set<std::string> missing;
    for (const std::string &axis : query ? space.query : space.key)
      if (space.sizes.at(axis) != 1)
        missing.insert(axis);
    for (const subscript::Expr &subscript : term.einsum.subscripts[operand]) {
      std::set<std::string> symbols = symbolsOf(subscript);
      bool positions = false;
      for (const auto *axes : {&space.query, &space.key})
        for (const std::string &axis : *axes)
          positions |= symbols.count(axis) > 0;
      auto affine = subscript::asAffine(subscript, domain);
      if (positions && !affine)
        return false;
      if (affine)
        for (const auto &entry : affine->coefficients)
          missing.erase(entry.first);
    }
    return missing.empty();
  }

  subscript::Expr positionOf(const std::vector<std::string> &axes) const {
    subscript::Dimension dimension;
    dimension.axes = axes;
    return subscript::flatIndex(dimension, space.sizes);
  }

  /// Returns an analysis with the contracted axes and the depth, which every class reports.
  TermAnalysis start(TermKind kind) const {
    TermAnalysis analysis;
    analysis.kind = kind;
    analysis.contracted = term.einsum.contracted;
    for (const std::string &axis : analysis.contracted) {
      auto size = term.einsum.sizes.find(axis);
      analysis.depth = size == term.einsum.sizes.end() || size->second == subscript::kRuntime ||
                               analysis.depth == subscript::kRuntime
                           ? subscript::kRuntime
                           : analysis.depth * size->second;
    }
    return analysis;
  }

  const attn::Term &term;
  const attn::ScoreSpace &space;
  subscript::Domain domain;
  subscript::AxisSizes sizes;
  subscript::Expr queryPosition, keyPosition;
};

} // namespace skewer
