// Softmaxes of which only slices are read: each slice becomes a softmax of its own.
#pragma once
#include "dialect/IR/Attn.h"

namespace skewer {

/// Rewrites slice(softmax(x)) as softmax(slice(x)), where several slices of whole rows are read and hold no more than
/// all rows together: pairs of maps that are stacked in one tensor. Returns false, and changes nothing, if something
/// else reads the weights.
bool sliceSoftmax(attn::SoftmaxOp);

} // namespace skewer
