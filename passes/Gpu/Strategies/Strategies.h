// The strategies that there are: each adds itself for the terms that it computes.
#pragma once
#include "passes/Gpu/Strategy.h"

namespace skewer::gpu {

/// In the order in which the kernel calls them.
Strategies strategiesOf(const KernelContext &);

void addContent(const KernelContext &, Strategies &);       // products of queries and keys
void addValueRows(const KernelContext &, Strategies &);     // weights times the values, and other rows of keys
void addValueBands(const KernelContext &, Strategies &);    // weights times rows by key - query
void addLines(const KernelContext &, Strategies &);         // numbers by key - query
void addLookups(const KernelContext &, Strategies &);       // logits of few rows
void addBands(const KernelContext &, Strategies &);         // logits of rows by key - query
void addKeyBands(const KernelContext &, Strategies &);      // the same where keys meet the rows
void addPerScore(const KernelContext &, Strategies &);      // anything else of the score
void addValueElements(const KernelContext &, Strategies &); // anything else of the values

} // namespace skewer::gpu
