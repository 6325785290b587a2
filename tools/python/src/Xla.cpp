// Implements the handler that XLA calls for every layer.
#include "Xla.h"
#include "Exec.h"
#include "Indices.h"
#include "Workspaces.h"
#include <cstring>
#include <map>
#include <mutex>
#include <string>

namespace skewer::python {
namespace {

struct Layer {
  int32_t (*entry)(const void *, const void *);
  size_t (*workspaceBytes)(const void *, const void *);
  const Kernel *kernel;
  size_t inputs, results, sizes;
  Workspaces workspaces;
};

constexpr size_t kLeading = 5; // number of entries of `call` before the sizes
constexpr size_t kOrigins = 3; // q0, k0, head0

std::mutex &lock() {
  static std::mutex mutex;
  return mutex;
}
std::map<int64_t, Layer> &layers() {
  static std::map<int64_t, Layer> all;
  return all;
}

xla::Error *wrong(const xla::CallFrame &frame, const std::string &text, int code = xla::kInvalidArgument) {
  std::string message = "skewer: " + text;
  xla::ErrorArguments arguments = {sizeof(xla::ErrorArguments), nullptr, message.c_str(), code};
  return frame.api->createError(&arguments);
}

const xla::Numbers *numbersOf(const xla::Attributes &attributes) {
  for (int64_t k = 0; k < attributes.count; ++k)
    if (attributes.types[k] == 1 && attributes.names[k]->length == 4 &&
        !std::memcmp(attributes.names[k]->begin, "call", 4))
      return static_cast<const xla::Numbers *>(attributes.values[k]);
  return nullptr;
}

/// Returns whether a buffer holds 32-bit integers, one for each origin.
bool holdsOrigins(const xla::Buffer &buffer) {
  return buffer.type == xla::kS32 && buffer.rank == 1 && buffer.shape[0] == int64_t(kOrigins);
}

/// Returns the kernel's argument struct. Origins come from `call`, or from the last argument.
std::vector<uint64_t> wordsOf(const xla::CallFrame &frame, const Layer &layer, const xla::Numbers &numbers) {
  std::vector<uint64_t> words = {0};
  for (size_t k = 0; k < layer.inputs; ++k)
    words.push_back(reinterpret_cast<uintptr_t>(frame.arguments.buffers[k]->data));
  for (size_t k = 0; k < layer.results; ++k)
    words.push_back(reinterpret_cast<uintptr_t>(frame.results.buffers[k]->data));
  for (size_t k = 0; k < layer.sizes; ++k)
    words.push_back(uint64_t(numbers.values[kLeading + k]));
  const int32_t *given = nullptr;
  if (size_t(frame.arguments.count) > layer.inputs)
    given = static_cast<const int32_t *>(frame.arguments.buffers[layer.inputs]->data);
  for (size_t k = 0; k < kOrigins; ++k)
    words.push_back(uint64_t(given ? given[k] : numbers.values[kLeading - kOrigins + k]));
  words[0] = words.size() * 8 | uint64_t(1) << 32;
  return words;
}

xla::Error *refused(const xla::CallFrame &frame, const Kernel &kernel, const std::vector<int64_t> &sizes,
                    int32_t status) {
  std::string text = "the kernel refuses the call with status " + std::to_string(status) + " (docs/abi.md)";
  if (auto bad = badIndexOperand(kernel.signature.inputs, status)) {
    const Argument &argument = kernel.signature.inputs[*bad];
    const xla::Buffer &buffer = *frame.arguments.buffers[*bad];
    nb::gil_scoped_acquire locked; // XLA's thread does not hold it
    text += ": " + argument.name + ": expected " + expectedIndices(argument, sizes) + ", found " +
            foundIndex(argument, sizes, buffer.data, buffer.shape, size_t(buffer.rank));
  }
  return wrong(frame, text);
}

xla::Error *run(const xla::CallFrame &frame, Layer &layer, const xla::Numbers &numbers) {
  std::vector<uint64_t> words = wordsOf(frame, layer, numbers);

  auto workers = int32_t(numbers.values[1]);
  std::unique_ptr<Workspace> workspace;
  {
    std::lock_guard<std::mutex> held(lock());
    workspace = layer.workspaces.take(workers);
  }
  if (!workspace)
    return wrong(frame, "the system gives no " + std::to_string(workers) + " threads", xla::kResourceExhausted);
  Exec exec;
  exec.workers = workers;
  exec.context = workspace->team;
  exec.parallelFor = workspace->team ? &skewer_team_parallel_for : nullptr;
  exec.workspaceBytes = layer.workspaceBytes(words.data(), &exec);
  bool hasMemory = exec.workspaceBytes == SIZE_MAX || workspace->grow(exec.workspaceBytes);
  exec.workspace = workspace->memory;
  int32_t status = hasMemory ? layer.entry(words.data(), &exec) : 0;
  {
    std::lock_guard<std::mutex> held(lock());
    layer.workspaces.give(std::move(workspace));
  }
  if (!hasMemory)
    return wrong(frame, "no memory for the workspace", xla::kResourceExhausted);
  if (!status)
    return nullptr;
  const int64_t *sizes = numbers.values + kLeading;
  return refused(frame, *layer.kernel, std::vector<int64_t>(sizes, sizes + layer.sizes), status);
}

} // namespace

void registerForXla(int64_t key, const Kernel &kernel) {
  std::lock_guard<std::mutex> held(lock());
  Layer &layer = layers()[key];
  layer.entry = kernel.code.entry;
  layer.workspaceBytes = kernel.code.workspaceBytes;
  layer.kernel = &kernel;
  layer.inputs = kernel.signature.inputs.size();
  layer.results = kernel.signature.results.size();
  layer.sizes = kernel.signature.sizes.size();
}

xla::Error *callFromXla(xla::CallFrame *frame) {
  // A query for metadata: use only the fields that exist in the runtime's own version.
  if (frame->extensions && frame->extensions->type == 1) {
    xla::Metadata &metadata = *reinterpret_cast<xla::MetadataExtension *>(frame->extensions)->metadata;
    metadata.version.major = frame->api ? frame->api->version.major : 0;
    metadata.version.minor = frame->api ? frame->api->version.minor : 1;
    metadata.traits = 0;
    return nullptr;
  }
  const xla::Numbers *numbers = numbersOf(frame->attributes);
  if (!numbers || numbers->type != 5 || numbers->count < kLeading)
    return wrong(*frame, "a call without its numbers: it was made by another version of this package");
  Layer *layer = nullptr;
  {
    std::lock_guard<std::mutex> held(lock());
    auto found = layers().find(numbers->values[0]);
    layer = found == layers().end() ? nullptr : &found->second; // entries do not move
  }
  if (!layer)
    return wrong(*frame, "a call of a layer that this process has not compiled: ask for it with skewer.jax.op first");
  auto given = size_t(frame->arguments.count);
  bool hasOrigins = given == layer->inputs + 1 && holdsOrigins(*frame->arguments.buffers[layer->inputs]);
  if ((given != layer->inputs && !hasOrigins) || size_t(frame->results.count) != layer->results ||
      numbers->count != kLeading + layer->sizes)
    return wrong(*frame, "a call with another number of arguments, results or sizes than the layer has");
  return run(*frame, *layer, *numbers);
}

} // namespace skewer::python
