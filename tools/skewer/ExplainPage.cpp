// Formats numbers with their units, and wraps lines.
#include "tools/skewer/ExplainPage.h"
#include <algorithm>
#include <fmt/format.h>

namespace skewer::driver {

static constexpr size_t kWidth = 120;

/// A number of bytes in a unit, and the digits behind the point with which it is printed.
struct InUnit {
  double number;
  const char *unit;
  int digits;
};

/// Returns the bytes in the largest unit of which there is one. Fewer than `fewest` bytes stay bytes.
static InUnit inUnit(double bytes, double fewest) {
  static constexpr InUnit units[] = {{1, "B", 0}, {1e3, "KB", 1}, {1e6, "MB", 1}, {1e9, "GB", 2}};
  size_t unit = 0;
  while (unit < 3 && bytes >= std::max(fewest, units[unit + 1].number))
    ++unit;
  return {bytes / units[unit].number, units[unit].unit, units[unit].digits};
}

std::string bytesText(double bytes) {
  InUnit in = inUnit(bytes, 1e4);
  return fmt::format("{:.{}f} {}", in.number, in.digits, in.unit);
}

std::string bytesTick(double bytes) {
  InUnit in = inUnit(bytes, 0);
  return fmt::format("{:g} {}", in.number, in.unit);
}

std::string flopsText(double flops) {
  if (flops == 0)
    return "not counted";
  if (flops < 1e6)
    return fmt::format("{:.2f} KFLOP", flops * 1e-3);
  return flops < 1e9 ? fmt::format("{:.2f} MFLOP", flops * 1e-6) : fmt::format("{:.2f} GFLOP", flops * 1e-9);
}

std::string counted(int64_t number, const char *one, const char *many) {
  return fmt::format("{} {}", number, number == 1 ? one : many);
}

std::string timeText(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.3g} us", seconds * 1e6)
         : seconds < 1  ? fmt::format("{:.3g} ms", seconds * 1e3)
                        : fmt::format("{:.3g} s", seconds);
}

size_t displayWidth(llvm::StringRef text) {
  size_t width = 0; // continuation bytes of UTF-8 take no column
  for (char c : text)
    width += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return width;
}
std::string padded(const std::string &text, size_t width) {
  size_t now = displayWidth(text);
  return text + std::string(now < width ? width - now : 1, ' ');
}

void Page::line(size_t indent, llvm::StringRef text) {
  std::string current(indent, ' ');
  size_t width = indent;
  bool empty = true;
  while (!text.empty()) {
    // A run of spaces is part of a column, so it stays with the word before it.
    size_t end = text.find(' ');
    end = end == llvm::StringRef::npos ? text.size() : std::min(text.find_first_not_of(' ', end), text.size());
    llvm::StringRef word = text.take_front(end);
    if (!empty && width + displayWidth(word.rtrim()) > kWidth) {
      out << llvm::StringRef(current).rtrim() << "\n";
      current = std::string(indent + 4, ' ');
      width = indent + 4;
    }
    current += word;
    width += displayWidth(word);
    empty = false;
    text = text.drop_front(end);
  }
  out << llvm::StringRef(current).rtrim() << "\n";
}

} // namespace skewer::driver
