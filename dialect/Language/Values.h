// What an expression of the language can be: a number, an index, a tensor with named axes, a list, a text.
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

/// A naming by one part of a sum that uses a name for something else than another part does.
struct Clash {
  std::string naming, name; // "(t j)", "j"
};

struct Dimension {
  int64_t size = 0;
  std::string runtime = {};                  // the size's name where it is known at run time only
  std::vector<Naming> namings = {};          // every way that the text has named it; the first is the one to show
  std::map<std::string, Clash> clashes = {}; // by the names that are not clear any more
  bool isRuntime() const { return !runtime.empty(); }
};
using Dimensions = std::vector<Dimension>;

/// In which order a tensor's dimensions stand. That of a text is written, "b h i j", and what looks at places, "the last
/// dimension", has it. Of a sum of a term of rows and one of columns, and of a function of positions, nobody has said
/// one: the dimensions stand in some order that keeps those of the parts, by which nothing may be told apart. Chains are
/// names of dimensions; a read, t[h, i], hints at an order, which that of a tensor overrules.
struct Order {
  bool isWritten = true;
  std::vector<std::vector<std::string>> chains = {}, hints = {}; // where it is not
};

/// A condition that sets elements of a tensor apart, and what is said of it in messages.
struct Condition {
  subscript::Expr holds;       // a predicate of the element's place: d0, d1, …, one a dimension
  llvm::StringRef text, value; // as written: `value where text`, or the expression that has -inf in it
};
/// All of them at once; the one that was written last stands first.
using Conditions = std::vector<Condition>;

enum class ValueKind { Error, Number, Index, Real, Size, Tensor, List, Text, Indices };

struct Value {
  ValueKind kind = ValueKind::Error;
  double number = 0;   // Number
  int64_t integer = 0; // Number, where isInteger
  bool isInteger = false;
  subscript::Expr index;            // Index: a function of positions; a predicate is 1 or 0
  RealPtr function;                 // Real: a function of positions beyond the algebra of index expressions; of a
                                    // Number, how it is made of others, where lengths may be among them
  std::map<std::string, Axis> axes; // Index and Real: the axes it depends on
  typed::Tensor *tensor = nullptr;  // Tensor
  Dimensions dimensions;
  Order order; // Tensor: of its dimensions
  // Tensor: elements at which one of `present` does not hold are absent (`where`): nothing but a softmax may come upon
  // them. Those at which one of `finite` does not hold are -inf, though the tensor has numbers there.
  Conditions present, finite;
  std::vector<Value> items; // List
  std::string name;         // Size, Text; Indices: the kernel's operand
  std::vector<subscript::Expr> taken; // Indices: of an operand that was taken apart, the first places of each read

  bool is(ValueKind k) const { return kind == k; }
  bool good() const { return kind != ValueKind::Error; }
  bool isWhole() const { return kind == ValueKind::Number && isInteger; }
  /// A whole number as one of positions: any other number, of more than 53 bits for instance, is a real number there.
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

/// "f32[batch, 4, 196]" without the element type: "[batch, 4, 196]".
std::string describe(const Dimensions &);
/// "b h (iy ix)" of the first namings; "_" where a dimension has no name.
std::string describeAxes(const Dimensions &);
/// What a value is, for messages: "a tensor [4, 196]", "the number 3", …
std::string describe(const Value &);

/// A number in a function, which goes on to remember what it is made of.
RealPtr numberLeaf(const Value &number, const Node &);

/// A point of positions: "i = 0, j = 3".
std::string describe(const subscript::Assignment &);

/// Each axis that any naming of the dimensions has, as an expression of the chosen namings' axes, one naming a
/// dimension. Axes of the chosen namings stand for themselves; a name chosen for a dimension that is only named
/// otherwise means nothing.
subscript::Substitution renaming(const Dimensions &, const std::vector<Naming> &chosen);
/// A single name for each dimension, distinct from one another and from the axes of all products: its own, else i and j
/// for the last two, else x0, x1, ….
std::vector<Naming> loneNamings(const Dimensions &);
/// The names by which conditions know places, d0', d1', …: no axis of a text has a quotation mark.
std::string placeName(size_t dimension);
/// These, as namings of the dimensions.
std::vector<Naming> placeNamings(const Dimensions &);
/// Whether every dimension has a name.
bool isNamed(const Dimensions &);
std::string print(const Naming &);
std::string print(const std::vector<Naming> &);

} // namespace skewer::language
