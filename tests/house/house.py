#!/usr/bin/env python3
"""Checks of the source tree itself: `house.py ROOT CHECK`. Prints each finding as file:line: message; exits 1 if any."""
import fnmatch
import io
import os
import re
import subprocess
import sys
import tokenize

import pages

MAXIMUM_LINES = 1000


def tracked_files(root):
    """Returns the paths that git tracks; in an unpacked archive, every file outside build folders."""
    command = ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z"]
    try:
        listing = subprocess.run(command, check=True, capture_output=True).stdout.decode()
        paths = [path for path in listing.split("\0") if path]
    except (OSError, subprocess.CalledProcessError):
        paths = []
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in ("build", "out", ".git", ".cache", "__pycache__")]
            paths += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    return sorted(path for path in paths if os.path.isfile(os.path.join(root, path)))


def read(root, path):
    """Returns the file's text, or None if it is binary."""
    with open(os.path.join(root, path), "rb") as stream:
        data = stream.read()
    return None if b"\0" in data else data.decode("utf-8", errors="replace")


def texts(root, pattern=""):
    for path in tracked_files(root):
        if re.search(pattern, path) and (text := read(root, path)) is not None:
            yield path, text


def file_length(root):
    for path, text in texts(root):
        count = text.count("\n")
        if count > MAXIMUM_LINES:
            yield f"{path}:{count}: {count} lines, at most {MAXIMUM_LINES}: split the file"


def machine_paths(root):
    # The brackets keep this file from matching its own pattern.
    forbidden = re.compile(r"(?<![\w.])/(?:[w]ork|[f]arm|[r]oot|[h]ome|[U]sers)/\w")
    for path, text in texts(root):
        for number, line in enumerate(text.splitlines(), 1):
            if match := forbidden.search(line):
                yield f"{path}:{number}: '{match.group(0)}…' is a path of one machine: name it relative to the tree"


def unfinished(root):
    words = re.compile(r"\b(?:TO[D]O|FIX[M]E|X[X]X|HA[C]K)\b")
    for path, text in texts(root):
        for number, line in enumerate(text.splitlines(), 1):
            if match := words.search(line):
                yield f"{path}:{number}: '{match.group(0)}': finish it, or say in a document what is missing"


def pass_flags(root):
    """Yields the name of the .td file, the line and the flag of every pass."""
    for path, text in texts(root, r"^passes/.*\.td$"):
        for match in re.finditer(r'^def \w+\s*:\s*Pass<\s*"([\w-]+)"', text, re.MULTILINE):
            yield path, text.count("\n", 0, match.start()) + 1, match.group(1)


def pass_tests(root):
    tests = list(texts(root, r"^tests/passes/.*\.(mlir|attn|test)$"))
    found = False
    for path, number, flag in pass_flags(root):
        found = True
        named = [text for name, text in tests if os.path.splitext(os.path.basename(name))[0] == flag]
        if not named:
            yield f"{path}:{number}: pass '{flag}' has no test: add tests/passes/…/{flag}.mlir"
        elif not any(re.search(rf"RUN:.*{re.escape(flag)}\b", text) for text in named):
            yield f"{path}:{number}: the test named after '{flag}' has no RUN line with that flag"
    if not found:
        yield "passes/Passes.td:1: no pass found: the check no longer understands the file"
    for path, text in texts(root, r"^(?:passes|codegen|tools)/.*\.(cpp|h)$"):
        for number, line in enumerate(text.splitlines(), 1):
            if re.search(r"\bPassWrapper<", line):
                yield f"{path}:{number}: a pass without an entry in a .td file: add one, with a description and an example"


def code_of(text):
    """MLIR as the check of examples compares it: values without names, no white space, no comments."""
    lines = [line.split("//")[0] for line in text.splitlines()]
    return re.sub(r"\s+", "", re.sub(r"%[\w#]+", "%", "\n".join(lines)))


