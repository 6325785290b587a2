#!/usr/bin/env python3
"""The skew diagrams alone of a picture that `skewer plot` drew: the README's.

usage: skew_picture.py PLOT.svg PICTURE.svg

    skewer plot examples/botnet/botnet.attn -D H=3 -D W=3 -o plot.svg
    tools/site/skew_picture.py plot.svg docs/pictures/skew.svg
"""
import re
import sys

MARGIN = 16


def numbers(text, name):
    return [float(number) for number in re.findall(rf'\b{name}="(-?[\d.]+)"', text)]


def skew_picture(plot):
    """The groups `skew0`, `skew1`, … of the plot, side by side as they stand there, on white."""
    groups = re.findall(r'<g id="skew\d+".*?</g>', plot, flags=re.DOTALL)
    if not groups:
        sys.exit("no skew diagram in this plot")
    if "url(#" in "".join(groups):
        sys.exit("a table has too many rows for numbers: draw fewer positions")
    cells = [re.findall(r"<rect [^>]*>", group) for group in groups]
    right = max(numbers(cell, "x")[0] + numbers(cell, "width")[0] for row in cells for cell in row)
    low = max(numbers(cell, "y")[0] + numbers(cell, "height")[0] for row in cells for cell in row)
    top = min(numbers(group, "y")[0] for group in groups) - 20
    width, height = right + MARGIN, low - top + MARGIN
    lines = ['<?xml version="1.0" encoding="UTF-8"?>',
             f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
             f'viewBox="0 {top:g} {width:g} {height:g}" font-family="sans-serif">',
             f'<rect y="{top:g}" width="{width:g}" height="{height:g}" fill="#fff"/>', *groups, "</svg>"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as stream:
        picture = skew_picture(stream.read())
    with open(sys.argv[2], "w", encoding="utf-8") as stream:
        stream.write(picture)
