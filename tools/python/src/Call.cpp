// Checks arrays against the kernel's signature, and copies those that the kernel cannot read in place.
#include "Call.h"
#include "Indices.h"
#include <cstring>

namespace skewer::python {

void Call::checkPlace(const std::string &role, const Tensor &tensor) {
  std::string found = "memory of " + (tensor.deviceName.empty() ? "the processor" : tensor.deviceName);
  if (!isOnGpu) {
    if (!code.entry)
      signature.refuse(role, nb::none(), "memory of a GPU (the layer was compiled for GPUs alone)", found);
    if (!tensor.deviceName.empty())
      signature.refuse(
          role, nb::none(),
          tensor.gpu < 0 || code.cudaEntry
              ? "memory of the processor"
              : "memory of the processor (a GPU's is read where the layer was compiled for it: target='host,sm_90a')",
          found);
    return;
  }
  if (tensor.gpu < 0)
    signature.refuse(role, nb::none(), "memory of a GPU, as that of the first operand", found);
  if (gpu < 0)
    gpu = tensor.gpu;
  if (gpu != tensor.gpu)
    signature.refuse(role, nb::none(),
                     "memory of CUDA device " + std::to_string(gpu) + ", as that of the first operand", found);
  if (!tensor.isReadable())
    signature.refuse(role, nb::none(), "row-major memory without gaps", "other strides");
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

void Call::takeInput(size_t number, nb::handle array) {
  Argument &argument = signature.inputs[number];
  Tensor &tensor = inputs[number];
  if (!tensor.take(array, /*isWritten=*/false, isResolved)) {
    PyErr_Clear();
    signature.refuse(argument.name, nb::none(), "an array in this processor's memory (buffer protocol or DLPack)",
                     nb::cast<std::string>(errors("named")(array)));
  }
  if (tensor.isOfFramework && nb::hasattr(array, "requires_grad") && nb::cast<bool>(array.attr("requires_grad")) &&
      nb::cast<bool>(errors("wants_gradient")(array)))
    raise(errors("GradientError")(signature.name, argument.name));
  if (!tensor.isOfFramework && isMasked(array))
    signature.refuse(argument.name, nb::none(),
                     "an array without a mask, which a kernel would not see (array.filled(0), array.data)",
                     "one of numpy.ma");
  checkPlace(argument.name, tensor);
  if (tensor.element != argument.element && (isOnGpu || !converts(tensor.element, argument.element)))
    signature.refuse(
        argument.name, nb::none(), "elements of type " + argument.typeName,
        nb::cast<std::string>(errors("found_type")(tensor.typeName, argument.typeName, tensor.isOfFramework)));
  if (tensor.shape.size() != argument.shape.size())
    signature.refuse(argument.name, nb::none(), std::to_string(argument.shape.size()) + " dimensions",
                     std::to_string(tensor.shape.size()));
}

/// Sets the sizes: the given ones, else the ones that shapes determine. Returns the source of each.
std::vector<std::string> Call::findSizes(nb::handle given) {
  sizes.assign(signature.sizes.size(), -1);
  std::vector<std::string> from(signature.sizes.size());
  if (!given.is_none())
    for (size_t k = 0; k < signature.sizes.size(); ++k)
      if (nb::object value = given.attr("get")(signature.sizes[k].first); !value.is_none())
        sizes[k] = nb::cast<int64_t>(value), from[k] = "sizes";
  for (size_t n = 0; n < signature.inputs.size(); ++n)
    for (size_t k = 0; k < signature.inputs[n].shape.size() && k < inputs[n].shape.size(); ++k) {
      int size = signature.inputs[n].shape[k].size;
      if (size >= 0 && sizes[size] < 0)
        sizes[size] = inputs[n].shape[k], from[size] = signature.inputs[n].name;
    }
  return from;
}

void Call::inferSizes(nb::handle given) {
  std::vector<std::string> from = findSizes(given);
  for (size_t k = 0; k < signature.sizes.size(); ++k) {
    if (sizes[k] < 0)
      signature.refuse("sizes", nb::none(),
                       "a value of '" + signature.sizes[k].first + "', which no array's shape says: sizes={'" +
                           signature.sizes[k].first + "': …}",
                       "none");
    int64_t bound = signature.sizes[k].second;
    if (sizes[k] < 0 || (bound && sizes[k] > bound))
      signature.refuse(from[k], nb::str(signature.sizes[k].first.c_str()),
                       bound ? "1 to " + std::to_string(bound) : "at least 1", std::to_string(sizes[k]));
  }
  for (size_t k = 0; k < signature.sizes.size(); ++k)
    if (sizes[k] == 0)
      allowEmpty(from[k], k);
}

/// Accepts a size of 0 if it leaves no result with an element, as an empty batch does.
void Call::allowEmpty(const std::string &from, size_t size) {
  for (const Argument &result : signature.results) {
    bool isEmpty = false, isWhole = true;
    for (const Extent &extent : result.shape) {
      int64_t value = extent.at(sizes);
      isEmpty |= value == 0;
      isWhole &= value >= 0;
    }
    if (!isEmpty || !isWhole)
      signature.refuse(from, nb::str(signature.sizes[size].first.c_str()), "at least 1", "0");
  }
  empty = true;
}

/// Returns whether all sizes in an extent are known.
bool Call::isKnown(const Extent &extent) const {
  if (extent.size >= 0)
    return sizes[extent.size] >= 0;
  for (int size : extent.used)
    if (sizes[size] < 0)
      return false;
  return true;
}

void Call::checkShape(const Argument &argument, const Tensor &tensor, const std::string &role) const {
  if (tensor.shape.size() != argument.shape.size())
    signature.refuse(role, nb::none(), std::to_string(argument.shape.size()) + " dimensions",
                     std::to_string(tensor.shape.size()));
  for (size_t k = 0; k < argument.shape.size(); ++k) {
    if (!isKnown(argument.shape[k]))
      continue; // while preparing; each call checks again
    int64_t expected = argument.shape[k].at(sizes);
    if (tensor.shape[k] == expected)
      continue;
    std::string text = std::to_string(expected);
    if (argument.shape[k].text != text)
      text += " (" + argument.shape[k].text + ")";
    signature.refuse(role, nb::int_(k), text, std::to_string(tensor.shape[k]));
  }
}

void Call::note(Argument &argument, const std::string &role, const Tensor &tensor, bool isResult) const {
  if (argument.hasNote)
    return;
  argument.hasNote = true;
  nb::list shape, strides;
  for (int64_t extent : tensor.shape)
    shape.append(extent);
  for (int64_t stride : tensor.strides)
    strides.append(stride);
  errors("note_copy")(signature.name, role, nb::tuple(shape), nb::tuple(strides), isResult);
}

void Call::takeOutputs(nb::object given, nb::object allocate) {
  size_t first = 1 + signature.inputs.size();
  if (!given.is_none() && nb::len(given) != signature.results.size())
    signature.refuse("out", nb::none(), std::to_string(signature.results.size()) + " arrays",
                     std::to_string(nb::len(given)));
  for (size_t n = 0; n < signature.results.size(); ++n) {
    Tensor &tensor = outputs[n];
    nb::object array;
    if (given.is_none()) {
      nb::list shape;
      for (const Extent &extent : signature.results[n].shape)
        shape.append(extent.at(sizes));
      array = allocate(n, nb::tuple(shape));
    } else {
      array = given[n];
    }
    std::string role = signature.titleOf(n);
    if (!tensor.take(array, /*isWritten=*/true, isResolved)) {
      PyErr_Clear();
      signature.refuse(role, nb::none(), "an array in this processor's memory that can be written",
                       nb::cast<std::string>(errors("named")(array)));
    }
    if (tensor.isNegated)
      signature.refuse(role, nb::none(), "a tensor that holds its numbers",
                       "one whose numbers are negated as they are read");
    checkPlace(role, tensor);
    if (tensor.isReadOnly)
      signature.refuse(role, nb::none(), "an array that can be written", "a read-only one");
    if (tensor.element != signature.results[n].element)
      signature.refuse(role, nb::none(), "elements of type " + signature.results[n].typeName, tensor.typeName);
    checkShape(signature.results[n], tensor, role);
    for (size_t k = 0; k < tensor.shape.size(); ++k)
      if (tensor.shape[k] > 1 && tensor.strides[k] == 0)
        signature.refuse(role, nb::int_(k), "elements that lie apart", "a stride of 0");
    void *data = tensor.data;
    if (!tensor.isReadable()) {
      data = copyOf(tensor);
      copiedOutputs.emplace_back(n, data);
      note(signature.results[n], role, tensor, /*isResult=*/true);
    }
    words[first + n] = reinterpret_cast<uintptr_t>(data);
    results.push_back(std::move(array));
  }
}

/// Returns the names of a result and another argument whose memory overlaps: "out and q".
std::string Call::sharedMemory() const {
  auto meet = [](const Tensor &a, const Tensor &b) {
    auto *begin = static_cast<const char *>(a.data), *other = static_cast<const char *>(b.data);
    return begin < other + b.elements() * bytesOf(b.element) && other < begin + a.elements() * bytesOf(a.element);
  };
  for (size_t n = 0; n < signature.results.size(); ++n) {
    if (!outputs[n].isReadable())
      continue; // it was computed elsewhere
    for (size_t k = 0; k < signature.inputs.size(); ++k)
      if (inputs[k].isReadable() && meet(outputs[n], inputs[k]))
        return signature.titleOf(n) + " and " + signature.inputs[k].name;
    for (size_t k = 0; k < n; ++k)
      if (outputs[k].isReadable() && meet(outputs[n], outputs[k]))
        return signature.titleOf(k) + " and " + signature.titleOf(n);
  }
  return "";
}

void Call::refuseStatus(int32_t status) const {
  constexpr int32_t kBadOrigin = 5, kOverlap = 15; // of docs/abi.md
  auto bad = badIndexOperand(signature.inputs, status);
  if (!bad) {
    std::string what;
    if (status == kOverlap)
      what = sharedMemory();
    if (status == kBadOrigin)
      for (size_t k = 0; k < 3; ++k)
        what += std::string(k ? ", " : "") +
                (k == 0   ? "q0 = "
                 : k == 1 ? "k0 = "
                          : "head0 = ") +
                std::to_string(int64_t(words[words.size() - 3 + k]));
    raise(errors("kernel_error")(signature.name, status, nb::none(), nb::none(),
                                 what.empty() ? nb::none() : nb::object(nb::cast(what))));
  }
  const std::vector<int64_t> &shape = inputs[*bad].shape;
  auto *data = reinterpret_cast<const void *>(words[1 + *bad]);
  raise(errors("kernel_error")(signature.name, status, signature.inputs[*bad].name,
                               expectedIndices(signature.inputs[*bad], sizes),
                               foundIndex(signature.inputs[*bad], sizes, data, shape.data(), shape.size())));
}

void Call::begin(nb::tuple arrays) {
  if (nb::len(arrays) != signature.inputs.size())
    signature.refuse("arrays", nb::none(), std::to_string(signature.inputs.size()), std::to_string(nb::len(arrays)));
  inputs = std::make_unique<Tensor[]>(signature.inputs.size());
  outputs = std::make_unique<Tensor[]>(signature.results.size());
  words.assign(1 + signature.inputs.size() + signature.results.size() + signature.sizes.size() + 3, 0);
  words[0] = words.size() * 8 | uint64_t(1) << 32;
}

void Call::passInput(size_t number) {
  Tensor &tensor = inputs[number];
  checkShape(signature.inputs[number], tensor, signature.inputs[number].name);
  void *data = tensor.data;
  if (bytesOf(tensor.element) != bytesOf(signature.inputs[number].element)) {
    data = converted(number);
  } else if (!tensor.isReadable()) {
    tensor.copyTo(data = copyOf(tensor));
    note(signature.inputs[number], signature.inputs[number].name, tensor, /*isResult=*/false);
  }
  words[1 + number] = reinterpret_cast<uintptr_t>(data);
}

/// Converts an operand of int32 that was given as int64 or bool.
void *Call::converted(size_t number) {
  const Tensor &tensor = inputs[number];
  int64_t count = tensor.elements();
  void *packed = copyOf(tensor);
  tensor.copyTo(packed);
  auto *made = static_cast<int32_t *>(memoryOf(count * int64_t(sizeof(int32_t))));
  for (int64_t k = 0; k < count; ++k) {
    int64_t value = tensor.element == Element::Bool ? static_cast<const uint8_t *>(packed)[k] != 0
                                                    : static_cast<const int64_t *>(packed)[k];
    if (value != int32_t(value))
      signature.refuse(signature.inputs[number].name, nb::none(), "numbers that int32 can hold", std::to_string(value));
    made[k] = int32_t(value);
  }
  return made;
}

void Call::passSizes(int64_t q0, int64_t k0, int64_t head0) {
  size_t next = 1 + signature.inputs.size() + signature.results.size();
  for (int64_t value : sizes)
    words[next++] = uint64_t(value);
  for (int64_t origin : {q0, k0, head0})
    words[next++] = uint64_t(origin);
}

nb::object Call::result() const {
  if (results.size() == 1)
    return results.front();
  nb::list all;
  for (const nb::object &result : results)
    all.append(result);
  return nb::tuple(all);
}

void *Call::memoryOf(int64_t count) {
  size_t bytes = (size_t(count) + 63) / 64 * 64;
  copies.emplace_back(std::aligned_alloc(64, bytes ? bytes : 64), &std::free);
  if (!copies.back())
    throw std::bad_alloc();
  return copies.back().get();
}

void Call::copyBack() {
  for (auto [number, data] : copiedOutputs)
    outputs[number].copyFrom(data);
}

void Call::take(nb::tuple arrays, nb::object results, nb::object allocate, nb::object given, int64_t q0, int64_t k0,
                int64_t head0) {
  begin(arrays);
  for (size_t n = 0; n < signature.inputs.size(); ++n)
    takeInput(n, arrays[n]);
  inferSizes(given);
  for (size_t n = 0; n < signature.inputs.size(); ++n)
    passInput(n);
  takeOutputs(results, allocate);
  passSizes(q0, k0, head0);
}

void Call::takeConst(nb::tuple arrays, nb::object given) {
  begin(arrays);
  for (size_t n = 0; n < signature.inputs.size(); ++n)
    if (!nb::handle(arrays[n]).is_none())
      takeInput(n, arrays[n]);
  findSizes(given);
  for (size_t n = 0; n < signature.inputs.size(); ++n)
    if (!nb::handle(arrays[n]).is_none())
      passInput(n);
  sizes.assign(signature.sizes.size(), 1); // the prepared data does not depend on them
  passSizes(0, 0, 0);
}

} // namespace skewer::python
