// An index expression: the row of a table, or the element of any operand, as a function of loop positions.
//
// Expressions are immutable, shared and plain C++ (neither MLIR nor LLVM). The functions below build them and only fold
// constants; `simplify` (Analysis.h) does the algebra. Values are 64-bit integers; a comparison is 1 or 0. `floordiv`
// rounds towards minus infinity and `mod` has the sign of its (positive) divisor, as in Presburger arithmetic.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace skewer::subscript {

enum class Kind {
  Constant, // value()
  Symbol,   // name(): an axis (i, jy, d) or a symbolic size
  Add,
  Mul,
  FloorDiv,
  Mod,
  Min,
  Max, // two operands
  Less,
  LessEqual,
  Equal,
  NotEqual, // two operands, 1 or 0
  And,
  Or, // two operands, 1 or 0
  Abs,
  Not,    // one operand
  Select, // condition, value if non-zero, value if zero
  Table,  // table(): a constant integer table; one operand, its 0-based row (evaluation fails outside)
  Read    // name(): a run-time integer tensor operand; operands() are its subscripts
};

class Expr {
public:
  Expr(); // the constant 0
  /*implicit*/ Expr(int64_t value);
  static Expr constant(int64_t value) { return Expr(value); }
  static Expr symbol(std::string name);
  static Expr make(Kind kind, std::vector<Expr> operands);
  static Expr table(std::shared_ptr<const std::vector<int64_t>> values, Expr row, std::string name = "table");
  static Expr read(std::string operand, std::vector<Expr> subscripts);

  Kind kind() const;
  int64_t value() const;           // Constant
  const std::string &name() const; // Symbol, Table, Read
  const std::vector<Expr> &operands() const;
  const std::vector<int64_t> &table() const;  // Table
  Expr withOperands(std::vector<Expr>) const; // the same node over other operands
  bool isConstant() const { return kind() == Kind::Constant; }
  bool isConstant(int64_t v) const { return isConstant() && value() == v; }
  bool isSymbol() const { return kind() == Kind::Symbol; }

  bool operator==(const Expr &other) const; // structural
  bool operator!=(const Expr &other) const { return !(*this == other); }
  bool operator<(const Expr &other) const; // a total order, for canonical forms
  size_t hash() const;                     // structural, cached
  size_t depth() const;                    // nodes on the longest path downwards, cached
  const void *identity() const;            // equal for copies of one expression: a key for memoisation

private:
  friend size_t sizeOf(const Expr &);
  struct Node;
  explicit Expr(std::shared_ptr<const Node> node) : node(std::move(node)) {}
  std::shared_ptr<const Node> node;
};

Expr operator+(const Expr &, const Expr &);
Expr operator-(const Expr &, const Expr &);
Expr operator-(const Expr &);
Expr operator*(const Expr &, const Expr &);
Expr floorDiv(const Expr &, const Expr &);
Expr mod(const Expr &, const Expr &);
Expr min(const Expr &, const Expr &);
Expr max(const Expr &, const Expr &);
Expr clamp(const Expr &value, const Expr &low, const Expr &high);
Expr abs(const Expr &);
Expr less(const Expr &, const Expr &);
Expr lessEqual(const Expr &, const Expr &);
Expr equal(const Expr &, const Expr &);
Expr notEqual(const Expr &, const Expr &);
Expr logicalAnd(const Expr &, const Expr &);
Expr logicalOr(const Expr &, const Expr &);
Expr logicalNot(const Expr &);
Expr select(const Expr &condition, const Expr &ifTrue, const Expr &ifFalse);

using Assignment = std::map<std::string, int64_t>;
using Substitution = std::map<std::string, Expr>;
using ReadFunction =
    std::function<std::optional<int64_t>(const std::string &operand, const std::vector<int64_t> &subscripts)>;

/// Returns the value under `assignment`. Nothing if a symbol has no value, a divisor is not positive, a table is read
/// outside its rows, arithmetic overflows 64 bits, or a Read occurs and `read` is absent or declines. Parts that do not
/// matter may fail: the branch that a select does not take, and the other operand of an `and` with 0 or an `or` with 1.
std::optional<int64_t> evaluate(const Expr &, const Assignment &, const ReadFunction &read = {});

/// Replaces every symbol that `substitution` names, all at once (not repeatedly).
Expr substitute(const Expr &, const Substitution &);

/// Returns the names of all symbols in the expression.
std::set<std::string> symbolsOf(const Expr &);
/// Returns the number of nodes; a shared node counts once for each use.
size_t sizeOf(const Expr &);

/// Prints an expression with minimal parentheses: `j - i + 13`, `clamp(j - i, -64, 8) + 64`, `i floordiv 14`, `j <= i`,
/// `abs(i - j) <= 4 and seg[i] == seg[j]`. parse(print(e)) simplifies to the same expression.
std::string print(const Expr &);
/// Shortens a printed text for people: shows only the first and the last run of a constant table of more than four
/// runs, `[15 x 69, …, 31 x 69][j - i + 159]`.
std::string abbreviateTables(std::string_view text);

struct ParseError {
  size_t position = 0; // byte offset in the text
  std::string message; // lowercase, without a full stop
};
/// The value that was parsed from a text, or the first error in the text. Has neither if there was no text.
template <typename T> class [[nodiscard]] Parsed : public std::optional<T> {
public:
  Parsed(std::nullopt_t = std::nullopt) {}
  Parsed(T value) : std::optional<T>(std::move(value)) {}
  Parsed(ParseError error) : why(std::move(error)) {}
  /// Returns the error. Its message is empty if there is none.
  const ParseError &error() const { return why; }

private:
  ParseError why;
};
/// Parses an expression. Grammar: `+ - *`, `floordiv` (also `//` and `/` on integers), `mod` (also `%`), comparisons
/// `< <= > >= == !=`, `and or not` (also `&& || !`), `abs min max clamp select`, names, integers, `name[expr, …]` for a
/// Read, `[5 x 64, 4, 3..0][expr]` for a Table (64 times 5, then 4, then down from 3), parentheses. Nesting deeper than
/// 200 is an error, never a crash.
Parsed<Expr> parse(std::string_view text);

} // namespace skewer::subscript
