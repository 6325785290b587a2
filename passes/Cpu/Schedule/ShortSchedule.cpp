// Chooses the schedule of short layers, and the longest length for which it is used.
#include "passes/Cpu/Schedule/ShortSchedule.h"
#include "passes/Cpu/Schedule/Prediction.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace skewer;

// The number of lengths, up to the bound, at which the two schedules are compared.
static constexpr int64_t kCompared = 64;
// The competing strategy keeps a length if its predicted time is less than this share. For heads of 64 on Zen 4, the
// time of additions to the keys relative to the band is 1.17 at 100 queries, 1.12 at 150, 0.96 at 200, 0.83 at 256,
// 0.88 at 300.
static constexpr double kClearGain = 0.97;

std::optional<ShortSchedule> skewer::shortScheduleOf(attn::AttentionOp attention) {
  auto schedule = attention->getAttrOfType<attn::CpuScheduleAttr>(kShortSchedule);
  auto length = attention->getAttrOfType<IntegerAttr>(kShortLength);
  if (!schedule || !length)
    return std::nullopt;
  return ShortSchedule{schedule, length.getInt()};
}

void skewer::setShortSchedule(attn::AttentionOp attention, const ShortSchedule &given) {
  attention->setAttr(kShortSchedule, given.schedule);
  attention->setAttr(kShortLength, Builder(attention.getContext()).getI64IntegerAttr(given.atMost));
}

/// Shortens the outermost axis to the given number of positions.
static void shorten(std::vector<MapAxis> &axes, int64_t positions) {
  if (!axes.empty())
    axes.front().extent = llvm::divideCeil(positions, axes.front().inner);
}

AttentionShape skewer::atLength(AttentionShape shape, int64_t queries) {
  int64_t allQueries = shape.queries, allKeys = shape.keys;
  shape.queries = std::min(queries, allQueries);
  if (shape.bounds.keyLength)
    shape.keys = llvm::divideCeil(allKeys * shape.queries, allQueries);
  shorten(shape.queryAxes, shape.queries);
  shorten(shape.keyAxes, shape.keys);
  for (RowTerm &term : shape.rows) {
    if (term.linear.queryAxis.isWhole(allQueries))
      term.linear.queryAxis.extent = shape.queries;
    if (term.linear.keyAxis.isWhole(allKeys))
      term.linear.keyAxis.extent = shape.keys;
  }
  return shape;
}

/// Returns the strategies of the schedule, with each competing strategy replaced by the one that analysis meant;
/// nothing if there is none to replace.
static std::optional<ChosenStrategies> withoutCompetitors(attn::CpuScheduleAttr schedule, const AttentionShape &shape) {
  const TermStrategies &known = termStrategiesOf(schedule.getContext());
  ChosenStrategies chosen = strategiesOf(schedule, shape);
  bool any = false;
  for (auto &[form, strategy] : chosen) {
    const TermStrategy *meant = known.fitting(form, shape).front();
    any |= strategy != meant;
    strategy = meant;
  }
  return any ? std::optional(chosen) : std::nullopt;
}

/// Returns the strategies with the forms of another shape that has the same terms.
static ChosenStrategies withForms(ChosenStrategies chosen, const AttentionShape &shape) {
  std::vector<TermForm> forms = formsOf(shape);
  llvm::append_range(forms, maskFormsOf(shape));
  for (auto [each, form] : llvm::zip(chosen, forms))
    each.form = form;
  return chosen;
}

std::optional<ShortChoice> skewer::chooseForShort(attn::CpuScheduleAttr schedule, const AttentionShape &shape,
                                                  const Target &target) {
  auto meant = shape.bounds.queryLength ? withoutCompetitors(schedule, shape) : std::nullopt;
  if (!meant)
    return std::nullopt;
  Blocking blocking{schedule.getTileRows(),
                    schedule.getTileVectors(),
                    schedule.getRowBlock(),
                    schedule.getKeyBlock(),
                    schedule.getRowsPerItem(),
                    0,
                    0};
  ChosenStrategies won = strategiesOf(schedule, shape);
  // The gain of the strategies that analysis meant, as a logarithm, since the frequencies of the lengths are unknown.
  auto gainOfMeant = [&](int64_t queries) {
    AttentionShape at = atLength(shape, queries);
    return std::log(predictWork(at, withForms(won, at), blocking, target).cycles /
                    (kClearGain * predictedCycles(at, withForms(*meant, at), target)));
  };
  // Compare between multiples of the vector length, since most lengths are not multiples.
  int64_t step = std::max<int64_t>(target.lanes, llvm::divideCeil(shape.queries, kCompared));
  int64_t atMost = 0;
  double gain = 0, most = 0;
  for (int64_t end = step; end < shape.queries; end += step) {
    gain += gainOfMeant(end - step / 2);
    if (gain > most) {
      most = gain;
      atMost = end;
    }
  }
  if (4 * atMost > 3 * shape.queries)
    atMost = shape.queries;
  return atMost ? std::optional<ShortChoice>({atMost, *meant}) : std::nullopt;
}
