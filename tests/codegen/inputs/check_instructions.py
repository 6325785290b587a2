"""check_instructions.py ASSEMBLY REGISTER LANES: checks the instructions of the inner loops of a kernel's phases."""
import re
import sys

text, register = open(sys.argv[1], encoding="utf-8").read(), sys.argv[2]
functions, name = {}, None
for line in text.splitlines():
    if match := re.match(r'^"?([\w.]+)"?:\s*(?:#.*)?$', line):
        if not match.group(1).startswith(".L"):
            name = match.group(1)
    elif name and line.startswith("\t") and not line.startswith("\t."):
        functions.setdefault(name, []).append(line.strip())
    if name and line.startswith(".L"):
        functions.setdefault(name, []).append(line.split(":")[0] + ":")

# A function that does the work of a phase is called KERNEL.PHASE.
phases = {name: lines for name, lines in functions.items() if re.search(r"\.\w+_(attend|pack)$", name)}
assert any(name.endswith("_attend") for name in phases), sorted(functions)
attend = next(lines for name, lines in phases.items() if name.endswith("_attend"))

fused = [line for line in attend if re.match(r"vfn?m(add|sub)\w*ps", line) and register in line]
apart = [line for line in attend if line.startswith("vmulps") and register in line]
assert len(fused) > 16, "only %d fused multiply-adds on %s" % (len(fused), register)
assert len(apart) < len(fused), "%d products apart, %d fused" % (len(apart), len(fused))
print("every product is fused")


# A backward jump spans a loop. The busiest innermost loop multiplies without spilling its accumulators.
labels = {line[:-1]: place for place, line in enumerate(attend) if line.endswith(":")}
loops = []
for place, line in enumerate(attend):
    if (match := re.match(r"j\w+\s+(\.L\w+)", line)) and labels.get(match.group(1), place) < place:
        loops.append((labels[match.group(1)], place))
inner = [loop for loop in loops if not any(other != loop and loop[0] <= other[0] and other[1] <= loop[1] for other in loops)]
busiest = max(inner, key=lambda loop: sum(line.startswith("vfm") for line in attend[loop[0]:loop[1]]))
body = attend[busiest[0]:busiest[1]]
products = sum(line.startswith("vfm") for line in body)
spills = [line for line in body if re.search(r"\(%rsp\)$", line) and line.startswith("vmov") and register in line]
assert products >= 6, body
assert not spills, spills
print("accumulators stay in registers (%d products in %d instructions)" % (products, len(body)))

# libc may zero or copy long rows; an innermost loop calls nothing.
for name, lines in phases.items():
    called = {line.split()[1].split("@")[0] for line in lines if line.startswith("call")}
    assert called <= {"memset", "memcpy"}, "%s calls %s" % (name, sorted(called))
calls = [line for first, last in inner for line in attend[first:last] if line.startswith("call")]
assert not calls, calls
print("no calls inside the loops")
