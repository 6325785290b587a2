// The strategy "strided_add": q_i·k_j + q_i·R[j - i] = q_i·(k_j + R[j - i]). If the rows of a register tile are a whole
// vector apart, element (a, b) of the tile needs the vector b - a of the table, so rows + vectors - 1 vectors of it,
// read at aligned addresses, serve rows × vectors products. No band is computed and nothing is skewed, but each product
// costs an addition.
//
// Rows that are a vector apart form one phase, i mod lanes. A work item is one phase of a head. Heads take turns at a
// phase, and the first of them copies the columns of the table into the order of the phase.
#include "passes/Analysis/StridedShape.h"
#include "passes/Cpu/Strategies/OffsetTable.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace skewer;

// Registers of a tile of 4 x 4: 16 accumulators, 4 vectors of keys, 4 queries, and two for the table and for sums.
static constexpr int64_t kRegisters = 26;
// The tile, whose rows are a vector apart.
static constexpr RegisterTile kTile{4, 4};
// The cost of an FMA and the addition before it, in FMAs, if both use the same pipes. Hand-written kernels of 1024
// tokens took 34.6 ms with strided addition and 29.4 ms with a band on a Cascade Lake core; a value of 2 would predict
// equal times.
static constexpr double kSharedPipes = 2.6;
// A load and a store for each vector of a table that is copied into the order of a phase.
static constexpr double kTableSteps = 2;

/// Returns accumulators[r][v] + Σ_step rows[r][step] · (keys[v][step] + table[v - r + tileRows - 1][step]).
static SmallVector<Value> multiplySums(VectorBuilder &b, int64_t tileRows, int64_t vectors, int64_t depth,
                                       SmallVector<Value> accumulators, const ProductOperand &rows,
                                       const ProductOperand &keys, const ProductOperand &table) {
  // One step a turn: with two, LLVM spills.
  return b.loop(b.index(0), b.index(depth), 1, accumulators, [&](Value k, ValueRange carried) {
    SmallVector<Value> sums(carried), columns, queries;
    Value line = b.mul(k, b.lanes);
    for (int64_t v = 0; v < vectors; ++v)
      columns.push_back(b.load(keys.memory, b.add(b.add(keys.base, line), v * keys.stride)));
    for (int64_t r = 0; r < tileRows; ++r)
      queries.push_back(b.loadBroadcast(rows.memory, b.add(b.add(rows.base, k), r * rows.stride)));
    for (int64_t diagonal = 0; diagonal < tileRows + vectors - 1; ++diagonal) {
      Value offset = b.load(table.memory, b.add(b.add(table.base, line), diagonal * table.stride));
      for (int64_t r = 0; r < tileRows; ++r)
        if (int64_t v = diagonal - (tileRows - 1) + r; v >= 0 && v < vectors) {
          Value &sum = sums[r * vectors + v];
          sum = b.fma(queries[r], b.addf(columns[v], offset), sum);
        }
    }
    return sums;
  });
}

namespace {
class StridedAdd : public OffsetTable {
public:
  StridedAdd(CpuKernel &kernel, const RowTerm &term) : OffsetTable(kernel, term, fmaEngine()) {
    // Panel p belongs to (key vector) - (row of the phase) = p - phaseRows; tiles reach beyond the last row and key.
    phaseRows = llvm::divideCeil(shape.queries, lanes) + tileRows;
    phasePanels = phaseRows + llvm::alignTo(keyVectors, tileVectors) + tileRows + tileVectors;
    // The column of (0, 0) is in the table; if lengths move it, it may be any of its columns.
    moves = shape.hasLength();
    int64_t least = moves ? 0 : constant, most = moves ? term.rows - 1 : constant;
    shiftedMargin = llvm::alignTo(std::max<int64_t>(0, (phaseRows + 1) * lanes - least), lanes);
    int64_t columns = std::max(term.rows, most + (phasePanels - phaseRows + 1) * lanes);
    shiftedLine = shiftedMargin + llvm::alignTo(columns, lanes) + lanes;
    table.itemsOfCopy = llvm::divideCeil(term.rows, lanes);
    table.copyFloats = term.depth * shiftedLine;
  }
  double variance() const override { return term.scale * term.scale * double(term.depth); }
  int64_t rowsApart() const override { return lanes; }

  void plan(Layout &layout) override {
    table.plan(layout, Layout::Zone::Windows);
    layout.reserve(phaseTable, phasePanels * panelStride, Layout::Zone::Windows);
  }
  void open() override {
    phaseMemory = view(memory.local, phaseTable);
    tableMemory = table.view();
  }

  int64_t headsOfPhase() const override { return skewer::headsOfPhase(shape, lanes); }
  /// Copies the panels of the table for the queries of one phase.
  void enterPhase(Value phase, Value changes) override {
    if (changes)
      b.when(changes, [&] { bringTable(phase); });
    else
      bringTable(phase);
  }

