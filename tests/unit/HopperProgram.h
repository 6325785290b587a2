// Small kernels with Hopper's own instructions, written as text of the LLVM and NVVM dialects and run by the
// interpreter. `assembles` gives the same text to LLVM and ptxas.
#pragma once
#include "codegen/GPU/Interpreter/Interpreter.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include <gtest/gtest.h>

namespace skewer::testing {

using gpu::FaultKind;
using gpu::LaunchArgument;

/// The interpreter's report about a launch, as text, so that it may outlive the kernel.
class Outcome {
public:
  Outcome() = default;
  explicit Outcome(const gpu::Report &);
  std::vector<FaultKind> faults;
  const std::string &text() const { return said; }

private:
  std::string said;
};

/// Returns the parameter "%name: !llvm.ptr {…}" of a kernel for a tensor map, which is passed by value.
std::string mapParameter(const std::string &name);

class HopperKernel {
public:
  /// Parses a kernel. `body` may use %s (shared memory), %s16 (its address over 16, an i64 to add to matrix
  /// descriptors: a GPU's shared memory does not begin at 0), %tid and the constants %c0 … %c15, %c32, %c128 of i32.
  HopperKernel(const std::string &body, const std::string &parameters, unsigned threads, size_t sharedBytes);
  bool parsed() const { return bool(module); }
  /// Runs the kernel in the interpreter. If the variable SKEWER_LAUNCHES names a folder, writes there the first run
  /// without faults of a kernel that `assembles` was asked about: its code, its operands and its results, which a GPU must give too
  /// (tests/gpu/replay.py).
  Outcome run(llvm::ArrayRef<LaunchArgument> arguments, unsigned seed = 0);
  /// Returns the errors of LLVM or ptxas about the kernel for sm_90a; "" if there are none, or no ptxas.
  std::string assembles();

private:
  void write(llvm::StringRef folder, llvm::ArrayRef<LaunchArgument> arguments);
  std::string code; // cubin, or PTX where there is no ptxas, of a kernel that assembles and is not written yet
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  unsigned threads;
  size_t sharedBytes;
};

constexpr unsigned kSeeds = 15; // covers each order of warps with each arrival of copies

/// Returns the line "%name = constant" of i32, or of i64.
std::string number(const std::string &name, int64_t value, unsigned bits = 32);
/// Returns the lines that define %name as the shared address `offset`, plus the i32 `moving` in bytes if it is given.
std::string shared(const std::string &name, int64_t offset, const std::string &moving = "");

/// Returns a matrix descriptor's bits. `address`, `leading` and `stride` are in bytes; `swizzle` is 128, 64, 32 or 0.
uint64_t descriptor(uint64_t address, uint64_t leading, uint64_t stride, unsigned swizzle);

struct WgmmaText {
  std::string type = "bf16";
  unsigned columns = 16; // N
  bool transposedA = false, transposedB = false;
  unsigned depth() const { return type == "tf32" ? 8 : type == "e4m3" ? 32 : 16; }
  /// Returns the text of a wgmma. Sum k has the name "%name" + k. `a` is the name of a descriptor, or four names of
  /// registers.
  std::string issue(const std::string &sums, const std::string &result, const std::vector<std::string> &a,
                    const std::string &b, const std::string &scale) const;
  /// Returns the text of a wgmma.wait_group whose results are the sums.
  std::string wait(unsigned pending, const std::string &sums, const std::string &result) const;
  /// Returns the text that defines sums without values.
  std::string begin(const std::string &sums) const;
  std::string list(const std::string &sums, const std::string &suffix = "") const;
};

/// Returns "f32, f32, …".
std::string floats(unsigned count);

bool has(const Outcome &, FaultKind);

} // namespace skewer::testing
