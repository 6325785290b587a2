// The parser of declarations and statements; it continues after errors.
#include "dialect/Language/Parser.h"
#include "dialect/Language/Habits.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer::language {

void Parser::advance() {
  previous = current.text;
  slashes = following.newlineBefore ? StringRef() : at("//") ? current.text : slashes;
  current = following;
  following = lexer.next();
}

bool Parser::take(StringRef symbol) {
  if (!at(symbol))
    return false;
  advance();
  return true;
}

std::string Parser::found() const {
  if (current.kind == TokenKind::End)
    return "the end of the file";
  return "'" + current.text.take_front(40).str() + (current.text.size() > 40 ? "…'" : "'");
}

bool Parser::fail(const std::string &expected) {
  if (current.kind == TokenKind::Bad) // the lexer has already reported it
    return false;
  bool isProse = !previous.empty() && isAlnum(previous.back()) && current.kind == TokenKind::Name;
  if (slashes.data() && isProse) {
    diagnostics.error(slashes, "'//' divides rounding down, and what follows it is no expression");
    diagnostics.note("a comment begins with '#'");
    return false;
  }
  diagnostics.error(current.text, "expected " + expected + ", found " + found());
  explainFound();
  return false;
}

/// Adds a note on what the current token means in other languages.
void Parser::explainFound() {
  if (at("//") || (at("/") && following.is("*")) || slashes.data())
    return diagnostics.note("a comment begins with '#'");
  if (at("=") || at("=="))
    return diagnostics.note("'=' gives a name its value, '==' compares");
  if (following.is("=") && current.kind == TokenKind::Symbol && !current.newlineBefore && !at(",") && !at(")"))
    return diagnostics.note("a name is given its value once, by '=' alone");
  StringRef instead = current.kind == TokenKind::Name ? insteadOfWord(current.text) : insteadOfOperator(current.text);
  if (!instead.empty())
    diagnostics.note(instead.str());
}

bool Parser::expect(StringRef symbol, StringRef after) {
  return take(symbol) || fail("'" + symbol.str() + "' after " + after.str());
}

bool Parser::expectName(StringRef &name, StringRef what) {
  static const StringRef reserved[] = {"param", "size", "kernel", "scheme", "return", "where",
                                       "and",   "or",   "not",    "if",     "else",   "inf"};
  if (current.kind == TokenKind::Name && is_contained(reserved, current.text) &&
      (following.is("=") || following.is(",") || following.is(":"))) {
    diagnostics.error(current.text, "'" + current.text.str() + "' is a word of the language and names nothing else");
    return false;
  }
  if (current.kind != TokenKind::Name || is_contained(reserved, current.text))
    return fail(what.str());
  name = current.text;
  advance();
  return true;
}

void Parser::skipToDeclaration() {
  nesting = 0;
  while (current.kind != TokenKind::End &&
         !(current.newlineBefore && (at("kernel") || at("scheme") || at("param") || at("size"))))
    advance();
}

/// Skips to the first token of a line that begins a statement, a ';' or the end of the block.
void Parser::skipToStatement() {
  nesting = 0;
  size_t braces = 0; // for i in … { … }
  while (current.kind != TokenKind::End && (braces > 0 || (!at("}") && !at(";")))) {
    if (current.newlineBefore && current.kind == TokenKind::Name &&
        (at("kernel") || at("scheme") || (braces == 0 && (following.is("=") || at("return") || at("part")))))
      return;
    braces += at("{") ? 1 : at("}") ? -1 : 0;
    advance();
  }
}

void Parser::program(Program &program) {
  while (current.kind != TokenKind::End && !diagnostics.exhausted()) {
    bool good = at("param")    ? params(program)
                : at("size")   ? sizes(program)
                : at("kernel") ? kernel(program)
                : at("scheme") ? scheme(program)
                : take(";")    ? true
                               : failAtWord();
    if (good && (at("param") || at("size") || at("kernel") || at("scheme")))
      unclosed = false;
    if (!good) {
      if (!at("kernel") && !at("scheme"))
        advance();
      skipToDeclaration();
    }
  }
}

