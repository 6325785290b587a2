"""commands.py PAGE FOLDER [--update]: each block of a page that begins with `$ COMMAND` holds what the command prints in that
folder. --update writes the blocks anew."""
import pathlib
import re
import subprocess
import sys

page, folder, update = pathlib.Path(sys.argv[1]), sys.argv[2], "--update" in sys.argv[3:]
count = 0


def run(block):
    global count
    count += 1
    done = subprocess.run(block[1].split(), cwd=folder, capture_output=True, text=True)
    # An error of rounding is another one on another processor.
    said = re.sub(r"largest error \S+ of", "largest error … of", done.stdout + done.stderr)
    said = re.sub(r"\(tolerance \S+\)", "(tolerance …)", said)
    return "```\n$ %s\n%s```" % (block[1], said)


text = page.read_text()
now = re.sub(r"```\n\$ (.*)\n(?:.*\n)*?```", run, text)
if not count:
    sys.exit("%s has no commands" % page)
if update:
    page.write_text(now)
elif now != text:
    import difflib

    sys.exit("%s says something else:\n%s" % (page, "\n".join(difflib.unified_diff(text.split("\n"), now.split("\n"), lineterm=""))))
print("%d commands" % count)
