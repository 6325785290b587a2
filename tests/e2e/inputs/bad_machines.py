"""bad_machines.py GOOD.json SPEC FOLDER: makes mistakes in a good machine file. Every command that takes the file must give an
error at the right place, exit with 1, and write nothing."""
import os
import re
import subprocess
import sys

good, spec, folder = sys.argv[1:]
with open(good, encoding="utf-8") as stream:
    text = stream.read()


def line_of(fragment):
    return text[: text.index(fragment)].count("\n") + 1


def value(field, written):
    """Returns the file with another value of a field."""
    return re.sub(rf'("{field}": {{"value": )[^,]*', lambda found: found.group(1) + written, text)


def column(field, part):
    line = text.splitlines()[line_of(f'"{field}"') - 1]
    return f"{line_of(chr(34) + field)}:{line.index(chr(34) + part + chr(34)) + len(part) + 5}"


def without(field):
    return "".join(line for line in text.splitlines(True) if f'"{field}"' not in line)


AT_LANES, AT_RATE = column("lanes", "value"), column("l2_rate", "value")
CASES = {
    "unknown": (text.replace('"l2_rate"', '"l2_rat"'),
                rf"{line_of('l2_rate')}:3: error: unknown field 'l2_rat' \(did you mean 'l2_rate'\?\); known: name, "),
    "missing": (without("l2_rate"), r"1:1: error: 'l2_rate' is missing: expected .*bytes/cycle"),
    "no name": (without("name"), r"1:1: error: 'name' is missing: expected a text"),
    "twice": (text.replace('"l3_rate"', '"l2_rate"'), rf"{line_of('l3_rate')}:3: error: 'l2_rate' is given twice"),
    "unit": (text.replace("bytes/cycle", "GB/s", 1),
             rf'{column("l2_rate", "unit")}: error: l2_rate: expected the unit "bytes/cycle", found "GB/s"'),
    "no unit": (text.replace(', "unit": "bytes/cycle"', "", 1),
                rf"{line_of('l2_rate')}:14: error: l2_rate: 'unit' is missing, expected"),
    "part": (text.replace('"unit": "bytes/cycle"', '"unit": "bytes/cycle", "note": 1', 1),
             rf"{line_of('l2_rate')}:\d+: error: l2_rate: unknown part 'note'"),
    "source": (re.sub(r'("l2_rate".*"source": )"[^"]*"', r'\1""', text), "error: l2_rate: expected a text that says where"),
    "bare": (re.sub(r'"l2_rate": {.*}', '"l2_rate": 32', text), rf"{line_of('l2_rate')}:14: error: l2_rate: expected {{.*found 32"),
    "text": (value("l2_rate", '"32"'), rf'{AT_RATE}: error: l2_rate: expected a number from 0.5 to 512 .*found "32"'),
    "null": (value("l2_rate", "null"), rf"{AT_RATE}: error: l2_rate: .*found null"),
    "list": (value("l2_rate", "[32]"), "error: l2_rate: .*found a list"),
    "zero": (value("l2_rate", "0"), rf"{AT_RATE}: error: l2_rate: .*found 0"),
    "negative": (value("l2_rate", "-3"), rf"{AT_RATE}: error: l2_rate: .*found -3"),
    "huge": (value("l2_rate", "1e400"), rf"{AT_RATE}: error: l2_rate: "),
    "no registers": (value("registers", "0"), "error: registers: expected a whole number from 8 to 64 .*found 0"),
    "lanes": (value("lanes", "12"), rf"{AT_LANES}: error: lanes: expected a power of two from 4 to 16 \(f32\), found 12"),
    "many lanes": (value("lanes", "9223372036854775808"), rf"{AT_LANES}: error: lanes: .*found 9223372036854775808"),
    "half a lane": (value("lanes", "4.5"), rf"{AT_LANES}: error: lanes: .*found 4.5"),
    "cache": (value("l1_size", "9223372036854775807"), "error: l1_size: .*found 9223372036854775807"),
    "KiB": (value("l1_size", "48"), "error: l1_size: expected a whole number from 4096"),
    "caches": (value("l2_size", "32768").replace('"l1_size": {"value": 32768', '"l1_size": {"value": 65536'),
               "error: l2_size: expected at least the 65536 bytes of l1_size, found 32768"),
    "MHz": (value("clock", "3700"), "error: clock: expected a number from 0.1 to 10 .GHz., found 3700"),
    "cpu": (text.replace('"cpu": "znver4"', '"cpu": "abacus"'), "error: cpu: LLVM knows no processor 'abacus' for x86"),
    "features": (text.replace('"features": ""', '"features": "+avx2,+abacus"'), "error: features: LLVM knows no feature 'abacus'"),
    "features' form": (text.replace('"features": ""', '"features": "avx2"'), 'error: features: expected a list like .*found .avx2.'),
    "name": (text.replace('"name": "zen4"', '"name": "a/b"'), "1?2:11: error: name: expected up to 64 letters"),
    "name's type": (text.replace('"name": "zen4"', '"name": 4'), "2:11: error: name: expected a text, found 4"),
    "cpus": (text.replace('["znver4"]', '"znver4"'), "error: cpus: expected a list"),
    "in cpus": (text.replace('["znver4"]', "[4]"), "error: cpus: expected a list .*found 4 in it"),
    "comma": (text.replace('",\n  "about"', '"\n  "about"'), r"3:\d+: error: no JSON: "),
    "empty": ("", "1:1: error: no JSON: "),
    "a list": ("[1, 2]", "1:1: error: expected an object of a machine's fields, found a list"),
    "cut off": (text[: len(text) // 2], r"\d+:\d+: error: no JSON: "),
    "deep": ("[" * 200000, "1:5: error: expected an object .* 5 deep"),
    "no UTF-8": (text.replace("AMD", "\udcff", 1), "error: no JSON: .*UTF-8"),
}


def refused(path, pattern, label):
    out = os.path.join(folder, "out")
    for command in (["compile", spec, "-DN=48", "-o", out], ["run", spec, "-DN=48"], ["bench", spec, "-DN=48"],
                    ["explain", spec, "-DN=48"], ["target", path]):
        takes_option = command[0] != "target"
        ran = subprocess.run(["skewer", *command] + ["--target=" + path] * takes_option, capture_output=True, text=True)
        if ran.returncode != 1 or not re.match(pattern, ran.stderr) or ran.stderr.count("error:") != 1 or ran.stdout:
            sys.exit(f"{label}: skewer {command[0]}: exit status {ran.returncode}, expected 1 and {pattern}\n{ran.stderr}")
    if os.path.exists(out):
        sys.exit(f"{label}: something has been written")


for label, (spoilt, pattern) in CASES.items():
    path = os.path.join(folder, "bad.json")
    if spoilt == text:
        sys.exit(f"{label}: the file is not spoilt: the test no longer understands it")
    with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
        stream.write(spoilt)
    where = pattern if re.match(r"[\d(\\]", pattern) else r"\d+:\d+: " + pattern
    refused(path, re.escape(path) + ":" + where, label)
refused(os.path.join(folder, "none.json"), ".*none.json: error: cannot read the machine file: ", "no such file")
os.mkdir(os.path.join(folder, "folder.json"))
refused(os.path.join(folder, "folder.json"), ".*folder.json: error: cannot read the machine file: ", "a folder")
print(f"{len(CASES) + 2} refused")
