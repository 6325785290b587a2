"""bad_more.py FOLDER: writes specifications with one mistake each, for bad-meanings.test."""
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
CONTENT = '  content = einsum("b h i d, b h j d -> b h i j", q, k)\n'
OUT = '  return einsum("b h i j, b h j d -> b h i d", softmax(%s), v)\n'


def spec(name, body, operands="q, k, v : f32[1, 2, 8, 4]", result="f32[1, 2, 8, 4]", before=""):
    folder.joinpath(name + ".attn").write_text("%skernel f(%s) -> %s {\n%s}\n" % (before, operands, result, body))


TABLE = "q, k, v : f32[1, 2, 8, 4], t : f32[%s]"
RELATIVE = '  p = einsum("b h i d, %s d -> b h i j", q, t)%s\n'
spec("outside", CONTENT + RELATIVE % ("(j - i + 8)", "") + OUT % "content + p", TABLE % "15, 4")
spec("element", CONTENT + OUT % "content + t[j - i + 8]", TABLE % 15)
spec("gathered", "  return gather(t, y - k + 3, y = 4, k = 4, dim = 0)\n", "t : f32[6]", "f32[4, 4]")
spec("no_key", CONTENT + OUT % "content where j < i and j > i")
spec("no_such_key", CONTENT + OUT % "content where j > 8")
spec("some_keys", CONTENT + OUT % "content where j < i")
spec("never", CONTENT + RELATIVE % ("(j - i + 7)", " if j < i and j > i else 0") + OUT % "content + p", TABLE % "15, 4")
spec("heads", CONTENT + RELATIVE % ("h (j - i + 7)", "") + OUT % "content + p", TABLE % "3, 15, 4")
spec("slopes", CONTENT + OUT % "content + alibi(t)", TABLE % 3)
spec("rope", "  return rope(q)\n", "q : f32[1, 2, 8, 5]", "f32[1, 2, 8, 5]")
spec("sincos", "  return sincos1d(8, 5)\n", "q : f32[1]", "f32[8, 5]")
GROUPS = "param H = 6, Hkv = 4\n"
spec(
    "groups",
    '  content = einsum("b h i d, b (h // (H/Hkv)) j d -> b h i j", q, k)\n'
    '  return einsum("b h i j, b (h // (H/Hkv)) j d -> b h i d", softmax(content), v)\n',
    "q : f32[1, H, 8, 4], k, v : f32[1, Hkv, 8, 4]",
    "f32[1, H, 8, 4]",
    GROUPS,
)
spec("itself", "  return s(q)\n", before="scheme s(x : [b, h, i, d]) = s(x)\n")
spec("each_other", "  return s(q)\n", before="scheme s(x : [b, h, i, d]) = t(x)\nscheme t(x : [b, h, i, d]) = 2 * s(x)\n")
spec("swapped", '  return rearrange("b h i d -> b h i d", q)\n')
spec("repeated", '  return broadcast("b h i d -> b h i d", q)\n')
spec("batch", "  return x\n", "x : f32[batch, 4]", "f32[batch, 4]", "size batch\n")
spec("folded", "  return reshape(x, [-1, 8])\n", "x : f32[batch, 4, 8]", "f32[batch, 8]", "size batch\n")
spec("letters", '  return einsum("β -> β", q)\n', "q : f32[4]", "f32[4]")
for name in ["printf", "int"]:
    folder.joinpath(name + ".attn").write_text("kernel %s(x : f32[4]) -> f32[4] { return x }\n" % name)
folder.joinpath("nothing.attn").write_text("param N = 4\n")
folder.joinpath("argument.mlir").write_text(
    "func.func @f(%q: tensor<4xf32>) -> tensor<4xf32> {\n  return %q : tensor<4xf32>\n}\n"
)