/// Reports the error where a declaration should begin.
bool Parser::failAtWord() {
  if (unclosed) // the block before it has no end, which is already reported
    return false;
  fail("'param', 'size', 'kernel' or 'scheme'");
  if (current.kind == TokenKind::Name && following.is("=") && insteadOfWord(current.text).empty())
    diagnostics.note("a number known at compile time is a param: param " + current.text.str() + " = …");
  return false;
}

NodePtr Parser::onlyExpression() {
  NodePtr node = expression();
  if (!node || current.kind == TokenKind::End)
    return node;
  fail("the end of the expression");
  return nullptr;
}

bool Parser::params(Program &program) {
  advance();
  do {
    ParamDeclaration declaration;
    if (!expectName(declaration.name, "the name of a param"))
      return false;
    if (take("=") && !(declaration.value = expression())) {
      declaration.isBroken = true;
      program.params.push_back(std::move(declaration));
      return false;
    }
    program.params.push_back(std::move(declaration));
  } while (take(","));
  return true;
}

bool Parser::sizes(Program &program) {
  advance();
  do {
    StringRef name;
    if (!expectName(name, "the name of a run-time size"))
      return false;
    if (!take("<=")) {
      program.sizes.push_back(name);
      continue;
    }
    LengthDeclaration length{name, expression()};
    if (!length.bound)
      return false;
    program.lengths.push_back(std::move(length));
  } while (take(","));
  if (at("="))
    return diagnostics.error(current.text,
                             "a run-time size has no value here; a size known at compile time is a 'param'"),
           false;
  return true;
}

bool Parser::type(TypeExpression &type) {
  StringRef from = current.text;
  if (!expectName(type.element, "a type such as f32[batch, N, dim]"))
    return false;
  if (type.element != "f32" && type.element != "f16" && type.element != "bf16" && type.element != "i8" &&
      type.element != "i32") {
    StringRef meant = elementTypeFor(type.element);
    diagnostics.error(type.element, "unknown element type '" + type.element.str() +
                                        "'; there are f32, f16, bf16 and i8, and i32 for operands that hold indices" +
                                        (meant.empty() ? suggestion(type.element, {"f32", "f16", "bf16", "i8", "i32"})
                                                       : " (did you mean '" + meant.str() + "'?)"));
    return false;
  }
  if (!expect("[", "the element type"))
    return false;
  while (!at("]")) {
    NodePtr size = expression();
    if (!size)
      return false;
    type.sizes.push_back(std::move(size));
    if (!take(","))
      break;
  }
  if (!expect("]", "the sizes of the type"))
    return false;
  if (at("in")) {
    advance();
    if (!(type.low = expression()) || !expect("..", "the least value of the range") || !(type.high = expression()))
      return false;
  }
  if (take("~") && !spread(type))
    return false;
  type.text = upToHere(from);
  return true;
}

/// Parses the text after '~': deviation, mean + deviation, or from..to. A sum in parentheses is one number.
bool Parser::spread(TypeExpression &type) {
  NodePtr first = product();
  if (!first)
    return false;
  if (take("+")) {
    type.mean = std::move(first);
    return (type.deviation = product()) != nullptr;
  }
  if (!take("..")) {
    type.deviation = std::move(first);
    return true;
  }
  type.from = std::move(first);
  return (type.to = product()) != nullptr;
}

/// Parses a type, or several named results: (out : f32[…], lse : f32[…]).
bool Parser::kernelResults(Kernel &kernel) {
  StringRef from = current.text;
  if (!take("(")) {
    kernel.results.emplace_back();
    kernel.resultText = from;
    if (!type(kernel.results.back().type))
      return false;
    kernel.resultText = upToHere(from);
    return true;
  }
  do {
    KernelResult result;
    if (!expectName(result.name, "the name of a result") || !expect(":", "the name of a result") || !type(result.type))
      return false;
    kernel.results.push_back(std::move(result));
  } while (take(",") && !at(")"));
  if (!expect(")", "the kernel's results"))
    return false;
  kernel.resultText = upToHere(from);
  return true;
}

