// Prepares the operands of a run, and checks that files, sizes and origins fit the kernel.
#include "tools/skewer/Inputs.h"
#include "codegen/ABI/Layout.h"
#include "tools/skewer/Npy.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <random>
#include <unistd.h>

namespace skewer::driver {

static llvm::Error fault(const std::string &text) {
  return llvm::createStringError(std::errc::invalid_argument, "%s", text.c_str());
}

std::string textOf(llvm::ArrayRef<Extent> shape) {
  std::string text = "[";
  for (size_t k = 0; k < shape.size(); ++k)
    text += (k ? ", " : "") + (shape[k].name.empty() ? std::to_string(shape[k].fixed) : shape[k].name);
  return text + "]";
}

std::vector<double> normalNumbers(int64_t count, uint64_t seed) {
  std::mt19937_64 generator(seed);
  // 53 bits, never 0, so that the logarithm is finite.
  auto uniform = [&] { return (static_cast<double>(generator() >> 11) + 0.5) * 0x1p-53; };
  constexpr double kTwoPi = 6.283185307179586;
  std::vector<double> values(count);
  for (int64_t k = 0; k < count; k += 2) {
    double radius = std::sqrt(-2 * std::log(uniform())), angle = kTwoPi * uniform();
    values[k] = radius * std::cos(angle);
    if (k + 1 < count)
      values[k + 1] = radius * std::sin(angle);
  }
  return values;
}

/// Returns the element types of a file that can hold the argument's values: the type itself, or a wider one.
static std::vector<std::string> accepted(ElementType type) {
  if (type == ElementType::I32)
    return {"<i4", "<i8"};
  if (type == ElementType::I8)
    return {"|i1"};
  if (type == ElementType::F8E4M3) // its bits, or numbers that are rounded to it
    return {"|u1", "<f4"};
  return type == ElementType::F16 ? std::vector<std::string>{"<f2", "<f4"} : std::vector<std::string>{"<f4"};
}

/// Returns `count` whole numbers from `low` to `high`, the same with every C++ library.
static std::vector<double> wholeNumbers(int64_t count, IndexRange range, uint64_t seed) {
  std::mt19937_64 generator(seed);
  uint64_t values = static_cast<uint64_t>(range.high - range.low) + 1;
  std::vector<double> numbers(count);
  for (double &number : numbers)
    number = static_cast<double>(range.low + static_cast<int64_t>(generator() % values));
  return numbers;
}

/// Returns `count` numbers, uniform from `low` to `high`, the same with every C++ library.
static std::vector<double> uniformNumbers(int64_t count, double low, double high, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> numbers(count);
  for (double &number : numbers) {
    double share = static_cast<double>(generator() >> 11) * 0x1p-53;
    number = std::clamp((1 - share) * low + share * high, low, high);
  }
  return numbers;
}

/// Returns the range of an index operand that declares none: 0 to the largest compile-time size of the result, except
/// its last dimension. In a layer this size is the number of queries.
static IndexRange usualRange(const KernelPlan &plan) {
  int64_t largest = 1;
  const std::vector<Extent> &shape = plan.outputs.front().shape;
  for (size_t d = 0; d + 1 < shape.size(); ++d)
    if (shape[d].name.empty())
      largest = std::max(largest, shape[d].fixed);
  return {0, std::min<int64_t>(largest, INT32_MAX)};
}

std::vector<double> seededValues(const TensorArgument &argument, int64_t count, uint64_t seed, IndexRange indices) {
  if (argument.type == ElementType::I8)
    return wholeNumbers(count, {-127, 127}, seed);
  if (argument.type == ElementType::I32)
    return wholeNumbers(count, argument.range.value_or(indices), seed);
  if (argument.between)
    return uniformNumbers(count, argument.between->first, argument.between->second, seed);
  std::vector<double> values = normalNumbers(count, seed);
  if (argument.deviation || argument.mean)
    for (double &value : values)
      value = argument.mean.value_or(0) + value * argument.deviation.value_or(1);
  return values;
}

static llvm::Error readInput(const KernelPlan &plan, const TensorArgument &argument, const std::string &path, Array &to,
                             std::map<std::string, int64_t> &sizes, std::map<std::string, std::string> &origins) {
  std::string where = fmt::format("input '{}': {}: ", argument.name, path);
  auto file = readNpy(path);
  if (!file)
    return fault(where + llvm::toString(file.takeError()));
  std::vector<std::string> types = accepted(argument.type);
  if (!llvm::is_contained(types, file->type))
    return fault(where + fmt::format("expected elements of type {} for {}, found {}", fmt::join(types, " or "),
                                     nameOf(argument.type), file->type));
  if (argument.type == ElementType::I32)
    for (double value : file->array.values)
      if (value < INT32_MIN || value > INT32_MAX)
        return fault(where + fmt::format("{:.0f} does not fit i32", value));
  if (argument.type == ElementType::F8E4M3 && file->type == "|u1")
    for (double &value : file->array.values) {
      auto bits = static_cast<uint8_t>(value);
      value = unpack(argument.type, &bits, 0);
    }
  const std::vector<int64_t> &found = file->array.shape;
  bool fits = found.size() == argument.shape.size();
  for (size_t k = 0; fits && k < found.size(); ++k)
    fits = !argument.shape[k].name.empty() || found[k] == argument.shape[k].fixed;
  if (!fits)
    return fault(where + fmt::format("expected shape {}, found {}", textOf(argument.shape), textOf(found)));
  for (size_t k = 0; k < found.size(); ++k) {
    const std::string &name = argument.shape[k].name;
    // An expression of lengths is checked later, when all lengths are known.
    if (name.empty() || sizesIn(name) != std::vector<std::string>{name})
      continue;
    auto bound = plan.boundOf(name);
    if (found[k] < 1 || (bound && found[k] > *bound))
      return fault(where + fmt::format("expected {} = {}{}, found {} (shape {})", name, bound ? "1 to " : "at least 1",
                                       bound ? std::to_string(*bound) : "", found[k], textOf(found)));
    auto [entry, isNew] = sizes.emplace(name, found[k]);
    if (isNew)
      origins[name] = fmt::format("input '{}'", argument.name);
    else if (entry->second != found[k])
      return fault(where + fmt::format("expected {} = {} as {} has it, found {} (shape {})", name, entry->second,
                                       origins[name], found[k], textOf(found)));
  }
  to = std::move(file->array);
  return llvm::Error::success();
}

/// Checks that the array of a file has the size that the lengths give; `unsaid` holds the lengths without a given
/// value.
static llvm::Error checkShape(const TensorArgument &argument, const std::string &path, const std::vector<int64_t> &found,
                              const std::vector<int64_t> &expected, const std::set<std::string> &unsaid) {
  if (found == expected)
    return llvm::Error::success();
  std::string missing;
  for (const Extent &extent : argument.shape)
    for (const std::string &size : sizesIn(extent.name))
      if (unsaid.count(size))
        missing = size;
  std::string what = fmt::format("input '{}': {}: expected shape {}, which is {}, found {}", argument.name, path,
                                 textOf(argument.shape), textOf(expected), textOf(found));
  return fault(missing.empty() ? what
                               : what + fmt::format("; no shape says {0}, which is taken at its bound: give it with "
                                                    "--size {0}=…",
                                                    missing));
}

static llvm::Expected<std::vector<int64_t>> fillShape(const TensorArgument &argument,
                                                      const std::map<std::string, int64_t> &sizes) {
  std::vector<int64_t> shape;
  for (const Extent &extent : argument.shape) {
    auto size = extent.name.empty() ? std::optional(extent.fixed) : valueOf(extent.name, sizes);
    if (!size)
      return fault(fmt::format("argument '{}' has the size '{}', which the kernel does not declare", argument.name,
                               extent.name));
    shape.push_back(*size);
  }
  // Values are held once in float64 and once packed, and the result twice: fail here before the system does.
  std::optional<int64_t> count = elementsOf(shape);
  double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
  if (!count || static_cast<double>(*count) * 16 > memory)
    return fault(
        fmt::format("argument '{}' of shape {} does not fit in this machine's memory", argument.name, textOf(shape)));
  return shape;
}

/// Returns the range of an index operand's elements for these sizes; an error if there is none.
static llvm::Expected<std::optional<IndexRange>> rangeOf(const TensorArgument &argument,
                                                         const std::map<std::string, int64_t> &sizes) {
  if (!argument.range)
    return std::nullopt;
  IndexRange range = rangeAt(*argument.range, sizes);
  if (range.low > range.high)
    return fault(fmt::format("argument '{}' has the range {}, which is {}..{} at these sizes: empty", argument.name,
                             textOf(*argument.range), range.low, range.high));
  return range;
}

/// Checks that the kernel has every origin, and that each is in its range.
static llvm::Error checkOrigins(const KernelPlan &plan, const std::map<std::string, int64_t> &given) {
  for (const auto &[name, value] : given) {
    std::string known;
    const TensorArgument *found = nullptr;
    for (const TensorArgument &argument : plan.inputs)
      if (argument.origin) {
        known += (known.empty() ? "" : ", ") + std::string(kOrigins[*argument.origin]);
        found = name == kOrigins[*argument.origin] ? &argument : found;
      }
    if (!found)
      return fault(fmt::format("kernel '{}' has no origin '{}'; it has {}", plan.name, name,
                               known.empty() ? "none: no 'part' is from one" : known));
    if (value < found->range->low || value > found->range->high)
      return fault(
          fmt::format("origin '{}': expected {} to {}, found {}", name, found->range->low, found->range->high, value));
  }
  return llvm::Error::success();
}

llvm::Expected<Operands> prepareOperands(const KernelPlan &plan, const std::map<std::string, std::string> &files,
                                         const std::map<std::string, int64_t> &sizes, uint64_t seed,
                                         const std::map<std::string, int64_t> &given) {
  Operands operands;
  operands.inputs.resize(plan.inputs.size());
  std::map<std::string, std::string> origins;
  for (const auto &[name, value] : sizes) {
    if (std::find(plan.sizes.begin(), plan.sizes.end(), name) == plan.sizes.end()) {
      std::string known;
      for (const std::string &size : plan.sizes)
        known += (known.empty() ? "" : ", ") + size;
      return fault(fmt::format("kernel '{}' has no run-time size '{}'; it has {}", plan.name, name,
                               known.empty() ? "none" : known));
    }
    if (auto bound = plan.boundOf(name); value < 1 || (bound && value > *bound))
      return fault(bound ? fmt::format("size '{}': expected 1 to {}, found {}", name, *bound, value)
                         : fmt::format("size '{}': expected at least 1, found {}", name, value));
    operands.sizeByName[name] = value;
    origins[name] = "--size";
  }
  if (llvm::Error error = checkOrigins(plan, given))
    return error;
  for (const auto &[name, path] : files) {
    bool known = false;
    std::string names;
    for (const TensorArgument &argument : plan.inputs) {
      if (!argument.isTensor())
        continue;
      known |= argument.name == name;
      names += (names.empty() ? "" : ", ") + argument.name;
    }
    if (!known)
      return fault(fmt::format("kernel '{}' has no argument '{}'; it has {}", plan.name, name, names));
  }
  for (size_t k = 0; k < plan.inputs.size(); ++k) {
    auto file = files.find(plan.inputs[k].name);
    if (file == files.end())
      continue;
    if (llvm::Error error = readInput(plan, plan.inputs[k], file->second, operands.inputs[k], operands.sizeByName, origins))
      return error;
  }
  std::set<std::string> unsaid;
  for (const std::string &name : plan.sizes)
    if (!operands.sizeByName.count(name) && plan.boundOf(name))
      unsaid.insert(name);
  for (const std::string &name : plan.sizes) // a length that is not given gets its bound
    operands.sizes.push_back(operands.sizeByName.emplace(name, plan.boundOf(name).value_or(1)).first->second);

  for (size_t k = 0; k < plan.inputs.size(); ++k) {
    auto shape = fillShape(plan.inputs[k], operands.sizeByName);
    if (!shape)
      return shape.takeError();
    if (plan.inputs[k].isLength) {
      operands.inputs[k] = {{1}, {static_cast<double>(operands.sizeByName.at(plan.inputs[k].name))}};
      continue;
    }
    if (plan.inputs[k].origin) {
      auto origin = given.find(kOrigins[*plan.inputs[k].origin]);
      operands.inputs[k] = {{1}, {origin == given.end() ? 0.0 : static_cast<double>(origin->second)}};
      continue;
    }
    if (auto file = files.find(plan.inputs[k].name); file != files.end()) {
      if (llvm::Error error = checkShape(plan.inputs[k], file->second, operands.inputs[k].shape, *shape, unsaid))
        return error;
    } else {
      TensorArgument input = plan.inputs[k];
      auto range = rangeOf(input, operands.sizeByName);
      if (!range)
        return range.takeError();
      input.range = *range;
      int64_t count = *elementsOf(*shape);
      uint64_t own = seed * 1000003 + k;
      operands.inputs[k].values = seededValues(input, count, own, usualRange(plan));
      operands.inputs[k].shape = *shape;
      operands.seeded.push_back(input.name);
    }
    for (double &value : operands.inputs[k].values)
      value = roundTo(plan.inputs[k].type, value);
  }
  for (const TensorArgument &output : plan.outputs) {
    auto shape = fillShape(output, operands.sizeByName);
    if (!shape)
      return shape.takeError();
    operands.outputShapes.push_back(std::move(*shape));
  }
  return operands;
}

} // namespace skewer::driver
