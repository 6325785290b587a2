// The same layer with other axes' names.
#pragma once
#include <string>

namespace skewer::fuzz {

/// The text of a random layer, in which every axis is called otherwise. Names of axes carry no meaning: what is
/// compiled from it is the same.
std::string withOtherAxisNames(const std::string &text);

} // namespace skewer::fuzz
