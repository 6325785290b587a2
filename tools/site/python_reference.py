#!/usr/bin/env python3
"""Writes the reference of the Python package, docs/reference/python.md, from its docstrings and annotations.

usage: python_reference.py            writes the page
       python_reference.py --check    exits with 1, and says so, if the page is out of date

It reads the sources and does not import them, so that it needs neither the package nor a framework.
"""
import ast
import os
import re
import sys
import textwrap

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
PACKAGE = os.path.join(ROOT, "tools", "python", "skewer")
PAGE = os.path.join(ROOT, "docs", "reference", "python.md")
MODULES = ("__init__", "torch", "jax", "ring", "jax_ring")
COLUMNS = 100


def tree(module):
    with open(os.path.join(PACKAGE, module + ".py"), encoding="utf-8") as stream:
        return ast.parse(stream.read())


def exported(module):
    """Returns the names of `__all__`."""
    for node in module.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [ast.literal_eval(name) for name in node.value.elts]
    return []


def definitions(module):
    """Returns classes and functions by name, with those that come from other modules of the package."""
    found = {}
    for node in module.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module and node.module != "_core":
            others = definitions(tree(node.module))
            found.update({name.asname or name.name: others[name.name] for name in node.names if name.name in others})
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found[node.name] = node
    return found


def written(annotation):
    return ast.unparse(annotation).replace("'os.PathLike[str]'", "os.PathLike").replace("'", '"')


def signature(name, function, is_method=False):
    arguments = function.args
    shown, positional = [], arguments.posonlyargs + arguments.args
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults

    def one(argument, default):
        if argument.arg.startswith("_") or is_method and argument is positional[0]:
            return
        text = argument.arg + (f": {written(argument.annotation)}" if argument.annotation else "")
        shown.append(text + (f" = {ast.unparse(default)}" if default is not None else ""))

    for argument, default in zip(positional, defaults):
        one(argument, default)
    if arguments.vararg:
        shown.append(f"*{arguments.vararg.arg}: {written(arguments.vararg.annotation)}")
    elif arguments.kwonlyargs:
        shown.append("*")
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        one(argument, default)
    if arguments.kwarg:
        shown.append(f"**{arguments.kwarg.arg}: {written(arguments.kwarg.annotation)}")
    returns = f" -> {written(function.returns)}" if function.returns and name[0] != "_" and not name[0].isupper() else ""
    line = f"{name}({', '.join(shown)}){returns}"
    if len(line) <= COLUMNS:
        return line
    inside = textwrap.fill(", ".join(part.replace(" ", "\0") for part in shown), COLUMNS - 4, break_long_words=False, break_on_hyphens=False)
    return f"{name}(\n" + textwrap.indent(inside.replace("\0", " "), "    ") + f"){returns}"


def prose(node):
    """Returns a docstring as Markdown; sessions become code."""
    text = ast.get_docstring(node) or ""
    return re.sub(r"(?:^(?:>>>|\.\.\.) .*\n?)+", lambda block: "```python\n" + re.sub(r"(?m)^(?:>>>|\.\.\.) ", "", block.group()).rstrip() +
                  "\n```\n", text, flags=re.MULTILINE).strip()


def code(text):
    return f"```python\n{text}\n```"


def of_class(name, node):
    methods = {method.name: method for method in node.body if isinstance(method, ast.FunctionDef)}
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    fields = [f"    {field.target.id}: {written(field.annotation)}" + (f" = {ast.unparse(field.value)}" if field.value else "")
              for field in node.body if isinstance(field, ast.AnnAssign)]
    head = f"class {name}" + (f"({bases})" if bases else "")
    is_error = name.endswith(("Error", "Warning"))
    yield code(head + ("\n" + "\n".join(fields) if fields else ""))
    yield prose(node)
    # Users do not call the constructors of errors, Layer and Prepared.
    if "__init__" in methods and not is_error and name not in ("Layer", "Prepared"):
        yield code(signature(name, methods["__init__"], True))
    for method in methods.values():
        text = prose(method)
        if not text or method.name.startswith("_") and method.name != "__call__":
            continue
        called = name[0].lower() + name[1:]
        is_property = any(getattr(decorator, "id", "") == "property" for decorator in method.decorator_list)
        yield f"#### `{name}.{method.name}`" if method.name != "__call__" else f"#### Calls of a `{name}`"
        if is_property:
            yield code(f"{called}.{method.name} -> {written(method.returns)}")
        else:
            yield code(signature(called if method.name == "__call__" else f"{called}.{method.name}", method, True))
        yield text


def native():
    """Returns the functions of the extension, with their docstrings."""
    with open(os.path.join(ROOT, "tools", "python", "src", "Module.cpp"), encoding="utf-8") as stream:
        return dict(re.findall(r'module\.def\("(\w+)", &\w+, "([^"]+)"\)', stream.read()))


def page():
    shown = {}
    yield "<!-- Made from docstrings by tools/site/python_reference.py; do not edit -->"
    yield "# Reference of the Python package"
    yield "[Layers in Python](../python.md) is the guide; this is every public name, as `help(skewer)` has it."
    for name in MODULES:
        module, full = tree(name), "skewer" if name == "__init__" else f"skewer.{name}"
        yield f"## `{full}`"
        yield prose(module)
        known = definitions(module)
        for public in exported(module):
            yield f"### `{full}.{public}`"
            if public not in known:
                yield code(f"{full}.{public}() -> str")
                yield native()[public]
                continue
            node = known[public]
            if (public, ast.dump(node)) in shown:
                yield f"That of `{shown[public, ast.dump(node)]}`."
                continue
            shown[public, ast.dump(node)] = full
            if isinstance(node, ast.ClassDef):
                yield from of_class(public, node)
            else:
                yield code(signature(f"{full}.{public}", node))
                yield prose(node)


def main():
    text = "\n\n".join(part for part in page() if part) + "\n"
    if "--check" in sys.argv[1:]:
        with open(PAGE, encoding="utf-8") as stream:
            if stream.read() == text:
                return 0
        print(f"{os.path.relpath(PAGE, ROOT)} is not what docstrings say: run tools/site/python_reference.py", file=sys.stderr)
        return 1
    with open(PAGE, "w", encoding="utf-8") as stream:
        stream.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
