// The list.
#include "passes/Gpu/Strategies/Strategies.h"

using namespace skewer::gpu;

Strategies skewer::gpu::strategiesOf(const KernelContext &in) {
  Strategies all;
  for (auto add : {addContent, addValueRows, addValueBands, addLines, addLookups, addBands, addKeyBands, addPerScore,
                   addValueElements})
    add(in, all);
  return all;
}
