// A picture as SVG 1.1 text, in black, white and greys.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>

namespace skewer::driver {

/// Elements are written in the order of the calls; coordinates are in pixels.
class Svg {
public:
  enum class Anchor { Start, Middle, End };

  /// `attributes`: further ones, as they are written (` data-i="0"`).
  void rectangle(double x, double y, double width, double height, llvm::StringRef fill,
                 llvm::StringRef attributes = "");
  void frame(double x, double y, double width, double height);
  void text(double x, double y, double size, llvm::StringRef text, Anchor = Anchor::Start,
            llvm::StringRef fill = "#000");
  /// Reads from the bottom to the top, centred on the point.
  void textUpwards(double x, double y, double size, llvm::StringRef text);
  /// Lines: "M0 0L10 10…".
  void path(llvm::StringRef data);
  /// `<g id="…">` with a title that viewers show; ended by `endGroup`.
  void beginGroup(llvm::StringRef id, llvm::StringRef title);
  void endGroup();

  /// The whole document.
  std::string document(double width, double height, llvm::StringRef title) const;

private:
  std::string body;
};

/// "&lt;" for "<", …; characters that XML cannot hold become "?".
std::string xmlEscaped(llvm::StringRef);
/// A coordinate: at most two decimals, none that are 0.
std::string coordinate(double);
/// 0 is white, 1 is black but for a rest that leaves lines visible.
std::string grey(double darkness);

/// Hatchings by number, told apart by direction and distance: a fill of "url(#band3)".
constexpr int kHatchings = 8;
std::string hatching(int number);

} // namespace skewer::driver
