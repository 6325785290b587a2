// A kernel of the LLVM and NVVM dialects, decoded into steps that a warp runs. Interpreter.cpp decodes a kernel once
// for each launch; the Decode files know one family of operations each. An operation that none of them knows is
// reported before anything runs.
#pragma once
#include "codegen/GPU/Interpreter/Machine.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace skewer::gpu {

/// The registers of a value: one for each scalar in it.
struct Slots {
  unsigned first = 0, count = 1;
  unsigned bits = 32; // of each scalar; pointers have 64
};

/// The registers that a step reads and writes. They matter only while wgmma works on registers at the same time.
struct StepRegisters {
  bool isWgmma = false;                             // the step checks its registers itself (WgmmaRegisters.h)
  std::vector<std::pair<unsigned, unsigned>> moves; // (from, to), if the step only copies registers
  std::vector<Slots> reads, writes;
};

struct Step {
  std::function<void(Warp &)> run;
  mlir::Operation *operation = nullptr;
  bool barrier = false;                     // it is a barrier of the block
  std::unique_ptr<StepRegisters> registers; // set in kernels whose warps run in any order
  StepRegisters &ownRegisters() {
    if (!registers)
      registers = std::make_unique<StepRegisters>();
    return *registers;
  }
};

/// An edge between blocks, and the values that it passes, register by register.
struct Edge {
  unsigned target = 0;
  std::vector<std::pair<unsigned, unsigned>> moves; // (from, to)
};
struct CodeBlock {
  std::vector<Step> steps;
  std::vector<Edge> edges; // none: return; two: the first one if `condition` is not 0
  unsigned condition = 0;
  mlir::Operation *end = nullptr;
};

class Decoder;
/// Decode one family of operations each. Return false if the operation belongs to another family.
bool decodeArithmetic(Decoder &, mlir::Operation &, Step &);
bool decodeMemory(Decoder &, mlir::Operation &, Step &);
bool decodeWarp(Decoder &, mlir::Operation &, Step &);
bool decodeBarriers(Decoder &, mlir::Operation &, Step &);
bool decodeBulk(Decoder &, mlir::Operation &, Step &);
bool decodeWgmma(Decoder &, mlir::Operation &, Step &);

struct Program {
  std::vector<CodeBlock> blocks;
  unsigned registers = 0;
  std::vector<Slots> arguments;
  std::vector<std::pair<unsigned, uint64_t>> constants; // (register, value in all lanes)
  std::vector<unsigned> poison;                         // registers that nothing writes
  std::string unsupported;                              // the first operation that belongs to no family
  bool concurrent = false; // warps wait for each other by more than barriers of the block, or for wgmma or copies
};

/// The bits of the element type of a memory access, and the number of elements.
struct ElementShape {
  unsigned bits = 32, count = 1;
};
ElementShape elementShape(mlir::Type);

class Decoder {
public:
  /// Creates a decoder of a kernel; `device` receives the module's constant tables.
  Decoder(mlir::LLVM::LLVMFuncOp kernel, DeviceMemory &device) : kernel(kernel), device(device) {}
  Program run();

  Slots slots(mlir::Value);
  void constant(unsigned number, uint64_t value) { program.constants.push_back({number, value}); }
  uint64_t addressOf(mlir::LLVM::GlobalOp);
  mlir::LLVM::LLVMFuncOp kernel;
  DeviceMemory &device;
  Program program;

private:
  void noteRegisters();
  llvm::DenseMap<mlir::Value, Slots> known;
  llvm::DenseMap<mlir::Operation *, uint64_t> globals;
};

} // namespace skewer::gpu
