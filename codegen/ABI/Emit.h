// From a lowered kernel (LLVM dialect, with its plan) to what a user links: object, header, manifest; or to a function
// pointer in this process.
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

/// Version of the C contract; first checked field of every struct that crosses it.
constexpr unsigned kAbiVersion = 1;
/// How many bits of an argument struct's version it has; the others say which layer the struct is of.
constexpr unsigned kAbiVersionBits = 8;

/// Translates the module to LLVM IR and adds the C entries of docs/abi.md (NAME, NAME_raw, NAME_workspace_bytes,
/// NAME_info).
llvm::Expected<std::unique_ptr<llvm::Module>> toLlvmModule(mlir::ModuleOp, const KernelPlan &, const Target &,
                                                           llvm::LLVMContext &, llvm::StringRef specHash);
/// What an argument struct says as its version: kAbiVersion in the lowest 8 bits, and above them the first 24 bits of the
/// layer's hash (16 hex digits; 0 where it is no such hash). An entry refuses those of another layer.
uint32_t argsVersionOf(llvm::StringRef specHash);
/// Whether the kernel's name would stand for a function of the C library.
llvm::Error checkName(const KernelPlan &);
/// LLVM's optimisation for the target; loop and SLP vectorisation off: the loops arrive vectorised.
llvm::Error optimize(llvm::Module &, const Target &);
/// The object file's (or, with `assembly`, the assembly's) bytes.
llvm::Expected<std::string> emitObject(llvm::Module &, const Target &, bool assembly = false);

/// The C header's text: stands alone, C99 and C++ clean. With code for GPUs it has their entries too.
std::string headerText(const KernelPlan &, llvm::StringRef specHash, llvm::ArrayRef<CudaImage> = {});
/// The manifest's JSON text.
std::string manifestText(const KernelPlan &, const Target &, llvm::StringRef specHash, llvm::StringRef details = "{}");
/// What of it does not depend on the target: for a kernel that is for GPUs alone.
std::string manifestText(const KernelPlan &, llvm::StringRef specHash);
/// First 16 hex digits of a SHA-256 over spec text, parameters and compiler version.
std::string hashOfSpec(llvm::StringRef text, llvm::ArrayRef<std::pair<std::string, std::string>> parameters);

/// Exactly the layout of `skewer_exec` in the header.
struct Exec {
  uint32_t size = sizeof(Exec), version = kAbiVersion;
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
  int32_t workers = 1; // number of distinct worker indices that parallelFor may pass
  int32_t reserved = 0;
  void *context = nullptr;
  /// null: serial. Calls body(data, begin, end, worker) for disjoint ranges that cover 0 … count-1, returns when all
  /// are done.
  void (*parallelFor)(void *context, int64_t count,
                      void (*body)(void *data, int64_t begin, int64_t end, int32_t worker), void *data) = nullptr;
};

/// A kernel compiled into this process.
class JitKernel {
public:
  static llvm::Expected<std::unique_ptr<JitKernel>>
  create(std::unique_ptr<llvm::Module>, std::unique_ptr<llvm::LLVMContext>, const KernelPlan &, const Target &);
  ~JitKernel();
  /// `inputs`, `outputs` and `sizes` in the plan's order; of an origin the pointer is to its number. Returns the C
  /// entry's status (0: done).
  int run(llvm::ArrayRef<const void *> inputs, llvm::ArrayRef<void *> outputs, llvm::ArrayRef<int64_t> sizes,
          const Exec &) const;
  uint64_t workspaceBytes(llvm::ArrayRef<int64_t> sizes, int32_t workers) const;

  /// Of a kernel with `const` operands: what is made of them alone, once (NAME_prepare), and a call that finds it made
  /// (NAME_prepared). `prepared`: plan.preparedBytes at a multiple of 64. Inputs that are not const may be null for the
  /// first.
  int prepare(llvm::ArrayRef<const void *> inputs, llvm::ArrayRef<int64_t> sizes, const Exec &, void *prepared) const;
  int runPrepared(llvm::ArrayRef<const void *> inputs, llvm::ArrayRef<void *> outputs, llvm::ArrayRef<int64_t> sizes,
                  const Exec &, const void *prepared) const;

  /// The entries for GPUs, which call the launcher that is part of this process: codegen/Runtime/skewer_cuda.h.
  static llvm::Expected<std::unique_ptr<JitKernel>> createForGpu(const KernelPlan &, llvm::ArrayRef<CudaImage>);
  /// As above, with pointers to the GPU's memory; of an origin the pointer is to its number in the host's.
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
/// The text of a status the entry returned.
const char *statusText(int status);
/// The same, with the name of the operand where one is to blame.
std::string statusText(int status, const KernelPlan &);

} // namespace skewer