bool Parser::kernel(Program &program) {
  advance();
  Kernel kernel;
  if (!expectName(kernel.name, "the kernel's name") || !expect("(", "the kernel's name"))
    return false;
  while (!at(")")) {
    size_t first = kernel.operands.size();
    bool isConst = false; // true from the word 'const' to the end of the group
    do {
      KernelOperand operand;
      if (at("const") && following.kind == TokenKind::Name) {
        advance();
        isConst = true;
      }
      operand.isConst = isConst;
      if (!expectName(operand.name, "the name of an operand"))
        return false;
      kernel.operands.push_back(std::move(operand));
    } while (take(","));
    if (!expect(":", "the names of the operands")) {
      diagnostics.note("operands have a type: q, k, v : f32[batch, heads, N, dim]");
      return false;
    }
    auto shared = std::make_shared<TypeExpression>();
    if (!type(*shared))
      return false;
    for (size_t k = first; k < kernel.operands.size(); ++k)
      kernel.operands[k].type = shared;
    if (!take(","))
      break;
  }
  if (!expect(")", "the kernel's operands"))
    return false;
  if (!take("->")) {
    if (current.kind != TokenKind::Bad)
      diagnostics.error(current.text, "expected '->' after the kernel's operands, found " + found());
    diagnostics.note("a kernel says the type of its result: -> f32[batch, heads, N, dim]");
    return false;
  }
  if (!kernelResults(kernel) || !expect("{", "the kernel's type"))
    return false;
  block(kernel.body, kernel.end);
  program.kernels.push_back(std::move(kernel));
  return true;
}

/// Parses [b, h, i, d].
bool Parser::axisNames(std::vector<StringRef> &axes, StringRef after, const std::string &what) {
  if (!expect("[", after))
    return false;
  while (!at("]")) {
    StringRef axis;
    if (!expectName(axis, "the name of an axis"))
      return false;
    if (is_contained(axes, axis))
      return diagnostics.error(axis, "axis '" + axis.str() + "' is named twice"), false;
    axes.push_back(axis);
    if (!take(","))
      break;
  }
  return expect("]", what);
}

bool Parser::schemeOperand(SchemeOperand &operand) {
  if (!expectName(operand.name, "the name of an operand"))
    return false;
  if (take(":")) {
    operand.isTensor = true;
    return axisNames(operand.axes, "':'", "the axes of '" + operand.name.str() + "'");
  }
  if (!take("="))
    return true;
  NodePtr value = expression();
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
  advance();
  Scheme scheme;
  if (!expectName(scheme.name, "the scheme's name"))
    return false;
  bool isGood = schemeAfterName(scheme);
  if (isGood)
    program.schemes.push_back(std::move(scheme));
  else
    program.brokenSchemes.push_back(scheme.name);
  return isGood;
}

bool Parser::schemeAfterName(Scheme &scheme) {
  if (!expect("(", "the scheme's name"))
    return false;
  while (!at(")")) {
    SchemeOperand operand;
    if (!schemeOperand(operand))
      return false;
    if (any_of(scheme.operands, [&](const SchemeOperand &other) { return other.name == operand.name; }))
      diagnostics.error(operand.name, "operand '" + operand.name.str() + "' is declared twice");
    scheme.operands.push_back(std::move(operand));
    if (!take(","))
      break;
  }
  if (!expect(")", "the scheme's operands"))
    return false;
  StringRef from = current.text;
  if (take("->")) {
    if (!axisNames(scheme.resultAxes, "'->'", "the axes of the result"))
      return false;
    scheme.resultText = upToHere(from);
  }
  if (take("=")) {
    Statement statement;
    if (!(statement.value = expression()))
      return false;
    scheme.end = previous;
    scheme.body.push_back(std::move(statement));
  } else if (take("{")) {
    block(scheme.body, scheme.end);
  } else {
    return fail(std::string("'=' or '{' after the scheme's ") + (scheme.resultText.empty() ? "operands" : "result"));
  }
  return true;
}

void Parser::block(std::vector<Statement> &body, StringRef &end) {
  while (!at("}") && current.kind != TokenKind::End && !diagnostics.exhausted()) {
    if (take(";"))
      continue;
    if (current.newlineBefore && (at("kernel") || at("scheme")) && following.kind == TokenKind::Name) {
      fail("'}' at the end of the block");
      unclosed = true;
      end = previous;
      return;
    }
    Statement one;
    nesting = 0;
    const char *begin = current.text.data();
    if (!statement(one)) {
      one.isBroken = true;
      if (current.text.data() == begin)
        advance(); // a statement that cannot begin like this is one mistake
      skipToStatement();
    }
    if (!one.isBroken || !one.targets.empty())
      body.push_back(std::move(one));
  }
  end = current.text;
  if (!take("}") && !diagnostics.exhausted())
    fail("'}' at the end of the block");
}

