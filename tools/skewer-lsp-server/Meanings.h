// What the names of a kernel stand for, from the compiled text: axes, sizes, and the classes of terms.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace skewer::lsp {

struct Meaning {
  std::string type;               // "f32[batch, 4, 196, 128]"
  std::string axes;               // "b h (iy ix) d"; empty where the text names none
  std::vector<std::string> terms; // "0.0884 q·rel_h[jy - iy + 13]: offset, query side"
};

/// By kernel, then by name; the kernel's own name has its verdict: every term with its class.
using Meanings = std::map<std::string, std::map<std::string, Meaning>>;
/// Nothing where the text does not compile.
Meanings meaningsOf(llvm::StringRef text, const std::string &name);

} // namespace skewer::lsp
