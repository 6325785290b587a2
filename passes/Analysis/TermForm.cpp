// Lists terms in the order in which schedules name them.
#include "passes/Analysis/TermForm.h"

using namespace skewer;

uint64_t TermForm::sum() const {
  if (auto *content = as<ContentTerm>())
    return content->sum;
  if (auto *row = as<RowTerm>())
    return row->sum;
  auto *other = as<OtherTerm>();
  return other ? other->sum : 0;
}

std::vector<TermForm> skewer::formsOf(const AttentionShape &shape) {
  std::vector<TermForm> forms;
  size_t contents = 0, rows = 0, others = 0;
  auto add = [&](const auto &terms, size_t &number) {
    forms.emplace_back(terms[number], number);
    ++number;
  };
  for (TermRole role : shape.roles)
    switch (role) {
    case TermRole::Content:
      add(shape.content, contents);
      break;
    case TermRole::Row:
      add(shape.rows, rows);
      break;
    case TermRole::Other:
      add(shape.others, others);
      break;
    }
  for (size_t number = 0; number < shape.valueTerms.size();)
    add(shape.valueTerms, number);
  return forms;
}

std::vector<TermForm> skewer::maskFormsOf(const AttentionShape &shape) {
  std::vector<TermForm> forms;
  for (auto [number, part] : llvm::enumerate(shape.masks))
    forms.emplace_back(part, number);
  return forms;
}
