// Runs the steps of one warp: up to the next barrier of the block (Interpreter.cpp), or for a turn of the scheduler
// (Scheduler.h).
#pragma once
#include "codegen/GPU/Interpreter/Concurrency.h"
#include "codegen/GPU/Interpreter/Program.h"
#include "codegen/GPU/Interpreter/WgmmaRegisters.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <memory>

namespace skewer::gpu {

/// A warp with the place of each of its lanes. The lanes at the earliest place run first. So lanes that diverged at a
/// branch meet again after it, because blocks are in the order of the program.
class WarpRunner {
public:
  WarpRunner(const Program &program, BlockState &block, unsigned index) : program(program) {
    warp.block = &block;
    warp.index = index;
    warp.registers.resize(program.registers);
    for (auto [number, value] : program.constants)
      warp.registers[number].fill(value);
  }
  /// Begins a new block: sets the arguments and resets all other state.
  void begin(const std::vector<uint64_t> &arguments) {
    for (auto [slots, value] : llvm::zip_equal(program.arguments, arguments))
      warp.registers[slots.first].fill(value);
    place.fill(0);
    alive = ~0u;
    next = 0;
    warp.mask = alive;
    warp.epoch = 1;
    warp.groups.clear();
    warp.open.clear();
    warp.committed = 0;
    warp.blocked = false;
    wgmma.reset();
    if (warp.block->concurrency)
      wgmma = std::make_unique<WgmmaRegisters>(program.registers, program.poison);
    warp.wgmma = wgmma.get();
  }
  bool isDone() const { return alive == 0; }
  bool hasCopies() const { return !warp.open.empty() || !warp.groups.empty(); }

  /// Runs up to the next barrier of the block or the end. `budget` limits the steps of a launch.
  void run(int64_t &budget) {
    while (alive && budget > 0) {
      if (next == 0)
        choose();
      const CodeBlock &block = program.blocks[current];
      while (next < block.steps.size()) {
        const Step &step = block.steps[next++];
        warp.operation = step.operation;
        step.run(warp);
        --budget;
        ++warp.block->report->steps;
        if (step.barrier)
          return;
      }
      finish(block);
      next = 0;
    }
  }

  /// Runs at most `turn` steps, for blocks whose warps run in any order. Stops before a step that waits.
  void runTurn(unsigned turn, int64_t &budget) {
    for (; alive && turn && budget > 0; --turn) {
      if (next == 0)
        choose();
      const CodeBlock &block = program.blocks[current];
      if (next < block.steps.size()) {
        const Step &step = block.steps[next];
        warp.operation = step.operation;
        warp.again = warp.blocked;
        warp.blocked = false;
        if (!warp.again)
          wgmma->before(warp, *step.registers);
        step.run(warp);
        --budget;
        if (warp.blocked)
          return;
        wgmma->after(*step.registers);
        ++next;
        ++warp.block->report->steps;
      }
      if (next == block.steps.size()) {
        finish(block);
        next = 0;
      }
    }
  }
  const Warp &state() const { return warp; }

private:
  void choose() {
    current = ~0u;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (alive >> lane & 1)
        current = std::min(current, place[lane]);
    warp.mask = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if ((alive >> lane & 1) && place[lane] == current)
        warp.mask |= Mask(1) << lane;
  }
  void finish(const CodeBlock &block) {
    if (block.edges.empty()) {
      alive &= ~warp.mask;
      if (wgmma)
        endLanes(block.end);
      return;
    }
    if (wgmma)
      noteMoves(block);
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!warp.runs(lane))
        continue;
      bool second = block.edges.size() == 2 && !(warp.registers[block.condition][lane] & 1);
      const Edge &edge = block.edges[second];
      moved.clear();
      for (auto [from, to] : edge.moves)
        moved.push_back(warp.registers[from][lane]);
      for (size_t k = 0; k < moved.size(); ++k)
        warp.registers[edge.moves[k].second][lane] = moved[k];
      place[lane] = edge.target;
    }
  }

  /// Notes a fault if a lane that ends here has not waited for its copies or products.
  void endLanes(mlir::Operation *end) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (warp.runs(lane))
        warp.block->concurrency->copies.endThread(warp.access(lane).thread, end);
    if (!alive)
      wgmma->end(warp, end);
  }
  void noteMoves(const CodeBlock &block) {
    Mask second = 0;
    for (unsigned lane = 0; lane < kLanes && block.edges.size() == 2; ++lane)
      second |= Mask(!(warp.registers[block.condition][lane] & 1)) << lane;
    if (warp.mask & ~second)
      wgmma->move(warp, block.edges[0].moves);
    if (warp.mask & second)
      wgmma->move(warp, block.edges[1].moves);
  }

  const Program &program;
  Warp warp;
  std::unique_ptr<WgmmaRegisters> wgmma;
  std::array<unsigned, kLanes> place{};
  Mask alive = 0;
  unsigned current = 0;
  size_t next = 0;
  std::vector<uint64_t> moved;
};

} // namespace skewer::gpu
