// One call of a scheme while it is evaluated.
#pragma once
#include "dialect/Language/AxisRenaming.h"
#include "dialect/Language/Typer.h"

namespace skewer::language {

/// The scheme and its caller know the same axes by names of their own. Of each axis of the scheme this says what the
/// caller calls it.
struct Typer::SchemeCall {
  const Node &node;
  const Scheme &scheme;
  Scope own = {};
  std::vector<Value> arguments = {};                // of the operands, in their order; an error where none is given
  std::vector<const Node *> places = {};            // of the arguments; null where none is given
  std::map<std::string, std::vector<Naming>> back = {}; // by the scheme's axes; empty where the caller has no name
  std::map<std::string, std::set<std::string>> inside = {}; // by the caller's axes: the scheme's that they are
  std::map<std::string, std::string> hidden = {};   // the caller's axes that the scheme cannot name, as they are inside
  AxisRenaming in = {};
};

} // namespace skewer::language
