"""hints.py SKEWER HABITS: compiles the code that the notes of Habits.cpp recommend.

Each snippet of a note (the text after "write", and each call) stands below in a kernel, word for word. A snippet that does not is
an error, and so is a snippet below that no note recommends any more.
"""
import os
import re
import subprocess
import sys
import tempfile

X4, X3, X2 = "x : f32[batch, 2, 16, 8]", "x : f32[batch, 16, 8]", "x : f32[16, 8]"
QKV = "q, k, v : f32[batch, 2, 16, 8]"
SCORES = 'scores = einsum("b h i d, b h j d -> b h i j", q, k)'
ONE = "return %s"

# (operands, result, body with %s in place of the snippet): snippets.
KERNELS = [
    (X2, "f32[16, 8]", ONE, ["x^2", "1 / x", "-x", "log(x) / log(2)", "log(x) / log(10)", "log(1 + x)", "exp(x) - 1", "2^x",
                             "sin(x) / cos(x)", "silu(x)", "softcap(x, 50)", "x * tanh(softplus(x))", "-softplus(-x)",
                             "x * rsqrt(mean(x * x, -1)[..., None] + 1e-6)", "x * rsqrt(max(sum(x * x, -1)[..., None], 1e-24))",
                             "(x - mean(x, -1)[..., None]) * rsqrt(mean((x - mean(x, -1)[..., None])^2, -1)[..., None] + 1e-5)",
                             "x - logsumexp(x)[..., None]", "softmax(x)", "round(x)", "sign(x)", "abs(x)", "floor(abs(x))",
                             "floor(abs(x)) * sign(x)", 
                             'einsum("(len(i) - 1 - i) d -> i d", x, i = N)']),
    (X2, "f32[16, 8]", "return x if %s else 0", ["abs(x) == inf"]),
    (X2, "f32[16]", ONE, ["sqrt(sum(x * x, -1))", "mean((x - mean(x, -1)[..., None])^2, -1)"]),
    ("y : f32[16, 8]", "f32[16, 8]", 'x = einsum("i j -> i j", y); return %s', ["exp(cumsum(log(x), j))"]),
    ("y : f32[16, 8]", "f32[16]", 'x = einsum("i j -> i j", y); return %s', ["mean(x, j)", "max(x, axis = j)", "min(x, axis = j)"]),
    ("x, y : f32[16, 8]", "f32[16, 8]", ONE, ["x^y"]),
    ("a, b : f32[16, 8]", "f32[16, 8]", ONE, ["min(a, b)", "max(a, b)"]),
    ("a, b : f32[batch, 16, 8]", "f32[batch, 32, 8]", ONE, ["concat(a, b, dim = 1)"]),
    (X2, "f32[16, 8]", "low = 0; high = 1; return %s", ["clamp(x, low, high)"]),
    ("x : f32[16], y : f32[8]", "f32[16, 8]", ONE, ['einsum("i, j -> i j", x, y)']),
    (QKV, "f32[batch, 2, 16, 16]", ONE, ['einsum("b h i d, b h j d -> b h i j", q, k)']),
    (QKV, "f32[batch, 2, 16, 8]", ONE, ['einsum("b h i j, b h j d -> b h i d", softmax(einsum("b h i d, b h j d -> b h i j", q, k) '
                                       '* dim^-0.5), v)']),
    (QKV, "f32[batch, 2, 16, 16]", f"{SCORES}; {ONE}", ["softmax(scores where j <= i)"]),
    (QKV, "f32[batch, 2, 16, 16]", f"{SCORES}; return softmax(%s)", ["scores where j <= i"]),
    (QKV, "f32[batch, 2, 16]", 'x = einsum("b h i d, b h j d -> b h i j", q, k); return %s', ["sum(x, j)"]),
    (QKV, "f32[batch, 2, 16, 16]", f"x = einsum(\"b h i d, b h j d -> b h i j\", q, k); {ONE}", ["softmax(x where j <= i)"]),
    (X4, "f32[batch, 16, 2, 8]", ONE, ['rearrange(x, "b h i d -> b i h d")']),
    (X4, "f32[batch, 2, 16]", ONE, ['einsum("b h i j -> b h i", x)', "x[..., 0]", "sum(x, -1)"]),
    (X4, "f32[batch, 2, 16, 8, 1]", ONE, ["x[..., None]"]),
    (X4, "f32[batch, 16, 16]", ONE, ["reshape(x, [batch, N, -1])"]),
    ("x : f32[batch, 28, 8]", "f32[batch, 2, 14, 8]", ONE, ['rearrange(x, "b (h w) d -> b h w d", w = 14)']),
    (X3, "f32[batch, 2, 16, 8]", ONE, ['broadcast(x, "b i d -> b h i d", h = heads)']),
    ("x : f32[batch, 16, 16]", "f32[batch, 2, 16, 8]", ONE, ['rearrange(x, "b n (h d) -> b h n d", h = heads)']),
    ("x : f32[batch, 16, 48]", "f32[batch, 2, 16, 8]", "%s\nreturn q + k + v",
     ['(q, k, v) = rearrange(x, "b n (3 h d) -> 3 b h n d", h = heads)']),
    ("x : f32[batch, 32, 8]", "f32[batch, 16, 8]", ONE, ["x[:, :N]"]),
    ("x : f32[16, 2], table : f32[31, 2]", "f32[2, 16, 16]", 'named = einsum("i h, j h -> h i j", x, x); return named + %s',
     ["table[j - i + N - 1, h]"]),
    (X2, "f32[16, 8]", 'named = einsum("i d -> i d", x); return named * %s', ["len(i)"]),
    (X2, "f32[16, 8]", '%s; return x', ['require N % 2 == 0, "what is wrong"']),
]