def pass_examples(root):
    tested = {}
    for name, text in texts(root, r"^tests/passes/.*\.mlir$"):
        tested[os.path.splitext(os.path.basename(name))[0]] = code_of(text)
    for path, text in texts(root, r"^passes/.*\.td$"):
        for match in re.finditer(r'^def \w+\s*:\s*Pass<\s*"([\w-]+)".*?description = \[\{(.*?)\}\];', text, re.MULTILINE | re.DOTALL):
            flag, description = match.groups()
            number = text.count("\n", 0, match.start()) + 1
            named = re.findall(r"\(\* example (?:body|function)=@(\w+) \*\)", description)
            example = re.search(r"```mlir\n(.*?)```", description, re.DOTALL) if not named else None
            for name in named:
                if not re.search(rf"func\.func(?:private)?@{name}\b", tested.get(flag, "")):
                    yield f"{path}:{number}: the example @{name} of '{flag}' is no function of tests/passes/{flag}.mlir"
            if not example and not named and "```" not in description:
                yield f"{path}:{number}: the description of '{flag}' has no example"
            elif example and code_of(example.group(1)) not in tested.get(flag, ""):
                yield (f"{path}:{number}: the first example of '{flag}' is no case of tests/passes/…/{flag}.mlir: "
                       f"describe the pass by a case that is tested")


def links(root):
    tracked = tracked_files(root)
    known = set(tracked) | {os.path.dirname(path) for path in tracked}
    for path in list(known):  # adds every folder above a file
        while path := os.path.dirname(path):
            known.add(path)
    for path, text in texts(root, r"\.md$"):
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            if line.lstrip().startswith("```"):
                fenced = not fenced
            if fenced:
                continue
            for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
                target = target.split("#")[0]
                if not target or re.match(r"[a-z]+:", target):
                    continue
                where = os.path.normpath(os.path.join(os.path.dirname(path), target))
                if where != "." and where not in known:
                    yield f"{path}:{number}: link to '{target}', which is not in the tree"


def link_titles(root):
    yield from pages.link_titles(texts(root, r"\.md$"))


def e2e_index(root):
    yield from pages.e2e_index(tracked_files(root), "".join(text for _, text in texts(root, rf"^{pages.INDEX}$")))


NAMED_PATH = re.compile(r"(?<![\w/.$}>~:-])(?:passes|dialect|codegen|tools|tests|docs|examples)/[\w./*-]*[\w*]")
# The name of a file, alone or with folders above it.
NAMED_FILE = re.compile(r"(?<![\w/.$}>~:*-])(?:\w[\w-]*/)*[A-Z]\w*\.(?:h|cpp|td|md)\b")
# Names that are allowed: generated files, files of other projects, and names in examples.
OTHER_FILES = ("NAME.h", "ContribOperators.md")


def comments(path, text):
    """Yields the number and the text of each line of a page, and of each comment of a source."""
    if path.endswith(".md"):
        yield from enumerate(text.splitlines(), 1)
    elif path.endswith(".py"):
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        except (tokenize.TokenError, SyntaxError):
            return
        begins = True  # whether a statement begins here: a string that is a statement is a docstring
        for token in tokens:
            if token.type == tokenize.COMMENT or token.type == tokenize.STRING and begins:
                for offset, line in enumerate(token.string.splitlines()):
                    yield token.start[0] + offset, line
            if token.type not in (tokenize.COMMENT, tokenize.NL):
                begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    else:
        for number, line in enumerate(text.splitlines(), 1):
            # A string may hold "//", as an address does.
            if match := re.match(r'(?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*//(.*)', line):
                yield number, match.group(1)