  ContentUse contentUse() const override { return ContentUse::KeyPanels; }
  ProductsOfSteps contentProducts(const ScoreTile &tile) override {
    return [this, &tile](const TilePart &part, Value firstStep, int64_t steps, SmallVector<Value> start) {
      // Parts of the tile: vectors of keys, and rows of the phase.
      Value row = b.add(tile.row, part.row);
      Value position = b.add(tile.position, part.row * lanes);
      Value vector = b.add(tile.vector, part.vector);
      // position / lanes is the row of the phase with which the tile begins.
      Value panel = b.add(b.sub(vector, b.divide(position, lanes)), phaseRows - (part.rows - 1));
      Value line = b.mul(firstStep, lanes);
      return multiplySums(b, part.rows, part.vectors, steps, std::move(start),
                          {kernel.content.queries(), b.add(b.mul(row, depth), firstStep), depth},
                          {kernel.content.keys(), b.add(b.mul(vector, panelStride), line), panelStride},
                          {phaseMemory, b.add(b.mul(panel, panelStride), line), panelStride});
    };
  }

private:
  void bringTable(Value phase) {
    Value copy = table.copyOfHead();
    Value origin = moves ? b.add(firstColumn(), shiftedMargin - phaseRows * lanes)
                         : b.index(constant + shiftedMargin - phaseRows * lanes);
    Value first = b.add(copy, b.sub(origin, phase));
    // Only the panels of existing rows and vectors of keys.
    Value low = b.index(0), high = b.index(phasePanels);
    if (moves) {
      auto vectorsOf = [&](Value positions) { return b.divide(b.add(positions, lanes - 1), lanes); };
      low = b.maximum(low, b.sub(b.index(phaseRows - tileRows), vectorsOf(positions.queries())));
      high = b.minimum(high, b.add(vectorsOf(positions.keys()), phaseRows + tileVectors + tileRows));
    }
    b.loop(b.index(0), b.index(depth), 1, [&](Value d) {
      Value from = b.add(first, b.mul(d, shiftedLine)), to = b.mul(d, lanes);
      b.loop(low, high, 1, [&](Value panel) {
        b.store(b.load(tableMemory, b.add(from, b.mul(panel, lanes))), phaseMemory,
                b.add(to, b.mul(panel, panelStride)));
      });
    });
  }

  /// Returns a place in which the columns of a step are consecutive, so that any of them may be the first of a vector.
  PanelTarget panelsOf(Value target, Value copy) override {
    PanelTarget place{target, b.add(b.mul(copy, table.copyFloats), shiftedMargin), lanes};
    place.lineStride = shiftedLine;
    return place;
  }

  bool moves; // lengths move the first column; `constant` is that of the bounds
  int64_t phaseRows, phasePanels, shiftedMargin, shiftedLine;
  Buffer phaseTable; // the panels of one phase
  Value phaseMemory, tableMemory;
};

/// Returns the cycles for one step of the depth of a tile, which has as many additions as FMAs.
double cyclesOfSums(RegisterTile tile, const Target &target) {
  double multiplies = double(tile.rows * tile.vectors) / target.fmaPerCycle;
  double additions = target.separateAdd() ? double(tile.rows * tile.vectors) / target.addPerCycle : 0;
  double issue = target.separateAdd() ? std::max(multiplies, additions) : kSharedPipes * multiplies;
  return std::max(issue, double(2 * tile.rows + 2 * tile.vectors - 1) / target.loadsPerCycle);
}

/// Returns the cycles of a row that the additions take beyond the products of the content.
double cyclesOfRow(const AttentionSizes &sizes, const Blocking &blocking, const Target &target) {
  RegisterTile tile = blocking.registers();
  // From one row group to the next, as many panels of the table as a tile has rows are loaded from L2.
  double fetched = target.exposedTraffic * kFloatBytes * tile.rows * target.lanes / target.l2Rate;
  return (cyclesOfSums(tile, target) - tileCycles(tile, target) + fetched) / tile.rows * sizes.depth *
         llvm::divideCeil(sizes.keys, target.lanes * tile.vectors);
}

class StridedAddStrategy : public TermStrategy {
public:
  StringRef name() const override { return "strided_add"; }
  AddOrder order() const override { return AddOrder::Offsets; }
  bool fits(const TermForm &form, const AttentionShape &shape) const override {
    return form.as<RowTerm>() && mayAddStrided(shape);
  }
  void addSizes(const TermForm &, const AttentionShape &, AttentionSizes &sizes) const override {
    sizes.tile = kTile;
    sizes.readsPanels = true;
    sizes.more.push_back(cyclesOfRow);
  }
  bool isInPhases() const override { return true; }
  std::optional<Refusal> whyNotOn(const Target &target) const override {
    if (target.registers >= kRegisters)
      return std::nullopt;
    return Refusal{std::to_string(target.registers) + " vector registers are too few"};
  }
  /// Competes for run-time lengths too: a phase of a short layer has few rows, but short layers have a schedule of
  /// their own (ShortSchedule.h).
  bool competes(const AttentionShape &) const override { return true; }
  bool takesLengths() const override { return true; }
  /// Counts copying the table into the order of each phase, once for the heads that take turns at it. cyclesOfRow
  /// counts the additions.
  TermWork work(const TermForm &form, const AttentionShape &shape, const TileSizes &tile,
                const Target &) const override {
    int64_t phaseVectors = llvm::divideCeil(shape.queries, tile.lanes) + llvm::divideCeil(shape.keys, tile.lanes);
    double heads = double(skewer::headsOfPhase(shape, tile.lanes));
    return {0, kTableSteps * double(form.as<RowTerm>()->depth * phaseVectors * tile.lanes) / heads};
  }
  std::unique_ptr<CpuStrategy> make(CpuKernel &kernel, const TermForm &form) const override {
    return std::make_unique<StridedAdd>(kernel, *form.as<RowTerm>());
  }
};
} // namespace

std::unique_ptr<TermStrategy> skewer::makeStridedAdd() { return std::make_unique<StridedAddStrategy>(); }
