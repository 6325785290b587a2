// How the dimensions of two tensors come together in arithmetic: by the names of their axes, or by place. Pure
// functions: nothing here creates an operation or says an error.
#pragma once
#include "dialect/Language/Values.h"

namespace skewer::language {

/// What arithmetic needs to know of a tensor.
struct Shape {
  Dimensions dimensions;
  Order order;
};

/// Why two shapes do not join, and what may be written instead.
struct Complaint {
  std::string message;
  std::vector<std::string> notes = {};
};

struct Joined {
  Shape shape;
  bool byName = true; // else from the last dimension, as NumPy does
  std::optional<Complaint> complaint = std::nullopt;
  bool isAsBoth = false; // each of the two has these dimensions already, place by place
};

/// The shape of what arithmetic makes of both. Swapping the two changes nothing but the order in which dimensions stand
/// that have none (Order); joining several, whichever two come first, gives one result or an error.
Joined join(const Shape &, const Shape &);

/// Two dimensions that stand beside each other, and that nothing orders; nothing where all are in order.
std::optional<size_t> firstOpen(const Shape &);

/// The axes that `named` has and `tensor` lacks, where `tensor` has as many dimensions of size 1 without a name at its
/// end: g[..., None] * (i - j). Empty where that is not so.
std::vector<Axis> axesForOnes(const Shape &named, const Shape &tensor);
/// Why dimensions of size 1 cannot stand for the axes, though there are as many: nothing says which is which.
std::optional<Complaint> complaintOfOnes(const Shape &named, const Shape &tensor);

/// Adds the other namings to dimensions that stand at the same places. A naming with a name that is something else in
/// the tensor already is a clash.
void mergeNamings(Dimensions &, const Dimensions &other);

/// The places of the dimensions that the names say, one for each, where they are all of them; nothing where they are
/// not.
std::optional<std::vector<size_t>> placesOf(const Dimensions &, const std::vector<std::string> &names);

} // namespace skewer::language
