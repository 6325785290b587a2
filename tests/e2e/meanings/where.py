"""where.py SKEWER [--part=1/2] [NAME …]: tests elements that are absent, that are -inf, or that a condition replaces. Each text
has NumPy code for its meaning. The numbers of keys and queries differ."""
import os
import subprocess
import sys
import tempfile

import numpy as np

N, M, H, D, B = 21, 26, 2, 8, 3
rng = np.random.default_rng(7)
data = {
    "q": rng.standard_normal((B, H, N, D)), "k": rng.standard_normal((B, H, M, D)),
    "v": rng.standard_normal((B, H, M, D)),
    "t": rng.standard_normal((2 * 4 + 1, D)), "row": rng.standard_normal((N, D)),
}
data = {n: x.astype(np.float32) for n, x in data.items()}
lengths = np.array([26, 3, 17], np.int32)
operands = dict(data, lengths=lengths)
OPERANDS = ("q : f32[batch, heads, N, dim], k, v : f32[batch, heads, M, dim], t : f32[9, dim], row : f32[N, dim], "
            "lengths : i32[batch] in 0..M")
i, j, b = np.arange(N)[:, None], np.arange(M)[None, :], np.arange(B)[:, None, None, None]
q, k, v, t, row = (data[n].astype(np.float64) for n in ("q", "k", "v", "t", "row"))
L = lengths[:, None, None, None]
S = np.einsum("bhid,bhjd->bhij", q, k)
near = np.abs(j - i) <= 4
P = np.where(near, np.einsum("bhid,ijd->bhij", q, t[np.clip(j - i, -4, 4) + 4]), 0)
inf = np.inf


def softmax(x, mask=True):
    x = np.where(np.broadcast_to(mask, x.shape), x, -inf)
    top = x.max(-1, keepdims=True)
    e = np.exp(x - np.where(np.isinf(top), 0, top))
    s = e.sum(-1, keepdims=True)
    return e / np.where(s == 0, 1, s)


def lse(x, mask=True):
    x = np.where(np.broadcast_to(mask, x.shape), x, -inf)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(x).sum(-1))


def att(w):
    return np.einsum("bhij,bhjd->bhid", w, v)


