// Types operations that only move elements. A part of the typer (Typer.h).
#pragma once
#include "dialect/Language/TyperPart.h"

namespace skewer::language {

class Moves : public TyperPart {
public:
  using TyperPart::TyperPart;

  Value move(const Node &, typed::Operation, const Value &, Dimensions);
  Value typeSkew(const Node &);
  Value typePad(const Node &);
  Value typeReshape(const Node &);
  Value typeGather(const Node &);
  Value typeConcat(const Node &);
  Value typeSlice(const Node &, Value base);
  Value typeRearrange(const Node &);
  std::vector<Value> takenApart(const Node &, const Value &, size_t count);
  Value reshapeTo(const Node &, Value, Dimensions);
  Value rearrange(const Node &, Value, const std::vector<Naming> &from, const std::vector<Naming> &to, Dimensions);
  bool requireOrder(llvm::StringRef place, const Value &, const std::string &who);
  Value arranged(const Node &, Value, llvm::ArrayRef<size_t> places);
  Value moved(const Node &, Value, size_t from, size_t to);
  std::optional<Value> arrangedBy(const Node &, Value, const subscript::Dimensions &text, const std::string &who);

private:
  std::optional<std::vector<std::pair<llvm::StringRef, Value>>> reshapedSizes(const Node &);
  bool gatherAxes(const Node &, int64_t rank, std::vector<Axis> &, int64_t &dimension);
  std::optional<subscript::Expr> gatherIndex(const Node &, const std::vector<Axis> &);
  std::optional<std::vector<int64_t>> gatheredRows(const Node &, const subscript::Expr &index,
                                                   const std::vector<Axis> &, int64_t rows);
  void joinPart(Value &whole, const Value &part, size_t along, int64_t start) const;
  std::optional<int64_t> placeIn(const Node &subscript, int64_t size, llvm::StringRef what);
  struct SliceRun {
    int64_t low, high, step; // low, low + step, … before high
  };
  std::optional<SliceRun> sliceRun(const Node &, int64_t size);
  struct Slicing;
  bool sliceNext(const Node &, Slicing &);
  std::optional<subscript::Einsum> parseRearrangement(const Node &, std::map<std::string, int64_t> &numbers);
  bool checkWholeAxes(const Node &, const subscript::Einsum &, llvm::StringRef text);
  std::optional<subscript::AxisSizes> rearrangedSizes(const subscript::Einsum &, llvm::StringRef text,
                                                      const Dimensions &, const subscript::AxisSizes &given);
  struct Rearrangement {
    std::vector<Naming> from, to;
    Dimensions result;
  };
  std::optional<Rearrangement> rearrangement(const subscript::Einsum &, llvm::StringRef text, const Dimensions &,
                                             const subscript::AxisSizes &all);
  Value elementAt(const Node &, const Value &tensor, size_t dimension, int64_t at);
};

} // namespace skewer::language
