#!/usr/bin/env python3
"""Draws the pictures of the pages, docs/pictures/*.svg: panels of what `skewer plot` draws, side by side.

usage: pictures.py [--skewer PROGRAM]            draws each picture anew
       pictures.py [--skewer PROGRAM] --check    exits with 1, and says so, if a picture is out of date

No panel depends on the values of operands, because these differ between processors. Skew diagrams show rows of tables, and a
picture of masks shows which scores there are.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
MARGIN = 16
LARGEST = 300_000  # bytes

# For each picture the number of panels in a row, and the plots: a text, the kernel, options of `skewer plot`, and the kind of the
# panels. The text is a file, or the first block of a page that has the kernel; PAGE#2 is the second one.
CLASSES = "docs/pictures/classes.attn"
MASKS = "docs/cookbook/masks.md"
MASK_SIZES = ("-D", "N=12", "-D", "chunk=3", "-D", "window=4", "-D", "prefix=4")
PICTURES = {
    "skew": (2, [("examples/botnet/botnet.attn", "botnet", ("-D", "H=3", "-D", "W=3"), "skew")]),
    "tour": (2, [("docs/tour.md#2", "layer", ("-D", "N=8"), "skew"), ("docs/tour.md#3", "layer", ("-D", "N=8"), "skew")]),
    "classes": (2, [(CLASSES, kernel, (), "skew") for kernel in ("offset", "clamped", "column", "steps")]),
    "masks": (3, [(MASKS, kernel, MASK_SIZES, "mask") for kernel in ("causal", "sliding", "prompt", "streaming", "blocks")]),
    "t5": (1, [("docs/cookbook/t5.md", "t5_layer", ("-D", "N=20"), "skew")]),
    "swin": (1, [("docs/cookbook/swin.md", "swin", ("-D", "w=3"), "skew0")]),
}


def text_of(path, kernel):
    """Returns the text of a file, or of a block of a page that defines the kernel."""
    path, _, number = path.partition("#")
    with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
        text = stream.read()
    if not path.endswith(".md"):
        return text
    found = [block for block in re.findall(r"^```attn\n(.*?)^```", text, re.DOTALL | re.MULTILINE) if f"kernel {kernel}(" in block]
    return found[int(number or 1) - 1]


def plotted(skewer, path, kernel, options):
    with tempfile.TemporaryDirectory() as folder:
        spec, plot = os.path.join(folder, "layer.attn"), os.path.join(folder, "plot.svg")
        with open(spec, "w", encoding="utf-8") as stream:
            stream.write(text_of(path, kernel))
        subprocess.run([skewer, "plot", spec, "--kernel", kernel, *options, "-o", plot], check=True, capture_output=True)
        with open(plot, encoding="utf-8") as stream:
            return stream.read()


def numbers(text, name):
    return [float(number) for number in re.findall(rf'\b{name}="(-?[\d.]+)"', text)]


def extent(group):
    """Returns left, top, right and bottom of a panel: of its cells, its title, and its lines of text."""
    cells = re.findall(r"<rect [^>]*>", group)
    texts = re.findall(r"<text x[^>]*>(?=[^<])", group)
    right = max(numbers(cell, "x")[0] + numbers(cell, "width")[0] for cell in cells)
    bottom = max(numbers(cell, "y")[0] + numbers(cell, "height")[0] for cell in cells)
    return numbers(group, "x")[0], numbers(group, "y")[0] - 20, right, max([bottom] + [numbers(text, "y")[0] + 6 for text in texts])


def skew_panels(plot, name):
    """Returns the groups `skew0`, `skew1`, … of a plot, or the named one."""
    groups = re.findall(rf'<g id="{name}(?:\b|\d+)".*?</g>', plot, flags=re.DOTALL)
    if "url(#" in "".join(groups):
        sys.exit("a table has too many rows for numbers: draw fewer positions")
    return groups


def mask_panel(plot):
    """Returns the scores of a plot without their values: grey where there is a score, crossed out where there is none."""
    title, where = re.search(r"<title>(.*?)</title>", plot).group(1), re.search(r">space [^<]* where ([^<]*)<", plot).group(1)
    group = re.search(r'<g id="map0".*?</g>', plot, flags=re.DOTALL).group()
    cells = [line for line in group.splitlines() if "data-value" in line]
    low = max(numbers(cell, "y")[0] + numbers(cell, "height")[0] for cell in cells)
    kept = []
    for line in group.splitlines():
        if "data-value" in line:
            line = re.sub(r'fill="#\w+"', 'fill="#fff"' if '"masked"' in line else 'fill="#bbb"', re.sub(r' data-value="[^"]*"', "", line))
        if line.startswith(("<text x", "<rect")) and numbers(line, "y")[0] >= low:
            continue  # the legend
        line = line.replace(">scores<", f">{title}<")
        kept.append(re.sub(r">before the softmax[^<]*<", lambda _: f">{where}<", line))
    return "\n".join(kept)


def panels(skewer, plots):
    for path, kernel, options, kind in plots:
        plot = plotted(skewer, path, kernel, options)
        found = [mask_panel(plot)] if kind == "mask" else skew_panels(plot, kind)
        if not found:
            sys.exit(f"{path}: {kernel} has no panel '{kind}'")
        yield from found


def composed(columns, groups):
    """Returns a picture of the panels in rows, on white."""
    lines, y, width = [], MARGIN, 0
    for first in range(0, len(groups), columns):
        x, height = MARGIN, 0
        for number, group in enumerate(groups[first:first + columns], first):
            left, top, right, bottom = extent(group)
            group = re.sub(r'<g id="\w+"', f'<g id="panel{number}"', group, count=1)
            lines += [f'<g transform="translate({x - left:g} {y - top:g})">', group, "</g>"]
            x, height = x + right - left + 3 * MARGIN, max(height, bottom - top)
        y, width = y + height + 2 * MARGIN, max(width, x - 2 * MARGIN)
    height = y - MARGIN
    head = ['<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}" '
            'font-family="sans-serif">', f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>']
    return "\n".join(head + lines + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skewer", default="skewer", help="the command (default: skewer, from PATH)")
    parser.add_argument("--folder", default=os.path.join(ROOT, "docs", "pictures"), help="where the pictures are (default: docs/pictures)")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = []
    for name, (columns, plots) in PICTURES.items():
        picture, path = composed(columns, list(panels(options.skewer, plots))), os.path.join(options.folder, name + ".svg")
        if len(picture.encode()) > LARGEST:
            wrong.append(f"{name}.svg has {len(picture.encode())} bytes, at most {LARGEST}: draw fewer positions")
        if not options.check:
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(picture)
            continue
        old = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                old = stream.read()
        if old != picture:
            wrong.append(f"{name}.svg is not what skewer plot draws now: run tools/site/pictures.py")
    wrong += [f"{file} is no picture that tools/site/pictures.py draws" for file in sorted(os.listdir(options.folder))
              if file.endswith(".svg") and file[:-4] not in PICTURES]
    print("\n".join(wrong) or f"{len(PICTURES)} pictures")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
