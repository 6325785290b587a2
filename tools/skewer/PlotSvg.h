// Writes a picture as SVG 1.1 text, in black, white and greys.
#pragma once
#include "llvm/ADT/StringRef.h"
#include <string>

namespace skewer::driver {

/// A picture. Elements are written in the order of the calls; coordinates are in pixels.
class Svg {
public:
  enum class Anchor { Start, Middle, End };

  /// Draws a rectangle. `attributes` holds further attributes as text (` data-i="0"`).
  void rectangle(double x, double y, double width, double height, llvm::StringRef fill,
                 llvm::StringRef attributes = "");
  void frame(double x, double y, double width, double height);
  void text(double x, double y, double size, llvm::StringRef text, Anchor = Anchor::Start,
            llvm::StringRef fill = "#000");
  /// Draws text from bottom to top, centred on the point.
  void textUpwards(double x, double y, double size, llvm::StringRef text);
  /// Draws lines: "M0 0L10 10…". `attributes` holds further attributes as text.
  void path(llvm::StringRef data, llvm::StringRef attributes = "");
  /// Draws a circle with a black line around it.
  void circle(double x, double y, double radius, llvm::StringRef fill, llvm::StringRef attributes = "");
  /// Begins `<g id="…">` with a title that viewers show; `endGroup` ends it.
  void beginGroup(llvm::StringRef id, llvm::StringRef title);
  void endGroup();

  /// Returns the whole document.
  std::string document(double width, double height, llvm::StringRef title) const;

private:
  std::string body;
};

/// Returns the text with "&lt;" for "<", …; characters that XML cannot hold become "?".
std::string xmlEscaped(llvm::StringRef);
/// Returns a coordinate with at most two decimals, without trailing zeros.
std::string coordinate(double);
/// Returns a fill: 0 is white; 1 is nearly black, so that lines stay visible.
std::string grey(double darkness);

/// The number of hatchings. They differ in direction and distance; the fill of hatching 3 is "url(#band3)".
constexpr int kHatchings = 8;
std::string hatching(int number);

} // namespace skewer::driver
