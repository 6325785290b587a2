// .attn text.
#include "tests/fuzz/libfuzzer/Fuzzing.h"

SKEWER_FUZZ_TARGET(language) { skewer::fuzzing::judgeSpec(input, "layer.attn"); }
