// Matrices of constant indices that say what an index expression says shorter.
#pragma once
#include "dialect/Subscript/Analysis.h"

namespace skewer {

/// An index expression over `symbols` (symbols[k] runs from 0 to shape[k]-1) whose values are those of the row-major
/// matrix: affine in the symbols; affine once two symbols of one size are taken apart into the axes of a map; or a step
/// function of the difference of two symbols with few steps (clamped and bucketed offsets). One symbol may also stand
/// for such a square matrix, flattened. Nothing if none fits.
std::optional<subscript::Expr> fitTable(const std::vector<int64_t> &values, const std::vector<int64_t> &shape,
                                        const std::vector<std::string> &symbols);

} // namespace skewer