OUT = "f32[batch, heads, N, dim]"
SCORES = '  s = einsum("b h i d, b h j d -> b h i j", q, k)\n'
END = '\n  return einsum("b h i j, b h j d -> b h i d", softmax(x), v)'
TABLE = 'einsum("b h i d, (j - i + 4) d -> b h i j", q, t)'
CASES = {
    "named": (SCORES + "  x = s where j <= i" + END, lambda: att(softmax(S, j <= i))),
    "scaled": (SCORES + "  m = s where j <= i\n  x = -0.3 * m / 2 + 1" + END, lambda: att(softmax(-0.15 * S, j <= i))),
    "twice": (
        SCORES + "  m = s where j <= i + 5\n  x = m * 0.3 where i - j < 6" + END,
        lambda: att(softmax(0.3 * S, (j <= i + 5) & (i - j < 6))),
    ),
    "keyword_too": (
        SCORES + '  m = s where j <= i + 5\n'
        '  return einsum("b h i j, b h j d -> b h i d", softmax(m, where = i - j < 6), v)',
        lambda: att(softmax(S, (j <= i + 5) & (i - j < 6))),
    ),
    "softcap": (
        SCORES + "  m = s where j < lengths[b]\n  x = 3 * tanh(m / 3)" + END,
        lambda: att(softmax(3 * np.tanh(S / 3), j < L)),
    ),
    "negated_root": (
        SCORES + "  m = s where j < lengths[b]\n  x = -sqrt(abs(m)) ^ 3" + END,
        lambda: att(softmax(-np.sqrt(np.abs(S)) ** 3, j < L)),
    ),
    "both_alike": (
        SCORES + "  m = s where j <= i\n  x = m * sigmoid(m) - min(m, 0.5)" + END,
        lambda: att(softmax(S / (1 + np.exp(-S)) - np.minimum(S, 0.5), j <= i)),
    ),
    "max_number": (
        SCORES + "  m = s where j <= i\n  x = clamp(m, -1, 1)" + END,
        lambda: att(softmax(np.clip(S, -1, 1), j <= i)),
    ),
    "rearranged": (
        SCORES + '  m = s where j <= i and h == 0 or j < lengths[b]\n'
        '  x = rearrange(rearrange(m, "b h i j -> b (i h) j"), "b (i h) j -> b h i j", h = 2)' + END,
        lambda: att(softmax(S, (j <= i) & (np.arange(H)[:, None, None] == 0) | (j < L))),
    ),
    "padded": (
        SCORES + '  m = s where j < i\n'
        '  x = pad(m, (1, 0), value = 0.5)\n'
        '  return einsum("b h i j, b h j d -> b h i d", softmax(x)[..., 1:], v)',
        lambda: att(
            softmax(
                np.pad(S, ((0, 0),) * 3 + ((1, 0),), constant_values=0.5),
                np.pad(np.broadcast_to(j < i, (N, M)), ((0, 0), (1, 0)), constant_values=True),
            )[..., 1:]
        ),
    ),
    "padded_inf": (
        SCORES + '  x = pad(s, (1, 0), value = -inf)\n'
        '  return einsum("b h i j, b h j d -> b h i d", softmax(x)[..., 1:], v)',
        lambda: att(softmax(S)),
    ),
    "picked": (
        SCORES + '  m = s where j <= i\n  x = m[b, h, i, 25 - j]' + END,
        lambda: att(softmax(S[..., ::-1], (25 - j) <= i)),
    ),
    "broadcast": (
        SCORES + '  m = s where j <= i\n'
        '  x = broadcast(m, "b h i j -> b h g i j", g = 2)\n'
        '  w = softmax(x)\n'
        '  return einsum("b h g i j, b h j d -> b h i d", w, v)',
        lambda: 2 * att(softmax(S, j <= i)),
    ),
    "scheme": (
        "  s = causal(einsum(\"b h i d, b h j d -> b h i j\", q, k))\n  x = half(s)" + END,
        lambda: att(softmax(S * 0.5, j <= i)),
        OUT,
        "scheme causal(x : [b, h, i, j]) = x where j <= i\nscheme half(y : [w, x, i, z]) = y * 0.5\n",
    ),
    "lse": (
        SCORES + "  x = s * 0.5 where j < i\n  return logsumexp(x)",
        lambda: lse(S * 0.5, j < i),
        "f32[batch, heads, N]",
    ),
    "guard": (SCORES + "  p = " + TABLE + " if abs(j - i) <= 4 else 0\n  x = s + p" + END, lambda: att(softmax(S + P))),
    "guard_in": (
        SCORES + '  p = einsum("b h i d, (j - i + 4) d -> b h i j", q, t, where = abs(j - i) <= 4)\n  x = s + p' + END,
        lambda: att(softmax(S + P)),
    ),
    "guard_scaled": (
        SCORES + "  p = " + TABLE + " * 2 + 1 if abs(j - i) <= 4 else 0\n  x = s + p" + END,
        lambda: att(softmax(S + np.where(near, 2 * P + 1, 0))),
    ),
    "guard_tanh": (
        SCORES + "  p = tanh(" + TABLE + ") if abs(j - i) <= 4 else 0\n  x = s + p" + END,
        lambda: att(softmax(S + np.tanh(P))),
    ),
    "other_number": (
        SCORES + "  x = (s if j <= i else -1.5) * 0.5" + END,
        lambda: att(softmax(0.5 * np.where(j <= i, S, -1.5))),
    ),
    "other_tensor": (
        SCORES + "  x = s if j <= i else einsum(\"b h i d, i d -> b h i\", q, row)[..., None]" + END,
        lambda: att(softmax(np.where(j <= i, S, np.einsum("bhid,id->bhi", q, row)[..., None]))),
    ),
    "select": (SCORES + "  x = select(j <= i, s, 2 * s)" + END, lambda: att(softmax(np.where(j <= i, S, 2 * S)))),
    "nested": (
        SCORES + "  x = s if j < i else 0.5 if j == i else -s" + END,
        lambda: att(softmax(np.where(j < i, S, np.where(j == i, 0.5, -S)))),
    ),
    "select_broader": (
        '  g = einsum("i d -> i", row)\n' + SCORES + "  bias = select(j < lengths[b], g, 0.25)\n  x = s + bias" + END,
        lambda: att(softmax(S + np.where(j < L, row.sum(-1)[:, None], 0.25))),
    ),
    "if_broader": (
        '  g = einsum("i d -> i", row)\n' + SCORES + "  x = s + (g if j <= i else 0)" + END,
        lambda: att(softmax(S + np.where(j <= i, row.sum(-1)[:, None], 0))),
    ),
    "numbers_by_reads": (
        SCORES + "  x = s + (0.5 if j < lengths[b] else -1.5)" + END,
        lambda: att(softmax(S + np.where(j < L, 0.5, -1.5))),
    ),
    "overflow": (SCORES + "  x = exp(1000 * s) if j < 0 * i else s" + END, lambda: att(softmax(S))),
    "overflow2": (
        SCORES + "  big = exp(100 * abs(s))\n  x = s + (big if abs(i - j) > 40 else 0)" + END,
        lambda: att(softmax(S)),
    ),
    "infinite": (SCORES + "  x = s + (0 if j <= i else -inf)" + END, lambda: att(softmax(S, j <= i))),
    "infinite_select": (SCORES + "  x = s + select(j <= i, 0, -inf)" + END, lambda: att(softmax(S, j <= i))),
    "infinite_named": (
        SCORES + "  mask = -inf if j > i else 0\n  x = (s + mask) * 0.5" + END,
        lambda: att(softmax(0.5 * S, j <= i)),
    ),
    "infinite_lengths": (
        SCORES + "  mask = 0 if j < lengths[b] else -inf\n  x = mask + s" + END,
        lambda: att(softmax(S, j < L)),
    ),
    "infinite_alibi": (
        SCORES + "  mask = -0.3 * (i - j) if j <= i else -inf\n  x = s + mask" + END,
        lambda: att(softmax(S - 0.3 * (i - j), j <= i)),
    ),
    "infinite_subtracted": (SCORES + "  x = s - (inf if j > i else 0)" + END, lambda: att(softmax(S, j <= i))),
    "infinite_sum": (
        SCORES + "  x = s + (0 if j <= i else -inf) + (0 if i - j < 5 else -inf)" + END,
        lambda: att(softmax(S, (j <= i) & (i - j < 5))),
    ),
    "infinite_two": (
        SCORES + "  x = s + ((0 if j <= i else -inf) + (0 if i - j < 5 else -inf))" + END,
        lambda: att(softmax(S, (j <= i) & (i - j < 5))),
    ),
    "infinite_scheme": (
        SCORES + "  x = s + mask(1)" + END,
        lambda: att(softmax(S, j <= i + 1)),
        OUT,
        "scheme mask(n) = 0 if j <= i + n else -inf\n",
    ),
    "infinite_tensor_arg": (
        SCORES + "  x = add(s, rearrange(0 if j <= i else -inf, \"i j -> i j\"))" + END,
        lambda: att(softmax(S, j <= i)),
        OUT,
        "scheme add(x : [b, h, i, j], m : [i, j]) = x + m\n",
    ),
    "else_infinite": (SCORES + "  x = s if j <= i else -inf" + END, lambda: att(softmax(S, j <= i))),
    "select_infinite": (SCORES + "  x = select(j > i, -inf, s)" + END, lambda: att(softmax(S, j <= i))),
    "else_else_infinite": (
        SCORES + "  x = s if j < i else 2 * s if j < lengths[b] else -inf" + END,
        lambda: att(softmax(np.where(j < i, S, 2 * S), (j < i) | (j < L))),
    ),
    "where_and_infinite": (
        SCORES + "  x = s + (0 if j <= i else -inf) where i - j < 5" + END,
        lambda: att(softmax(S, (j <= i) & (i - j < 5))),
    ),
    "infinite_and_term": (
        SCORES + "  p = " + TABLE + " if abs(j - i) <= 4 else 0\n  x = s + (0 if j <= i else -inf) + p" + END,
        lambda: att(softmax(S + P, j <= i)),
    ),
    "infinite_only": (
        SCORES.replace(" s =", " z =") + "  x = 0 if j <= i else -inf\n"
        "  w = softmax(x, axis = j)\n"
        "  return einsum(\"b h i j, b h j d -> b h i d\", softmax(z), v) + einsum(\"i j, b h j d -> b h i d\", w, v)",
        lambda: att(softmax(S)) + np.einsum("ij,bhjd->bhid", softmax(np.zeros((N, M)), j <= i), v),
    ),
    "infinite_returned": (
        SCORES + "  return s + (0 if j <= i else -inf)",
        lambda: np.where(j <= i, S, -inf),
        "f32[batch, heads, N, M]",
    ),
    "infinite_tanh": (
        SCORES + "  return tanh(s + (0 if j <= i else -inf))",
        lambda: np.where(j <= i, np.tanh(S), -1),
        "f32[batch, heads, N, M]",
    ),
    "infinite_exp": (
        SCORES + '  e = exp(s + (0 if j <= i else -inf))\n  return einsum("b h i j, b h j d -> b h i d", e, v)',
        lambda: att(np.where(j <= i, np.exp(S), 0)),
    ),
    "infinite_max": (
        SCORES + "  return max(s + (0 if j <= i else -inf), -3)",
        lambda: np.maximum(np.where(j <= i, S, -inf), -3),
        "f32[batch, heads, N, M]",
    ),
    "finite": (SCORES + "  x = s + (0 if j <= i else -1e9)" + END, lambda: att(softmax(S + np.where(j <= i, 0, -1e9)))),
    "finite_product": (SCORES + "  x = s - 1e9 * (j > i)" + END, lambda: att(softmax(S + np.where(j <= i, 0, -1e9)))),
    "summed": (
        '  return einsum("b h i d, b h j d -> b h i d", q, k, where = d > 2 and j <= i and h == 1)',
        lambda: q * np.einsum("bhjd,ij->bhid", k, (j <= i) * 1.0)
        * ((np.arange(D) > 2) * (np.arange(H)[:, None, None] == 1)),
    ),
    "summed_inside": (
        '  w = softmax(einsum("b h i d, b h j d -> b h i j", q, k))\n'
        '  return einsum("b h i j, (j - i + 4) d -> b h i d", w, t, where = abs(j - i) <= 4)',
        lambda: np.einsum("bhij,ijd->bhid", softmax(S) * near, t[np.clip(j - i, -4, 4) + 4]),
    ),
    "summed_lengths": (
        '  return einsum("b h i d, b h j d -> b h i d", q, k, where = j < lengths[b])',
        lambda: q * np.einsum("bhjd,bj->bhd", k, (np.arange(M) < lengths[:, None]) * 1.0)[:, :, None],
    ),
    "infinite_none": (
        SCORES + "  mask = rearrange(0 if j <= i else -inf, \"i j -> i j\")\n  x = s + mask[None, None]" + END,
        lambda: att(softmax(S, j <= i)),
    ),
    "infinite_sliced": (
        SCORES + "  mask = rearrange(0 if j < lengths[b] else -inf, \"b j -> b j\")\n  x = s + mask[:, None, None, :]" + END,
        lambda: att(softmax(S, j < L)),
    ),
    "positions_sliced": (
        SCORES + "  far = rearrange(abs(i - j) * 0.1, \"i j -> i j\")\n  x = s + far[None, None, :, :]" + END,
        lambda: att(softmax(S + 0.1 * np.abs(i - j))),
    ),
    "infinite_data": (
        SCORES + "  x = log(max(s, 0))" + END,
        lambda: att(np.maximum(S, 0) / np.maximum(S, 0).sum(-1, keepdims=True)),
    ),
    "infinite_rows": (SCORES + "  x = log(max(s, 0) * 0)" + END, lambda: 0 * q),
    "infinite_weights": (
        SCORES + "  return softmax(log(max(s, 0) * 0))",
        lambda: 0 * S,
        "f32[batch, heads, N, M]",
    ),
    "infinite_everywhere": (SCORES + "  x = s - inf" + END, lambda: 0 * q),
    "division": (
        SCORES + "  p = 1 / einsum(\"b h i d -> b h i\", q - q) if j < i - 100 else 0\n  x = s + p" + END,
        lambda: att(softmax(S)),
    ),
    "half_absent": (
        SCORES + "  m = s where j <= i\n  x = (m + 2 * m) * m" + END,
        lambda: att(softmax(3 * S * S, j <= i)),
    ),
    "batch_summed": (
        '  return einsum("b h i d, b h j d -> h i d", q, k, where = j < lengths[b])',
        lambda: np.einsum("bhid,bhjd,bj->hid", q, k, (np.arange(M) < lengths[:, None]) * 1.0),
        "f32[heads, N, dim]",
    ),
    "empty_rows": (SCORES + "  x = s + (0 if j < i - 4 else -inf)" + END, lambda: att(softmax(S, j < i - 4))),
    "empty_lse": (
        SCORES + "  return logsumexp(s + (0 if j < i - 4 else -inf))",
        lambda: lse(S, j < i - 4),
        "f32[batch, heads, N]",
    ),
}


