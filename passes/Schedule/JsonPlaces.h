// Finds the places of JSON members in their text, for the diagnostics of machine files; llvm::json keeps only values.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>
#include <utility>
#include <vector>

namespace skewer {

struct JsonMember {
  std::string path; // "l2_rate.unit", "devices[0].name"
  size_t key, value;
};

/// Returns the members in the order of the text, which may be malformed.
std::vector<JsonMember> jsonMembers(llvm::StringRef text);
/// Returns the first place at which objects and lists are nested deeper than `most`, or npos. The caller needs this
/// because llvm::json's parser is recursive.
size_t jsonDeeperThan(llvm::StringRef text, unsigned most);
/// Returns line and column, from 1.
std::pair<unsigned, unsigned> lineAndColumn(llvm::StringRef text, size_t offset);

} // namespace skewer
