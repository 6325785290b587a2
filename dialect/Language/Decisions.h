// What a text's numbers decide while it is typed: which way a comparison of them goes, what a rounding gives, what is
// left of a condition on positions. For a layer of run-time length (`size N <= 4096`) these are compared between
// lengths: a kernel for all of them exists where the same is decided at each.
#pragma once
#include "dialect/Language/RealFunction.h"
#include "dialect/Subscript/Analysis.h"
#include "llvm/ADT/StringRef.h"
#include <vector>

namespace skewer::language {

struct Decision {
  enum Kind {
    Choice,    // `number`: 1 or 0 of a comparison, or which of several numbers is taken
    Whole,     // `number`: 1 where a quotient of whole numbers is one; where it is none, nothing hangs on it
    Quantity,  // `number`: a whole number that is no sum of others: min(N, 8), N // 2, N * N
    Rewritten, // `written`, over positions in `domain`, has become `kept`
    Table,     // `values` of a function of positions, row-major over `ranges`; `number`: 1 where they are a tensor's, which
               // may be computed when the kernel runs, else rows of an index
    Factor     // `values[0]`: a number that meets a tensor; it may be another one at another length
  };
  Kind kind = Choice;
  llvm::StringRef place; // of the text that is evaluated
  int64_t number = 0;
  subscript::Expr written, kept;
  subscript::Domain domain;
  std::vector<double> values;
  std::vector<subscript::Range> ranges;
  /// Choice, Whole, Quantity, Factor: how the number is made of lengths; null where it is made of none. Whole: the
  /// remainder. Table: the function, over formSymbol(0), formSymbol(1), ….
  RealPtr made;
  /// Factor: of the whole numbers that it is made of and that lengths decide.
  std::vector<int64_t> wholes;
};

/// In the order in which the text is evaluated, which is the same at all lengths as long as the same is decided.
using Decisions = std::vector<Decision>;

} // namespace skewer::language
