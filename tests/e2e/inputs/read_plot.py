"""Reads panels of a plot: `read_plot.py FILE ID…` prints each panel's title, its cells by row, and counts of its elements."""
import re
import sys
import xml.etree.ElementTree as xml

SVG = "{http://www.w3.org/2000/svg}"


def cells(panel):
    """Returns the cells by (i, j): the row or the value, as written."""
    found = {}
    for cell in panel.iter(SVG + "rect"):
        if "data-i" in cell.attrib:
            value = cell.get("data-row", cell.get("data-value"))
            found[int(cell.get("data-i")), int(cell.get("data-j"))] = value
    return found


def panel_of(path, name):
    for group in xml.parse(path).getroot().iter(SVG + "g"):
        if group.get("id") == name:
            return group
    sys.exit(f"{path}: no panel '{name}'")


def main():
    for name in sys.argv[2:]:
        panel = panel_of(sys.argv[1], name)
        print(panel.find(SVG + "title").text)
        found = cells(panel)
        rows, columns = sorted({i for i, _ in found}), sorted({j for _, j in found})
        for i in rows:
            print(" ".join(found[i, j] for j in columns))
        # The number of a cell is a text in its middle.
        texts = {(float(t.get("x")), float(t.get("y")), t.text)
                 for t in panel.iter(SVG + "text") if t.get("text-anchor") == "middle" and t.get("x")}
        numbers = 0
        for cell in panel.iter(SVG + "rect"):
            if cell.get("data-row", "masked") != "masked":
                x, y, width, height = (float(cell.get(key)) for key in ("x", "y", "width", "height"))
                numbers += any(abs(at - x - width / 2) < 0.02 and y < below < y + height and text == cell.get("data-row")
                               for at, below, text in texts)
        print("numbers:", numbers)
        for path in panel.iter(SVG + "path"):
            print("crosses:", path.get("d").count("M") // 2)
        print("cells:", len(columns), "x", len(rows))
        fills = {c.get("fill") for c in panel.iter(SVG + "rect") if "data-row" in c.attrib}
        print("bands:", sum(f.startswith("url(#band") for f in fills))
        print(" | ".join(t.text for t in panel.iter(SVG + "text") if t.text and re.search(r"drawn|crossed", t.text)))


if __name__ == "__main__":
    main()
