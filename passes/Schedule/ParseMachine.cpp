// Reads the machine files of processors.
#include "passes/Schedule/CodeNames.h"
#include "passes/Schedule/MachineReader.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fmt/format.h>

using namespace skewer;
namespace json = llvm::json;

// The most bytes of a machine file. The files that come with Skewer have 3 KB.
static constexpr uint64_t kMostBytes = 1 << 20;

static bool readTexts(MachineReader &reader, const json::Object &object, Machine &machine) {
  std::string &name = machine.target.name;
  if (!reader.readText(object, "name", name, true) || !reader.readText(object, "about", machine.about, false) ||
      !reader.readText(object, "origin", machine.origin, false) ||
      !reader.readText(object, "cpu", machine.target.cpu, true) ||
      !reader.readText(object, "features", machine.target.features, true))
    return false;
  // The name becomes part of symbols, file names and attributes.
  if (name.empty() || name.size() > 64 ||
      !llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '-' || c == '_' || c == '.'; }))
    return reader.failAt("name", "name: expected up to 64 letters, digits, '-', '_' and '.', found '" + name + "'");
  return reader.readTexts("cpus", "LLVM's names of processors", machine.cpus);
}

static bool readNumbers(MachineReader &reader, const json::Object &object, Machine &machine) {
  Target &target = machine.target;
  if (!reader.readNumbers(object, machineFields(), target, /*above=*/"", &machine.sources))
    return false;
  return target.l1Bytes <= target.l2Bytes ||
         reader.failAt("l2_size.value", fmt::format("l2_size: expected at least the {} bytes of l1_size, found {}",
                                                    target.l1Bytes, target.l2Bytes));
}

/// Fails for names that LLVM does not know. LLVM would warn, ignore them, and generate code for a generic processor.
static bool checkCode(MachineReader &reader, const Target &target) {
  const CodeNames names;
  if (!names.isCpu(target.cpu))
    return reader.failAt("cpu", "cpu: LLVM knows no processor '" + target.cpu + "' for " + names.architecture() +
                                    "; `llc -mcpu=help` lists those that it knows");
  llvm::SmallVector<llvm::StringRef> features;
  llvm::StringRef(target.features).split(features, ',', -1, false);
  for (llvm::StringRef feature : features) {
    if (!feature.starts_with("+") && !feature.starts_with("-"))
      return reader.failAt("features",
                           "features: expected a list like \"+avx2,-avx512f\", found '" + feature + "' in it");
    if (!names.isFeature(feature.drop_front()))
      return reader.failAt("features", "features: LLVM knows no feature '" + feature.drop_front() + "' of " +
                                           names.architecture() + "; `llc -mattr=help` lists those that it knows");
  }
  return true;
}

char MachineError::ID;

std::string MachineError::place() const {
  return line ? file + ":" + std::to_string(line) + ":" + std::to_string(column) : file;
}

void MachineError::log(llvm::raw_ostream &os) const { os << place() << ": error: " << message; }

llvm::Expected<Machine> skewer::parseMachine(llvm::StringRef text, llvm::StringRef file, bool forCode) {
  MachineReader reader(text, file);
  Machine machine;
  const json::Object *object = reader.open({"name", "about", "origin", "cpu", "features", "cpus"}, machineFields());
  if (!object || !readTexts(reader, *object, machine) || !readNumbers(reader, *object, machine) ||
      (forCode && !checkCode(reader, machine.target)))
    return reader.takeError();
  return machine;
}

llvm::Expected<Machine> skewer::readMachineFile(llvm::StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!buffer)
    return llvm::make_error<MachineError>(path, "cannot read the machine file: " + buffer.getError().message());
  if ((*buffer)->getBufferSize() > kMostBytes)
    return llvm::make_error<MachineError>(path, "is no machine file: it has more than 1 MiB");
  auto machine = parseMachine((*buffer)->getBuffer(), path);
  if (machine)
    machine->target.file = path.str();
  return machine;
}
