// The list: each strategy adds itself for the terms that it computes.
#include "passes/Gpu/Strategies/Strategies.h"

namespace skewer::gpu {

void addContent(const KernelContext &, Strategies &);       // products of queries and keys
void addValueRows(const KernelContext &, Strategies &);     // weights times the values, and other rows of keys
void addValueBands(const KernelContext &, Strategies &);    // weights times rows by key - query
void addLines(const KernelContext &, Strategies &);         // numbers by key - query
void addLookups(const KernelContext &, Strategies &);       // logits of few rows
void addBands(const KernelContext &, Strategies &);         // logits of rows by key - query
void addKeyBands(const KernelContext &, Strategies &);      // the same where keys meet the rows
void addPerScore(const KernelContext &, Strategies &);      // anything else of the score
void addValueElements(const KernelContext &, Strategies &); // anything else of the values

Strategies strategiesOf(const KernelContext &in) {
  Strategies all;
  for (auto add : {addContent, addValueRows, addValueBands, addLines, addLookups, addBands, addKeyBands, addPerScore,
                   addValueElements})
    add(in, all);
  return all;
}

} // namespace skewer::gpu
