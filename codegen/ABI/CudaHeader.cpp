// Writes the part of a kernel's header about its entries for NVIDIA GPUs: declarations, comments and an example.
#include "codegen/ABI/Cuda.h"
#include "codegen/ABI/Emit.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer {

void writeCudaShared(raw_ostream &out) {
  out << R"(#ifndef SKEWER_CUDA_EXEC
#define SKEWER_CUDA_EXEC
/* How a kernel runs on a GPU. Fill it with skewer_cuda_exec_init() first. */
typedef struct skewer_cuda_exec {
  uint32_t size;            /* sizeof(skewer_cuda_exec) */
  uint32_t version;         /* SKEWER_ABI_VERSION */
  void *stream;             /* a CUstream or cudaStream_t; null: the default one */
  void *context;            /* a CUcontext; null: the one that is current in the calling thread */
  void *workspace;          /* memory of the GPU at a multiple of 256; runs that may overlap need one each */
  uint64_t workspace_bytes; /* at least what the kernel's _cuda_workspace_bytes() says */
} skewer_cuda_exec;

/* A sentence about the last call in this thread that was no success: which argument, what was found; of a call of
   CUDA's driver its name and CUDA's name of the error. Valid until the next call. */
const char *skewer_cuda_error(void);
#endif
#ifndef SKEWER_CUDA_EXEC_INIT
#define SKEWER_CUDA_EXEC_INIT
static inline skewer_cuda_exec skewer_cuda_exec_init(void) {
  skewer_cuda_exec exec;
  exec.size = sizeof(skewer_cuda_exec);
  exec.version = SKEWER_ABI_VERSION;
  exec.stream = NULL;
  exec.context = NULL;
  exec.workspace = NULL;
  exec.workspace_bytes = 0;
  return exec;
}
#endif
)";
}

void writeCudaExample(raw_ostream &out, StringRef name) {
  out << "/* On a GPU, with pointers to its memory in args:\n\n"
      << "     skewer_cuda_exec exec = skewer_cuda_exec_init();\n"
      << "     exec.stream = stream;\n"
      << "     exec.workspace_bytes = " << name << "_cuda_workspace_bytes(&args);\n"
      << "     if (exec.workspace_bytes) cudaMalloc(&exec.workspace, exec.workspace_bytes);\n"
      << "     skewer_status status = " << name << "_cuda(&args, &exec);\n"
      << "     if (status != SKEWER_OK) fprintf(stderr, \"%s: %s\\n\", " << name
      << "_status_text(status), skewer_cuda_error()); */\n";
}

/// Writes the additional entries of a kernel with `const` operands.
static void writePreparedEntries(raw_ostream &out, const KernelPlan &plan) {
  const std::string &name = plan.name;
  std::string operands;
  for (auto [input, field] : zip_equal(plan.inputs, layoutOf(plan).inputs))
    if (input.isConst)
      operands += (operands.empty() ? "" : ", ") + field;
  out << "/* What is made of " << operands << " alone, which are the same at every call, may be made once:\n"
      << "     cudaMalloc(&prepared, " << name << "_cuda_prepared_bytes());\n"
      << "     " << name << "_cuda_prepare_const(&args, &exec, prepared);  once, and again where they change\n"
      << "     " << name << "_cuda_prepared(&args, &exec, prepared);       instead of " << name
      << "_cuda(&args, &exec): the same bits\n"
      << "   Prepared memory is memory of the GPU at a multiple of 256, shared with nothing; any number of calls may "
         "read it at the\n   same time, behind _cuda_prepare_const in their stream or when that is done. It holds for "
         "the GPU that it was made on.\n"
      << "   _cuda_prepare_const looks at sizes and these operands, the others may be null; both need the workspace "
         "of a call.\n"
      << "   0 bytes: there is nothing to make, and the pointer may be null. */\n"
      << "size_t " << name << "_cuda_prepared_bytes(void);\n"
      << "skewer_status " << name << "_cuda_prepare_const(const " << name
      << "_args *args, const skewer_cuda_exec *exec,\n    void *prepared);\n"
      << "skewer_status " << name << "_cuda_prepared(const " << name
      << "_args *args, const skewer_cuda_exec *exec,\n    const void *prepared);\n";
}

void writeCudaEntries(raw_ostream &out, const KernelPlan &plan, ArrayRef<CudaImage> images) {
  const std::string &name = plan.name;
  std::vector<std::string> cubins, texts;
  for (const CudaImage &image : images) {
    if (!image.cubin.empty())
      cubins.push_back(image.target);
    if (!image.ptx.empty() && !capabilityOf(image.target).isExact)
      texts.push_back(image.target);
  }
  out << "/* Queues the kernel on exec->stream and returns; nothing is allocated or waited for. Pointers in args are "
         "to "
         "memory of\n   the GPU (managed memory is taken too), each a multiple of 16. Where the status is not "
         "SKEWER_OK "
         "nothing was queued,\n   unless cuLaunchKernel itself failed. The first call in a context loads the code: do "
         "that with _cuda_prepare() before\n   work is captured into a CUDA graph.\n";
  if (!cubins.empty())
    out << "   Cubins: " << join(cubins, ", ") << ".\n";
  if (!texts.empty())
    out << "   PTX, which the driver compiles for later GPUs: " << join(texts, ", ") << ".\n";
  out << "   Link the C files of share/skewer/cuda and, where libc has no dlopen, libdl.";
  for (size_t input : rangedInputs(plan))
    out << "\n   Elements of " << layoutOf(plan).inputs[input] << " outside " << textOf(*plan.inputs[input].range)
        << " are not refused, as they are on processors: each counts as the nearest within.";
  out << " */\n"
      << "skewer_status " << name << "_cuda(const " << name << "_args *args, const skewer_cuda_exec *exec);\n"
      << "/* Bytes of workspace for these sizes, on every GPU; SIZE_MAX where args is wrong. Needs no GPU. */\n"
      << "size_t " << name << "_cuda_workspace_bytes(const " << name << "_args *args);\n"
      << "/* Loads the code into exec's context, where no call has done so yet. */\n"
      << "skewer_status " << name << "_cuda_prepare(const skewer_cuda_exec *exec);\n"
      << "/* Unloads it again, before the context is destroyed; no call may run at the same time. */\n"
      << "skewer_status " << name << "_cuda_unload(const skewer_cuda_exec *exec);\n";
  if (plan.hasConst())
    writePreparedEntries(out, plan);
}

} // namespace skewer
