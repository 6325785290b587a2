"""commands.py PAGE FOLDER [--spec=NAME] [--update]: checks that each block of a page that begins with `$ COMMAND` shows what
its commands print in the folder. With --spec, each block of `attn` is written to the file NAME of the folder first.

`…` in a block stands for anything in one line, such as a time or an error, which differ between machines; so do runs of
spaces beside it. --update writes the blocks that are out of date anew."""
import difflib
import pathlib
import re
import subprocess
import sys

page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
update = "--update" in sys.argv[3:]
specs = [option.split("=")[1] for option in sys.argv[3:] if option.startswith("--spec=")]
count = 0


def printed(command):
    done = subprocess.run(command, shell=True, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    # The page does not show the warning about a busy machine.
    said = re.sub(r"^skewer: warning: the measured peak is .*the machine was busy.*\n", "", done.stdout + done.stderr, flags=re.MULTILINE)
    said = re.sub(r"largest error \S+ of", "largest error … of", said)
    return re.sub(r"\(tolerance \S+\)", "(tolerance …)", said)


def matches(shown, said):
    """Returns whether the shown lines are the printed ones, apart from `…`."""
    pattern = re.sub(r" +", " +", re.escape(shown).replace(r"\ ", " ").replace("…", r"\S.*?"))
    return bool(re.fullmatch(pattern, said))


def checked(block):
    """Returns the block as it should be: unchanged, if it shows what its commands print."""
    global count
    if specs and block.group().startswith("```attn\n"):
        (folder / specs[0]).write_text(block.group(1))
    if not block.group(1).startswith("$ "):
        return block.group()
    text = ""
    for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.group(1), re.MULTILINE):
        count += 1
        said = printed(command)
        text += "$ %s\n%s" % (command, shown if matches(shown, said) else said)
    return "```\n%s```" % text


text = page.read_text()
now = re.sub(r"^```\w*\n((?:(?!```).*\n)*)```", checked, text, flags=re.MULTILINE)
if not count:
    sys.exit("%s has no commands" % page)
if update:
    page.write_text(now)
elif now != text:
    sys.exit("%s says something else:\n%s" % (page, "\n".join(difflib.unified_diff(text.split("\n"), now.split("\n"), lineterm=""))))
print("%d commands" % count)
