// What `explain` says of a fused attention beyond its terms: what was composed, tiles, rows never read, predicted work.
#pragma once
#include "dialect/IR/Attn.h"
#include "passes/Fusion/Provenance.h"
#include "passes/Schedule/CpuSchedule.h"
#include "passes/Schedule/Prediction.h"
#include "passes/Schedule/Target.h"
#include "tools/skewer/Facts.h"

namespace skewer::driver {

/// Rows of a table that no query and key read, as inclusive runs.
struct UnreadRows {
  std::string operand;
  int64_t rows = 0; // that it has
  std::vector<subscript::Range> runs;
};

struct LayerFacts {
  std::string formula; // "softmax over j of 0.125 (q·k + q·table[j - i + 13]), times v"
  std::vector<std::vector<ComposedOperation>> composed; // of each term
  int64_t tileRows = 0, tileKeys = 0;                   // of the schedule; 0 without one
  std::optional<TileCounts> tiles;                      // only where there is a mask and a schedule
  std::vector<UnreadRows> unread;
  double leading = 1;                    // leading indices of one call with every run-time size 1
  PredictedWork work;                    // of one leading index
  std::vector<Alternative> alternatives; // by the numbers of facts.terms
  bool isPredicted = false;
  std::string whyNotPredicted; // where there is a schedule and no prediction
};

/// `facts` are those of the same attention.
LayerFacts layerFactsOf(attn::AttentionOp, const AttentionFacts &facts, const Target &);

/// Tables of an attention with rows that no pair of positions reads.
std::vector<UnreadRows> unreadRowsOf(attn::AttentionOp);

/// Bytes of a tensor with every run-time size 1.
double bytesOf(const ComposedOperation &);
/// Whether it moves elements; else it scales them, or is the contraction whose result was moved.
bool isIndexMap(const ComposedOperation &);

} // namespace skewer::driver
