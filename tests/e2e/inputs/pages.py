"""pages.py EXAMPLES [--update]: checks that each example's page shows the present output of `skewer explain`, and that each
example's kernel agrees with the float64 reference. --update writes the pages' blocks anew."""
import pathlib
import re
import subprocess
import sys

examples = pathlib.Path(sys.argv[1])
update = "--update" in sys.argv[2:]
TARGET = "x86-64-v4"  # every machine has this description, so that the pages are the same everywhere

wrong = []
folders = sorted(folder for folder in examples.iterdir() if folder.is_dir() and folder.name != "python")  # not whole models
if not folders:
    sys.exit("no examples under %s" % examples)
for folder in folders:
    page, (spec,) = folder / "README.md", folder.glob("*.attn")
    command = ["skewer", "explain", spec.name, "--target=" + TARGET]
    said = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    runs = [subprocess.run(["skewer", "run", spec.name, "--kernel", kernel], cwd=folder, capture_output=True, text=True)
            for kernel in re.findall(r"^kernel (\w+)", spec.read_text(), flags=re.M)]
    if said.returncode or any(run.returncode for run in runs):
        wrong.append("%s: %s%s" % (spec, said.stderr, "".join(run.stdout + run.stderr for run in runs)))
        continue
    block = "```\n$ %s\n%s```" % (" ".join(command), said.stdout)
    text = page.read_text() if page.exists() else "# %s\n\n```\n$ skewer explain\n```\n" % folder.name
    now, found = re.subn(r"```\n\$ skewer explain.*?```", lambda _: block, text, count=1, flags=re.S)
    if update:
        page.write_text(now)
    elif not found or now != text:
        wrong.append("%s says something else than skewer explain; tests/e2e/inputs/pages.py examples --update" % page)
    print("%-12s %s" % (folder.name, "; ".join(run.stdout.strip() for run in runs)))
sys.exit("\n".join(wrong) if wrong else 0)
