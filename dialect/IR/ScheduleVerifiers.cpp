// Verifiers of schedules: first of a schedule alone, then of a schedule together with the layer that has it.
#include "dialect/IR/StrategyNames.h"
#include "dialect/IR/Verification.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer::attn;

namespace {
// A tile is straight-line code of tile_rows × tile_vectors products in each step.
constexpr int64_t kMostTileRows = 16, kMostTileVectors = 8;

using EmitError = function_ref<InFlightDiagnostic()>;

LogicalResult verifyStrategies(EmitError emitError, ArrayRef<StringAttr> strategies, StringRef kind,
                               StringRef constraint) {
  for (StringAttr strategy : strategies) {
    ArrayRef<std::string> known = StrategyNames::of(strategy.getContext(), kind);
    if (strategy.empty() || (!known.empty() && !llvm::is_contained(known, strategy.getValue())))
      return emitError() << "there is no strategy '" << strategy.getValue() << "'; known: " << llvm::join(known, ", ")
                         << " (" << constraint << ")";
  }
  return success();
}

/// Returns the strategy of a schedule whose work items are phases; null if there is none.
StringAttr strategyInPhases(CpuScheduleAttr schedule) {
  const StringAttr *found = llvm::find_if(schedule.getStrategies(), StrategyNames::isInPhases);
  return found == schedule.getStrategies().end() ? StringAttr() : *found;
}

LogicalResult verifyWithin(EmitError emitError, StringRef name, int64_t number, int64_t most) {
  if (number >= 1 && number <= most)
    return success();
  return emitError() << name << " is " << number << ", expected a number from 1 to " << most << " (cpu_schedule_c4)";
}

LogicalResult verifyMultiple(EmitError emitError, StringRef name, int64_t number, int64_t unit, StringRef ofWhat) {
  if (number >= 1 && number % unit == 0)
    return success();
  return emitError() << name << " is " << number << ", expected a multiple of " << ofWhat << ", which is " << unit
                     << " (cpu_schedule_c5)";
}
} // namespace

LogicalResult CpuScheduleAttr::verify(EmitError emitError, StringRef target, int64_t lanes, int64_t tileRows,
                                      int64_t tileVectors, int64_t rowBlock, int64_t keyBlock, int64_t rowsPerItem,
                                      ArrayRef<StringAttr> strategies, int64_t keysPerItem) {
  if (target.empty())
    return emitError() << "a schedule needs the name of its target (cpu_schedule_c1)";
  if (lanes != 4 && lanes != 8 && lanes != 16)
    return emitError() << "lanes is " << lanes << ", expected 4, 8 or 16 (cpu_schedule_c2)";
  if (failed(verifyStrategies(emitError, strategies, getMnemonic(), "cpu_schedule_c3")) ||
      failed(verifyWithin(emitError, "tile_rows", tileRows, kMostTileRows)) ||
      failed(verifyWithin(emitError, "tile_vectors", tileVectors, kMostTileVectors)) ||
      failed(verifyMultiple(emitError, "row_block", rowBlock, tileRows, "tile_rows")) ||
      failed(verifyMultiple(emitError, "key_block", keyBlock, tileVectors * lanes, "tile_vectors × lanes")) ||
      failed(verifyMultiple(emitError, "rows_per_item", rowsPerItem, rowBlock, "row_block")) ||
      (keysPerItem && failed(verifyMultiple(emitError, "keys_per_item", keysPerItem, keyBlock, "key_block"))))
    return failure();
  int64_t scores;
  if (__builtin_mul_overflow(rowBlock, keyBlock, &scores) || scores > kMostScores)
    return emitError() << "a block of " << rowBlock << " rows and " << keyBlock << " keys has more than 2^"
                       << llvm::Log2_64(kMostScores) << " scores (cpu_schedule_c6)";
  return success();
}

bool CpuScheduleAttr::hasPhases() const { return static_cast<bool>(strategyInPhases(*this)); }

