// A term of an attention, or a part of its mask, in the form that analysis gave it. Strategies receive terms in this
// form.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include <variant>

namespace skewer {

class TermForm {
public:
  template <typename Term> TermForm(const Term &term, size_t number) : number(number), term(&term) {}
  /// Returns the term as a `Term`; null if it has another form.
  template <typename Term> const Term *as() const {
    auto *found = std::get_if<const Term *>(&term);
    return found ? *found : nullptr;
  }
  /// The place of the term among the shape's terms of this form.
  size_t number;
  /// Returns the number of the sum that the term is part of (the score is a function of these sums); 0 for masks and
  /// terms of the values.
  uint64_t sum() const;

private:
  std::variant<const ContentTerm *, const RowTerm *, const OtherTerm *, const ValueTerm *, const MaskPart *> term;
};

/// Returns the terms for which a schedule names strategies: the terms of the score, in order, then the terms of the
/// values. The forms point into the shape.
std::vector<TermForm> formsOf(const AttentionShape &);
/// Returns the parts of the mask that are not an interval.
std::vector<TermForm> maskFormsOf(const AttentionShape &);

} // namespace skewer
