// Joins several products of the same weights into one, for attn-form-attention.
#pragma once
#include "passes/Fusion/WeightSource.h"

namespace skewer {

/// Replaces products of the weights by one product whose values are the values of all, side by side, and takes each
/// former result as a slice: softmax(s)·v and softmax(s)·u are columns of softmax(s)·[v u], which one attention
/// computes. The former products stay, without users. Except for stored uses, all uses of the weights must be products
/// of one form. Returns false, and changes nothing, if there are fewer than two products; if they differ in more than
/// the values' own axes and the order of dimensions (rearranges before and after the product fix the order); or if the
/// values of one product are computed from another product.
bool joinProducts(const WeightSource &);

} // namespace skewer
