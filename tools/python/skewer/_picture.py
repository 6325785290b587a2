"""The texts, pictures and pages that layers return, which notebooks show."""

import base64
import html
import os
import re
import struct
import zlib
from typing import Dict, List, Tuple, Union


class Text(str):
    """A text that a REPL and a notebook show without quotes."""

    def __repr__(self) -> str:
        return str(self)


class Plot(str):
    """A picture as SVG text, which notebooks show."""

    def __repr__(self) -> str:
        return f"<skewer picture, {len(self)} characters of SVG: picture.save(path), str(picture)>"

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the picture to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)

    def _repr_svg_(self) -> str:
        return compact(self[self.find("<svg"):])


class Page(str):
    """A whole page as HTML text, which notebooks show in a frame of its own."""

    def __repr__(self) -> str:
        return f"<skewer page, {len(self)} characters of HTML: layer.report(path), str(page)>"

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self)}" width="100%" height="800" style="border: 0"></iframe>'


# A cell of a grid as the compiler draws it. Its place and value are for a mouse; notebooks do not use them.
_CELL = re.compile(r'<rect x="([^"]+)" y="([^"]+)" width="([^"]+)" height="([^"]+)" fill="([^"]+)" data-i="[^"]*"([^/]*)/>\n')
_NUMBER = re.compile(r'<text x="([^"]+)" y="([^"]+)" font-size="([^"]+)" text-anchor="middle" fill="#000">(-?\d+)</text>\n')
_CROSS = re.compile(r"M(\S+) (\S+?)L(\S+) (\S+?)M\S+ \S+?L\S+ [^M\"]+")
Cell = Tuple[float, float, float, float, str, str]


def compact(svg: str) -> str:
    """Returns the same picture in a tenth of the text: a grid's cells become one image of pixels, or one path per filling."""
    head, *groups = re.split(r"(?=<g id=)", svg)
    return head + "".join(map(_compact_group, groups))


def _compact_group(group: str) -> str:
    found = list(_CELL.finditer(group))
    if not found:
        return group
    cells: List[Cell] = [(*(float(one[n]) for n in (1, 2, 3, 4)), one[5], one[6]) for one in found]  # type: ignore[misc]
    fills = {cell[4] for cell in cells}
    lines = any("stroke=" in cell[5] for cell in cells)
    drawn = _pixels(cells) if len(fills) > 2 and all(re.fullmatch(r"#(\w\w)\1\1", fill) for fill in fills) else _paths(cells, lines)
    begin = found[0].start()
    rest = _CELL.sub("", group[begin:])
    # The numbers in cells differ in their places only.
    numbers = list(_NUMBER.finditer(rest))
    sizes = [one[3] for one in numbers]
    usual = max(set(sizes), key=sizes.count) if sizes else ""
    texts = "".join(f'<text x="{one[1]}" y="{one[2]}">{one[4]}</text>' for one in numbers if one[3] == usual)
    rest = _NUMBER.sub(lambda one: "" if one[3] == usual else one[0], rest)
    if texts:
        texts = f'<g font-size="{usual}" text-anchor="middle">{texts}</g>\n'
    rest = _CROSS.sub(lambda one: f"M{one[1]} {one[2]}l{_short(float(one[3]) - float(one[1]))} {_short(float(one[4]) - float(one[2]))}"
                      f"m0 {_short(float(one[2]) - float(one[4]))}l{_short(float(one[1]) - float(one[3]))} "
                      f"{_short(float(one[4]) - float(one[2]))}", rest)
    return group[:begin] + drawn + texts + rest


def _short(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") or "0"


def _paths(cells: List[Cell], lines: bool) -> str:
    """Returns a path for the cells of each filling; cells next to each other become one rectangle."""
    runs: Dict[str, List[List[float]]] = {}
    for x, y, width, height, fill, _ in cells:
        run = runs.setdefault(fill, [])
        if not lines and run and run[-1][1] == y and abs(run[-1][0] + run[-1][2] - x) < 0.02:
            run[-1][2] = x + width - run[-1][0]
        else:
            run.append([x, y, width, height])
    stroke = ' stroke="#999" stroke-width="1" shape-rendering="auto" vector-effect="non-scaling-stroke"' if lines else ""
    text = ""
    for fill, rectangles in runs.items():
        data = "".join(f"M{_short(x)} {_short(y)}h{_short(w)}v{_short(h)}h{_short(-w)}z" for x, y, w, h in rectangles)
        text += f'<path fill="{fill}"{stroke} d="{data}"/>\n'
    return text


def _pixels(cells: List[Cell]) -> str:
    """Returns cells in shades of grey as the pixels of a PNG (https://www.w3.org/TR/png/)."""
    columns = {x: n for n, x in enumerate(sorted({cell[0] for cell in cells}))}
    rows = {y: n for n, y in enumerate(sorted({cell[1] for cell in cells}))}
    shades = [bytearray(len(columns)) for _ in rows]
    for x, y, _, _, fill, _ in cells:
        shades[rows[y]][columns[x]] = int(fill[1:3], 16)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", len(columns), len(rows), 8, 0, 0, 0, 0)
    data = b"".join(b"\0" + bytes(row) for row in shades)
    picture = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")
    left, top = min(columns), min(rows)
    width, height = max(columns) + cells[0][2] - left, max(rows) + cells[0][3] - top
    return f'<image x="{_short(left)}" y="{_short(top)}" width="{_short(width)}" height="{_short(height)}" ' \
        'preserveAspectRatio="none" style="image-rendering: pixelated" ' \
        f'href="data:image/png;base64,{base64.b64encode(picture).decode()}"/>\n'
