// Modules of the attn dialect: parsers, verifiers, and the passes on what they let through.
#include "tests/fuzz/libfuzzer/Fuzzing.h"

SKEWER_FUZZ_TARGET(mlir_text) { skewer::fuzzing::judgeSpec(input, "layer.mlir"); }