def paths(root):
    """The tree has each path and file that a comment or a page names: paths from the root or from a folder above the page, and
    files by the end of their path."""
    tracked = tracked_files(root)
    known = set(tracked)
    for path in tracked:
        while path := os.path.dirname(path):
            known.add(path)
    ends = set()
    for path in tracked:
        parts = path.split("/")
        ends.update("/".join(parts[k:]) for k in range(len(parts)))
    for path, text in texts(root, r"\.(h|cpp|td|py|md)$"):
        above, folders = path, [""]
        while above := os.path.dirname(above):
            folders.append(above)
        for number, line in comments(path, text):
            for named in NAMED_PATH.findall(line):
                found = any(fnmatch.filter(known, os.path.normpath(os.path.join(folder, named))) if "*" in named else
                            os.path.normpath(os.path.join(folder, named)) in known for folder in folders)
                if not found and named not in OTHER_FILES:
                    yield f"{path}:{number}: '{named}' is not in the tree"
            for named in NAMED_FILE.findall(NAMED_PATH.sub("", line)):
                if named not in ends and named not in OTHER_FILES:
                    yield f"{path}:{number}: no file of the tree is called '{named}'"


def scheme_names(root):
    """The compiler knows classes of index expressions, and so has no string that is the name of a scheme."""
    names = set()
    for path, text in texts(root, r"^dialect/Schemes/.*\.attn$"):
        names.update(re.findall(r"^\s*scheme\s+(\w+)", text, re.MULTILINE))
    for path, text in texts(root, r"^(dialect/(IR|Subscript)|passes|codegen)/.*\.(cpp|h)$"):
        for number, line in enumerate(text.splitlines(), 1):
            code = line.split("//")[0]
            for literal in re.findall(r'"([^"]*)"', code):
                if literal in names:
                    yield f"{path}:{number}: \"{literal}\" is the name of a scheme: use the class of its index expression"


def axis_names(root):
    """Letters of axes have no meaning below the language; AxisNames.h alone has the names that are used there."""
    for path, text in texts(root, r"^(dialect/IR|passes)/.*\.(cpp|h)$"):
        if re.match(r"passes/Analysis/AxisNames\.", path):
            continue
        for number, line in enumerate(text.splitlines(), 1):
            # With a number after it, the letter is a symbol that is made here.
            for literal in re.findall(r'"([a-z]|[ij][xyz])"(?! \+)', line.split("//")[0]):
                yield f"{path}:{number}: \"{literal}\" is the name of an axis: ask how operands read it, or AxisNames.h"


LAYERS = [["Analysis"], ["Fusion"], ["Import"], ["Stages"], ["Lengths"], ["Schedule"], ["Emit"], ["Generic"], ["Cpu", "Gpu"],
          ["Pipelines"], ["Linalg", "Embed"]]


def layers(root):
    """Inside passes/ includes point down (passes/README.md), and folders of one floor do not know each other."""
    floor = {folder: number for number, folders in enumerate(LAYERS) for folder in folders}
    for path, text in texts(root, r"^passes/\w+/.*\.(cpp|h)$"):
        own = path.split("/")[1]
        if own not in floor:
            yield f"{path}:1: folder '{own}' has no place in passes/README.md and in LAYERS of this script"
            continue
        for number, line in enumerate(text.splitlines(), 1):
            if match := re.match(r'\s*#\s*include "passes/(\w+)/', line):
                other = match.group(1)
                if other != own and floor.get(other, len(LAYERS)) >= floor[own]:
                    yield f"{path}:{number}: {own} includes {other}, which does not stand below it (passes/README.md)"
    for below, above in (("dialect", "passes|codegen|tools"), ("passes", "codegen|tools"), ("codegen", "tools")):
        for path, text in texts(root, rf"^{below}/.*\.(cpp|h)$"):
            for number, line in enumerate(text.splitlines(), 1):
                if match := re.match(rf'\s*#\s*include "({above})/', line):
                    yield f"{path}:{number}: {below} includes {match.group(1)}, which stands above it"


