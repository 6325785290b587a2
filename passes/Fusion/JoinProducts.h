// Several products of the same weights.
#pragma once
#include "passes/Fusion/WeightSource.h"

namespace skewer {

/// Where all that is made of the weights, but for what is stored, are products with values of one form, puts one product
/// in their place, of the values side by side, and parts of its result: softmax(s)·v and softmax(s)·u are columns of
/// softmax(s)·[v u], which one attention makes. The products that were are left without users. False, and nothing is
/// changed, where there are fewer than two, where they differ in more than what the values have of their own and the
/// order of dimensions, which is brought about in front and behind, or where the values of one are made from another.
bool joinProducts(const WeightSource &);

} // namespace skewer
