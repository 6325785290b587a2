// From a failing spec to a small one that fails in the same way.
#pragma once
#include "tests/fuzz/Differential.h"
#include <functional>

namespace skewer::fuzz {

/// Specs that are one step simpler: a term less, no mask, half the sizes, …; simplest first.
std::vector<Spec> simplerThan(const Spec &);

/// Goes from spec to simpler spec as long as `fails` holds, at most `attempts` times in all.
Spec shrink(Spec, const std::function<bool(const Spec &)> &fails, int attempts = 300);

} // namespace skewer::fuzz
