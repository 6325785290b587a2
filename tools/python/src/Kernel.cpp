// Checks arrays against the kernel's signature, converts or copies them if needed, and makes the call.
#include "Kernel.h"
#include "Call.h"
#include "Exec.h"
#include "Indices.h"
#include "OpenMp.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <nanobind/stl/vector.h>
#include <type_traits>

namespace skewer::python {

void Kernel::refuse(const std::string &argument, nb::object dimension, const std::string &expected,
                    const std::string &found) const {
  raise(errors("ArgumentError")(name, argument, dimension, expected, found));
}

static Element elementNamed(const std::string &type) {
  return type == "f32"    ? Element::F32
         : type == "f16"  ? Element::F16
         : type == "bf16" ? Element::BF16
         : type == "i32"  ? Element::I32
                          : Element::I8;
}

Kernel::Kernel(std::string name, nb::list objects, std::string sharedObject, nb::list inputList, nb::list resultList,
               nb::list sizeList)
    : name(std::move(name)) {
  for (nb::handle size : sizeList)
    sizes.emplace_back(nb::cast<std::string>(size[0]), nb::cast<int64_t>(size[1]));
  for (nb::handle input : inputList)
    inputs.push_back(argumentOf(input));
  for (nb::handle result : resultList)
    results.push_back(argumentOf(result));
  load(objects, sharedObject);
}

Kernel::~Kernel() { unload(); }

void Kernel::unload() {
  skewer_unload(loaded);
  if (library)
    dlclose(library);
  loaded = nullptr, library = nullptr;
}

Extent Kernel::extentOf(nb::handle extent) const {
  Extent made;
  if (nb::isinstance<nb::int_>(extent)) {
    made.fixed = nb::cast<int64_t>(extent);
    made.text = std::to_string(made.fixed);
    return made;
  }
  made.text = nb::cast<std::string>(extent[1]);
  if (nb::isinstance<nb::int_>(extent[0]))
    made.size = nb::cast<int>(extent[0]);
  else
    made.expression = extent[0], made.used = nb::cast<std::vector<int>>(extent[2]);
  return made;
}

Argument Kernel::argumentOf(nb::handle tuple) const {
  Argument argument;
  argument.name = nb::cast<std::string>(tuple[0]);
  argument.element = elementNamed(nb::cast<std::string>(tuple[1]));
  argument.typeName = nameOf(argument.element);
  for (nb::handle extent : nb::list(tuple[2]))
    argument.shape.push_back(extentOf(extent));
  if (nb::object range = tuple[3]; !range.is_none())
    argument.range.emplace(extentOf(range[0]), extentOf(range[1]));
  return argument;
}

void Kernel::load(nb::list objects, const std::string &sharedObject) {
  if (!sharedObject.empty()) {
    library = dlopen(sharedObject.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      raise(errors("LoadError")("kernel '" + name + "' cannot be loaded: " + dlerror()));
  } else {
    std::vector<const void *> data;
    std::vector<size_t> bytes;
    for (nb::handle object : objects) {
      data.push_back(PyBytes_AsString(object.ptr()));
      bytes.push_back(nb::len(object));
    }
    skewer_answer *answer;
    {
      nb::gil_scoped_release released;
      answer = skewer_load(name.c_str(), data.data(), bytes.data(), data.size(), &loaded);
    }
    std::string why = skewer_answer_diagnostic(answer, 0).text;
    skewer_answer_free(answer);
    if (!loaded)
      raise(errors("LoadError")(why));
  }
  auto find = [&](const char *suffix, auto &address) {
    void *found = library ? dlsym(library, (name + suffix).c_str()) : skewer_loaded_symbol(loaded, suffix);
    address = reinterpret_cast<std::remove_reference_t<decltype(address)>>(found);
  };
  find("", entry);
  find("_cuda", cudaEntry);
  find("_cuda_workspace_bytes", cudaWorkspaceBytes);
  find("_workspace_bytes", workspaceBytes);
  find("_prepared_bytes", preparedBytes);
  find("_prepare", prepareEntry);
  find("_prepared", preparedEntry);
  if (!(entry && workspaceBytes) && !(cudaEntry && cudaWorkspaceBytes)) {
    unload();
    raise(errors("LoadError")("there is no kernel '" + name + "' in it"));
  }
}

void Kernel::checkPlace(Call &call, const std::string &role, const Tensor &tensor) const {
  std::string found = "memory of " + (tensor.deviceName.empty() ? "the processor" : tensor.deviceName);
  if (!call.isOnGpu) {
    if (!entry)
      refuse(role, nb::none(), "memory of a GPU (the layer was compiled for GPUs alone)", found);
    if (!tensor.deviceName.empty())
      refuse(role, nb::none(),
             tensor.gpu < 0 || cudaEntry
                 ? "memory of the processor"
                 : "memory of the processor (a GPU's is read where the layer was compiled for it: target='host,sm_90a')",
             found);
    return;
  }
  if (tensor.gpu < 0)
    refuse(role, nb::none(), "memory of a GPU, as that of the first operand", found);
  if (call.gpu < 0)
    call.gpu = tensor.gpu;
  if (call.gpu != tensor.gpu)
    refuse(role, nb::none(), "memory of CUDA device " + std::to_string(call.gpu) + ", as that of the first operand", found);
  if (!tensor.isReadable())
    refuse(role, nb::none(), "row-major memory without gaps", "other strides");
}

/// Returns whether elements of type `from` can stand for an operand's type `to` without loss: PyTorch's indices are
/// int64, its masks bool.
static bool converts(Element from, Element to) {
  return (to == Element::I32 && (from == Element::I64 || from == Element::Bool)) ||
         (to == Element::I8 && from == Element::Bool);
}

/// Returns whether the array is one of numpy.ma, whose buffer does not show the masked elements.
static bool isMasked(nb::handle array) {
  return std::strcmp(Py_TYPE(array.ptr())->tp_name, "numpy.ndarray") && nb::hasattr(array, "mask") &&
         nb::hasattr(array, "filled");
}

void Kernel::takeInput(Call &call, size_t number, nb::handle array) {
  Argument &argument = inputs[number];
  Tensor &tensor = call.inputs[number];
  if (!tensor.take(array, /*isWritten=*/false, call.isResolved)) {
    PyErr_Clear();
    refuse(argument.name, nb::none(), "an array in this processor's memory (buffer protocol or DLPack)",
           nb::cast<std::string>(errors("named")(array)));
  }
  if (tensor.isOfFramework && nb::hasattr(array, "requires_grad") && nb::cast<bool>(array.attr("requires_grad")) &&
      nb::cast<bool>(errors("wants_gradient")(array)))
    raise(errors("GradientError")(name, argument.name));
  if (!tensor.isOfFramework && isMasked(array))
    refuse(argument.name, nb::none(), "an array without a mask, which a kernel would not see (array.filled(0), array.data)",
           "one of numpy.ma");
  checkPlace(call, argument.name, tensor);
  if (tensor.element != argument.element && (call.isOnGpu || !converts(tensor.element, argument.element)))
    refuse(argument.name, nb::none(), "elements of type " + argument.typeName,
           nb::cast<std::string>(errors("found_type")(tensor.typeName, argument.typeName, tensor.isOfFramework)));
  if (tensor.shape.size() != argument.shape.size())
    refuse(argument.name, nb::none(), std::to_string(argument.shape.size()) + " dimensions",
           std::to_string(tensor.shape.size()));
}

int64_t Kernel::valueOf(const Extent &extent, const Call &call) const { return extent.at(call.sizes); }

int64_t Extent::at(const std::vector<int64_t> &sizes) const {
  if (size >= 0)
    return sizes[size];
  if (!expression.is_valid())
    return fixed;
  nb::list values;
  for (int64_t value : sizes)
    values.append(value);
  return nb::cast<int64_t>(expression(*values));
}

/// Sets the sizes: the given ones, else the ones that shapes determine. `from` receives the source of each.
void Kernel::findSizes(Call &call, nb::handle given, std::vector<std::string> &from) {
  call.sizes.assign(sizes.size(), -1);
  from.assign(sizes.size(), "");
  if (!given.is_none())
    for (size_t k = 0; k < sizes.size(); ++k)
      if (nb::object value = given.attr("get")(sizes[k].first); !value.is_none())
        call.sizes[k] = nb::cast<int64_t>(value), from[k] = "sizes";
  for (size_t n = 0; n < inputs.size(); ++n)
    for (size_t k = 0; k < inputs[n].shape.size() && k < call.inputs[n].shape.size(); ++k) {
      int size = inputs[n].shape[k].size;
      if (size >= 0 && call.sizes[size] < 0)
        call.sizes[size] = call.inputs[n].shape[k], from[size] = inputs[n].name;
    }
}

void Kernel::inferSizes(Call &call, nb::handle given) {
  std::vector<std::string> from;
  findSizes(call, given, from);
  for (size_t k = 0; k < sizes.size(); ++k) {
    if (call.sizes[k] < 0)
      refuse("sizes", nb::none(),
             "a value of '" + sizes[k].first + "', which no array's shape says: sizes={'" + sizes[k].first + "': …}",
             "none");
    int64_t bound = sizes[k].second;
    if (call.sizes[k] < 0 || (bound && call.sizes[k] > bound))
      refuse(from[k], nb::str(sizes[k].first.c_str()), bound ? "1 to " + std::to_string(bound) : "at least 1",
             std::to_string(call.sizes[k]));
  }
  for (size_t k = 0; k < sizes.size(); ++k)
    if (call.sizes[k] == 0)
      allowEmpty(call, from[k], k);
}

/// Accepts a size of 0 if it leaves no result with an element, as an empty batch does.
void Kernel::allowEmpty(Call &call, const std::string &from, size_t size) {
  for (const Argument &result : results) {
    bool isEmpty = false, isWhole = true;
    for (const Extent &extent : result.shape) {
      int64_t value = valueOf(extent, call);
      isEmpty |= value == 0;
      isWhole &= value >= 0;
    }
    if (!isEmpty || !isWhole)
      refuse(from, nb::str(sizes[size].first.c_str()), "at least 1", "0");
  }
  call.isEmpty = true;
}

/// Returns whether all sizes in an extent are known.
bool Kernel::isKnown(const Extent &extent, const Call &call) const {
  if (extent.size >= 0)
    return call.sizes[extent.size] >= 0;
  for (int size : extent.used)
    if (call.sizes[size] < 0)
      return false;
  return true;
}

void Kernel::checkShape(const Call &call, const Argument &argument, const Tensor &tensor, const char *role) {
  if (tensor.shape.size() != argument.shape.size())
    refuse(role, nb::none(), std::to_string(argument.shape.size()) + " dimensions",
           std::to_string(tensor.shape.size()));
  for (size_t k = 0; k < argument.shape.size(); ++k) {
    if (!isKnown(argument.shape[k], call))
      continue; // the size is unknown while preparing; each call checks again
    int64_t expected = valueOf(argument.shape[k], call);
    if (tensor.shape[k] == expected)
      continue;
    std::string text = std::to_string(expected);
    if (argument.shape[k].text != text)
      text += " (" + argument.shape[k].text + ")";
    refuse(role, nb::int_(k), text, std::to_string(tensor.shape[k]));
  }
}

void Kernel::note(Argument &argument, const std::string &role, const Tensor &tensor, bool isResult) {
  if (argument.hasNote)
    return;
  argument.hasNote = true;
  nb::list shape, strides;
  for (int64_t extent : tensor.shape)
    shape.append(extent);
  for (int64_t stride : tensor.strides)
    strides.append(stride);
  errors("note_copy")(name, role, nb::tuple(shape), nb::tuple(strides), isResult);
}

void Kernel::takeOutputs(Call &call, nb::object outputs, nb::object allocate) {
  size_t first = 1 + inputs.size();
  if (!outputs.is_none() && nb::len(outputs) != results.size())
    refuse("out", nb::none(), std::to_string(results.size()) + " arrays", std::to_string(nb::len(outputs)));
  for (size_t n = 0; n < results.size(); ++n) {
    Tensor &tensor = call.outputs[n];
    nb::object array;
    if (outputs.is_none()) {
      nb::list shape;
      for (const Extent &extent : results[n].shape)
        shape.append(valueOf(extent, call));
      array = allocate(n, nb::tuple(shape));
    } else {
      array = outputs[n];
    }
    std::string role = results.size() == 1 ? "out" : "out[" + std::to_string(n) + "]";
    if (!tensor.take(array, /*isWritten=*/true, call.isResolved)) {
      PyErr_Clear();
      refuse(role, nb::none(), "an array in this processor's memory that can be written",
             nb::cast<std::string>(errors("named")(array)));
    }
    if (tensor.isNegated)
      refuse(role, nb::none(), "a tensor that holds its numbers", "one whose numbers are negated as they are read");
    checkPlace(call, role, tensor);
    if (tensor.isReadOnly)
      refuse(role, nb::none(), "an array that can be written", "a read-only one");
    if (tensor.element != results[n].element)
      refuse(role, nb::none(), "elements of type " + results[n].typeName, tensor.typeName);
    checkShape(call, results[n], tensor, role.c_str());
    for (size_t k = 0; k < tensor.shape.size(); ++k)
      if (tensor.shape[k] > 1 && tensor.strides[k] == 0)
        refuse(role, nb::int_(k), "elements that lie apart", "a stride of 0");
    void *data = tensor.data;
    if (!tensor.isReadable()) {
      data = call.copyOf(tensor);
      call.copiedOutputs.emplace_back(n, data);
      note(results[n], role, tensor, /*isResult=*/true);
    }
    call.words[first + n] = reinterpret_cast<uintptr_t>(data);
    call.results.push_back(std::move(array));
  }
}

void Kernel::run(Call &call, int threads, bool ofFramework, const Entry &enter) {
  if (!workspaceBytes) // there was no operand that checkPlace could refuse
    raise(errors("LoadError")("kernel '" + name + "' was compiled for GPUs alone"));
  ofFramework = ofFramework && threads > 1 && openmp::isUsable();
  std::unique_ptr<Workspace> workspace = workspaces.take(threads, !ofFramework);
  if (!workspace)
    raise(errors("KernelError")(name, -1, "the system gives no " + std::to_string(threads) + " threads"));
  Exec exec;
  exec.workers = threads;
  exec.context = ofFramework ? reinterpret_cast<void *>(uintptr_t(threads)) : workspace->team;
  exec.parallelFor = ofFramework       ? &openmp::parallelFor
                     : workspace->team ? &skewer_team_parallel_for
                                       : nullptr;
  int32_t status = 0;
  bool hasMemory = true;
  {
    nb::gil_scoped_release released;
    exec.workspaceBytes = workspaceBytes(call.words.data(), &exec);
    if (exec.workspaceBytes != SIZE_MAX)
      hasMemory = workspace->grow(exec.workspaceBytes);
    exec.workspace = workspace->memory;
    if (hasMemory)
      status = enter(call.words.data(), &exec);
    if (hasMemory && !status)
      for (auto [number, data] : call.copiedOutputs)
        call.outputs[number].copyFrom(data);
  }
  workspaces.give(std::move(workspace));
  if (!hasMemory)
    throw std::bad_alloc();
  if (status)
    refuseStatus(call, status);
}

/// Returns the names of a result and another argument whose memory overlaps: "out and q".
std::string Kernel::sharedMemory(const Call &call) const {
  auto meet = [](const Tensor &a, const Tensor &b) {
    auto *begin = static_cast<const char *>(a.data), *other = static_cast<const char *>(b.data);
    return begin < other + b.elements() * bytesOf(b.element) && other < begin + a.elements() * bytesOf(a.element);
  };
  auto title = [&](size_t n) { return results.size() == 1 ? "out" : "out[" + std::to_string(n) + "]"; };
  for (size_t n = 0; n < results.size(); ++n) {
    if (!call.outputs[n].isReadable())
      continue; // the kernel writes a copy, not its memory
    for (size_t k = 0; k < inputs.size(); ++k)
      if (call.inputs[k].isReadable() && meet(call.outputs[n], call.inputs[k]))
        return title(n) + " and " + inputs[k].name;
    for (size_t k = 0; k < n; ++k)
      if (call.outputs[k].isReadable() && meet(call.outputs[n], call.outputs[k]))
        return title(k) + " and " + title(n);
  }
  return "";
}

void Kernel::refuseStatus(const Call &call, int32_t status) const {
  constexpr int32_t kBadOrigin = 5, kOverlap = 15; // of docs/abi.md
  auto bad = badIndexOperand(inputs, status);
  if (!bad) {
    std::string what;
    if (status == kOverlap)
      what = sharedMemory(call);
    if (status == kBadOrigin)
      for (size_t k = 0; k < 3; ++k)
        what += std::string(k ? ", " : "") + (k == 0 ? "q0 = " : k == 1 ? "k0 = " : "head0 = ") +
                std::to_string(int64_t(call.words[call.words.size() - 3 + k]));
    raise(errors("kernel_error")(name, status, nb::none(), nb::none(), what.empty() ? nb::none() : nb::object(nb::cast(what))));
  }
  const std::vector<int64_t> &shape = call.inputs[*bad].shape;
  auto *data = reinterpret_cast<const void *>(call.words[1 + *bad]);
  raise(errors("kernel_error")(name, status, inputs[*bad].name, expectedIndices(inputs[*bad], call.sizes),
                               foundIndex(inputs[*bad], call.sizes, data, shape.data(), shape.size())));
}

int Kernel::threadsOf(nb::handle given) const {
  int threads = 0;
  if (!nb::try_cast(given, threads) || threads < 1 || threads > 1024)
    refuse("threads", nb::none(), "1 to 1024", nb::cast<std::string>(nb::repr(given)));
  return threads;
}

void Kernel::begin(Call &call, nb::tuple arrays) {
  if (nb::len(arrays) != inputs.size())
    refuse("arrays", nb::none(), std::to_string(inputs.size()), std::to_string(nb::len(arrays)));
  call.inputs = std::make_unique<Tensor[]>(inputs.size());
  call.outputs = std::make_unique<Tensor[]>(results.size());
  call.words.assign(1 + inputs.size() + results.size() + sizes.size() + 3, 0);
  call.words[0] = call.words.size() * 8 | uint64_t(1) << 32;
}

void Kernel::passInput(Call &call, size_t number) {
  Tensor &tensor = call.inputs[number];
  checkShape(call, inputs[number], tensor, inputs[number].name.c_str());
  void *data = tensor.data;
  if (bytesOf(tensor.element) != bytesOf(inputs[number].element)) {
    data = converted(call, number);
  } else if (!tensor.isReadable()) {
    tensor.copyTo(data = call.copyOf(tensor));
    note(inputs[number], inputs[number].name, tensor, /*isResult=*/false);
  }
  call.words[1 + number] = reinterpret_cast<uintptr_t>(data);
}

/// Converts an operand of int32 that was given as int64 or bool.
void *Kernel::converted(Call &call, size_t number) {
  const Tensor &tensor = call.inputs[number];
  int64_t count = tensor.elements();
  void *packed = call.copyOf(tensor);
  tensor.copyTo(packed);
  auto *made = static_cast<int32_t *>(call.memoryOf(count * int64_t(sizeof(int32_t))));
  for (int64_t k = 0; k < count; ++k) {
    int64_t value = tensor.element == Element::Bool ? static_cast<const uint8_t *>(packed)[k] != 0
                                                    : static_cast<const int64_t *>(packed)[k];
    if (value != int32_t(value))
      refuse(inputs[number].name, nb::none(), "numbers that int32 can hold", std::to_string(value));
    made[k] = int32_t(value);
  }
  return made;
}

void Kernel::passSizes(Call &call, int64_t q0, int64_t k0, int64_t head0) {
  size_t next = 1 + inputs.size() + results.size();
  for (int64_t value : call.sizes)
    call.words[next++] = uint64_t(value);
  for (int64_t origin : {q0, k0, head0})
    call.words[next++] = uint64_t(origin);
}

nb::object Kernel::call(nb::tuple arrays, nb::object outputs, nb::handle threadCount, nb::object allocate, nb::object given,
                        int64_t q0, int64_t k0, int64_t head0, const Prepared *prepared, bool ofFramework,
                        bool isResolved) {
  Call call;
  call.isResolved = isResolved;
  int threads = threadsOf(threadCount);
  begin(call, arrays);
  for (size_t n = 0; n < inputs.size(); ++n)
    takeInput(call, n, arrays[n]);
  inferSizes(call, given);
  for (size_t n = 0; n < inputs.size(); ++n)
    passInput(call, n);
  takeOutputs(call, outputs, allocate);
  passSizes(call, q0, k0, head0);
  if (call.isEmpty)
    return resultsOf(call);
  if (prepared)
    run(call, threads, ofFramework,
        [&](const void *args, const void *exec) { return preparedEntry(args, exec, prepared->memory.get()); });
  else
    run(call, threads, ofFramework, entry);
  return resultsOf(call);
}

nb::object Kernel::resultsOf(const Call &call) {
  if (call.results.size() == 1)
    return call.results.front();
  nb::list all;
  for (const nb::object &result : call.results)
    all.append(result);
  return nb::tuple(all);
}

Prepared Kernel::prepare(nb::tuple arrays, nb::handle threadCount, nb::object given) {
  int threads = threadsOf(threadCount);
  Prepared prepared;
  if (!preparedBytes || !prepareEntry || !preparedEntry)
    raise(errors("LoadError")("kernel '" + name + "' has no entries for const operands; compile it anew"));
  prepared.bytes = preparedBytes();
  if (prepared.bytes) {
    prepared.memory.reset(std::aligned_alloc(64, prepared.bytes));
    if (!prepared.memory)
      throw std::bad_alloc();
  }
  Call call;
  begin(call, arrays);
  for (size_t n = 0; n < inputs.size(); ++n)
    if (!nb::handle(arrays[n]).is_none())
      takeInput(call, n, arrays[n]);
  std::vector<std::string> from;
  findSizes(call, given, from);
  for (size_t n = 0; n < inputs.size(); ++n)
    if (!nb::handle(arrays[n]).is_none())
      passInput(call, n);
  call.sizes.assign(sizes.size(), 1); // the prepared data does not depend on them
  passSizes(call, 0, 0, 0);
  run(call, threads, /*ofFramework=*/false,
      [&](const void *args, const void *exec) { return prepareEntry(args, exec, prepared.memory.get()); });
  return prepared;
}

} // namespace skewer::python
