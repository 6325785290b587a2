// Writes the C header of a kernel. The header compiles alone, and together with the headers of other kernels.
#include "codegen/ABI/Cuda.h"
#include "codegen/ABI/Dispatch.h"
#include "codegen/ABI/Emit.h"
#include "codegen/ABI/HeaderExplain.h"
#include "codegen/ABI/Layout.h"
#include "codegen/ABI/Status.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <array>

using namespace llvm;

namespace skewer {
namespace {

const char *elementInC(ElementType type) {
  return type == ElementType::F32      ? "float"
         : type == ElementType::I32    ? "int32_t"
         : type == ElementType::I8     ? "int8_t"
         : type == ElementType::F8E4M3 ? "uint8_t"
                                       : "skewer_half";
}

/// Returns what the type in C does not say of the elements, ", every element within 0..31"; empty if there is nothing.
std::string elementsInWords(const TensorArgument &tensor) {
  if (tensor.type == ElementType::F8E4M3)
    return ", the bits of OCP E4M3: the largest number is 448, 0x7f and 0xff are NaN, no infinities";
  return tensor.range ? ", every element within " + textOf(*tensor.range) : "";
}

struct StatusGroup {
  const char *title; // empty: none
  int first;
  std::vector<std::pair<StringRef, StringRef>> statuses; // name in C, text
};

#define SKEWER_STATUS(c, cpp, text) {#c, text},
std::vector<StatusGroup> statusGroups() {
  return {{"", 0, {SKEWER_STATUSES(SKEWER_STATUS)}},
          {"of entries that take prepared memory", kFirstPreparedStatus, {SKEWER_PREPARED_STATUSES(SKEWER_STATUS)}},
          {"of all entries", kFirstLayerStatus, {SKEWER_LAYER_STATUSES(SKEWER_STATUS)}},
          {"of entries for NVIDIA GPUs", kFirstCudaStatus, {SKEWER_CUDA_STATUSES(SKEWER_STATUS)}}};
}
#undef SKEWER_STATUS

void writeStatuses(raw_ostream &out) {
  out << R"(/* What an entry returns. Where it is not SKEWER_OK nothing was written, except after SKEWER_BAD_PARALLEL_FOR. */
typedef enum skewer_status {
)";
  std::vector<StatusGroup> groups = statusGroups();
  for (const StatusGroup &group : groups) {
    if (*group.title)
      out << "  /* " << group.title << " */\n";
    for (auto [number, status] : enumerate(group.statuses))
      out << "  SKEWER_" << status.first << " = " << group.first + int(number) << ", /* " << status.second << " */\n";
    if (group.first == 0)
      out << "  SKEWER_BAD_INDEX_LAST = " << int(Status::BadIndex) + int(kMaximumBadIndices) - 1
          << ", /* SKEWER_BAD_INDEX + k: the k-th operand with a range; the kernel's _status_text() names it */\n";
  }
  out << R"(} skewer_status;

static inline const char *skewer_status_text(skewer_status status) {
  if (status > SKEWER_BAD_INDEX && status <= SKEWER_BAD_INDEX_LAST)
    status = SKEWER_BAD_INDEX;
  switch (status) {
)";
  for (const StatusGroup &group : groups)
    for (auto &[name, text] : group.statuses)
      out << "  case SKEWER_" << name << ": return \"" << text << "\";\n";
  out << R"(  case SKEWER_BAD_INDEX_LAST: break;
  default: break;
  }
  return "unknown status";
}

)";
}

/// Writes the part that is the same, word for word, in all kernels' headers of one ABI version.
void writeShared(raw_ostream &out) {
  out << "#ifndef SKEWER_ABI_VERSION\n#define SKEWER_ABI_VERSION " << kAbiVersion << "\n"
      << R"(
/* The bits of an IEEE binary16 or of a bfloat16; the argument says which. */
typedef uint16_t skewer_half;

)";
  writeStatuses(out);
  out << R"(/* How a kernel runs: its scratch memory and its workers. Fill it with skewer_exec_init() first. */
