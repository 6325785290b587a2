"""read_curves.py FILE: prints the panels of a picture of curves, each with its curves and the x of their points, and checks that
each point stands where its number belongs on the logarithmic axes, and that the line of a curve goes through its points."""
import math
import re
import sys
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"


def close(a, b):
    return abs(a - b) < 0.02


def linear(pairs):
    """Returns whether pixels are a linear function of the logarithms of numbers, up to rounding of pixels."""
    pairs = sorted(pairs)
    (low, first), (high, last) = pairs[0], pairs[-1]
    if low == high:
        return all(close(pixel, first) for _, pixel in pairs)
    slope = (last - first) / math.log(high / low)
    return all(close(pixel, first + slope * math.log(number / low)) for number, pixel in pairs)


root = xml.parse(sys.argv[1]).getroot()
print(root.find(SVG + "title").text)
groups = [group for group in root.iter(SVG + "g")]
for panel in groups:
    curves = [group for group in panel.findall(SVG + "g") if group.get("id").startswith(panel.get("id") + "-curve")]
    if "-curve" in panel.get("id"):
        continue
    print(panel.get("id") + ":", panel.find(SVG + "title").text)
    across, down, ticks = [], [], []
    for curve in curves:
        points = [circle for circle in curve.findall(SVG + "circle")]
        vertices = [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", curve.find(SVG + "path").get("d"))]
        assert vertices == [(float(point.get("cx")), float(point.get("cy"))) for point in points], curve.get("id")
        across += [(float(point.get("data-x")), float(point.get("cx"))) for point in points]
        down += [(float(point.get("data-y")), float(point.get("cy"))) for point in points]
        print(f"  {curve.find(SVG + 'title').text}:", *(point.get("data-x") for point in points))
    if not curves:
        print(" ", panel.findall(SVG + "text")[-1].text)
        continue
    assert linear(across) and linear(down), panel.get("id")
    assert len(across) == 1 or max(down)[1] <= min(down)[1], "larger numbers stand higher"
    frame = [box for box in panel.findall(SVG + "rect") if box.get("fill") == "none"]
    left, top, width, height = (float(frame[0].get(key)) for key in ("x", "y", "width", "height"))
    assert all(left <= x <= left + width for _, x in across) and all(top <= y <= top + height for _, y in down), "in the frame"
    print("  ticks:", *(text.text for text in panel.findall(SVG + "text") if text.get("text-anchor") == "middle"))
