// Removes symbols that may have any value from a predicate.
#pragma once
#include "dialect/Subscript/Analysis.h"

namespace skewer::subscript {

/// Returns a predicate without `symbols` that holds wherever `predicate` holds for some values of `symbols` in the
/// domain. `abs(jy - iy) <= 2 and abs(jx - ix) <= 2` without ix and jx is `abs(jy - iy) <= 2`, and
/// `14*jy + jx <= 14*iy + ix` is `14*jy - 14*iy <= 13`. The result may hold elsewhere too (the result 1 always holds).
/// A proof under the result is a proof under `predicate`; a point that fails the result fails `predicate`.
Expr projectOut(const Expr &predicate, const std::set<std::string> &symbols, const Domain &);

} // namespace skewer::subscript
