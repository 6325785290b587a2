// The meanings of the names in a kernel, from the compiled text: axes, sizes, and the classes of terms. Hovers show
// them (Document.cpp).
#pragma once
#include "llvm/ADT/StringRef.h"
#include <map>
#include <string>
#include <vector>

namespace skewer::lsp {

struct Meaning {
  std::string type;               // "f32[batch, 4, 196, 128]"
  std::string axes;               // "b h (iy ix) d"; empty if the text names no axes
  std::vector<std::string> terms; // "0.0884 q·rel_h[jy - iy + 13]: offset, query side"
};

/// Meanings by kernel, then by name. The entry of the kernel's own name holds every term with its class.
using Meanings = std::map<std::string, std::map<std::string, Meaning>>;
/// Returns the meanings; nothing if the text does not compile.
Meanings meaningsOf(llvm::StringRef text, const std::string &name);

} // namespace skewer::lsp
