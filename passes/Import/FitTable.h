// Finds short index expressions for matrices of constant indices. attn-raise-skew calls it (RaiseSkew.cpp): published
// code often gathers with such matrices, and only an index expression shows their structure.
#pragma once
#include "dialect/Subscript/Analysis.h"

namespace skewer {

/// Returns an index expression over `symbols` (symbols[k] runs from 0 to shape[k]-1) whose values are those of the
/// row-major matrix. It is affine in the symbols; or affine after two symbols of one size are decomposed into the axes
/// of a map; or a step function with few steps of the difference of two symbols (clamped and bucketed offsets). One
/// symbol may also stand for such a square matrix, flattened. Nothing if no expression fits.
std::optional<subscript::Expr> fitTable(const std::vector<int64_t> &values, const std::vector<int64_t> &shape,
                                        const std::vector<std::string> &symbols);

} // namespace skewer
