// Machine files: the description of a processor as text, with the unit and the source of each number.
#pragma once
#include "passes/Schedule/Target.h"
#include <limits>
#include <vector>

namespace skewer {

/// The rule for a number of a machine file: it lies between `least` and `most`, or it is any positive number.
struct NumberForm {
  llvm::StringLiteral name, unit;
  double least = 0, most = std::numeric_limits<double>::infinity();
  bool isWhole = false, isPowerOfTwo = false;

  bool holds(double number) const;
  /// Describes the valid values: "a whole number from 8 to 64", "a positive number".
  std::string range() const;
};

/// A number of a machine file, which is a member of `Described`. One of the two member pointers is set.
template <typename Described> struct NumberField : NumberForm {
  NumberField(NumberForm form, int64_t Described::*count) : NumberForm(form), count(count) { isWhole = true; }
  NumberField(NumberForm form, double Described::*rate, bool isOptional = false)
      : NumberForm(form), rate(rate), isOptional(isOptional) {}

  int64_t Described::*count = nullptr;
  double Described::*rate = nullptr;
  bool isOptional = false; // 0 in a file without the field
  double of(const Described &described) const {
    return count ? static_cast<double>(described.*count) : described.*rate;
  }
  void set(Described &described, double value) const {
    if (count)
      described.*count = static_cast<int64_t>(value);
    else
      described.*rate = value;
  }
};
using MachineField = NumberField<Target>;
/// Returns the fields in the order of the file.
llvm::ArrayRef<MachineField> machineFields();

struct Machine {
  Target target;
  std::string about, origin;        // what the machine is, and a short source of its numbers
  std::vector<std::string> cpus;    // LLVM's names of the processors that it describes
  std::vector<std::string> sources; // the source of each field
  /// Sets a field by its name, with the source of the value.
  void set(llvm::StringRef field, double value, std::string source);
};

/// The text of a machine file that comes with Skewer.
struct MachineText {
  const char *name, *text;
};
llvm::ArrayRef<MachineText> machineTexts();
/// Returns the machines that come with Skewer, the x86-64 levels first.
llvm::ArrayRef<Machine> knownMachines();
/// Returns the machine on which this runs.
Machine hostMachine();

/// The parts of a target's name: the name of a machine or the path of a machine file, with ":no-amx" behind it if tiles
/// are not to be used, as in "emeraldrapids:no-amx".
struct TargetName {
  explicit TargetName(llvm::StringRef name);
  bool isFile() const { return isMachineFile(machine); }

  llvm::StringRef machine;
  bool usesTiles;
};
/// Returns the target without its tiles. Passes find it by its spelling; its name stays.
Target withoutTiles(Target);

/// An error in a machine file; its text is "FILE:LINE:COLUMN: error: …".
struct MachineError : llvm::ErrorInfo<MachineError> {
  MachineError(llvm::StringRef file, const llvm::Twine &message, unsigned line = 0, unsigned column = 0)
      : file(file.str()), message(message.str()), line(line), column(column) {}
  void log(llvm::raw_ostream &) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::string place() const; // "my.json:9:26", or only the file if the error is not at a place

  std::string file, message;
  unsigned line, column; // from 1; 0 if the error is not at a place
  static char ID;
};

/// Parses a machine file. Errors are `MachineError`s. With `forCode`, LLVM's code generator must know the names of
/// processors and features.
llvm::Expected<Machine> parseMachine(llvm::StringRef text, llvm::StringRef file, bool forCode = true);
llvm::Expected<Machine> readMachineFile(llvm::StringRef path);
/// Returns the text of an error of `readTarget`, for use in a message that has its own "error:".
std::string messageOf(llvm::Error);
std::string textOf(const Machine &);

/// The bytes of the caches that a core sees, as the operating system reports them; 0 if it does not.
struct HostCaches {
  int64_t l1 = 0, l2 = 0, l3 = 0;
};
/// Reads the caches from a folder such as /sys/devices/system/cpu/cpu0/cache. `hostCaches` always reads the first core:
/// otherwise the description of a processor with different cores would depend on the core that runs the compiler.
HostCaches readCaches(llvm::StringRef folder);
HostCaches hostCaches();

} // namespace skewer
