// The part of `explain` about a fused attention beyond its terms: composed operations, tiles, rows never read,
// predicted work. `report` and the language server use it too.
#pragma once
#include "codegen/Compiler/Compiler.h"
#include "dialect/IR/Attn.h"
#include "passes/Analysis/TileCounts.h"
#include "passes/Cpu/Schedule/CpuSchedule.h"
#include "passes/Cpu/Schedule/Prediction.h"
#include "passes/Fusion/Provenance.h"
#include "passes/Schedule/Target.h"

namespace skewer::driver {

/// Rows of a table that no pair of query and key reads, as inclusive runs.
struct UnreadRows {
  std::string operand;
  int64_t rows = 0; // number of rows of the table
  std::vector<subscript::Range> runs;
};

struct LayerFacts {
  std::string formula; // "softmax over j of 0.125 (q·k + q·table[j - i + 13]), times v"
  std::vector<std::vector<ComposedOperation>> composed; // of each term
  int64_t tileRows = 0, tileKeys = 0;                   // of the schedule; 0 without one
  std::optional<TileCounts> tiles;                      // only if there is a mask and a schedule
  std::vector<UnreadRows> unread;
  double leading = 1;                    // leading indices of one call with every run-time size 1
  PredictedWork work;                    // of one leading index
  std::vector<Alternative> alternatives; // their terms are numbers in facts.terms
  std::optional<size_t> integerTerm;     // the term whose products are summed up as integers
  bool isPredicted = false;
  std::string whyNotPredicted; // if there is a schedule but no prediction
};

/// Returns the facts about an attention; `facts` belong to the same attention.
LayerFacts layerFactsOf(attn::AttentionOp, const AttentionFacts &facts, const Target &);

/// Returns the tables of an attention that have rows which no pair of positions reads.
std::vector<UnreadRows> unreadRowsOf(attn::AttentionOp);

/// Returns the bytes of a tensor with every run-time size 1.
double bytesOf(const ComposedOperation &);
/// Returns whether the operation moves elements. Otherwise it scales them, or is the contraction whose result was
/// moved.
bool isIndexMap(const ComposedOperation &);

} // namespace skewer::driver
