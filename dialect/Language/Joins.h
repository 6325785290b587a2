// Joins the dimensions of two tensors in arithmetic, by the names of their axes or by place. All functions are pure:
// nothing here creates an operation or reports an error.
#pragma once
#include "dialect/Language/Values.h"

namespace skewer::language {

/// The properties of a tensor that arithmetic needs.
struct Shape {
  Dimensions dimensions;
  Order order;
};

/// The reason why two shapes do not join, with notes on what to write instead.
struct Complaint {
  std::string message;
  std::vector<std::string> notes = {};
};

struct Joined {
  Shape shape;
  bool byName = true; // otherwise from the last dimension, as NumPy does
  std::optional<Complaint> complaint = std::nullopt;
  bool isAsBoth = false; // both shapes already have these dimensions, place by place
};

/// Returns the shape of the result of arithmetic on both. Swapping the two changes only the order of dimensions that
/// have no order (Order). Joining several shapes, in any sequence, gives one result or an error.
Joined join(const Shape &, const Shape &);

/// Returns the complaint about an axis of one operand that the other, of these dimensions, lacks.
Complaint complaintOfMissing(const std::string &axis, const Dimensions &other);

/// Returns the first of two neighbouring dimensions that nothing orders; nothing if all are in order.
std::optional<size_t> firstOpen(const Shape &);

/// Returns the axes that `named` has and `tensor` lacks, if `tensor` has as many dimensions of size 1 without a name at
/// its end: g[..., None] * (i - j). Empty otherwise.
std::vector<Axis> axesForOnes(const Shape &named, const Shape &tensor);
/// Returns the reason why dimensions of size 1 cannot stand for the axes although their number fits: nothing says which
/// dimension is which axis.
std::optional<Complaint> complaintOfOnes(const Shape &named, const Shape &tensor);

/// Adds the other namings to the dimensions at the same places. If a name of a naming already means something else in
/// the tensor, the naming becomes a clash.
void mergeNamings(Dimensions &, const Dimensions &other);

/// Returns the places of the dimensions that have these names, one for each name, if the names cover all dimensions;
/// nothing otherwise.
std::optional<std::vector<size_t>> placesOf(const Dimensions &, const std::vector<std::string> &names);

} // namespace skewer::language