typedef struct skewer_exec {
  uint32_t size;            /* sizeof(skewer_exec) */
  uint32_t version;         /* SKEWER_ABI_VERSION */
  void *workspace;          /* scratch memory at a multiple of 64; its contents need not outlive the call */
  uint64_t workspace_bytes; /* at least what the kernel's _workspace_bytes() says for these workers */
  int32_t workers;          /* number of distinct worker indices that parallel_for may pass; 1 without it */
  int32_t reserved;
  void *context;            /* passed to parallel_for */
  /* Null: the calling thread does everything. Else: calls body(data, begin, end, worker) for disjoint ranges that
     together cover 0 ... count-1, in any order and on any threads, and returns when all calls have returned. No two
     calls that run at the same time have the same worker, and 0 <= worker < workers. */
  void (*parallel_for)(void *context, int64_t count,
                       void (*body)(void *data, int64_t begin, int64_t end, int32_t worker), void *data);
} skewer_exec;

static inline skewer_exec skewer_exec_init(void) {
  skewer_exec exec;
  exec.size = sizeof(skewer_exec);
  exec.version = SKEWER_ABI_VERSION;
  exec.workspace = NULL;
  exec.workspace_bytes = 0;
  exec.workers = 1;
  exec.reserved = 0;
  exec.context = NULL;
  exec.parallel_for = NULL;
  return exec;
}

)";
  out << "#elif SKEWER_ABI_VERSION != " << kAbiVersion
      << "\n#error \"kernels of different Skewer ABI versions; compile "
      << "them with one compiler\"\n#endif\n";
}

void writeArguments(raw_ostream &out, const KernelPlan &plan, const ArgumentLayout &layout, StringRef specHash) {
  const std::string &name = plan.name;
  out << "/* Tensors are row-major and contiguous; a pointer is a multiple of its element's size. */\n"
      << "typedef struct " << name << "_args {\n"
      << "  uint32_t size;    /* sizeof(" << name << "_args) */\n"
      << "  uint32_t version; /* SKEWER_ABI_VERSION, and the first bits of the layer's hash: " << name
      << "_args_init() sets both */\n";
  for (auto [input, field] : zip_equal(plan.inputs, layout.inputs))
    if (input.isTensor())
      out << "  const " << elementInC(input.type) << " *" << field << "; /* " << textOf(input) << elementsInWords(input)
          << " */\n";
  for (auto [output, field] : zip_equal(plan.outputs, layout.outputs))
    out << "  " << elementInC(output.type) << " *" << field << "; /* " << textOf(output)
        << ", written; shares no memory with another tensor */\n";
  for (auto [size, field] : zip_equal(plan.sizes, layout.sizes))
    out << "  int64_t " << field << "; /* elements of the dimension '" << size << "', "
        << (plan.boundOf(size) ? "1 to " + std::to_string(*plan.boundOf(size)) : "at least 1") << " */\n";
  for (auto [number, origin] : enumerate(kOrigins)) {
    out << "  int64_t " << origin << "; /* position of the first " << std::array{"query", "key", "head"}[number]
        << " in the whole layer: ";
    auto input = find_if(plan.inputs, [&, n = number](const TensorArgument &i) { return i.origin == n; });
    out << (input == plan.inputs.end() ? "0" : textOf(*input->range)) << " */\n";
  }
  out << "} " << name << "_args;\n\n"
      << "static inline " << name << "_args " << name << "_args_init(void) {\n"
      << "  " << name << "_args args;\n"
      << "  args.size = sizeof(" << name << "_args);\n"
      << "  args.version = SKEWER_ABI_VERSION"
      << (argsVersionOf(specHash) == kAbiVersion
              ? std::string()
              : " | 0x" + utohexstr(argsVersionOf(specHash) - kAbiVersion, /*LowerCase=*/true) + "u")
      << ";\n";
  for (auto [input, field] : zip_equal(plan.inputs, layout.inputs))
    if (input.isTensor())
      out << "  args." << field << " = NULL;\n";
  for (const std::string &field : layout.outputs)
    out << "  args." << field << " = NULL;\n";
  for (const std::string &field : layout.sizes)
    out << "  args." << field << " = 1;\n";
  out << "  args.q0 = 0;\n  args.k0 = 0;\n  args.head0 = 0;\n  return args;\n}\n";
}