def compiler_header(root):
    """Programs use the compiler by its public header, or by the two of its parts that need no MLIR."""
    public = {"Compiler.h", "Messages.h", "Request.h"}
    for path, text in texts(root, r"^(tools|tests/fuzz)/.*\.(cpp|h)$"):
        for number, line in enumerate(text.splitlines(), 1):
            if match := re.match(r'\s*#\s*include "codegen/Compiler/([^"]*)"', line):
                if match.group(1) not in public:
                    yield f"{path}:{number}: includes {match.group(1)} of codegen/Compiler: include Compiler.h"


def plugin_headers(root):
    """The headers that are installed for plugins include no header of the tree that is not installed. SkewerPackage.cmake names
    one that the build makes from them."""
    path = "tools/cmake/SkewerPluginHeaders.cmake"
    lines = read(root, path).splitlines()
    words = [(word, number) for number, line in enumerate(lines, 1) for word in re.findall(r"[\w/.]+", line.split("#")[0])]
    listed = {word for word, _ in words} | set(re.findall(r"[\w/]+\.h", read(root, "tools/cmake/SkewerPackage.cmake")))
    for header, number in words:
        if not header.endswith(".h"):
            continue
        if not os.path.isfile(os.path.join(root, header)):
            yield f"{path}:{number}: '{header}' is not in the tree"
            continue
        for at, line in enumerate(read(root, header).splitlines(), 1):
            if (match := re.match(r'\s*#\s*include "((?:dialect|passes|codegen|tools)/[^"]*)"', line)) and match.group(1) not in listed:
                yield f"{header}:{at}: is installed for plugins, but '{match.group(1)}' is not: add it to {path}"


def symbols(root, build):
    """Of each object file of dialect/, passes/ and codegen/ in a build whose source is in the tree: the source's path, and
    the symbols that it defines and that it needs, as `nm` prints them."""
    sources = {}
    for layer in ("dialect", "passes", "codegen"):
        for folder, _, files in os.walk(os.path.join(build, layer)):
            for name in files:
                path = os.path.join(folder, name)
                source = re.sub(r"CMakeFiles/[^/]*/", "", os.path.relpath(path, build))[:-len(".o")]
                if name.endswith(".cpp.o") and os.path.isfile(os.path.join(root, source)):
                    sources[path] = source
    defined, needed = {path: [] for path in sources}, {path: [] for path in sources}
    # One process for many files: to start one takes longer than to read a file.
    paths = list(sources)
    for begin in range(0, len(paths), 500):
        command = ["nm", "-g", "-P", "-A", *paths[begin:begin + 500]]
        for row in subprocess.run(command, check=True, capture_output=True).stdout.decode().splitlines():
            path, _, symbol = row.rpartition(": ")
            name, kind = symbol.split()[:2]
            if kind in "TDBR":
                defined[path].append(name)
            elif kind == "U":
                needed[path].append(name)
    for path, source in sources.items():
        yield source, defined[path], needed[path]


def linked_layers(root, build=""):
    """As `layers`, for the functions that an object file calls: a declaration needs no include of the file that defines it."""
    floor = {f"passes/{folder}": number for number, folders in enumerate(LAYERS, 1) for folder in folders}
    floor.update({"dialect": 0, "passes": len(LAYERS) + 1, "codegen": len(LAYERS) + 2})

    def folder_of(path):
        parts = path.split("/")
        return "/".join(parts[:2]) if "/".join(parts[:2]) in floor else parts[0]

    objects = list(symbols(root, build))
    if not objects:
        yield f"{build}:1: no object file found: the check no longer understands the build folder"
    home = {name: path for path, defined, _ in objects for name in defined}
    for path, _, needed in objects:
        own = folder_of(path)
        for name in needed:
            other = folder_of(home.get(name, path))
            if other != own and floor[other] >= floor[own]:
                yield f"{path}:1: {own} calls {name} of {home[name]}, which does not stand below it (passes/README.md)"


