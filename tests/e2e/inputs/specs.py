"""specs.py FOLDER: writes the broken specifications that no file in a repository should hold."""
import os
import sys

KERNEL = "kernel f(q, k, v : f32[2, 4, 8]) -> f32[2, 4, 8] {\n%s\n}\n"
BODY = """  s = einsum("b i d, b j d -> b i j", q, k)
  return einsum("b i j, b j e -> b i e", softmax(%s), v)"""
DEEP = 200000


def nested(text):
    return KERNEL % (BODY % text)


files = {
    "empty.attn": "",
    "blank.attn": "\n\n   \n",
    "comment.attn": "# a comment and no kernel\n",
    "binary.attn": bytes(range(256)),
    "latin.attn": b"kernel \xff\xfe(q)",
    "utf16.attn": nested("s").encode("utf-16"),
    "mac.attn": KERNEL.replace("\n%s", "\n  r = einsum(\"b i d -> b i d\", q)# doubled\r  r = 2 * r\n  return r"),
    "windows.attn": ("\ufeff# of Notepad\n" + nested("s")).replace("\n", "\r\n").rstrip().encode(),
    "long-line.attn": "a" * 10_000_000,
    "long-line-nested.attn": "kernel " + "f(" * 5_000_000,
    "deep-parentheses.attn": nested("(" * DEEP + "s" + ")" * DEEP),
    "deep-brackets.attn": nested("s" + "[" * DEEP + "]" * DEEP),
    "deep-braces.attn": nested("{" * DEEP + "s" + "}" * DEEP),
    "deep-lines.attn": nested("(\n" * DEEP + "s" + ")\n" * DEEP),
    "deep-minus.attn": nested("-\n" * DEEP + "s"),
    "deep-plus.attn": nested("+\n" * DEEP + "s"),
    "deep-not.attn": nested("s where " + "not\n" * DEEP + "j <= i"),
    "deep-power.attn": nested("s" + "^\n2" * DEEP),
    "deep-sum.attn": nested("s" + "+\ns" * DEEP),
    "deep-modules.mlir": "module {" * DEEP,
    "deep-regions.mlir": 'func.func @f() { "a"() ' + "({" * DEEP,
    "deep-types.mlir": "func.func private @f(" + "tuple<" * DEEP,
    "no-kernel.mlir": "module {}",
    "unmatched.attn": "kernel kernel }{ )(",
}
folder = sys.argv[1]
os.makedirs(os.path.join(folder, "folder.attn"), exist_ok=True)
for name, text in files.items():
    with open(os.path.join(folder, name), "wb") as f:
        f.write(text if isinstance(text, bytes) else text.encode())
