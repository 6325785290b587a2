// Machine files: a processor's description as text, each number with its unit and with where it comes from.
#pragma once
#include "passes/Schedule/Target.h"
#include <vector>

namespace skewer {

/// A number of a description. One of the two members is set.
struct MachineField {
  llvm::StringLiteral name, unit;
  double least, most;
  int64_t Target::*count; // a whole number
  double Target::*rate;
  bool isPowerOfTwo = false;
  double of(const Target &target) const { return count ? static_cast<double>(target.*count) : target.*rate; }
  void set(Target &target, double value) const;
  /// "a whole number from 8 to 64".
  std::string range() const;
};
/// In the order in which a file has them.
llvm::ArrayRef<MachineField> machineFields();

struct Machine {
  Target target;
  std::string about, origin;        // what it is, and in short where its numbers come from
  std::vector<std::string> cpus;    // LLVM's names of the processors that it stands for
  std::vector<std::string> sources; // of each field
  /// Sets a field by its name, with where the value comes from.
  void set(llvm::StringRef field, double value, std::string source);
};

/// The text of a machine file that comes with Skewer.
struct MachineText {
  const char *name, *text;
};
llvm::ArrayRef<MachineText> machineTexts();
/// The machines that come with Skewer, the x86-64 levels first.
llvm::ArrayRef<Machine> knownMachines();
/// The machine this runs on.
Machine hostMachine();

/// What is wrong with a machine file; as text "FILE:LINE:COLUMN: error: …".
struct MachineError : llvm::ErrorInfo<MachineError> {
  MachineError(llvm::StringRef file, const llvm::Twine &message, unsigned line = 0, unsigned column = 0)
      : file(file.str()), message(message.str()), line(line), column(column) {}
  void log(llvm::raw_ostream &) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::string place() const; // "my.json:9:26", or the file alone where it is wrong as a whole

  std::string file, message;
  unsigned line, column; // from 1; 0 where the file is wrong as a whole
  static char ID;
};

/// Errors are `MachineError`s. With `forCode`, names of processors and features have to be known to LLVM's
/// code generator.
llvm::Expected<Machine> parseMachine(llvm::StringRef text, llvm::StringRef file, bool forCode = true);
llvm::Expected<Machine> readMachineFile(llvm::StringRef path);
/// What `readTarget` found wrong, as part of a message that has its own "error:".
std::string messageOf(llvm::Error);
std::string textOf(const Machine &);

/// Bytes of the caches that a core sees, as the operating system says; 0 where it does not.
struct HostCaches {
  int64_t l1 = 0, l2 = 0, l3 = 0;
};
/// From a folder like /sys/devices/system/cpu/cpu0/cache. Always that of the first core: processors whose cores differ
/// would else be described by the core on which the compiler happens to run.
HostCaches readCaches(llvm::StringRef folder);
HostCaches hostCaches();

} // namespace skewer
