// Parses the texts of options.
#include "tools/skewer/OptionTexts.h"
#include "codegen/GPU/GpuTarget.h"
#include "passes/Schedule/Machine.h"
#include "tools/skewer/Messages.h"
#include "tools/skewer/Options.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <fmt/format.h>

bool skewer::driver::usage(const std::string &text) {
  sayError(text);
  return false;
}

bool skewer::driver::split(const char *option, llvm::StringRef text, std::string &name, llvm::StringRef &value) {
  size_t equals = text.find('=');
  if (equals == llvm::StringRef::npos || equals == 0 || equals + 1 == text.size())
    return usage(fmt::format("{} expects NAME=VALUE, found '{}'", option, text.str()));
  name = text.take_front(equals).str();
  value = text.drop_front(equals + 1);
  return true;
}

/// Returns whether the text is digits, perhaps after a minus sign: a form that getAsInteger reads, without other
/// radixes.
static bool isWholeNumber(llvm::StringRef text) {
  text.consume_front("-");
  return !text.empty() && llvm::all_of(text, llvm::isDigit);
}

/// Reads a whole number of 64 bits. Returns false after an error.
static bool readWhole(const std::string &option, llvm::StringRef text, int64_t &number, int &exitCode) {
  if (!text.getAsInteger(10, number))
    return true;
  exitCode = skewer::driver::kWrong; // the right form, but too large
  return skewer::driver::usage(fmt::format("{}: {} does not fit in 64 bits", option, text.str()));
}

bool skewer::driver::readNumbers(const char *option, llvm::ArrayRef<std::string> list,
                                 std::map<std::string, int64_t> &to, int &exitCode) {
  for (const std::string &text : list) {
    std::string name;
    llvm::StringRef value;
    if (!split(option, text, name, value))
      return false;
    if (!isWholeNumber(value))
      return usage(fmt::format("{} {}: expected a whole number, found '{}'", option, name, value.str()));
    int64_t number;
    if (!readWhole(fmt::format("{} {}", option, name), value, number, exitCode))
      return false;
    if (!to.emplace(name, number).second)
      return usage(fmt::format("{} {} is given twice", option, name));
  }
  return true;
}

/// Reads a real number as in the language: 0.5, .5, 1e-6, -2.5. Rejects forms such as 0x1p3, inf or nan.
static bool readReal(llvm::StringRef text, double &number) {
  return text.find_first_not_of("0123456789.eE+-") == llvm::StringRef::npos && !text.ends_with_insensitive("e") &&
         !text.getAsDouble(number) && std::isfinite(number);
}

bool skewer::driver::readParameters(llvm::ArrayRef<std::string> list, language::Parameters &to, int &exitCode) {
  for (const std::string &text : list) {
    std::string name;
    llvm::StringRef value;
    if (!split("-D", text, name, value))
      return false;
    int64_t whole = 0;
    double real = 0;
    bool isWhole = isWholeNumber(value);
    if (isWhole && !readWhole("-D " + name, value, whole, exitCode))
      return false;
    if (value.starts_with("+")) // getAsDouble accepts it, getAsInteger does not
      return usage(fmt::format("-D {}: expected a number such as 64, 0.5 or 1e-6, found '{}': leave the '+' out", name,
                               value.str()));
    if (!isWhole && !readReal(value, real))
      return usage(fmt::format("-D {}: expected a number such as 64, 0.5 or 1e-6, found '{}'", name, value.str()));
    if (!to.emplace(name, isWhole ? language::Parameter(whole) : language::Parameter(real)).second)
      return usage(fmt::format("-D {} is given twice", name));
  }
  return true;
}

namespace skewer::driver {

/// The most values of a sweep; each of them compiles and times every kernel.
constexpr size_t kMostValues = 1000;

/// Prints an error about the text of a sweep and returns false.
static bool wrongSweep(const std::string &name, const std::string &what) {
  return usage(fmt::format("--sweep {}: {}", name, what));
}

/// Reads one number of a sweep.
static bool readSweepNumber(const std::string &name, llvm::StringRef text, int64_t &number, int &exitCode) {
  if (!isWholeNumber(text))
    return wrongSweep(name, fmt::format("expected FROM:TO, FROM:TO:STEP or A,B,C in whole numbers, as in {}=128:1024, "
                                        "found '{}'",
                                        name, text.str()));
  if (!readWhole("--sweep " + name, text, number, exitCode))
    return false;
  return number >= 1 || wrongSweep(name, fmt::format("expected numbers of at least 1, found {}", number));
}

/// Appends FROM, 2 FROM, 4 FROM, … up to TO, or FROM, FROM + STEP, … with a step.
static bool expandRange(Sweep &sweep, int64_t from, int64_t to, std::optional<int64_t> step) {
  if (from > to)
    return wrongSweep(sweep.name, fmt::format("expected FROM:TO with FROM at most TO, found {}:{}", from, to));
  for (int64_t value = from;;) {
    if (sweep.values.size() == kMostValues)
      return wrongSweep(sweep.name, fmt::format("expected at most {} values; take a larger step, or leave the step "
                                                "out to double the value each time",
                                                kMostValues));
    sweep.values.push_back(value);
    int64_t more = step.value_or(value); // doubling adds the value itself
    if (more > to - value)
      return true;
    value += more;
  }
}

bool readSweep(llvm::StringRef text, std::optional<Sweep> &to, int &exitCode) {
  Sweep sweep;
  llvm::StringRef value;
  if (!split("--sweep", text, sweep.name, value))
    return false;
  bool isRange = value.contains(':');
  llvm::SmallVector<llvm::StringRef> parts;
  value.split(parts, isRange ? ':' : ',');
  std::vector<int64_t> numbers(parts.size());
  for (size_t k = 0; k < parts.size(); ++k)
    if (!readSweepNumber(sweep.name, parts[k], numbers[k], exitCode))
      return false;
  if (isRange && parts.size() > 3)
    return wrongSweep(sweep.name, fmt::format("expected FROM:TO or FROM:TO:STEP, found '{}'", value.str()));
  if (isRange) {
    if (!expandRange(sweep, numbers[0], numbers[1], numbers.size() == 3 ? std::optional(numbers[2]) : std::nullopt))
      return false;
  } else {
    for (int64_t number : numbers)
      if (llvm::is_contained(sweep.values, number))
        return wrongSweep(sweep.name, fmt::format("{} is given twice", number));
      else
        sweep.values.push_back(number);
    if (sweep.values.size() > kMostValues)
      return wrongSweep(sweep.name, fmt::format("expected at most {} values, found {}", kMostValues, numbers.size()));
  }
  to = std::move(sweep);
  return true;
}

bool readMachineFiles(const std::string &targets, int &exitCode) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(targets).split(names, ',');
  for (llvm::StringRef name : names)
    if (TargetName(name).isFile())
      if (llvm::Error error = readTarget(name).takeError()) {
        sayError(std::move(error));
        exitCode = kWrong;
        return false;
      }
  return true;
}

bool readKinds(llvm::ArrayRef<std::string> kinds, std::set<Emit> &emit) {
  for (const std::string &kind : kinds) {
    const auto *known = llvm::find(emitNames(), kind);
    if (known == emitNames().end())
      return usage(fmt::format("--emit: unknown kind '{}'; known: {}", kind, llvm::join(emitNames(), ", ")));
    emit.insert(static_cast<Emit>(known - emitNames().begin()));
  }
  return true;
}

bool Options::isForGpu() const { return target == "gpu" || gpu::isGpuName(target); }

} // namespace skewer::driver
