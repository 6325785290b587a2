// Parses statements, and says what a line that is none was perhaps meant to be.
#include "dialect/Language/StatementParser.h"
#include "dialect/Language/Habits.h"

using namespace llvm;

namespace skewer::language {

/// Skips to the first token of a line that begins a statement, a ';' or the end of the block.
void StatementParser::skipToStatement() {
  size_t braces = 0; // for i in … { … }
  while (!tokens.atEnd() && (braces > 0 || (!tokens.at("}") && !tokens.at(";")))) {
    if (tokens.current().newlineBefore && tokens.atName() &&
        (tokens.atOneOf({"kernel", "scheme"}) ||
         (braces == 0 && (tokens.following().is("=") || tokens.atOneOf({"return", "part"})))))
      return;
    braces += tokens.at("{") ? 1 : tokens.at("}") ? -1 : 0;
    tokens.advance();
  }
}

void StatementParser::block(std::vector<Statement> &body, StringRef &end) {
  while (!tokens.at("}") && !tokens.atEnd() && !diagnostics.exhausted()) {
    if (tokens.take(";"))
      continue;
    if (tokens.current().newlineBefore && tokens.atOneOf({"kernel", "scheme"}) &&
        tokens.following().kind == TokenKind::Name) {
      tokens.fail("'}' at the end of the block");
      end = tokens.previous();
      return;
    }
    Statement one;
    const char *begin = tokens.text().data();
    if (!statement(one)) {
      one.isBroken = true;
      if (tokens.text().data() == begin)
        tokens.advance(); // a statement that cannot begin like this is one mistake
      skipToStatement();
    }
    if (!one.isBroken || !one.targets.empty())
      body.push_back(std::move(one));
  }
  end = tokens.text();
  if (!tokens.take("}") && !diagnostics.exhausted())
    tokens.fail("'}' at the end of the block");
}

/// Parses part i = n of N from q0.
bool StatementParser::part(Statement &statement) {
  tokens.advance();
  statement.isPart = true;
  if (!tokens.expectName(statement.targets.emplace_back(), "the axis of a part: part i = n of N from q0"))
    return false;
  if (tokens.take("=") && !(statement.extent = expressions.expression()))
    return false;
  return tokens.expect("of", "the axis of a part, for the length of the whole") &&
         (statement.value = expressions.expression()) && tokens.expect("from", "the length of the whole") &&
         tokens.expectName(statement.message, "an origin: q0, k0 or head0");
}

/// Checks a statement that begins with a name and is not NAME = …; false after an error.
bool StatementParser::nameAlone(Statement &statement, StringRef name) {
  StringRef instead = insteadOfWord(name);
  if (tokens.atName() && (tokens.following().is("=") || !instead.empty()) && !tokens.current().newlineBefore) {
    diagnostics.error(name, "expected a statement: NAME = …, or 'return', found '" + name.str() + " " +
                                tokens.text().str() + "'");
    diagnostics.note(instead.empty() ? "a name is given its value by NAME = … alone" : instead.str());
    statement.targets = {tokens.text()};
    return false;
  }
  if (tokens.at("(") && !tokens.current().newlineBefore) {
    diagnostics.error(name, "the value of '" + name.str() + "(…)' has no name and is not returned");
    diagnostics.note("write return " + name.str() + "(…), or give it a name: NAME = " + name.str() + "(…)");
    statement.targets.clear();
    return false;
  }
  if (tokens.following().is("=") && tokens.current().kind == TokenKind::Symbol && !tokens.current().newlineBefore &&
      !tokens.atOneOf({",", ":"})) {
    diagnostics.error(tokens.text(), "'" + name.str() + "' has a value and keeps it");
    diagnostics.note("give the new value a name of its own: NAME = " + name.str() + " " + tokens.text().str() + " …");
    statement.targets.clear();
    return false;
  }
  return true;
}

/// Parses require P, "what to say".
bool StatementParser::requirement(Statement &statement) {
  tokens.advance();
  statement.isRequirement = true;
  if (!(statement.value = expressions.expression()) || !tokens.expect(",", "the condition"))
    return false;
  NodePtr message = expressions.expression();
  if (!message)
    return false;
  if (message->kind != NodeKind::String)
    return diagnostics.error(message->text, "expected what to say where the condition does not hold, in quotes"), false;
  statement.message = message->name;
  return true;
}

/// Parses NAME =, or a, b =, with or without parentheses.
bool StatementParser::targets(Statement &statement) {
  bool parenthesis = statement.destructures = tokens.take("(");
  StringRef name;
  do {
    if (!tokens.expectName(name, "a statement: NAME = …, or 'return'"))
      return false;
    statement.targets.push_back(name);
    statement.destructures |= tokens.at(","); // q, k, v = x
  } while (statement.destructures && tokens.take(",") && !tokens.at(")"));
  if (parenthesis && !tokens.expect(")", "the names"))
    return false;
  if (!tokens.at("=") && statement.targets.size() == 1 && !nameAlone(statement, name))
    return false;
  return tokens.expect("=", "'" + name.str() + "'");
}

bool StatementParser::statement(Statement &statement) {
  bool isGood;
  if (tokens.at("require") && !tokens.following().is("="))
    isGood = requirement(statement);
  else if (tokens.at("part") && tokens.following().kind == TokenKind::Name)
    isGood = part(statement);
  else if (tokens.take("return"))
    isGood = (statement.value = expressions.tuple()) != nullptr;
  else
    isGood = targets(statement) && (statement.value = expressions.expression());
  if (!isGood)
    return false;
  if (tokens.current().newlineBefore || tokens.atOneOf({"}", ";"}) || tokens.atEnd())
    return true;
  if (tokens.atOneOf({")", "]"}))
    return diagnostics.error(tokens.text(), "'" + tokens.text().str() + "' closes nothing"), false;
  return tokens.fail("the end of the statement");
}

} // namespace skewer::language