LogicalResult CpuScheduleAttr::verifyFor(Operation *attention, int64_t queries, int64_t keys) const {
  // The consecutive rows of an item: all rows, or the rows of a phase.
  StringAttr inPhases = strategyInPhases(*this);
  int64_t rows = inPhases ? llvm::divideCeil(queries, getLanes()) : queries;
  std::string rowsText = std::to_string(queries) + " queries";
  if (inPhases)
    rowsText += " in " + std::to_string(getLanes()) + " phases";
  auto atMost = [&](StringRef name, int64_t number, int64_t count, int64_t unit, StringRef ofWhat,
                    const std::string &has) -> LogicalResult {
    int64_t most = llvm::alignTo(count, unit);
    if (number <= most)
      return success();
    return attention->emitOpError() << name << " is " << number << ", expected at most " << most << ": " << has
                                    << ", in whole " << ofWhat << " (attention_c11)";
  };
  if (failed(atMost("row_block", getRowBlock(), rows, getTileRows(), "tiles", rowsText)) ||
      failed(atMost("key_block", getKeyBlock(), keys, getTileVectors() * getLanes(), "tiles",
                    std::to_string(keys) + " keys")) ||
      failed(atMost("rows_per_item", getRowsPerItem(), rows, getRowBlock(), "blocks", rowsText)))
    return failure();
  int64_t phase = llvm::alignTo(rows, getRowBlock());
  if (inPhases && getRowsPerItem() != phase)
    return attention->emitOpError() << "rows_per_item is " << getRowsPerItem() << ", expected " << phase << ": with '"
                                    << inPhases.getValue() << "' an item is one of the phases (attention_c11)";
  return verifyKeysPerItem(attention, queries, keys);
}

LogicalResult CpuScheduleAttr::verifyKeysPerItem(Operation *attention, int64_t queries, int64_t keys) const {
  int64_t number = getKeysPerItem();
  if (!number)
    return success();
  if (number >= keys)
    return attention->emitOpError() << "keys_per_item is " << number << ", expected less than " << keys
                                    << ", all keys, or no such part (attention_c15)";
  if (getRowBlock() < queries || hasPhases())
    return attention->emitOpError() << "keys_per_item is " << number << ", but items have parts of the keys only where "
                                    << "one block has all " << queries << " queries; row_block is " << getRowBlock()
                                    << (hasPhases() ? ", of every vector's lane" : "") << " (attention_c15)";
  if (auto fused = dyn_cast<AttentionOp>(attention); fused && fused.getWeights())
    return attention->emitOpError() << "keys_per_item is " << number << ", but the weights are a result: they are "
                                    << "written by the item that has all keys of a row (attention_c15)";
  return success();
}

LogicalResult GpuScheduleAttr::verify(EmitError emitError, StringRef target, StringRef engine, int64_t rows,
                                      int64_t keys, int64_t stages, bool /*keepQueries*/, int64_t columns,
                                      int64_t warpRows, StringRef copies, ArrayRef<StringAttr> strategies) {
  if (target.empty())
    return emitError() << "a schedule needs the name of its target (gpu_schedule_c1)";
  if (engine.empty())
    return emitError() << "a schedule needs the name of its engine (gpu_schedule_c2)";
  const std::pair<StringRef, int64_t> sides[] = {{"rows", rows}, {"keys", keys}};
  for (auto [name, number] : sides)
    if (number < 16 || number > 256 || number % 16)
      return emitError() << name << " is " << number
                         << ", expected a multiple of 16 between 16 and 256 (gpu_schedule_c3)";
  if (stages < 1 || stages > 4)
    return emitError() << "stages is " << stages << ", expected a number from 1 to 4 (gpu_schedule_c4)";
  if (columns < 0 || columns > 256 || columns % 16)
    return emitError() << "columns is " << columns
                       << ", expected 0 (all of the values) or a multiple of 16 up to 256 (gpu_schedule_c6)";
  if ((warpRows != 16 && warpRows != 32) || rows % warpRows)
    return emitError() << "warp_rows is " << warpRows << " and rows is " << rows
                       << ", expected 16, or 32 where rows is a multiple of 32 (gpu_schedule_c11)";
  if (copies != "cp_async" && copies != "tma")
    return emitError() << "copies is '" << copies << "', expected 'cp_async' or 'tma' (gpu_schedule_c13)";
  return verifyStrategies(emitError, strategies, getMnemonic(), "gpu_schedule_c5");
}

LogicalResult GpuScheduleAttr::verifyFor(Operation *, int64_t, int64_t) const { return success(); }
