// A term of an attention, or a part of its mask, in the form in which analysis found it: what strategies are asked
// about.
#pragma once
#include "passes/Analysis/AttentionShape.h"
#include <variant>

namespace skewer {

class TermForm {
public:
  template <typename Term> TermForm(const Term &term, size_t number) : number(number), term(&term) {}
  /// Null where the term has another form.
  template <typename Term> const Term *as() const {
    auto *found = std::get_if<const Term *>(&term);
    return found ? *found : nullptr;
  }
  /// Among the shape's terms of this form.
  size_t number;
  /// Which of the sums that the score is a function of it is part of; 0 for masks and terms of the values.
  uint64_t sum() const;

private:
  std::variant<const ContentTerm *, const OffsetTerm *, const RowTerm *, const OtherTerm *, const ValueTerm *,
               const MaskPart *>
      term;
};

/// What a schedule names strategies for: the terms of the score, in order, then those of the values. The forms point
/// into the shape.
std::vector<TermForm> formsOf(const AttentionShape &);
/// The parts of the mask that are no interval.
std::vector<TermForm> maskFormsOf(const AttentionShape &);

} // namespace skewer
