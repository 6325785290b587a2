// Machine files, as `--target=my.json` reads them.
#include "passes/Schedule/Machine.h"
#include "tests/fuzz/libfuzzer/Fuzzing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace skewer;
using skewer::fuzzing::finding;

/// "my.json:3:14: error: …".
static bool isAtAPlace(llvm::StringRef message) {
  unsigned line = 0, column = 0;
  return message.consume_front("my.json:") && !message.consumeInteger(10, line) && message.consume_front(":") &&
         !message.consumeInteger(10, column) && line > 0 && column > 0 && message.starts_with(": error: ");
}

SKEWER_FUZZ_TARGET(machine) {
  auto machine = parseMachine(input, "my.json");
  if (!machine) {
    std::string message = llvm::toString(machine.takeError());
    if (!isAtAPlace(message))
      finding("an error without a place", message);
    return;
  }
  for (const MachineField &field : machineFields())
    if (double value = field.of(machine->target); !(value >= field.least && value <= field.most))
      finding("a number out of its range", field.name.str());
  std::string text = textOf(*machine);
  auto again = parseMachine(text, "my.json");
  if (!again)
    finding("what is written cannot be read", llvm::toString(again.takeError()));
  if (textOf(*again) != text)
    finding("what is written is read as something else", text);
}
