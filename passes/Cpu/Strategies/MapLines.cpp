// The strategy "difference_line" on maps whose width is a number of the call: summands that depend on key - query along
// each axis of the map. Each head has a table of them, with a row for each difference of map rows. The line of biases
// of a query is made from that table.
#include "passes/Cpu/ElementTerms.h"
#include "passes/Cpu/Strategies/Others.h"

using namespace mlir;
using namespace skewer;

namespace {
class MapLine : public CpuStrategy {
public:
  MapLine(CpuKernel &kernel, bool gated, uint64_t sum) : CpuStrategy(kernel), map(*shape.bounds.map), gated(gated) {
    inSum(sum);
  }
  LineUse lineUse() const override { return LineUse::AddsAlongMap; }
  bool takes(const OtherTerm &term) const { return !gated && term.gates.empty() && term.sum == sum(); }

  void addTerm(OtherTerm term) {
    original.push_back(term);
    for (unsigned place = 0; place < term.offsets.size(); ++place)
      term.offsets[place] = map.moved(term.offsets[place]);
    for (std::optional<subscript::Expr> *expression : {&term.factor, &term.guard})
      if (*expression)
        *expression = map.moved(**expression);
    if (term.application)
      for (attn::Application::Argument &argument : term.application->arguments)
        argument.position = map.moved(argument.position);
    terms.push_back(std::move(term));
  }

  void plan(Layout &layout) override {
    int64_t rows = map.mostQueryRows + map.mostRows - 1, columns = map.mostQueryWidth + map.mostWidth - 1;
    layout.reserve(table, rows * columns + 2 * lanes, Layout::Zone::Prepared); // the last vector of a row is whole
    layout.reserve(gates, gated ? rowBlock : 0, Layout::Zone::Prepared);
  }
  void open() override {
    tableMemory = view(memory.local, table);
    gatesMemory = gated ? view(memory.local, gates) : Value();
  }

  /// Stores the table. Each pair of differences is computed at one pair of positions that has it.
  void prepareHead() override {
    Value queryWidth = positions.queryMapWidth, width = positions.mapWidth;
    Value queryRows = rowsOf(positions.queries(), queryWidth), rows = rowsOf(positions.keys(), width);
    Positions::Values at = positions.axes;
    auto place = [&](Value step, Value queries, const char *key, const char *query) {
      Value difference = b.add(b.sub(step, queries), 1);
      at[key] = b.maximum(difference, b.index(0));
      at[query] = b.sub(at[key], difference);
    };
    Value columns = columnsOf(queryWidth, width);
    b.loop(b.index(0), b.add(b.add(queryRows, rows), -1), 1, [&](Value row) {
      place(row, queryRows, LengthMap::kKeyRow, LengthMap::kQueryRow);
      Value line = b.mul(row, columns);
      b.loop(b.index(0), columns, 1, [&](Value column) {
        place(column, queryWidth, LengthMap::kKeyColumn, LengthMap::kQueryColumn);
        storeSum(b.add(line, column), at);
      });
    });
  }

  void packQueries(const RowBlock &block) override {
    if (!gated)
      return;
    b.loop(b.index(0), block.rows, 1, [&](Value row) {
      Positions::Values at = positions.axesAt(b.add(block.firstRow, row), {});
      b.storeScalar(timesGates(context, original.front(), at, b.constantScalar(1)), gatesMemory, row);
    });
  }

  std::optional<AlongOuter> mapPart(const BiasRow &row) override {
    Value queryWidth = positions.queryMapWidth, columns = columnsOf(queryWidth, positions.mapWidth);
    Positions::Values at = positions.onMapAt(row.position);
    // The place of the difference that row 0 and column 0 of the keys have.
    Value above = b.sub(b.add(rowsOf(positions.queries(), queryWidth), -1), at.at(LengthMap::kQueryRow));
    Value before = b.sub(b.add(queryWidth, -1), at.at(LengthMap::kQueryColumn));
    Value start = b.add(b.mul(above, columns), before);
    Value gate = gated ? b.loadBroadcast(gatesMemory, row.row) : Value();
    return AlongOuter([this, start, columns, gate](Value outer, Value, Value &) -> AlongInner {
      Value from = b.add(start, b.mul(outer, columns));
      return [this, from, gate](Value x, Value sum) {
        Value term = b.load(tableMemory, b.add(from, x));
        return gate ? addGated(b, terms.front(), gate, term, sum) : b.addf(sum, term);
      };
    });
  }

private:
  Value rowsOf(Value positions, Value width) {
    return arith::DivUIOp::create(b.builder, b.add(b.add(positions, width), -1), width);
  }
  Value columnsOf(Value queryWidth, Value width) { return b.add(b.add(queryWidth, width), -1); }

  void storeSum(Value where, const Positions::Values &at) {
    if (gated && saysNothing(terms.front()))
      return storeOrNothing(context, terms.front(), at, tableMemory, where);
    b.storeScalar(b.constantScalar(0), tableMemory, where);
    for (const OtherTerm &term : terms) {
      auto add = [&] {
        Value sum = b.addf(b.widen(b.scalar(tableMemory, where)), elementOf(context, term, at));
        b.storeScalar(b.narrow(sum), tableMemory, where);
      };
      if (term.guard)
        b.when(positions.predicate(*term.guard, at), add);
      else
        add();
    }
  }

  const LengthMap &map;
  const bool gated;                       // its one term has gates: one factor a row of the block
  std::vector<OtherTerm> terms, original; // over the axes of the map, and over those of the score
  Buffer table, gates;
  Value tableMemory, gatesMemory;
};
} // namespace

void skewer::addMapLines(CpuKernel &kernel, std::vector<std::unique_ptr<CpuStrategy>> &strategies) {
  std::vector<std::unique_ptr<MapLine>> lines;
  for (const OtherTerm &term : kernel.context.shape.others) {
    if (term.own || term.bias != BiasKind::Difference || !term.onMap)
      continue;
    auto shared = llvm::find_if(lines, [&](const auto &line) { return line->takes(term); });
    if (shared != lines.end()) {
      (*shared)->addTerm(term);
      continue;
    }
    lines.push_back(std::make_unique<MapLine>(kernel, !term.gates.empty(), term.sum));
    lines.back()->addTerm(term);
  }
  for (auto &line : lines)
    strategies.push_back(std::move(line));
}
