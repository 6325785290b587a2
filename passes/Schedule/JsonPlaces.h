// Where the members of JSON objects stand in their text: llvm::json keeps values only.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>
#include <utility>
#include <vector>

namespace skewer {

struct JsonMember {
  std::string path; // "l2_rate.unit"
  size_t key, value;
};

/// In the order of the text, which may be malformed: members of objects in lists have paths of their own depth.
std::vector<JsonMember> jsonMembers(llvm::StringRef text);
/// Where objects and lists lie deeper in each other than `most`, or npos. llvm::json's parser is recursive.
size_t jsonDeeperThan(llvm::StringRef text, unsigned most);
/// Line and column, from 1.
std::pair<unsigned, unsigned> lineAndColumn(llvm::StringRef text, size_t offset);

} // namespace skewer
