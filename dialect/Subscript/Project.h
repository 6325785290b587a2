// What a predicate still says when some of its symbols may be anything.
#pragma once
#include "dialect/Subscript/Analysis.h"

namespace skewer::subscript {

/// A predicate without `symbols` that holds wherever the given one does for some value of theirs in the domain:
/// `abs(jy - iy) <= 2 and abs(jx - ix) <= 2` without ix and jx is `abs(jy - iy) <= 2`, and `14*jy + jx <= 14*iy + ix`
/// is `14*jy - 14*iy <= 13`. It may hold elsewhere too (1 says nothing): what is proven under it is proven under the
/// given one, and what fails it fails the given one.
Expr projectOut(const Expr &predicate, const std::set<std::string> &symbols, const Domain &);

} // namespace skewer::subscript
