// The decisions that the numbers of a specification cause while it is typed: the result of a comparison, the result of
// a rounding, what remains of a condition on positions. The typer records them on request (Options::decisions). For a
// layer of run-time length (`size N <= 4096`), the driver compares the decisions at several lengths: one kernel serves
// all lengths only if the decisions are the same at each.
#pragma once
#include "dialect/Language/RealFunction.h"
#include "dialect/Subscript/Analysis.h"
#include "llvm/ADT/StringRef.h"
#include <vector>

namespace skewer::language {

struct Decision {
  enum Kind {
    Choice,    // `number`: 1 or 0 for a comparison, or the index of the number that is taken from several
    Whole,     // `number`: 1 if a quotient of whole numbers is whole; if it is not whole, nothing depends on it
    Quantity,  // `number`: a whole number that is not a sum of others: min(N, 8), N // 2, N * N
    Rewritten, // `written`, over positions in `domain`, became `kept`
    Table,     // `values` of a function of positions, row-major over `ranges`; `number`: 1 if they are the values of a
               // tensor, which the kernel may compute at run time; otherwise they are rows of an index
    Factor     // `values[0]`: a number that meets a tensor; it may differ at another length
  };
  Kind kind = Choice;
  llvm::StringRef place; // in the specification: the expression that is evaluated
  int64_t number = 0;
  subscript::Expr written, kept;
  subscript::Domain domain;
  std::vector<double> values;
  std::vector<subscript::Range> ranges;
  std::vector<subscript::Expr> forms; // Table: what the ranges are of, over positions
  /// Choice, Whole, Quantity, Factor: how the number is computed from lengths; null if it depends on no length. For
  /// Whole it is the remainder. Table: the function, over formSymbol(0), formSymbol(1), ….
  RealPtr made;
  /// Factor: the whole numbers that the number is computed from and that lengths decide.
  std::vector<int64_t> wholes;
};

/// The decisions in the order of evaluation. This order is the same at all lengths as long as the decisions are the
/// same.
using Decisions = std::vector<Decision>;

} // namespace skewer::language
