// Joining of dimensions by name and by place, and the order of the joined dimensions.
#include "dialect/Language/Joins.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <set>

namespace skewer::language {

namespace {
using Chain = std::vector<std::string>;

bool hasNaming(const Dimension &d, const std::string &label) {
  return llvm::any_of(d.namings, [&](const Naming &naming) { return print(naming) == label; });
}

/// Returns a naming that both dimensions have, in its printed form.
std::optional<std::string> sharedNaming(const Dimension &a, const Dimension &b) {
  for (const Naming &naming : a.namings)
    if (hasNaming(b, print(naming)))
      return print(naming);
  return std::nullopt;
}

bool isLone(const Dimension &d) {
  return llvm::any_of(d.namings, [](const Naming &naming) { return naming.size() == 1; });
}
bool isSameSize(const Dimension &a, const Dimension &b) { return a.size == b.size && a.runtime == b.runtime; }
std::string sizeOf(const Dimension &d) { return d.isRuntime() ? d.runtime : std::to_string(d.size); }

/// Returns every axis that a naming of the dimensions has.
std::set<std::string> atomsOf(const Dimensions &dimensions) {
  std::set<std::string> atoms;
  for (const Dimension &d : dimensions)
    for (const Naming &naming : d.namings)
      for (const Axis &axis : naming)
        atoms.insert(axis.name);
  return atoms;
}

/// Returns whether one naming of the dimension has only axes from `atoms`.
bool isCovered(const Dimension &d, const std::set<std::string> &atoms) {
  return llvm::any_of(d.namings, [&](const Naming &naming) {
    return llvm::all_of(naming, [&](const Axis &axis) { return atoms.count(axis.name); });
  });
}
bool covers(const Dimensions &large, const Dimensions &small) {
  std::set<std::string> atoms = atomsOf(large);
  return llvm::all_of(small, [&](const Dimension &d) { return isCovered(d, atoms); });
}

Chain labelsOf(const Dimensions &dimensions) {
  Chain labels;
  for (const Dimension &d : dimensions)
    labels.push_back(print(d.namings[0]));
  return labels;
}

/// Returns the orders that a shape keeps: its own, or those of its parts.
std::vector<Chain> chainsOf(const Shape &shape) {
  if (!shape.order.isWritten)
    return shape.order.chains;
  return shape.dimensions.size() > 1 ? std::vector<Chain>{labelsOf(shape.dimensions)} : std::vector<Chain>();
}

using Pairs = std::set<std::pair<std::string, std::string>>;

/// Returns the transitive closure of the pairs.
Pairs closed(Pairs pairs) {
  std::set<std::string> names;
  for (const auto &[first, last] : pairs)
    names.insert({first, last});
  for (const std::string &middle : names)
    for (const std::string &first : names)
      for (const std::string &last : names)
        if (pairs.count({first, middle}) && pairs.count({middle, last}))
          pairs.insert({first, last});
  return pairs;
}

Pairs pairsOf(const std::vector<Chain> &chains) {
  Pairs pairs;
  for (const Chain &chain : chains)
    for (size_t k = 0; k < chain.size(); ++k)
      for (size_t l = k + 1; l < chain.size(); ++l)
        pairs.insert({chain[k], chain[l]});
  return pairs;
}

/// Returns which names stand before which: by all chains together, and by the hints that nothing contradicts.
Pairs precedence(const std::vector<Chain> &chains, const std::vector<Chain> &hints) {
  Pairs hard = closed(pairsOf(chains)), soft, all = hard;
  for (const auto &[first, last] : pairsOf(hints))
    if (!hard.count({last, first}))
      soft.insert({first, last});
  all.insert(soft.begin(), soft.end());
  all = closed(std::move(all));
  for (const auto &[first, last] : soft)
    if (!all.count({last, first}))
      hard.insert({first, last});
  return closed(std::move(hard));
}

Order unionOf(const Shape &a, const Shape &b) {
  Order order;
  order.isWritten = false;
  order.chains = chainsOf(a);
  order.hints = a.order.hints;
  auto add = [](std::vector<Chain> &all, std::vector<Chain> more) {
    for (Chain &chain : more)
      if (!llvm::is_contained(all, chain))
        all.push_back(std::move(chain));
  };
  add(order.chains, chainsOf(b));
  add(order.hints, b.order.hints);
  return order;
}

Joined refused(std::string message, std::vector<std::string> notes) {
  Joined joined;
  joined.complaint = Complaint{std::move(message), std::move(notes)};
  return joined;
}

Joined contradiction(const Shape &a, const Shape &b) {
  std::string first = describeAxes(a.dimensions), second = describeAxes(b.dimensions);
  return refused("the operands have their axes in two orders, '" + first + "' and '" + second + "'",
                 {"tensors are joined by the names of their axes; bring one into the order of the other: "
                  "rearrange(x, \"" +
                  second + " -> " + first + "\")"});
}

/// Returns the dimensions in an order that all chains keep. Among dimensions that nothing orders, the first comes
/// first. Nothing if the chains contradict each other.
std::optional<Dimensions> inOrderOf(Dimensions dimensions, const Order &order) {
  Pairs before = precedence(order.chains, order.hints);
  auto precedes = [&](const Dimension &a, const Dimension &b) {
    for (const Naming &first : a.namings)
      for (const Naming &second : b.namings)
        if (before.count({print(first), print(second)}))
          return true;
    return false;
  };
  Dimensions sorted;
  while (!dimensions.empty()) {
    auto next = llvm::find_if(dimensions, [&](const Dimension &d) {
      return llvm::none_of(dimensions, [&](const Dimension &other) { return &other != &d && precedes(other, d); });
    });
    if (next == dimensions.end())
      return std::nullopt;
    sorted.push_back(std::move(*next));
    dimensions.erase(next);
  }
  return sorted;
}

/// Returns how far one step along an axis moves through a dimension of that naming: a number, times run-time sizes by
/// name.
std::pair<int64_t, std::multiset<std::string>> strideOf(const Naming &naming, size_t place) {
  std::pair<int64_t, std::multiset<std::string>> stride{1, {}};
  for (const Axis &inner : llvm::ArrayRef<Axis>(naming).drop_front(place + 1)) {
    if (inner.runtime.empty())
      stride.first *= inner.size;
    else
      stride.second.insert(inner.runtime);
  }
  return stride;
}

/// Returns whether two products may name one dimension: a position must have the same place along a shared axis by both
/// of them. "(g r e)" and "(h e)" may, "(a b)" and "(b c)" may not.
bool mayBeOne(const Naming &a, const Naming &b) {
  for (size_t k = 0; k < a.size(); ++k)
    for (size_t l = 0; l < b.size(); ++l)
      if (a[k].name == b[l].name && !(a[k] == b[l] && strideOf(a, k) == strideOf(b, l)))
        return false;
  return true;
}
bool mayBeOne(const Dimension &a, const Dimension &b) {
  return llvm::all_of(a.namings, [&](const Naming &one) {
    return llvm::all_of(b.namings, [&](const Naming &other) { return mayBeOne(one, other); });
  });
}

/// Returns whether the dimensions are the same under two names, as "b h (iy ix)" and "b h i". The dimensions have equal
/// names, except where one operand has a product of axes and the other another name. Such a dimension gets both names.
bool isOneByTwoNames(const Dimensions &a, const Dimensions &b) {
  if (a.size() != b.size())
    return false;
  std::set<std::string> first = atomsOf(a), second = atomsOf(b);
  for (size_t d = 0; d < a.size(); ++d) {
    if (!isSameSize(a[d], b[d]))
      return false;
    if (!sharedNaming(a[d], b[d]) &&
        ((isLone(a[d]) && isLone(b[d])) || isCovered(a[d], second) || isCovered(b[d], first) || !mayBeOne(a[d], b[d])))
      return false;
  }
  return true;
}

Joined joinByName(const Shape &a, const Shape &b) {
  if (isOneByTwoNames(a.dimensions, b.dimensions)) {
    Joined joined{a.order.isWritten ? a : b};
    if (!a.order.isWritten && !b.order.isWritten)
      joined.shape.order = unionOf(a, b);
    mergeNamings(joined.shape.dimensions, a.order.isWritten ? b.dimensions : a.dimensions);
    joined.isAsBoth = true;
    return joined;
  }
  // Find the dimension of `b` that matches each dimension of `a`.
  std::set<size_t> matched;
  Dimensions all = a.dimensions;
  for (Dimension &d : all) {
    for (size_t k = 0; k < b.dimensions.size(); ++k) {
      auto name = matched.count(k) ? std::nullopt : sharedNaming(d, b.dimensions[k]);
      if (!name)
        continue;
      if (!isSameSize(d, b.dimensions[k]))
        return refused("axis '" + *name + "' has size " + sizeOf(d) + " in one operand and " +
                           sizeOf(b.dimensions[k]) + " in the other",
                       {"tensors are joined by the names of their axes, here " + describeAxes(a.dimensions) + " and " +
                        describeAxes(b.dimensions) +
                        "; a dimension that is repeated, or joined by its place, has no name: x[:, 0][:, None]"});
      matched.insert(k);
      d.namings.insert(d.namings.end(), b.dimensions[k].namings.begin(), b.dimensions[k].namings.end());
      break;
    }
  }
  bool hasAll = covers(a.dimensions, b.dimensions), isWithin = covers(b.dimensions, a.dimensions);
  if (hasAll && isWithin) {
    if (matched.size() != all.size() || matched.size() != b.dimensions.size()) {
      // One operand is a function of positions, over iy and ix. The tensor's dimension (iy ix) holds both axes.
      if (a.order.isWritten != b.order.isWritten)
        return {a.order.isWritten ? a : b};
      return contradiction(a, b);
    }
    bool same = describeAxes(a.dimensions) == describeAxes(b.dimensions) ||
                llvm::all_of(llvm::zip(a.dimensions, b.dimensions), [](auto pair) {
                  return sharedNaming(std::get<0>(pair), std::get<1>(pair)).has_value();
                });
    if (a.order.isWritten && b.order.isWritten && !same)
      return contradiction(a, b);
    if (a.order.isWritten || b.order.isWritten) {
      Joined joined{a.order.isWritten ? a : b};
      if (same)
        mergeNamings(joined.shape.dimensions, a.order.isWritten ? b.dimensions : a.dimensions);
      return joined;
    }
  } else if (hasAll && a.order.isWritten) {
    return {a};
  } else if (isWithin && b.order.isWritten) {
    return {b};
  }
  std::set<std::string> ofA = atomsOf(a.dimensions), ofB = atomsOf(b.dimensions);
  if (isWithin && !hasAll)
    all = b.dimensions;
  else if (!hasAll)
    for (size_t k = 0; k < b.dimensions.size(); ++k)
      if (!matched.count(k))
        all.push_back(b.dimensions[k]);
  if (!hasAll && !isWithin)
    for (size_t d = 0; d < all.size(); ++d)
      for (size_t e = d + 1; e < all.size(); ++e)
        for (const Naming &naming : all[d].namings)
          for (const Axis &axis : naming)
            for (const Naming &other : all[e].namings)
              if (llvm::any_of(other, [&](const Axis &own) { return own.name == axis.name; }))
                return refused("axis '" + axis.name + "' is in the dimension " + print(naming) +
                                   " of one operand and in the dimension " + print(other) + " of the other",
                               {"tensors are joined by the names of their axes, here " + describeAxes(a.dimensions) +
                                " and " + describeAxes(b.dimensions) + ": name the same dimensions alike"});
  Joined joined;
  joined.shape.order = unionOf(a, b);
  auto sorted = inOrderOf(std::move(all), joined.shape.order);
  if (!sorted)
    return contradiction(a, b);
  joined.shape.dimensions = std::move(*sorted);
  return joined;
}

Joined joinByPlace(const Shape &a, const Shape &b) {
  for (const Shape *shape : {&a, &b})
    if (firstOpen(*shape))
      return refused("the dimensions " + describeAxes(shape->dimensions) +
                         " of one operand have no order, so they cannot be joined by their places",
                     {"name the dimensions of both, by an einsum or by reading at axes, x[b, i, j]",
                      "if a scheme returns it, write the order in its signature: scheme f(x, …) -> [b, i, j]"});
  size_t rank = std::max(a.dimensions.size(), b.dimensions.size());
  Joined joined;
  joined.byName = false;
  for (size_t d = 0; d < rank; ++d) {
    auto at = [&](const Shape &shape) -> const Dimension * {
      size_t lacks = rank - shape.dimensions.size();
      return d >= lacks ? &shape.dimensions[d - lacks] : nullptr;
    };
    const Dimension *mine = at(a), *other = at(b);
    if (!mine || !other) {
      joined.shape.dimensions.push_back(mine ? *mine : *other);
      continue;
    }
    bool isRepeated = !isSameSize(*mine, *other);
    if (isRepeated && mine->size != 1 && other->size != 1)
      return refused("the shapes " + describe(a.dimensions) + " and " + describe(b.dimensions) +
                         " do not fit: dimension " + std::to_string(d + 1) + " of " + std::to_string(rank) + " differs",
                     {});
    if (!mine->namings.empty() && !other->namings.empty() && !sharedNaming(*mine, *other) &&
        (isLone(*mine) == isLone(*other) || isRepeated))
      return refused(
          "the operands are joined by place, and there '" + print(mine->namings[0]) + "' meets '" +
              print(other->namings[0]) + "'",
          {"a dimension has no name (" + describeAxes(a.dimensions) + " and " + describeAxes(b.dimensions) +
               "), so the dimensions are matched from the last one, as in NumPy",
           "to join by name, name all dimensions: x[b, i, j], or an einsum; to join by place, add a dimension "
           "of size 1: x[:, None]"});
    const Dimension &kept = isRepeated && mine->size == 1 ? *other : *mine;
    Dimension own = kept;
    if (!isRepeated) {
      const Dimension &more = &kept == mine ? *other : *mine;
      for (const Naming &naming : more.namings)
        if (!hasNaming(own, print(naming)))
          own.namings.push_back(naming);
      own.clashes.insert(more.clashes.begin(), more.clashes.end());
    }
    joined.shape.dimensions.push_back(std::move(own));
  }
  for (size_t d = 0; d < rank; ++d)
    for (size_t e = d + 1; e < rank; ++e)
      if (auto name = sharedNaming(joined.shape.dimensions[d], joined.shape.dimensions[e]))
        return refused("by place the axis '" + *name + "' would be two dimensions: " + describeAxes(a.dimensions) +
                           " and " + describeAxes(b.dimensions) + " are joined from the last one on, as NumPy does",
                       {"to join by name, name all dimensions: x[b, i, j], or an einsum; to join by place, give each "
                        "its own: x[:, None]"});
  return joined;
}
} // namespace

std::optional<size_t> firstOpen(const Shape &shape) {
  if (shape.order.isWritten || shape.dimensions.size() < 2)
    return std::nullopt;
  Pairs before = precedence(shape.order.chains, shape.order.hints);
  for (size_t d = 0; d + 1 < shape.dimensions.size(); ++d) {
    bool ordered = false;
    for (const Naming &first : shape.dimensions[d].namings)
      for (const Naming &second : shape.dimensions[d + 1].namings)
        ordered |= before.count({print(first), print(second)}) > 0;
    if (!ordered)
      return d;
  }
  return std::nullopt;
}

/// Returns the axes that `named` has and `tensor` lacks, if `tensor` has as many dimensions of size 1 at its end.
static std::vector<Axis> axesInPlaceOfOnes(const Shape &named, const Shape &tensor) {
  if (!isNamed(named.dimensions) || isNamed(tensor.dimensions))
    return {};
  std::set<std::string> known = atomsOf(tensor.dimensions);
  std::vector<Axis> missing;
  for (const Dimension &d : named.dimensions)
    if (d.namings[0].size() != 1)
      return {};
    else if (!known.count(d.namings[0][0].name))
      missing.push_back(d.namings[0][0]);
  size_t ones = 0, rank = tensor.dimensions.size();
  while (ones < rank && tensor.dimensions[rank - 1 - ones].size == 1 &&
         tensor.dimensions[rank - 1 - ones].namings.empty())
    ++ones;
  bool isRuntime = llvm::any_of(missing, [](const Axis &axis) { return !axis.runtime.empty(); });
  return ones == missing.size() && !isRuntime ? missing : std::vector<Axis>();
}

static bool isOpenForOnes(const Shape &named, const std::vector<Axis> &missing) {
  return missing.size() > 1 && firstOpen(named);
}

std::vector<Axis> axesForOnes(const Shape &named, const Shape &tensor) {
  std::vector<Axis> missing = axesInPlaceOfOnes(named, tensor);
  return isOpenForOnes(named, missing) ? std::vector<Axis>() : missing;
}

std::optional<Complaint> complaintOfOnes(const Shape &named, const Shape &tensor) {
  std::vector<Axis> missing = axesInPlaceOfOnes(named, tensor);
  bool isOpen = isOpenForOnes(named, missing) &&
                isNamed({tensor.dimensions.begin(), tensor.dimensions.end() - missing.size()});
  if (!isOpen)
    return std::nullopt;
  std::string names, subscripts;
  for (const Axis &axis : missing)
    names += (names.empty() ? "'" : "', '") + axis.name;
  for (size_t d = 0; d + missing.size() < tensor.dimensions.size(); ++d)
    subscripts += (d == 0 ? "" : ", ") + print(tensor.dimensions[d].namings[0]);
  return Complaint{"it is unclear which dimension of size 1 belongs to which of the axes " + names +
                       "', because these have no order here",
                   {subscripts.empty()
                        ? "leave the dimensions of size 1 out"
                        : "leave the dimensions of size 1 out, and the tensor is joined by the names of its "
                          "axes, here " + subscripts + ": x[" + subscripts + "]"}};
}

/// Returns the shape without the names that stand for numbers of a text, "b (d 2)". These names begin with a quotation
/// mark.
static Shape withoutNumbers(Shape shape) {
  for (Dimension &d : shape.dimensions)
    llvm::erase_if(d.namings, [](const Naming &naming) {
      return llvm::any_of(naming, [](const Axis &axis) { return axis.name[0] == '\''; });
    });
  return shape;
}

Complaint complaintOfMissing(const std::string &axis, const Dimensions &other) {
  bool hasNames = llvm::any_of(other, [](const Dimension &d) { return !d.namings.empty(); });
  std::string message = "the axis '" + axis + "' of one operand is missing in the other, ";
  if (hasNames)
    return {message + "whose axes are " + describeAxes(other),
            {"name the axes alike, read a tensor at its axes, g[b, h, i], or repeat it first: "
             "broadcast(x, \"… -> …\", …)"}};
  return {message + "whose dimensions " + describe(other) + " have no names",
          {"read the tensor at its axes, g[b, h, i], or name its dimensions: einsum(\"b h i d -> b h i d\", x)"}};
}

static Joined joinNamed(const Shape &a, const Shape &b) {
  bool first = isNamed(a.dimensions), second = isNamed(b.dimensions);
  if (first && second)
    return joinByName(a, b);
  for (auto [positions, tensor] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (positions->order.isWritten || !isNamed(positions->dimensions))
      continue;
    if (covers(tensor->dimensions, positions->dimensions))
      return {*tensor};
    std::set<std::string> known = atomsOf(tensor->dimensions);
    for (const Dimension &d : positions->dimensions)
      if (!isCovered(d, known)) {
        Complaint complaint = complaintOfMissing(print(d.namings[0]), tensor->dimensions);
        return refused(std::move(complaint.message), std::move(complaint.notes));
      }
  }
  return joinByPlace(a, b);
}

Joined join(const Shape &a, const Shape &b) { return joinNamed(withoutNumbers(a), withoutNumbers(b)); }

void mergeNamings(Dimensions &dimensions, const Dimensions &other) {
  for (size_t d = 0; d < dimensions.size(); ++d) {
    Dimension &own = dimensions[d];
    own.clashes.insert(other[d].clashes.begin(), other[d].clashes.end());
    for (const Naming &naming : other[d].namings) {
      auto same = [&](const Naming &mine) {
        return print(mine) == print(naming) &&
               llvm::equal(mine, naming, [](const Axis &a, const Axis &b) { return a.size == b.size; });
      };
      // A name that already means something else in this tensor.
      std::string taken;
      for (size_t o = 0; o < dimensions.size(); ++o)
        for (const Naming &mine : dimensions[o].namings)
          for (const Axis &axis : mine)
            for (const Axis &theirs : naming)
              if (axis.name == theirs.name && (o != d || !same(mine)))
                taken = axis.name;
      if (!taken.empty())
        for (const Axis &axis : naming) // none of them is clear without the others
          own.clashes.insert({axis.name, {print(naming), taken}});
      else if (llvm::none_of(own.namings, same))
        own.namings.push_back(naming);
    }
  }
}

std::optional<std::vector<size_t>> placesOf(const Dimensions &dimensions, const std::vector<std::string> &names) {
  if (names.size() != dimensions.size())
    return std::nullopt;
  std::vector<size_t> places;
  for (const std::string &name : names) {
    auto found = llvm::find_if(dimensions, [&](const Dimension &d) { return hasNaming(d, name); });
    if (found == dimensions.end() || llvm::is_contained(places, size_t(found - dimensions.begin())))
      return std::nullopt;
    places.push_back(size_t(found - dimensions.begin()));
  }
  return places;
}

} // namespace skewer::language
