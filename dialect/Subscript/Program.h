// An index expression as a list of instructions over registers. It is evaluated at millions of points without walking a
// tree.
#pragma once
#include "dialect/Subscript/Expr.h"
#include <unordered_map>

namespace skewer::subscript {

class Program {
public:
  /// Equal subexpressions are evaluated once; `symbols` fixes the order of the values for `run`.
  explicit Program(std::vector<std::string> symbols) : symbols(std::move(symbols)) {}
  /// Adds an expression and returns the register that holds its value.
  size_t add(const Expr &);
  /// Evaluates everything for one point; `values[k]` belongs to `symbols[k]`.
  void run(const std::vector<int64_t> &values);
  /// Returns the value of a register after `run`; nothing if evaluation fails (as in `evaluate`).
  std::optional<int64_t> value(size_t reg) const {
    return valid[reg] ? std::optional<int64_t>(registers[reg]) : std::nullopt;
  }

private:
  struct Instruction {
    Kind kind;
    size_t operand[3]; // registers; for a symbol its index in `symbols`
    int64_t constant;
    const std::vector<int64_t> *table;
  };
  struct Hash {
    size_t operator()(const Expr &e) const { return e.hash(); }
  };
  std::vector<std::string> symbols;
  std::vector<Instruction> code;
  std::unordered_map<Expr, size_t, Hash> places; // also keeps the tables alive
  std::vector<int64_t> registers;
  std::vector<char> valid;
};

} // namespace skewer::subscript