/// Parses part i = n of N from q0.
bool Parser::part(Statement &statement) {
  advance();
  statement.isPart = true;
  if (!expectName(statement.targets.emplace_back(), "the axis of a part: part i = n of N from q0"))
    return false;
  if (take("=") && !(statement.extent = expression()))
    return false;
  if (!expect("of", "the axis of a part, for the length of the whole") || !(statement.value = expression()) ||
      !expect("from", "the length of the whole"))
    return false;
  return expectName(statement.message, "an origin: q0, k0 or head0");
}

/// Checks a statement that begins with a name and is not NAME = …; false after an error.
bool Parser::nameAlone(Statement &statement, StringRef name) {
  StringRef instead = insteadOfWord(name);
  if (current.kind == TokenKind::Name && (following.is("=") || !instead.empty()) && !current.newlineBefore) {
    diagnostics.error(name, "expected a statement: NAME = …, or 'return', found '" + name.str() + " " +
                                current.text.str() + "'");
    diagnostics.note(instead.empty() ? "a name is given its value by NAME = … alone" : instead.str());
    statement.targets = {current.text};
    return false;
  }
  if (at("(") && !current.newlineBefore) {
    diagnostics.error(name, "the value of '" + name.str() + "(…)' has no name and is not returned");
    diagnostics.note("write return " + name.str() + "(…), or give it a name: NAME = " + name.str() + "(…)");
    statement.targets.clear();
    return false;
  }
  if (following.is("=") && current.kind == TokenKind::Symbol && !current.newlineBefore && !at(",") && !at(":")) {
    diagnostics.error(current.text, "'" + name.str() + "' has a value and keeps it");
    diagnostics.note("give the new value a name of its own: NAME = " + name.str() + " " + current.text.str() + " …");
    statement.targets.clear();
    return false;
  }
  return true;
}

bool Parser::statement(Statement &statement) {
  StringRef name;
  if (at("require") && !following.is("=")) {
    advance();
    statement.isRequirement = true;
    if (!(statement.value = expression()) || !expect(",", "the condition"))
      return false;
    NodePtr message = expression();
    if (!message)
      return false;
    if (message->kind != NodeKind::String)
      return diagnostics.error(message->text, "expected what to say where the condition does not hold, in quotes"),
             false;
    statement.message = message->name;
  } else if (at("part") && following.kind == TokenKind::Name) {
    if (!part(statement))
      return false;
  } else if (at("return")) {
    advance();
    StringRef from = current.text;
    if (!(statement.value = expression()))
      return false;
    if (at(",")) { // several results
      std::vector<NodePtr> values;
      values.push_back(std::move(statement.value));
      while (take(",")) {
        NodePtr value = expression();
        if (!value)
          return false;
        values.push_back(std::move(value));
      }
      if (!(statement.value = make(NodeKind::Tuple, from, "", std::move(values))))
        return false;
    }
  } else {
    statement.destructures = take("(");
    bool parenthesis = statement.destructures;
    do {
      if (!expectName(name, "a statement: NAME = …, or 'return'"))
        return false;
      statement.targets.push_back(name);
      statement.destructures |= at(","); // q, k, v = x
    } while (statement.destructures && take(",") && !at(")"));
    if (parenthesis && !expect(")", "the names"))
      return false;
    if (!at("=") && statement.targets.size() == 1 && !nameAlone(statement, name))
      return false;
    if (!expect("=", "'" + name.str() + "'"))
      return false;
  }
  if (!statement.value && !(statement.value = expression()))
    return false;
  if (current.newlineBefore || at("}") || at(";") || current.kind == TokenKind::End)
    return true;
  if (at(")") || at("]"))
    return diagnostics.error(current.text, "'" + current.text.str() + "' closes nothing"), false;
  return fail("the end of the statement");
}

} // namespace skewer::language
