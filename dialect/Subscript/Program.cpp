// Compiles index expressions to register code and runs it.
#include "dialect/Subscript/Program.h"
#include "dialect/Subscript/Arithmetic.h"
#include <algorithm>

namespace skewer::subscript {

size_t Program::add(const Expr &e) {
  auto known = places.find(e);
  if (known != places.end())
    return known->second;
  Instruction instruction{e.kind(), {0, 0, 0}, 0, nullptr};
  switch (e.kind()) {
  case Kind::Constant:
    instruction.constant = e.value();
    break;
  case Kind::Symbol:
    instruction.operand[0] = std::find(symbols.begin(), symbols.end(), e.name()) - symbols.begin();
    break;
  case Kind::Read:
    break; // a read never has a value here
  default:
    for (size_t k = 0; k < e.operands().size() && k < 3; ++k)
      instruction.operand[k] = add(e.operands()[k]);
    if (e.kind() == Kind::Table)
      instruction.table = &e.table();
  }
  size_t place = code.size();
  code.push_back(instruction);
  registers.push_back(0);
  valid.push_back(0);
  places.emplace(e, place);
  return place;
}

void Program::run(const std::vector<int64_t> &values) {
  for (size_t k = 0; k < code.size(); ++k) {
    const Instruction &c = code[k];
    size_t a = c.operand[0], b = c.operand[1];
    std::optional<int64_t> result;
    switch (c.kind) {
    case Kind::Constant:
      result = c.constant;
      break;
    case Kind::Symbol:
      if (a < values.size())
        result = values[a];
      break;
    case Kind::Read:
      break;
    case Kind::Table:
      if (valid[a] && registers[a] >= 0 && registers[a] < static_cast<int64_t>(c.table->size()))
        result = (*c.table)[registers[a]];
      break;
    case Kind::Select:
      if (valid[a]) {
        size_t taken = registers[a] ? b : c.operand[2];
        if (valid[taken])
          result = registers[taken];
      }
      break;
    case Kind::And:
    case Kind::Or: {
      bool deciding = c.kind == Kind::Or;
      if ((valid[a] && (registers[a] != 0) == deciding) || (valid[b] && (registers[b] != 0) == deciding))
        result = deciding;
      else if (valid[a] && valid[b])
        result = !deciding;
      break;
    }
    case Kind::Abs:
    case Kind::Not:
      if (valid[a])
        result = apply(c.kind, registers[a]);
      break;
    default:
      if (valid[a] && valid[b])
        result = apply(c.kind, registers[a], registers[b]);
    }
    valid[k] = result.has_value();
    registers[k] = result.value_or(0);
  }
}

} // namespace skewer::subscript
