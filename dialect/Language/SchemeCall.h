// The state of one call of a scheme while the typer evaluates it (TypeScheme.cpp, SchemeAxes.cpp).
#pragma once
#include "dialect/Language/AxisRenaming.h"
#include "dialect/Language/Typer.h"

namespace skewer::language {

/// A call of a scheme. The scheme and its caller have different names for the same axes; for each axis of the scheme,
/// this says what the caller calls it.
struct Schemes::SchemeCall {
  const Node &node;
  const Scheme &scheme;
  Scope own = {};
  std::vector<Value> arguments = {};                // one for each operand, in order; an error value if none is given
  std::vector<const Node *> places = {};            // the places of the arguments; null if none is given
  std::map<std::string, std::vector<Naming>> back = {}; // by the scheme's axes; empty if the caller has no name
  std::map<std::string, std::set<std::string>> inside = {}; // the scheme's axes by the caller's axes
  std::map<std::string, std::string> hidden = {};   // the caller's axes unknown to the scheme, by their names inside
  AxisRenaming in = {};
};

} // namespace skewer::language