/// Writes the additional entries of a kernel with `const` operands.
void writePreparedEntries(raw_ostream &out, const KernelPlan &plan, const ArgumentLayout &layout) {
  const std::string &name = plan.name;
  std::string operands;
  for (auto [input, field] : zip_equal(plan.inputs, layout.inputs))
    if (input.isConst)
      operands += (operands.empty() ? "" : ", ") + field;
  out << "/* What is made of " << operands << " alone, which are the same at every call, may be made once:\n"
      << "     void *prepared = aligned_alloc(64, " << name << "_prepared_bytes());\n"
      << "     " << name << "_prepare(&args, &exec, prepared);          once, and again where they change\n"
      << "     " << name << "_prepared(&args, &exec, prepared);         instead of " << name
      << "(&args, &exec): the same bits\n"
      << "   Prepared memory is a multiple of 64 and shared with nothing; any number of calls may read it at the same "
         "time.\n"
      << "   _prepare looks at sizes and these operands, the others may be null; both need the workspace of a call.\n"
      << "   0 bytes: there is nothing to make, and the pointer may be null. */\n"
      << "size_t " << name << "_prepared_bytes(void);\n"
      << "skewer_status " << name << "_prepare(const " << name
      << "_args *args, const skewer_exec *exec, void *prepared);\n"
      << "skewer_status " << name << "_prepared(const " << name
      << "_args *args, const skewer_exec *exec, const void *prepared);\n\n";
}

void writeEntries(raw_ostream &out, const KernelPlan &plan, const ArgumentLayout &layout, bool hasCodes) {
  const std::string &name = plan.name;
  out << "/* Computes args->" << join(layout.outputs, " and args->")
      << ". exec says where its scratch memory is and, with parallel_for, on which threads it "
         "runs;\n"
      << "   the result has the same bits for any number of workers. */\n"
      << "skewer_status " << name << "(const " << name << "_args *args, const skewer_exec *exec);\n\n"
      << "/* Bytes of workspace for these sizes and exec->workers (exec null: one worker). SIZE_MAX where args or exec "
         "is\n"
      << "   wrong; pointers of tensors are not looked at. */\n"
      << "size_t " << name << "_workspace_bytes(const " << name << "_args *args, const skewer_exec *exec);\n\n"
      << "/* For callers that schedule by themselves: phase after phase, in each the items begin ... end-1 of\n"
      << "   _items(args, phase), with a worker index that no call has that runs at the same time. A phase may begin "
         "when\n"
      << "   the one before it is done; the workspace must keep its contents between them.";
  if (hasCodes)
    out << "\n   Phases, items and workspace are those of the code that is chosen.";
  for (auto [index, phase] : enumerate(hasCodes ? ArrayRef<Phase>() : ArrayRef<Phase>(plan.phases))) {
    std::string title; // the title must not end the comment
    for (char c : phase.title)
      title += isPrint(c) && c != '*' && c != '/' ? c : ' ';
    out << "\n     phase " << index << ": " << title << ", " << textOf(phase.items) << " items";
  }
  out << " */\n"
      << "int32_t " << name << "_phases(void);\n"
      << "int64_t " << name << "_items(const " << name
      << "_args *args, int32_t phase); /* -1: an argument is wrong */\n"
      << "skewer_status " << name << "_raw(const " << name << "_args *args, const skewer_exec *exec, int32_t phase, "
      << "int64_t begin,\n    int64_t end, int32_t worker);\n\n";
  if (plan.hasConst())
    writePreparedEntries(out, plan, layout);
  if (hasCodes)
    out << "/* The code that these entries run in this process, such as \"x86-64-v3/avx2\": always the same one. */\n"
        << "const char *" << name << "_code(void);\n\n";
  out << "/* The manifest as JSON text: arguments, sizes, target, workspace. */\n"
      << "const char *" << name << "_info(void);\n";
}

void writeStatusText(raw_ostream &out, const KernelPlan &plan) {
  const std::string &name = plan.name;
  out << "/* What a status means; of an index out of range also which operand has it. */\n"
      << "static inline const char *" << name << "_status_text(skewer_status status) {\n";
  for (auto [number, input] : enumerate(rangedInputs(plan)))
    out << "  if (status == SKEWER_BAD_INDEX + " << number << ")\n    return \""
        << statusText(int(Status::BadIndex) + int(number), plan) << "\";\n";
  out << "  return skewer_status_text(status);\n}\n";
}

