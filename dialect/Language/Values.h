// The values of expressions in the language: a number, an index, a tensor with named axes, a list, a text. The typer
// computes them.
#pragma once
#include "dialect/Language/RealFunction.h"
#include "dialect/Subscript/Einsum.h"
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace skewer::language {

namespace typed {
struct Tensor;
}

/// An axis by name. A run-time size has size subscript::kRuntime and the name of the size.
struct Axis {
  std::string name;
  int64_t size = 0;
  std::string runtime;
  bool operator==(const Axis &other) const {
    return name == other.name && size == other.size && runtime == other.runtime;
  }
};
/// One way to name a dimension: by an axis, or by a product of axes, row-major.
using Naming = std::vector<Axis>;

/// A naming by one part of a sum, in which a name means something else than in another part.
struct Clash {
  std::string naming, name; // "(t j)", "j"
};

struct Dimension {
  int64_t size = 0;
  std::string runtime = {};                  // the name of the size, if it is known only at run time
  std::vector<Naming> namings = {};          // every name that the text gives it; messages show the first
  std::map<std::string, Clash> clashes = {}; // by the names that have become unclear
  bool isRuntime() const { return !runtime.empty(); }
};
using Dimensions = std::vector<Dimension>;

/// The order in which a tensor's dimensions stand. If the text gives it, "b h i j", it is written, and operations that
/// look at places ("the last dimension") may use it. Nobody states an order for the sum of a term of rows and a term of
/// columns, or for a function of positions: its dimensions stand in some order that keeps the orders of the parts, and
/// nothing may depend on it. Chains are sequences of dimension names. A read, t[h, i], only hints at an order; the
/// order of a tensor overrules the hint.
struct Order {
  bool isWritten = true;
  std::vector<std::vector<std::string>> chains = {}, hints = {}; // if it is not written
};

/// A condition that sets elements of a tensor apart, and its texts for messages.
struct Condition {
  subscript::Expr holds;       // a predicate on the element's place: d0, d1, …, one for each dimension
  // As written: `value where text`, or the expression that contains -inf.
  llvm::StringRef text, value;
};
/// Conditions that hold together; the one written last stands first.
using Conditions = std::vector<Condition>;

enum class ValueKind { Error, Number, Index, Real, Size, Tensor, List, Text, Indices };

struct Value {
  ValueKind kind = ValueKind::Error;
  double number = 0;   // Number
  int64_t integer = 0; // Number, where isInteger
  bool isInteger = false;
  subscript::Expr index;            // Index: a function of positions; a predicate is 1 or 0
  bool isAxis = false;              // Index: the position along an axis, by itself and not as the result of a function
  RealPtr function;                 // Real: a function of positions that index expressions cannot express; Number: how
                                    // it is computed from other numbers, if lengths may be among them
  std::map<std::string, Axis> axes; // Index and Real: the axes it depends on
  typed::Tensor *tensor = nullptr;  // Tensor
  Dimensions dimensions;
  Order order; // Tensor: the order of its dimensions
  // Tensor: elements at which one of `present` does not hold are absent (`where`); only a softmax may read them.
  // Elements at which one of `finite` does not hold are -inf, although the tensor has numbers there.
  Conditions present, finite;
  std::vector<Value> items; // List
  std::string name;         // Size, Text; Indices: the kernel's operand
  // Indices: the leading subscripts of every read, for an operand that was taken apart.
  std::vector<subscript::Expr> taken;

  bool is(ValueKind k) const { return kind == k; }
  bool good() const { return kind != ValueKind::Error; }
  bool isWhole() const { return kind == ValueKind::Number && isInteger; }
  /// Returns whether a whole number can be a position. Any other number, for instance one of more than 53 bits, is a
  /// real number there.
  bool isPosition() const {
    constexpr int64_t kMost = int64_t(1) << 53;
    return isWhole() && integer >= -kMost && integer <= kMost;
  }
  static Value whole(int64_t v) {
    Value r;
    r.kind = ValueKind::Number, r.number = static_cast<double>(v), r.integer = v, r.isInteger = true;
    return r;
  }
  static Value real(double v) {
    Value r;
    r.kind = ValueKind::Number, r.number = v;
    return r;
  }
};

/// Returns the sizes without the element type, as in "[batch, 4, 196]".
std::string describe(const Dimensions &);
/// Returns the first namings, as in "b h (iy ix)"; "_" if a dimension has no name.
std::string describeAxes(const Dimensions &);
/// Returns a description of the value for messages: "a tensor [4, 196]", "the number 3", …
std::string describe(const Value &);

/// Returns the number as a part of a function; it remembers what the number is computed from.
RealPtr numberLeaf(const Value &number, const Node &);

/// Returns a text for a point of positions: "i = 0, j = 3".
std::string describe(const subscript::Assignment &);

/// Returns each axis that any naming of the dimensions has, as an expression of the chosen namings' axes. `chosen` has
/// one naming for each dimension. Axes of the chosen namings stand for themselves. A name chosen for a dimension that
/// has only other names means nothing.
subscript::Substitution renaming(const Dimensions &, const std::vector<Naming> &chosen);
/// Returns a single name for each dimension, distinct from one another and from the axes of all products: the
/// dimension's own name, else i and j for the last two dimensions, else x0, x1, ….
std::vector<Naming> loneNamings(const Dimensions &);
/// Returns the name by which conditions know a place: d0', d1', …. No axis of a specification has a quotation mark.
std::string placeName(size_t dimension);
/// Returns the place names as namings of the dimensions.
std::vector<Naming> placeNamings(const Dimensions &);
/// Returns whether every dimension has a name.
bool isNamed(const Dimensions &);
std::string print(const Naming &);
std::string print(const std::vector<Naming> &);

} // namespace skewer::language