def judge(skewer, body, expected, result=OUT, before=""):
    """Returns why the text does not give its meaning; nothing if it does."""
    with tempfile.TemporaryDirectory() as folder:
        text = f"param N = {N}, M = {M}, heads = {H}, dim = {D}\nsize batch\n{before}"
        text += f"kernel f({OPERANDS}) -> {result} {{\n{body}\n}}\n"
        with open(os.path.join(folder, "spec.attn"), "w", encoding="utf-8") as stream:
            stream.write(text)
        command = [skewer, "run", "spec.attn", "--output=out.npy"]
        for key, value in operands.items():
            np.save(os.path.join(folder, key + ".npy"), value)
            command.append(f"--input={key}={key}.npy")
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if ran.returncode:
            return text + ran.stdout + ran.stderr
        got, want = np.load(os.path.join(folder, "out.npy")).astype(np.float64), expected()
    if got.shape != want.shape:
        return f"{text}shape {got.shape}, expected {want.shape}"
    with np.errstate(invalid="ignore"):
        error = np.where(got == want, 0, np.abs(got - want)).max() / max(np.abs(want[np.isfinite(want)]).max(), 1e-3)
    return "" if error < 2e-6 else f"{text}error {error:.1e} of the largest value"


def main():
    skewer, part, names = sys.argv[1], (1, 1), []
    for argument in sys.argv[2:]:
        if argument.startswith("--part="):
            part = tuple(map(int, argument[7:].split("/")))
        else:
            names.append(argument)
    wrong = 0
    for name in names or list(CASES)[part[0] - 1 :: part[1]]:
        if why := judge(skewer, *CASES[name]):
            wrong += 1
            print(f"{name}:\n{why}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
