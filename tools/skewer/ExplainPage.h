// Formats the text of an explanation: numbers with their units, and wrapped lines. All parts of `explain` print through
// it.
#pragma once
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace skewer::driver {

std::string bytesText(double bytes);  // "1.8 MB"
std::string bytesTick(double bytes);  // "200 B", "5 KB": all digits, for a number that has few
std::string flopsText(double flops);  // "1.23 GFLOP"; "not counted" for 0
std::string timeText(double seconds); // "12.3 us"
/// Returns a number with its noun: "1 query", "2 queries".
std::string counted(int64_t number, const char *one, const char *many);
size_t displayWidth(llvm::StringRef text); // columns
std::string padded(const std::string &text, size_t width);

/// A page of text, at most 120 columns wide, unless a word is longer.
class Page {
public:
  explicit Page(llvm::raw_ostream &out) : out(out) {}

  /// Prints one paragraph; lines after the first are indented by four more columns.
  void line(size_t indent, llvm::StringRef text);

private:
  llvm::raw_ostream &out;
};

} // namespace skewer::driver