def strategy_names(root):
    """What schedules call the ways to compute a term, but for two words that mean more than that."""
    for _, text in texts(root, r"^passes/(Cpu/Strategies/.*\.cpp|Gpu/Shape/GpuShape\.h)$"):
        for names in re.findall(r"name\(\) const override \{ return (.*?); \}|namespace strategy \{(.*?)\}", text, re.DOTALL):
            yield from set(re.findall(r'"(\w+)"', "".join(names))) - {"matmul", "nothing"}
        yield from re.findall(r'Strategy>?\("(\w+)"', text)


def skeletons(root):
    """The kernels go through heads, blocks and tiles and call strategies: they know neither which there are nor of which
    kinds terms are. One file makes the list of them. The dialect and the cost model know no strategy by its name either."""
    names = set(strategy_names(root))
    for path, text in texts(root, r"^(passes/Cpu/Schedule|dialect/IR)/\w+\.(cpp|h)$"):
        for number, line in enumerate(text.splitlines(), 1):
            for literal in re.findall(r'"([^"]*)"', line.split("//")[0]):
                if literal in names:
                    yield f"{path}:{number}: \"{literal}\" is the name of a strategy"
    for path, text in texts(root, r"^passes/(Cpu|Gpu)/\w+\.(cpp|h)$"):
        for number, line in enumerate(text.splitlines(), 1):
            if match := re.match(r'\s*#\s*include "(passes/(?:Cpu|Gpu)/Strategies/(?!Strategies\.h)[^"]*)"', line):
                yield f"{path}:{number}: includes {match.group(1)}: a skeleton knows strategies by Strategy.h alone"
            code = line.split("//")[0]
            if match := re.search(r"\b(RowKind|BiasKind|ValueKind|TermRole|TermKind)::", code):
                yield f"{path}:{number}: asks for a {match.group(1)}: let the strategy say it, by a function of Strategy.h"
            for literal in re.findall(r'"([^"]*)"', code):
                if literal in names:
                    yield f"{path}:{number}: \"{literal}\" is the name of a strategy"


MOST_FIELDS, MOST_FUNCTIONS = 25, 40


def without_comments(text):
    """The code of a source without comments, directives of the preprocessor, and what strings hold, line by line."""
    pattern = (r"//[^\n]*|/\*.*?\*/|R\"\w*\(.*?\)\w*\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
               r"|(?m:^[ \t]*#(?:[^\n\\]|\\.|\\\n)*)")

    def blank(match):
        kept = "0" if match.group(0)[0] in "\"'R" else ""
        return kept + "\n" * match.group(0).count("\n")
    return re.sub(pattern, blank, text, flags=re.S)


def until_same(pattern, replacement, code):
    previous = None
    while previous != code:
        previous, code = code, re.sub(pattern, replacement, code)
    return code


def declared_in(statements):
    """The numbers of fields and of functions that the statements of a class declare, private ones included. Constants
    that all objects share, types and friends are neither."""
    fields = functions = 0
    for statement in statements:
        code = re.sub(r"\b(?:public|protected|private)\s*:(?!:)", " ", statement)
        code = re.sub(r"^\s*(?:[A-Z][A-Z0-9_]{3,}\s*\([^()]*\)\s*)+", " ", code)  # macros
        code = until_same(r"(?<![<\s])<[^<>;]*>|(?<=template )<[^<>]*>", "", code)  # arguments of templates
        code = re.sub(r"^\s*(?:template|\[\[[^\]]*\]\])\s*", "", code.strip())
        if not code or re.match(r"(using|friend|static_assert|typedef|enum|struct|class|union)\b", code):
            continue
        head = code if re.search(r"\boperator\b", code) else re.split(r"(?<![=!<>])=(?!=)|\{", code)[0]
        if "(" in head:
            functions += 1
        elif not re.match(r"(inline\s+)?static\b|constexpr\b", code):
            fields += until_same(r"\([^()]*\)|\{[^{}]*\}|\[[^\]]*\]", "", code).count(",") + 1
    return fields, functions


