#!/usr/bin/env python3
"""Builds the site of the guides: stages every page that the guides lead to, and runs MkDocs, for which a warning is an error.

usage: build.py FOLDER [--mkdocs PROGRAM]

The site is FOLDER/site/index.html. Pages keep their places, so that their links hold. A link to a file that is no page (a
source, a script) becomes the path as text. Unless --mkdocs names a program, MkDocs and Pygments come from PyPI into a virtual
environment in FOLDER; without a network the script says so and exits with 3.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PACKAGES = ("mkdocs==1.6.1", "pygments>=2.17")
# Folders whose pages are part of the site.
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "dialect", "docs", "examples", "passes", "tests", "tools")
LINK = re.compile(r"(?<!!)\[([^\]\[]*)\]\(([^()\s]+)\)")


def pages():
    """Yields the paths of all pages, from the root."""
    for name in PAGES:
        path = os.path.join(ROOT, name)
        if os.path.isfile(path):
            yield name
        for folder, folders, files in os.walk(path):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in ("build", "out"))
            yield from (os.path.relpath(os.path.join(folder, file), ROOT) for file in sorted(files) if file.endswith(".md"))


def outside_of_code(text, change):
    """Returns the text with `change` applied to the parts that are no code."""
    parts = re.split(r"(^```.*?^```[^\n]*$|^(?: {4}|\t)[^\n]*$|`[^`\n]+`)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if k % 2 else change(part) for k, part in enumerate(parts))


def on_one_line(text):
    """Returns the text with each piece of code of a paragraph on one line, because the site would show the end of the line. Pairs
    of backquotes are counted from the beginning of a paragraph, an item or a row."""
    parts = re.split(r"(^```.*?^```[^\n]*$|\n[ \t]*(?=\n)|\n(?=[ \t]*(?:[-*+]|\d+\.)[ \t]|\|))", text, flags=re.DOTALL | re.MULTILINE)
    code = re.compile(r"(?<!`)`[^`]+`(?!`)")
    return "".join(part if k % 2 else code.sub(lambda match: re.sub(r"\s*\n\s*", " ", match.group()), part)
                   for k, part in enumerate(parts))


def staged(page, text, known):
    """Returns the page with links that the site can follow: a folder's go to its README; of a file that is no page, text."""
    def link(match):
        words, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match.group()
        path, _, anchor = target.partition("#")
        place = os.path.normpath(os.path.join(os.path.dirname(page), path))
        if place not in known and os.path.join(place, "README.md") in known:
            path, place = os.path.join(path, "README.md"), os.path.join(place, "README.md")
        if place in known:
            return f"[{words}]({path}{'#' + anchor if anchor else ''})"
        return words if place in words else f"{words} (`{place}`)"
    text = on_one_line(text)
    # A link whose text is code would be split at the code, so that these links come first.
    text = re.sub(r"\[(`[^`\n]+`)\]\(([^()\s]+)\)", link, text)
    return outside_of_code(text, lambda part: LINK.sub(link, part))


def stage(folder):
    known = set(pages())
    shutil.rmtree(os.path.join(folder, "pages"), ignore_errors=True)
    for page in known:
        to = os.path.join(folder, "pages", page)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(os.path.join(ROOT, page), encoding="utf-8") as stream:
            text = stream.read()
        with open(to, "w", encoding="utf-8") as stream:
            stream.write(staged(page, text, known))
    shutil.copytree(os.path.join(ROOT, "docs", "pictures"), os.path.join(folder, "pages", "docs", "pictures"))
    shutil.copy(os.path.join(ROOT, "tools", "site", "mkdocs.yml"), os.path.join(folder, "mkdocs.yml"))
    shutil.copy(os.path.join(ROOT, "tools", "site", "skewer.css"), os.path.join(folder, "pages", "skewer.css"))
    os.makedirs(os.path.join(folder, "hooks"), exist_ok=True)
    shutil.copy(os.path.join(ROOT, "tools", "site", "highlight.py"), os.path.join(folder, "hooks", "highlight.py"))
    shutil.copy(os.path.join(ROOT, "tools", "python", "skewer", "_lexer.py"), os.path.join(folder, "hooks", "attn_lexer.py"))


def program(folder):
    """Returns MkDocs of FOLDER's own environment, which it makes if need be; None if the packages cannot be installed."""
    own = os.path.join(folder, "environment", "bin", "mkdocs")
    python = os.path.join(folder, "environment", "bin", "python")
    if os.path.exists(own) and subprocess.run([python, "-c", "import pygments"], capture_output=True, check=False).returncode == 0:
        return own
    for command in ([sys.executable, "-m", "venv", os.path.join(folder, "environment")],
                    [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stdout + done.stderr, file=sys.stderr)
            shutil.rmtree(os.path.join(folder, "environment"), ignore_errors=True)
            return None
    return own


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--mkdocs", help="the program (default: one of FOLDER's own, from PyPI)")
    options = parser.parse_args()
    folder = os.path.abspath(options.folder)
    os.makedirs(folder, exist_ok=True)
    stage(folder)
    mkdocs = options.mkdocs or program(folder)
    if not mkdocs:
        print("SKIPPED: MkDocs is not here and could not be installed from PyPI; the site was not built", file=sys.stderr)
        return 3
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    # Without --quiet, because MkDocs counts only those warnings that it logs.
    done = subprocess.run([mkdocs, "build", "--strict", "--config-file", os.path.join(folder, "mkdocs.yml")],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, check=False)
    if done.returncode == 0:
        print(f"the site is {os.path.join(folder, 'site', 'index.html')}")
    else:
        print(done.stdout + done.stderr, file=sys.stderr)
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