void writeExample(raw_ostream &out, const KernelPlan &plan, const ArgumentLayout &layout, bool hasProcessor) {
  const std::string &name = plan.name;
  out << "/* " << name;
  bool any = false;
  for (auto [index, input] : enumerate(plan.inputs)) {
    if (!input.isTensor())
      continue;
    out << (any ? ",\n" + std::string(name.size() + 4, ' ') : "(") << layout.inputs[index] << " : " << textOf(input);
    any = true;
  }
  out << (any ? ")" : "()") << " -> ";
  for (auto [index, output] : enumerate(plan.outputs))
    out << (index ? ", " : "") << layout.outputs[index] << " : " << textOf(output);
  out << "\n\n"
      << "     " << name << "_args args = " << name << "_args_init();\n";
  for (auto [input, field] : zip_equal(plan.inputs, layout.inputs))
    if (!input.isLength)
      out << "     args." << field << " = " << field << ";\n";
  for (const std::string &field : layout.outputs)
    out << "     args." << field << " = " << field << ";\n";
  for (const std::string &field : layout.sizes)
    out << "     args." << field << " = " << field << ";\n";
  if (!hasProcessor) {
    out << "*/\n";
    return;
  }
  out << "     skewer_exec exec = skewer_exec_init();\n"
      << "     exec.workspace_bytes = (" << name << "_workspace_bytes(&args, &exec) + 63) / 64 * 64;\n"
      << "     exec.workspace = aligned_alloc(64, exec.workspace_bytes);\n"
      << "     skewer_status status = " << name << "(&args, &exec);\n"
      << "     if (status != SKEWER_OK) fprintf(stderr, \"%s\\n\", " << name << "_status_text(status)); */\n";
}

} // namespace

static std::string headerText(const KernelPlan &plan, StringRef specHash, ArrayRef<TargetVariant> variants,
                              ArrayRef<CudaImage> images, bool hasProcessor, bool hasCodes) {
  ArgumentLayout layout = layoutOf(plan);
  std::string text, guard = "SKEWER_KERNEL_" + plan.name + "_H";
  raw_string_ostream out(text);
  out << "/* " << plan.name << ": made by skewer " SKEWER_VERSION " from the spec with hash " << specHash
      << (variants.empty() ? ". Link its object file, libc" : ". Link its object files, libc")
      << (images.empty() ? " and libm. */\n" : ", libm and the launcher. */\n") << "#ifndef " << guard << "\n#define "
      << guard << "\n"
      << "#include <stddef.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  writeShared(out);
  if (hasProcessor)
    writeExplainShared(out);
  if (!images.empty())
    writeCudaShared(out);
  out << "\n";
  writeExample(out, plan, layout, hasProcessor);
  if (!images.empty())
    writeCudaExample(out, plan.name);
  out << "\n#define SKEWER_HASH_" << plan.name << " \"" << specHash << "\"\n\n";
  writeArguments(out, plan, layout, specHash);
  out << "\n";
  if (hasProcessor)
    writeEntries(out, plan, layout, hasCodes);
  else
    out << "/* The manifest as JSON text: arguments, sizes, targets. */\nconst char *" << plan.name << "_info(void);\n";
  out << "\n";
  writeStatusText(out, plan);
  if (hasProcessor) {
    out << "\n";
    writeExplain(out, plan, layout);
  }
  if (!images.empty()) {
    out << "\n";
    writeCudaEntries(out, plan, images);
  }
  if (!variants.empty())
    out << "\n/* The same for one processor each; those above call the first of these that this processor can run. "
           "*/\n";
  for (const TargetVariant &variant : variants)
    out << "/* " << variant.target.name << ", in " << variant.object << " */\n"
        << "skewer_status " << variant.symbol << "(const " << plan.name << "_args *args, const skewer_exec *exec);\n"
        << "size_t " << variant.symbol << "_workspace_bytes(const " << plan.name
        << "_args *args, const skewer_exec *exec);\n"
        << "const char *" << variant.symbol << "_info(void);\n";
  out << "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
  return text;
}

std::string headerText(const KernelPlan &plan, StringRef specHash, ArrayRef<CudaImage> images) {
  return headerText(plan, specHash, {}, images, /*hasProcessor=*/true, /*hasCodes=*/false);
}

std::string headerText(const TargetVariant &variant, StringRef specHash, ArrayRef<CudaImage> images) {
  return headerText(variant.plan, specHash, {}, images, /*hasProcessor=*/true, !variant.codes.empty());
}

std::string headerText(StringRef name, ArrayRef<TargetVariant> variants, StringRef specHash,
                       ArrayRef<CudaImage> images) {
  KernelPlan plan = variants.front().plan;
  plan.name = name.str();
  return headerText(plan, specHash, variants, images, /*hasProcessor=*/true, /*hasCodes=*/true);
}

std::string cudaHeaderText(const KernelPlan &plan, StringRef specHash, ArrayRef<CudaImage> images) {
  return headerText(plan, specHash, {}, images, /*hasProcessor=*/false, /*hasCodes=*/false);
}

} // namespace skewer