def classes(text):
    """Name, line, and numbers of fields and functions of each class and struct that a source defines."""
    code, open_blocks, start = without_comments(text), [], 0
    for k, character in enumerate(code):
        if character == "{":
            match = re.search(r"\b(enum\s+)?(?:struct|class)\s+([\w:]+)(?:<[^{};]*>)?\s*(?:final\s*)?"
                              r"(?::(?!:)[^{};()]*)?$", code[start:k])
            is_type = match is not None and not match.group(1)
            open_blocks.append((match.group(2) if is_type else None, code.count("\n", 0, k) + 1, start, []))
            start = k + 1
        elif character == "}" and open_blocks:
            name, line, before, statements = open_blocks.pop()
            if name:
                yield (name, line) + declared_in(statements)
            is_initializer = not name and re.match(r"\s*[;,)}]", code[k + 1:k + 100]) is not None
            if not name and not is_initializer and open_blocks:
                open_blocks[-1][3].append(until_same(r"\{[^{}]*\}", "", code[before:k]) + "{}")
            start = before if is_initializer else k + 1
        elif character == ";":
            if open_blocks:
                open_blocks[-1][3].append(until_same(r"\{[^{}]*\}", "", code[start:k]))
            start = k + 1


def members(root):
    """State whose order of calls is the contract shows in the number of fields and functions of one class."""
    for path, text in texts(root, r"^(dialect|passes|codegen|tools)/.*\.(h|cpp)$"):
        for full, number, fields, functions in classes(text):
            name = full.rsplit("::", 1)[-1]
            if fields > MOST_FIELDS or functions > MOST_FUNCTIONS:
                yield (f"{path}:{number}: {name} has {fields} fields and {functions} functions, at most {MOST_FIELDS} and "
                       f"{MOST_FUNCTIONS}: divide it")


def constraints(root):
    """Every numbered constraint of dialect/SPEC.md is cited by a verifier and has a test; no other number is cited."""
    number = r"\b[a-z]+_c\d+(?!\d)"
    specified = {}
    for path, text in texts(root, r"^dialect/SPEC\.md$"):
        for line, row in enumerate(text.splitlines(), 1):
            if match := re.match(rf"\|\s*({number})\s*\|", row):
                specified[match.group(1)] = f"{path}:{line}"
    cited = {}
    for path, text in texts(root, r"^dialect/IR/.*\.cpp$"):
        for line, row in enumerate(text.splitlines(), 1):
            for name in re.findall(number, row):
                cited.setdefault(name, f"{path}:{line}")
    tested = set()
    for _, text in texts(root, r"^tests/dialect/.*\.mlir$"):
        tested.update(re.findall(number, text))
    for name, where in specified.items():
        if name not in cited:
            yield f"{where}: no verifier cites {name}"
        if name not in tested:
            yield f"{where}: no test in tests/dialect names {name}"
    for name in sorted(cited.keys() - specified.keys()):
        yield f"{cited[name]}: {name} is not in dialect/SPEC.md"


CHECKS = {
    "file-length": file_length,
    "machine-paths": machine_paths,
    "unfinished": unfinished,
    "pass-tests": pass_tests,
    "pass-examples": pass_examples,
    "links": links,
    "link-titles": link_titles,
    "e2e-index": e2e_index,
    "paths": paths,
    "scheme-names": scheme_names,
    "axis-names": axis_names,
    "layers": layers,
    "compiler-header": compiler_header,
    "plugin-headers": plugin_headers,
    "linked-layers": linked_layers,
    "skeletons": skeletons,
    "members": members,
    "constraints": constraints,
}


def main():
    if len(sys.argv) not in (3, 4) or sys.argv[2] not in CHECKS:
        print(f"usage: house.py ROOT {{{','.join(CHECKS)}}} [BUILD]    (BUILD: for linked-layers)", file=sys.stderr)
        return 2
    findings = list(CHECKS[sys.argv[2]](sys.argv[1], *sys.argv[3:]))
    print("\n".join(findings) if findings else "nothing found")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
