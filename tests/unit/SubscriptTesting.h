// Reads index expressions for tests.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include <gtest/gtest.h>

namespace skewer::subscript::testing {

/// Returns the expression of a text that must be one.
inline Expr read(std::string_view text) {
  auto e = parse(text);
  EXPECT_TRUE(e) << text << ": " << e.error().message << " at " << e.error().position;
  return e.value_or(Expr(0));
}

/// Returns the box of i and j from 0 to n - 1.
inline Domain square(int64_t n) { return {{"i", {0, n - 1}}, {"j", {0, n - 1}}}; }

} // namespace skewer::subscript::testing