def literals(text):
    """Returns the strings of a C++ file; strings next to each other are one."""
    string = r'"(?:[^"\\\n]|\\.)*"'
    for match in re.finditer(rf"{string}(?:\s*{string})*", text):
        yield "".join(part[1:-1] for part in re.findall(string, match.group())).replace('\\"', '"')


def calls(note):
    """Returns the calls in a note, with all arguments."""
    at = 0
    for match in re.finditer(r"\b[a-z_]\w*\(", note):
        if match.start() < at:
            continue
        depth, at, quoted = 0, match.end() - 1, False
        while at < len(note):
            quoted ^= note[at] == '"'
            depth += 0 if quoted else (note[at] in "([") - (note[at] in ")]")
            at += 1
            if depth == 0 and not quoted:
                break
        yield note[match.start():at]


def main():
    skewer, habits = sys.argv[1:]
    with open(habits, encoding="utf-8") as stream:
        notes = [note for note in literals(stream.read()) if " " in note]
    tried = [snippet for _, _, _, snippets in KERNELS for snippet in snippets]
    wrong = [f"no note recommends {snippet}" for snippet in tried if not any(snippet in note for note in notes)]
    for note in notes:
        wanted = [call for call in calls(note) if "…" not in call]
        wanted += [note[len("write "):].split("; ")[0].split(", or ")[0]] if note.startswith("write ") else []
        wrong += [f"not tried: {each}" for each in wanted if not any(each in snippet for snippet in tried)]
    with tempfile.TemporaryDirectory() as folder:
        spec = os.path.join(folder, "hint.attn")
        for operands, result, body, snippets in KERNELS:
            for snippet in snippets:
                with open(spec, "w", encoding="utf-8") as stream:
                    stream.write("param N = 16, heads = 2, dim = 8\nsize batch\n"
                                 f"kernel f({operands}) -> {result} {{\n{body.replace('%s', snippet)}\n}}\n")
                done = subprocess.run([skewer, "explain", spec], capture_output=True, text=True, check=False)
                if done.returncode:
                    wrong.append(f"{snippet}\n{done.stderr}")
    print("\n".join(wrong) or f"{len(tried)} snippets compile")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
