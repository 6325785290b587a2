// Writes SVG: https://www.w3.org/TR/SVG11/.
#include "tools/skewer/PlotSvg.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace skewer::driver {

std::string xmlEscaped(llvm::StringRef text) {
  std::string escaped;
  for (char c : text)
    switch (c) {
    case '&':
      escaped += "&amp;";
      break;
    case '<':
      escaped += "&lt;";
      break;
    case '>':
      escaped += "&gt;";
      break;
    case '"':
      escaped += "&quot;";
      break;
    default:
      escaped += static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' ? '?' : c;
    }
  return escaped;
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string grey(double darkness) {
  int level = static_cast<int>(std::lround(255 - 215 * std::clamp(darkness, 0.0, 1.0)));
  return fmt::format("#{0:02x}{0:02x}{0:02x}", level);
}

std::string hatching(int number) { return fmt::format("url(#band{})", number % kHatchings); }

/// Returns the definitions of the hatchings: lines in four directions and two distances, each on a darker ground than
/// the one before; the first has no lines.
static std::string hatchings() {
  static const struct {
    int angle;
    double distance, width;
  } kinds[kHatchings] = {{0, 8, 0}, {45, 6, 1},   {90, 6, 1},   {135, 6, 1},
                         {0, 6, 1}, {45, 3, 1.2}, {90, 3, 1.2}, {135, 3, 1.2}};
  std::string text = "<defs>\n";
  for (int k = 0; k < kHatchings; ++k) {
    std::string distance = coordinate(kinds[k].distance);
    text += fmt::format("<pattern id=\"band{}\" width=\"{}\" height=\"{}\" patternUnits=\"userSpaceOnUse\" "
                        "patternTransform=\"rotate({})\"><rect width=\"{}\" height=\"{}\" fill=\"{}\"/>",
                        k, distance, distance, kinds[k].angle, distance, distance, grey(0.07 * k));
    if (kinds[k].width > 0)
      text += fmt::format("<path d=\"M0 0H{}\" stroke=\"#000\" stroke-width=\"{}\"/>", distance,
                          coordinate(kinds[k].width));
    text += "</pattern>\n";
  }
  return text + "</defs>\n";
}

void Svg::rectangle(double x, double y, double width, double height, llvm::StringRef fill, llvm::StringRef attributes) {
  body += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"{}/>\n", coordinate(x),
                      coordinate(y), coordinate(width), coordinate(height), fill.str(), attributes.str());
}

void Svg::frame(double x, double y, double width, double height) {
  // Frames are smooth lines, never thinner than a pixel. Lines aligned to the pixel grid would vanish when a viewer
  // shrinks the picture.
  rectangle(x, y, width, height, "none",
            " stroke=\"#000\" stroke-width=\"1\" shape-rendering=\"auto\" vector-effect=\"non-scaling-stroke\"");
}

void Svg::text(double x, double y, double size, llvm::StringRef text, Anchor anchor, llvm::StringRef fill) {
  const char *where = anchor == Anchor::Start ? "start" : anchor == Anchor::Middle ? "middle" : "end";
  body += fmt::format("<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\">{}</text>\n",
                      coordinate(x), coordinate(y), coordinate(size), where, fill.str(), xmlEscaped(text));
}

void Svg::textUpwards(double x, double y, double size, llvm::StringRef text) {
  body += fmt::format(
      "<text transform=\"translate({} {}) rotate(-90)\" font-size=\"{}\" text-anchor=\"middle\">{}</text>\n",
      coordinate(x), coordinate(y), coordinate(size), xmlEscaped(text));
}

void Svg::path(llvm::StringRef data, llvm::StringRef attributes) {
  body += fmt::format("<path d=\"{}\" stroke=\"#000\" stroke-width=\"0.8\" fill=\"none\" "
                      "shape-rendering=\"auto\" vector-effect=\"non-scaling-stroke\"{}/>\n",
                      data.str(), attributes.str());
}

void Svg::circle(double x, double y, double radius, llvm::StringRef fill, llvm::StringRef attributes) {
  body += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\" stroke=\"#000\" stroke-width=\"1\" "
                      "shape-rendering=\"auto\"{}/>\n",
                      coordinate(x), coordinate(y), coordinate(radius), fill.str(), attributes.str());
}

void Svg::beginGroup(llvm::StringRef id, llvm::StringRef title) {
  body +=
      fmt::format("<g id=\"{}\" shape-rendering=\"crispEdges\"><title>{}</title>\n", xmlEscaped(id), xmlEscaped(title));
}
void Svg::endGroup() { body += "</g>\n"; }

std::string Svg::document(double width, double height, llvm::StringRef title) const {
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
                     "font-family=\"sans-serif\">\n<title>{2}</title>\n{3}"
                     "<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n{4}</svg>\n",
                     coordinate(width), coordinate(height), xmlEscaped(title), hatchings(), body);
}

} // namespace skewer::driver
