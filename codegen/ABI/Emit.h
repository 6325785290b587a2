// Turns a lowered kernel (LLVM dialect, with its plan) into the files that a user links (object, header, manifest), or
// into a function pointer in this process.
#pragma once
#include "codegen/Runtime/skewer_cuda.h"
#include "dialect/IR/KernelPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "passes/Schedule/Target.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace skewer {
struct CudaImage;

/// Version of the C contract. Every struct that crosses it has a version, which is checked first.
constexpr unsigned kAbiVersion = 1;
/// Number of the lowest bits of an argument struct's version that hold kAbiVersion. The other bits identify the layer.
constexpr unsigned kAbiVersionBits = 8;

/// Translates the module to LLVM IR and adds the C entries of docs/abi.md (NAME, NAME_raw, NAME_workspace_bytes,
/// NAME_info and more). They do not ask whether the processor and the system let them use tiles: `joinCodes`
/// (Dispatch.h) adds that, with a code to run otherwise.
llvm::Expected<std::unique_ptr<llvm::Module>> toLlvmModule(mlir::ModuleOp, const KernelPlan &, const Target &,
                                                           llvm::LLVMContext &, llvm::StringRef specHash);
/// Returns the version that an argument struct states: kAbiVersion in the lowest 8 bits, and above them the first 24
/// bits of the layer's hash (16 hex digits; 0 if the text is no such hash). An entry refuses a struct of another layer.
uint32_t argsVersionOf(llvm::StringRef specHash);
/// Returns an error if the kernel's name would replace a function of the C library.
llvm::Error checkName(const KernelPlan &);
/// Runs LLVM's optimisation for the target, without loop and SLP vectorisation because the loops are already
/// vectorised.
llvm::Error optimize(llvm::Module &, const Target &);
/// Removes functions and data that nothing in the module uses and nothing outside sees.
void removeUnused(llvm::Module &);
/// Returns the bytes of the object file, or of the assembly if `assembly` is set.
llvm::Expected<std::string> emitObject(llvm::Module &, const Target &, bool assembly = false);

/// Returns the C header's text: self-contained, clean in C99 and C++. With code for GPUs it also declares their
/// entries.
std::string headerText(const KernelPlan &, llvm::StringRef specHash, llvm::ArrayRef<CudaImage> = {});
/// Returns the manifest's JSON text.
std::string manifestText(const KernelPlan &, const Target &, llvm::StringRef specHash, llvm::StringRef details = "{}");
/// Returns only the parts of the manifest that do not depend on the target, for a kernel that is for GPUs alone.
std::string manifestText(const KernelPlan &, llvm::StringRef specHash);
/// Returns the first 16 hex digits of a SHA-256 over spec text, parameters and compiler version.
std::string hashOfSpec(llvm::StringRef text, llvm::ArrayRef<std::pair<std::string, std::string>> parameters);

/// The exact layout of `skewer_exec` in the header.
struct Exec {
  uint32_t size = sizeof(Exec), version = kAbiVersion;
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
  int32_t workers = 1; // number of distinct worker indices that parallelFor may pass
  int32_t reserved = 0;
  void *context = nullptr;
  /// The caller's parallel-for; null: phases run serially. It calls body(data, begin, end, worker) for disjoint ranges
  /// that cover 0 … count-1, and returns when all are done.
  void (*parallelFor)(void *context, int64_t count,
                      void (*body)(void *data, int64_t begin, int64_t end, int32_t worker), void *data) = nullptr;
};

/// A kernel compiled into this process.
class JitKernel {
public:
  static llvm::Expected<std::unique_ptr<JitKernel>>
  create(std::unique_ptr<llvm::Module>, std::unique_ptr<llvm::LLVMContext>, const KernelPlan &, const Target &);
  ~JitKernel();
  /// Calls the kernel and returns the C entry's status (0: done). `inputs`, `outputs` and `sizes` are in the plan's
  /// order. For an origin, the pointer is to its number.
  int run(llvm::ArrayRef<const void *> inputs, llvm::ArrayRef<void *> outputs, llvm::ArrayRef<int64_t> sizes,
          const Exec &) const;
  uint64_t workspaceBytes(llvm::ArrayRef<int64_t> sizes, int32_t workers) const;
  /// Returns the name of the code that calls run ("emeraldrapids/amx"), of a kernel with several; otherwise empty.
  std::string code() const;

  /// Call the entries of a kernel with `const` operands. `prepare` computes once the results that depend only on those
  /// operands (NAME_prepare), and `runPrepared` is a call that uses them (NAME_prepared). `prepared` has
  /// plan.preparedBytes bytes at a multiple of 64. In `prepare`, inputs that are not const may be null.
  int prepare(llvm::ArrayRef<const void *> inputs, llvm::ArrayRef<int64_t> sizes, const Exec &, void *prepared) const;
  int runPrepared(llvm::ArrayRef<const void *> inputs, llvm::ArrayRef<void *> outputs, llvm::ArrayRef<int64_t> sizes,
                  const Exec &, const void *prepared) const;

  /// Creates the entries for GPUs. They call the launcher in this process: codegen/Runtime/skewer_cuda.h.
  static llvm::Expected<std::unique_ptr<JitKernel>> createForGpu(const KernelPlan &, llvm::ArrayRef<CudaImage>);
  /// Calls the kernel with pointers to the GPU's memory. For an origin, the pointer is to its number in host memory.
  int run(llvm::ArrayRef<const void *> inputs, llvm::ArrayRef<void *> outputs, llvm::ArrayRef<int64_t> sizes,
          const skewer_cuda_exec &) const;
  uint64_t cudaWorkspaceBytes(llvm::ArrayRef<int64_t> sizes) const;

private:
  JitKernel();
  static llvm::Expected<std::unique_ptr<JitKernel>> load(std::unique_ptr<llvm::Module>,
                                                         std::unique_ptr<llvm::LLVMContext>, const KernelPlan &,
                                                         const Target &, llvm::StringRef entrySuffix);
  using Entry = llvm::function_ref<int(const void *args)>;
  int call(llvm::ArrayRef<const void *> inputs, llvm::ArrayRef<void *> outputs, llvm::ArrayRef<int64_t> sizes,
           Entry) const;
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};
/// Returns the text of a status that the entry returned.
const char *statusText(int status);
/// Returns the same text with the name of the operand, if the status concerns one.
std::string statusText(int status, const KernelPlan &);

} // namespace skewer
