// The parser of declarations; it continues after errors.
#include "dialect/Language/Parser.h"
#include "dialect/Language/Habits.h"

using namespace llvm;

namespace skewer::language {

void Parser::skipToDeclaration() {
  while (!tokens.atEnd() && !(tokens.current().newlineBefore && tokens.atOneOf({"kernel", "scheme", "param", "size"})))
    tokens.advance();
}

void Parser::program(Program &program) {
  while (!tokens.atEnd() && !diagnostics.exhausted()) {
    bool good = tokens.at("param")    ? params(program)
                : tokens.at("size")   ? sizes(program)
                : tokens.at("kernel") ? kernel(program)
                : tokens.at("scheme") ? scheme(program)
                : tokens.take(";")    ? true
                                      : failAtWord();
    if (good)
      continue;
    if (!tokens.atOneOf({"kernel", "scheme"}))
      tokens.advance();
    skipToDeclaration();
  }
}

/// Reports the error where a declaration should begin.
bool Parser::failAtWord() {
  tokens.fail("'param', 'size', 'kernel' or 'scheme'");
  if (tokens.atName() && tokens.following().is("=") && insteadOfWord(tokens.text()).empty())
    diagnostics.note("a number known at compile time is a param: param " + tokens.text().str() + " = …");
  return false;
}

NodePtr Parser::onlyExpression() {
  NodePtr node = expressions.expression();
  if (!node || tokens.atEnd())
    return node;
  tokens.fail("the end of the expression");
  return nullptr;
}

bool Parser::params(Program &program) {
  tokens.advance();
  do {
    ParamDeclaration declaration;
    if (!tokens.expectName(declaration.name, "the name of a param"))
      return false;
    if (tokens.take("=") && !(declaration.value = expressions.expression())) {
      declaration.isBroken = true;
      program.params.push_back(std::move(declaration));
      return false;
    }
    program.params.push_back(std::move(declaration));
  } while (tokens.take(","));
  return true;
}

bool Parser::sizes(Program &program) {
  tokens.advance();
  do {
    StringRef name;
    if (!tokens.expectName(name, "the name of a run-time size"))
      return false;
    if (!tokens.take("<=")) {
      program.sizes.push_back(name);
      continue;
    }
    LengthDeclaration length{name, expressions.expression()};
    if (!length.bound)
      return false;
    program.lengths.push_back(std::move(length));
  } while (tokens.take(","));
  if (tokens.at("="))
    return diagnostics.error(tokens.text(),
                             "a run-time size has no value here; a size known at compile time is a 'param'"),
           false;
  return true;
}

bool Parser::type(TypeExpression &type) {
  StringRef from = tokens.text();
  if (!tokens.expectName(type.element, "a type such as f32[batch, N, dim]"))
    return false;
  if (!is_contained({"f32", "f16", "bf16", "i8", "f8e4m3", "i32"}, type.element)) {
    StringRef meant = elementTypeFor(type.element);
    diagnostics.error(
        type.element,
        "unknown element type '" + type.element.str() +
            "'; there are f32, f16, bf16, i8 and f8e4m3, and i32 for operands that hold indices" +
            (meant.empty() ? suggestion(type.element, {"f32", "f16", "bf16", "i8", "f8e4m3", "i32"})
                           : " (did you mean '" + meant.str() + "'?)"));
    return false;
  }
  if (!tokens.expect("[", "the element type"))
    return false;
  while (!tokens.at("]")) {
    NodePtr size = expressions.expression();
    if (!size)
      return false;
    type.sizes.push_back(std::move(size));
    if (!tokens.take(","))
      break;
  }
  if (!tokens.expect("]", "the sizes of the type"))
    return false;
  if (tokens.take("in") &&
      (!(type.low = expressions.expression()) || !tokens.expect("..", "the least value of the range") ||
       !(type.high = expressions.expression())))
    return false;
  if (tokens.take("~") && !spread(type))
    return false;
  type.text = tokens.since(from);
  return true;
}

/// Parses the text after '~': deviation, mean + deviation, or from..to. A sum in parentheses is one number.
bool Parser::spread(TypeExpression &type) {
  NodePtr first = expressions.product();
  if (!first)
    return false;
  if (tokens.take("+")) {
    type.mean = std::move(first);
    return (type.deviation = expressions.product()) != nullptr;
  }
  if (!tokens.take("..")) {
    type.deviation = std::move(first);
    return true;
  }
  type.from = std::move(first);
  return (type.to = expressions.product()) != nullptr;
}

/// Parses a type, or several named results: (out : f32[…], lse : f32[…]).
bool Parser::kernelResults(Kernel &kernel) {
  StringRef from = tokens.text();
  if (!tokens.take("(")) {
    kernel.results.emplace_back();
    kernel.resultText = from;
    if (!type(kernel.results.back().type))
      return false;
    kernel.resultText = tokens.since(from);
    return true;
  }
  do {
    KernelResult result;
    if (!tokens.expectName(result.name, "the name of a result") || !tokens.expect(":", "the name of a result") ||
        !type(result.type))
      return false;
    kernel.results.push_back(std::move(result));
  } while (tokens.take(",") && !tokens.at(")"));
  if (!tokens.expect(")", "the kernel's results"))
    return false;
  kernel.resultText = tokens.since(from);
  return true;
}

bool Parser::kernel(Program &program) {
  tokens.advance();
  Kernel kernel;
  if (!tokens.expectName(kernel.name, "the kernel's name") || !tokens.expect("(", "the kernel's name"))
    return false;
  while (!tokens.at(")")) {
    size_t first = kernel.operands.size();
    bool isConst = false; // true from the word 'const' to the end of the group
    do {
      KernelOperand operand;
      if (tokens.at("const") && tokens.following().kind == TokenKind::Name) {
        tokens.advance();
        isConst = true;
      }
      operand.isConst = isConst;
      if (!tokens.expectName(operand.name, "the name of an operand"))
        return false;
      kernel.operands.push_back(std::move(operand));
    } while (tokens.take(","));
    if (!tokens.expect(":", "the names of the operands")) {
      diagnostics.note("operands have a type: q, k, v : f32[batch, heads, N, dim]");
      return false;
    }
    auto shared = std::make_shared<TypeExpression>();
    if (!type(*shared))
      return false;
    for (size_t k = first; k < kernel.operands.size(); ++k)
      kernel.operands[k].type = shared;
    if (!tokens.take(","))
      break;
  }
  if (!tokens.expect(")", "the kernel's operands"))
    return false;
  if (!tokens.take("->")) {
    if (tokens.current().kind != TokenKind::Bad)
      diagnostics.error(tokens.text(), "expected '->' after the kernel's operands, found " + tokens.found());
    diagnostics.note("a kernel says the type of its result: -> f32[batch, heads, N, dim]");
    return false;
  }
  if (!kernelResults(kernel) || !tokens.expect("{", "the kernel's type"))
    return false;
  statements.block(kernel.body, kernel.end);
  program.kernels.push_back(std::move(kernel));
  return true;
}

/// Parses [b, h, i, d].
bool Parser::axisNames(std::vector<StringRef> &axes, StringRef after, const std::string &what) {
  if (!tokens.expect("[", after))
    return false;
  while (!tokens.at("]")) {
    StringRef axis;
    if (!tokens.expectName(axis, "the name of an axis"))
      return false;
    if (is_contained(axes, axis))
      return diagnostics.error(axis, "axis '" + axis.str() + "' is named twice"), false;
    axes.push_back(axis);
    if (!tokens.take(","))
      break;
  }
  return tokens.expect("]", what);
}

bool Parser::schemeOperand(SchemeOperand &operand) {
  if (!tokens.expectName(operand.name, "the name of an operand"))
    return false;
  if (tokens.take(":")) {
    operand.isTensor = true;
    return axisNames(operand.axes, "':'", "the axes of '" + operand.name.str() + "'");
  }
  if (!tokens.take("="))
    return true;
  NodePtr value = expressions.expression();
  if (!value)
    return false;
  // map = (H, W) names the parts of an argument; anything else is a default.
  if (value->kind == NodeKind::Tuple &&
      all_of(value->operands, [](const NodePtr &item) { return item->kind == NodeKind::Name; })) {
    for (const NodePtr &item : value->operands)
      operand.pattern.push_back(item->name);
  } else {
    operand.defaultValue = std::move(value);
  }
  return true;
}

bool Parser::scheme(Program &program) {
  tokens.advance();
  Scheme scheme;
  if (!tokens.expectName(scheme.name, "the scheme's name"))
    return false;
  bool isGood = schemeAfterName(scheme);
  if (isGood)
    program.schemes.push_back(std::move(scheme));
  else
    program.brokenSchemes.push_back(scheme.name);
  return isGood;
}

bool Parser::schemeAfterName(Scheme &scheme) {
  if (!tokens.expect("(", "the scheme's name"))
    return false;
  while (!tokens.at(")")) {
    SchemeOperand operand;
    if (!schemeOperand(operand))
      return false;
    if (any_of(scheme.operands, [&](const SchemeOperand &other) { return other.name == operand.name; }))
      diagnostics.error(operand.name, "operand '" + operand.name.str() + "' is declared twice");
    scheme.operands.push_back(std::move(operand));
    if (!tokens.take(","))
      break;
  }
  if (!tokens.expect(")", "the scheme's operands"))
    return false;
  StringRef from = tokens.text();
  if (tokens.take("->")) {
    if (!axisNames(scheme.resultAxes, "'->'", "the axes of the result"))
      return false;
    scheme.resultText = tokens.since(from);
  }
  if (tokens.take("=")) {
    Statement statement;
    if (!(statement.value = expressions.expression()))
      return false;
    scheme.end = tokens.previous();
    scheme.body.push_back(std::move(statement));
  } else if (tokens.take("{")) {
    statements.block(scheme.body, scheme.end);
  } else {
    return tokens.fail(std::string("'=' or '{' after the scheme's ") +
                       (scheme.resultText.empty() ? "operands" : "result"));
  }
  return true;
}

} // namespace skewer::language
