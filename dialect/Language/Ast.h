// The syntax tree of a specification. The parser (Parser.h) builds it; the resolver and the typer read it.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>
#include <vector>

namespace skewer::language {

struct Node;
using NodePtr = std::unique_ptr<Node>;

enum class NodeKind {
  Name,
  Number,
  String,    // name: the text between the quotes
  Unary,     // name: "-" or "not"
  Binary,    // name: + - * / // % ^ < <= > >= == != and or
  Call,      // name: the called function; operands and keywords: its arguments
  Subscript, // operands[0] at operands[1…]
  Slice,     // low : high : step; each may be null
  Ellipsis,
  Tuple,      // (a, b) or [a, b]
  Where,      // operands[0] where operands[1]
  Conditional // operands[0] if operands[1] else operands[2]
};

struct Keyword {
  llvm::StringRef name;
  NodePtr value;
};

struct Node {
  NodeKind kind;
  llvm::StringRef text; // the whole expression, as written
  llvm::StringRef name;
  double number = 0;
  int64_t integer = 0;
  bool isInteger = false;
  std::vector<NodePtr> operands;
  std::vector<Keyword> keywords;
  // The number of nodes on the longest path downwards: it bounds the stack that recursive visitors need.
  size_t depth = 1;
};

struct Statement {
  std::vector<llvm::StringRef> targets; // empty for a return and a requirement
  bool destructures = false;
  bool isRequirement = false; // require value, message
  bool isPart = false;        // part targets[0] [= extent] of value from message
  bool isBroken = false;      // an error is already reported: its targets have no value
  NodePtr extent;             // only of a part; null: the axis keeps the extent that it has so far
  NodePtr value;
  llvm::StringRef message;
};

struct ParamDeclaration {
  llvm::StringRef name;
  NodePtr value;         // null: the value must be given from outside
  bool isBroken = false; // an error is already reported
};

struct TypeExpression {
  llvm::StringRef text, element;
  std::vector<NodePtr> sizes;
  NodePtr low, high; // i32[…] in low..high; null without a range
  NodePtr deviation; // f32[…] ~ deviation, for seeded values; null without one
  NodePtr mean;      // f32[…] ~ mean + deviation
  NodePtr from, to;  // f32[…] ~ from..to: seeded values are uniform in it
};

struct KernelOperand {
  llvm::StringRef name;
  bool isConst = false;
  std::shared_ptr<TypeExpression> type; // shared by the names of one group
};

struct KernelResult {
  llvm::StringRef name; // empty if it is the only result and has no name
  TypeExpression type;
};

struct Kernel {
  llvm::StringRef name;
  std::vector<KernelOperand> operands;
  std::vector<KernelResult> results; // at least one
  llvm::StringRef resultText;
  std::vector<Statement> body;
  llvm::StringRef end; // the closing brace
};

struct SchemeOperand {
  llvm::StringRef name;
  bool isTensor = false;
  std::vector<llvm::StringRef> axes;    // of a tensor: [b, h, i, d]
  std::vector<llvm::StringRef> pattern; // map = (H, W): the names of the parts
  NodePtr defaultValue;                 // window = 4
};

struct Scheme {
  llvm::StringRef name;
  std::vector<SchemeOperand> operands;
  std::vector<llvm::StringRef> resultAxes; // -> [b, h, i, j]
  llvm::StringRef resultText;              // the text of the whole result; empty if the signature does not state one
  std::vector<Statement> body;
  llvm::StringRef end;
};

/// The declaration of a length: size N <= 4096.
struct LengthDeclaration {
  llvm::StringRef name;
  NodePtr bound;
};

struct Program {
  std::vector<ParamDeclaration> params;
  std::vector<LengthDeclaration> lengths;
  std::vector<llvm::StringRef> sizes;
  std::vector<Kernel> kernels;
  std::vector<Scheme> schemes;
  std::vector<llvm::StringRef> brokenSchemes; // schemes for which an error is already reported
};

} // namespace skewer::language
