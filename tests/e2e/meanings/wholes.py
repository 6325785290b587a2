"""wholes.py SKEWER [NAME …]: tests whole layers as a user would write them from a paper, and expressions that combine two
features of the language. Each text has NumPy code for its meaning."""
import os
import subprocess
import sys
import tempfile

import numpy as np

rng = np.random.default_rng(23)
CASES = {}


def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def case(text, oracle, options=(), **inputs):
    name = text.split("kernel ")[1].split("(")[0]
    assert name not in CASES, name
    CASES[name] = (text, inputs, oracle, options)


def softmax(s, axis=-1, mask=True):
    s = np.where(np.broadcast_to(mask, s.shape), s, -np.inf)
    top = s.max(axis, keepdims=True)
    e = np.exp(s - np.where(np.isinf(top), 0, top))
    total = e.sum(axis, keepdims=True)
    return e / np.where(total == 0, 1, total)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def at(*shape):
    return np.indices(shape)


def rope(x, base=10000.0):
    n, p = np.arange(x.shape[-2])[:, None], np.arange(x.shape[-1] // 2)[None, :]
    c, s = np.cos(n * base ** (-p / p.size)), np.sin(n * base ** (-p / p.size))
    out = np.empty_like(x)
    out[..., ::2], out[..., 1::2] = x[..., ::2] * c - x[..., 1::2] * s, x[..., 1::2] * c + x[..., ::2] * s
    return out


i5, j5 = at(5, 5)
i6, j6 = at(6, 6)

# Layers -------------------------------------------------------------------------------------------------------------------
case("""kernel grouped(x : f32[2, 5, 4, 3], y : f32[2, 6, 2, 3]) -> f32[2, 5, 4, 3] {
  s = einsum("n t (g r) c, n s g c -> n g r t s", x, y, r = 2) * 3^-0.5
  return einsum("n g r t s, n s g c -> n t (g r) c", softmax(s), y)
}""", lambda x, y: np.einsum("ngrts,nsgc->ntgrc", softmax(np.einsum("ntgrc,nsgc->ngrts", x.reshape(2, 5, 2, 2, 3), y) / 3**0.5),
                             y).reshape(2, 5, 4, 3), x=f(2, 5, 4, 3), y=f(2, 6, 2, 3))
case("""kernel letters(q : f32[5, 3], k, v : f32[6, 3]) -> f32[5, 3] {
  s = einsum("q c, k c -> q k", q, k) - 0.2 * abs(position(k) - position(q))
  return einsum("q k, k c -> q c", softmax(s where position(k) < position(q) + 3), v)
}""", lambda q, k, v: softmax(q @ k.T - 0.2 * abs(at(5, 6)[1] - at(5, 6)[0]), mask=at(5, 6)[1] < at(5, 6)[0] + 3) @ v,
     q=f(5, 3), k=f(6, 3), v=f(6, 3))
case("""kernel differential(q, k : f32[2, 5, 6], v : f32[5, 4], lam : f32[1]) -> f32[5, 4] {
  a = softmax(einsum("s i d, s j d -> s i j", q, k) * 6^-0.5 where j <= i)
  (one, two) = a
  return einsum("i j, j d -> i d", one - lam[0] * two, v)
}""", lambda q, k, v, lam: (lambda a: (a[0] - lam[0] * a[1]) @ v)(softmax(np.einsum("sid,sjd->sij", q, k) / 6**0.5, mask=j5 <= i5)),
     q=f(2, 5, 6), k=f(2, 5, 6), v=f(5, 4), lam=f(1))
case("""kernel talking(q, k, v : f32[3, 5, 4], before, after : f32[3, 3]) -> f32[3, 5, 4] {
  s = einsum("h i j, h g -> g i j", einsum("h i d, h j d -> h i j", q, k), before)
  w = einsum("g i j, g h -> h i j", softmax(s where j <= i), after)
  return einsum("h i j, h j d -> h i d", w, v)
}""", lambda q, k, v, before, after: np.einsum(
    "gij,gh,hjd->hid", softmax(np.einsum("hid,hjd,hg->gij", q, k, before), mask=j5 <= i5), after, v),
     q=f(3, 5, 4), k=f(3, 5, 4), v=f(3, 5, 4), before=f(3, 3), after=f(3, 3))
case("""scheme unit(x) = x * rsqrt(sum(x * x, -1)[..., None] + 1e-6)
kernel cosine(q, k, v : f32[2, 5, 4], scale : f32[2]) -> f32[2, 5, 4] {
  s = einsum("h i d, h j d -> h i j", unit(q), unit(k)) * exp(scale[h])
  return einsum("h i j, h j d -> h i d", softmax(s), v)
}""", lambda q, k, v, scale: (lambda u: softmax(np.einsum("hid,hjd->hij", u(q), u(k)) * np.exp(scale)[:, None, None]) @ v)(
    lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)), q=f(2, 5, 4), k=f(2, 5, 4), v=f(2, 5, 4), scale=f(2))
case("""kernel sink(q, k, v : f32[2, 5, 4], sink : f32[2]) -> f32[2, 5, 4] {
  s = einsum("h i d, h j d -> h i j", q, k) where j <= i
  w = softmax(concat(sink[:, None, None], s, dim = 2))
  return einsum("h i j, h j d -> h i d", w[:, :, 1:], v)
}""", lambda q, k, v, sink: (lambda s: (np.exp(s) / (np.exp(s).sum(-1, keepdims=True) + np.exp(sink)[:, None, None])) @ v)(
    np.where(j5 <= i5, np.einsum("hid,hjd->hij", q, k), -np.inf)), q=f(2, 5, 4), k=f(2, 5, 4), v=f(2, 5, 4), sink=f(2))
case("""kernel gates(q, k, v, g : f32[2, 5, 4], w : f32[2, 5]) -> f32[2, 5, 4] {
  o = einsum("h i j, h j d -> h i d", softmax(einsum("h i d, h j d -> h i j", q, k)), v)
  return o * sigmoid(g) * (1 - sigmoid(w))[..., None]
}""", lambda q, k, v, g, w: softmax(q @ k.transpose(0, 2, 1)) @ v * sigmoid(g) * (1 - sigmoid(w))[..., None],
     q=f(2, 5, 4), k=f(2, 5, 4), v=f(2, 5, 4), g=f(2, 5, 4), w=f(2, 5))
case("""kernel first_slopes(q, k, v : f32[2, 5, 4], m : f32[2]) -> f32[2, 5, 4] {
  bias = -exp(m[h]) * max(i - j, 0)
  s    = einsum("h i d, h j d -> h i j", q, k) * 4^-0.5 + bias
  return einsum("h i j, h j d -> h i d", softmax(s where j <= i), v)
}""", lambda q, k, v, m: softmax(q @ k.transpose(0, 2, 1) / 2 - np.exp(m)[:, None, None] * np.maximum(i5 - j5, 0), mask=j5 <= i5) @ v,
     q=f(2, 5, 4), k=f(2, 5, 4), v=f(2, 5, 4), m=f(2))
case("""kernel bucketed(q, k, v : f32[6, 4], table : f32[4]) -> f32[6, 4] {
  edges = [0, 1, 1, 2, 2, 2, 3]
  s = einsum("i d, j d -> i j", q, k) + table[edges[min(abs(i - j), 6)]]
  return einsum("i j, j d -> i d", softmax(s), v)
}""", lambda q, k, v, table: softmax(q @ k.T + table[np.array([0, 1, 1, 2, 2, 2, 3])[abs(i6 - j6)]]) @ v,
     q=f(6, 4), k=f(6, 4), v=f(6, 4), table=f(4))
case("""param W = 2
kernel blocks(q, k, v : f32[6, 4], summary : f32[3, 4]) -> f32[6, 4] {
  near = einsum("i d, j d -> i j", q, k) where i // W == j // W
  far  = einsum("i d, c d -> i c", q, summary) where c < i // W
  w    = softmax(concat(near, far, dim = 1))
  return einsum("i j, j d -> i d", w[:, :6], v) + einsum("i c, c d -> i d", w[:, 6:], summary)
}""", lambda q, k, v, summary: (lambda w: w[:, :6] @ v + w[:, 6:] @ summary)(softmax(
    np.concatenate([q @ k.T, q @ summary.T], 1),
    mask=np.concatenate([i6 // 2 == j6 // 2, at(6, 3)[1] < at(6, 3)[0] // 2], 1))), q=f(6, 4), k=f(6, 4), v=f(6, 4), summary=f(3, 4))
case("""kernel linear(q, k, v : f32[2, 6, 3]) -> f32[2, 6, 3] {
  a   = elu(q) + 1
  b   = elu(k) + 1
  s   = einsum("h i d, h j d -> h i j", a, b) * (j <= i)
  sum = einsum("h i j -> h i", s)
  return einsum("h i j, h j e -> h i e", s, v) / sum[..., None]
}""", lambda q, k, v: (lambda s: s @ v / s.sum(-1, keepdims=True))(
    np.einsum("hid,hjd->hij", *(np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k))) * (j6 <= i6)),
     q=f(2, 6, 3), k=f(2, 6, 3), v=f(2, 6, 3))
case("""kernel retention(q, k, v : f32[2, 6, 3], gamma : f32[2] ~ 0.8..0.95) -> f32[2, 6, 3] {
  decay = gamma[h]^(i - j) if j <= i else 0
  return einsum("h i j, h j e -> h i e", einsum("h i d, h j d -> h i j", q, k) * decay, v)
}""", lambda q, k, v, gamma: (q @ k.transpose(0, 2, 1) * np.where(j6 <= i6, gamma[:, None, None] ** np.maximum(i6 - j6, 0), 0)) @ v,
     q=f(2, 6, 3), k=f(2, 6, 3), v=f(2, 6, 3), gamma=np.array([0.8, 0.93], np.float32))
case("""kernel forgetting(q, k, v : f32[2, 6, 3], gate : f32[2, 6]) -> f32[2, 6, 3] {
  c = cumsum(-softplus(-gate), 1)
  s = einsum("h i d, h j d -> h i j", q, k) * 3^-0.5 + (c[h, i] - c[h, j])
  return einsum("h i j, h j e -> h i e", softmax(s where j <= i), v)
}""", lambda q, k, v, gate: (lambda c: softmax(q @ k.transpose(0, 2, 1) / 3**0.5 + c[:, :, None] - c[:, None, :], mask=j6 <= i6) @ v)(
    np.cumsum(-np.log1p(np.exp(-gate)), 1)), q=f(2, 6, 3), k=f(2, 6, 3), v=f(2, 6, 3), gate=f(2, 6))
case("""kernel axial(x : f32[2, 3, 4, 5]) -> f32[2, 3, 4, 5] {
  rows = softmax(einsum("b y i d, b y j d -> b y i j", x, x))
  one  = einsum("b y i j, b y j d -> b y i d", rows, x)
  cols = softmax(einsum("b i x d, b j x d -> b x i j", x, x))
  two  = einsum("b x i j, b j x d -> b i x d", cols, x)
  return rearrange(one, "b y x d -> b y x d") + rearrange(two, "b y x d -> b y x d")
}""", lambda x: np.einsum("byij,byjd->byid", softmax(np.einsum("byid,byjd->byij", x, x)), x) + np.einsum(
    "bxij,bjxd->bixd", softmax(np.einsum("bixd,bjxd->bxij", x, x)), x), x=f(2, 3, 4, 5))
case("""param H = 4, w = 2, s = 1
kernel shifted(q, k, v : f32[H*H, 3]) -> f32[H*H, 3] {
  content = einsum("(iy ix) d, (jy jx) d -> (iy ix) (jy jx)", q, k, iy = H, jy = H)
  same    = (iy + s) % H // w == (jy + s) % H // w and (ix + s) % H // w == (jx + s) % H // w
  return einsum("i j, j d -> i d", softmax(content where same), v)
}""", lambda q, k, v: (lambda i, j: softmax(q @ k.T, mask=((i // 4 + 1) % 4 // 2 == (j // 4 + 1) % 4 // 2)
                                            & ((i % 4 + 1) % 4 // 2 == (j % 4 + 1) % 4 // 2)) @ v)(*at(16, 16)),
     q=f(16, 3), k=f(16, 3), v=f(16, 3))
case("""kernel pooled(q : f32[6, 3], k, v : f32[6, 3]) -> f32[6, 3] {
  kp = mean(rearrange(k, "(m p) d -> m p d", p = 2), p)
  vp = max(rearrange(v, "(m p) d -> m p d", p = 2), axis = p)
  s  = einsum("i d, m d -> i m", q, kp) where 2*m <= i
  return einsum("i m, m d -> i d", softmax(s), vp)
}""", lambda q, k, v: softmax(q @ k.reshape(3, 2, 3).mean(1).T, mask=2 * at(6, 3)[1] <= at(6, 3)[0]) @ v.reshape(3, 2, 3).max(1),
     q=f(6, 3), k=f(6, 3), v=f(6, 3))
case("""kernel convolved(x : f32[7, 3], w : f32[3, 3, 2]) -> f32[7, 2] {
  return einsum("(t + r) c, r c e -> t e", pad(x, (1, 1), (0, 0)), w, t = 7)
}""", lambda x, w: sum(np.pad(x, ((1, 1), (0, 0)))[r:r + 7] @ w[r] for r in range(3)), x=f(7, 3), w=f(3, 3, 2))
case("""kernel depthwise(x : f32[4, 5, 2], w : f32[3, 3, 2]) -> f32[4, 5, 2] {
  y = pad(x, (1, 1), (1, 1), (0, 0))
  return einsum("(r + a) (s + b) c, a b c -> r s c", y, w, r = 4, s = 5)
}""", lambda x, w: sum(np.pad(x, ((1, 1), (1, 1), (0, 0)))[a:a + 4, b:b + 5] * w[a, b] for a in range(3) for b in range(3)),
     x=f(4, 5, 2), w=f(3, 3, 2))
case("""kernel normed(x : f32[3, 8], gain, bias : f32[8]) -> f32[3, 8] {
  c = x - mean(x, -1)[:, None]
  return c * rsqrt(mean(c * c, -1) + 1e-5)[:, None] * gain + bias
}""", lambda x, gain, bias: (lambda c: c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * gain + bias)(x - x.mean(-1, keepdims=True)),
     x=f(3, 8), gain=f(8), bias=f(8))
case("""kernel group_normed(x : f32[3, 8]) -> f32[3, 8] {
  y = rearrange(x, "n (g c) -> n g c", g = 2)
  d = y - mean(y, c)[..., None]
  return rearrange(d / sqrt(mean(d^2, c)[..., None] + 1e-5), "n g c -> n (g c)")
}""", lambda x: (lambda d: (d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)).reshape(3, 8))(
    x.reshape(3, 2, 4) - x.reshape(3, 2, 4).mean(-1, keepdims=True)), x=f(3, 8))
case("""kernel excited(x : f32[2, 3, 4, 6], a : f32[6, 2], b : f32[2, 6]) -> f32[2, 3, 4, 6] {
  t = einsum("n y x c -> n y x c", x)
  s = sigmoid(einsum("n r, r c -> n c", relu(einsum("n c, c r -> n r", mean(t, (y, x)), a)), b))
  return t * s
}""", lambda x, a, b: x * sigmoid(np.maximum(x.mean((1, 2)) @ a, 0) @ b)[:, None, None], x=f(2, 3, 4, 6), a=f(6, 2), b=f(2, 6))
case("""kernel two_axes(q : f32[5, 3], k : f32[2, 4, 3], v : f32[2, 4, 3]) -> f32[5, 3] {
  s = einsum("i d, m n d -> i (m n)", q, k)
  return einsum("i (m n), m n d -> i d", softmax(s where n < 3), v, m = 2)
}""", lambda q, k, v: softmax(q @ k.reshape(8, 3).T, mask=np.arange(8) % 4 < 3) @ v.reshape(8, 3), q=f(5, 3), k=f(2, 4, 3), v=f(2, 4, 3))
case("""kernel experts(x : f32[5, 3], w : f32[4, 3, 2], top : i32[5, 2] in 0..3, g : f32[5, 2]) -> f32[5, 2] {
  return einsum("t e, t c, (top[t, e]) c o -> t o", softmax(g), x, w)
}""", lambda x, w, top, g: np.einsum("te,tc,teco->to", softmax(g), x, w[top]), x=f(5, 3), w=f(4, 3, 2),
     top=rng.integers(0, 4, (5, 2)).astype(np.int32), g=f(5, 2))
case("""kernel partial(q, k, v : f32[1, 2, 5, 8]) -> f32[1, 2, 5, 8] {
  a = concat(rope(q[..., :4]), q[..., 4:], dim = 3)
  b = concat(rope(k[..., :4]), k[..., 4:], dim = 3)
  s = einsum("b h i d, b h j d -> b h i j", a, b) * 8^-0.5
  return einsum("b h i j, b h j d -> b h i d", softmax(s where j <= i), v)
}""", lambda q, k, v: (lambda t: softmax(np.einsum("bhid,bhjd->bhij", t(q), t(k)) / 8**0.5, mask=j5 <= i5) @ v)(
    lambda x: np.concatenate([rope(x[..., :4]), x[..., 4:]], -1)), q=f(1, 2, 5, 8), k=f(1, 2, 5, 8), v=f(1, 2, 5, 8))
case("""size M <= 16
kernel cached(q, k, v : f32[2, 3, 4], kc, vc : f32[2, M, 4]) -> f32[2, 3, 4] {
  keys   = concat(kc, k, dim = 1)
  values = concat(vc, v, dim = 1)
  s = einsum("h i d, h j d -> h i j", q, keys) where j <= i + M
  return einsum("h i j, h j d -> h i d", softmax(s), values)
}""", lambda q, k, v, kc, vc: softmax(q @ np.concatenate([kc, k], 1).transpose(0, 2, 1), mask=at(3, 8)[1] <= at(3, 8)[0] + 5)
     @ np.concatenate([vc, v], 1), q=f(2, 3, 4), k=f(2, 3, 4), v=f(2, 3, 4), kc=f(2, 5, 4), vc=f(2, 5, 4))
case("""kernel relative_keys(q, k, v : f32[5, 4], r : f32[9, 4], u, t : f32[4]) -> f32[5, 4] {
  s = einsum("i d, j d -> i j", q + u, k) + einsum("i d, (i - j + 4) d -> i j", q + t, r)
  return einsum("i j, j d -> i d", softmax(s * 0.5), v)
}""", lambda q, k, v, r, u, t: softmax(0.5 * ((q + u) @ k.T + np.einsum("id,ijd->ij", q + t, r[i5 - j5 + 4]))) @ v,
     q=f(5, 4), k=f(5, 4), v=f(5, 4), r=f(9, 4), u=f(4), t=f(4))
case("""kernel key_side(q, k, v : f32[5, 4], a, b : f32[5, 4]) -> f32[5, 4] {
  s = einsum("i d, j d -> i j", q, k) + einsum("i d, (clamp(j - i, -2, 2) + 2) d -> i j", q, a)
      + einsum("j d, (clamp(i - j, -2, 2) + 2) d -> i j", k, b)
  return einsum("i j, j d -> i d", softmax(s * (4*3)^-0.5), v)
}""", lambda q, k, v, a, b: softmax((q @ k.T + np.einsum("id,ijd->ij", q, a[np.clip(j5 - i5, -2, 2) + 2]) +
                                     np.einsum("jd,ijd->ij", k, b[np.clip(i5 - j5, -2, 2) + 2])) * 12**-0.5) @ v,
     q=f(5, 4), k=f(5, 4), v=f(5, 4), a=f(5, 4), b=f(5, 4))
case("""kernel triangle(z : f32[5, 5, 4], g : f32[5, 5, 2], wq, wk, wv : f32[4, 2, 3]) -> f32[5, 5, 2, 3] {
  q = einsum("r i c, c h d -> r h i d", z, wq)
  k = einsum("r j c, c h d -> r h j d", z, wk)
  v = einsum("r j c, c h d -> r h j d", z, wv)
  s = einsum("r h i d, r h j d -> r h i j", q, k) * 3^-0.5 + rearrange(g, "i j h -> h i j")
  return einsum("r h i j, r h j d -> r i h d", softmax(s), v)
}""", lambda z, g, wq, wk, wv: (lambda q, k, v: np.einsum("rhij,rhjd->rihd", softmax(
    np.einsum("rhid,rhjd->rhij", q, k) / 3**0.5 + g.transpose(2, 0, 1)), v))(*(np.einsum("ric,chd->rhid", z, w) for w in (wq, wk, wv))),
     z=f(5, 5, 4), g=f(5, 5, 2), wq=f(4, 2, 3), wk=f(4, 2, 3), wv=f(4, 2, 3))
case("""kernel documents(q, k, v : f32[2, 6, 3], doc : i32[2, 6]) -> f32[2, 6, 3] {
  s = einsum("b i d, b j d -> b i j", q, k) where doc[b, i] == doc[b, j] and j <= i
  return einsum("b i j, b j d -> b i d", softmax(s), v)
}""", lambda q, k, v, doc: softmax(q @ k.transpose(0, 2, 1), mask=(doc[:, :, None] == doc[:, None, :]) & (j6 <= i6)) @ v,
     q=f(2, 6, 3), k=f(2, 6, 3), v=f(2, 6, 3), doc=np.array([[0, 0, 1, 1, 1, 7], [3, 3, 3, -1, -1, -1]], np.int32))
case("""kernel state(x : f32[6, 2], a : f32[6] ~ 0.5..0.9, b, c : f32[6, 3]) -> f32[6, 2] {
  l = cumsum(log(a), 0)
  m = exp(l[t] - l[s]) if s <= t else 0
  return einsum("t s, s p -> t p", einsum("t n, s n -> t s", c, b) * m, x)
}""", lambda x, a, b, c: (lambda l: (c @ b.T * np.where(j6 <= i6, np.exp(l[:, None] - l[None, :]), 0)) @ x)(np.cumsum(np.log(a))),
     x=f(6, 2), a=rng.uniform(0.5, 0.9, 6).astype(np.float32), b=f(6, 3), c=f(6, 3))
case("""kernel perceiver(latents : f32[3, 4], x : f32[6, 4], wq, wk : f32[4, 4]) -> f32[3, 4] {
  both = concat(x, latents, dim = 0)
  s = einsum("i c, c d, j e, e d -> i j", latents, wq, both, wk) * 0.5
  return einsum("i j, j c -> i c", softmax(s), both)
}""", lambda latents, x, wq, wk: (lambda both: softmax((latents @ wq) @ (both @ wk).T / 2) @ both)(np.concatenate([x, latents])),
     latents=f(3, 4), x=f(6, 4), wq=f(4, 4), wk=f(4, 4))
case("""kernel weights_out(q, k : f32[2, 5, 4]) -> (w : f32[2, 5, 5], lse : f32[2, 5]) {
  s = einsum("h i d, h j d -> h i j", q, k) where abs(i - j) <= 2
  return softmax(s), logsumexp(s)
}""", lambda q, k: softmax(q @ k.transpose(0, 2, 1), mask=abs(i5 - j5) <= 2), q=f(2, 5, 4), k=f(2, 5, 4))
case("""kernel dropped(q, k, v : f32[5, 4], keep : i32[5, 5] in 0..1) -> f32[5, 4] {
  w = softmax(einsum("i d, j d -> i j", q, k)) * keep[i, j] / 0.9
  return einsum("i j, j d -> i d", w, v)
}""", lambda q, k, v, keep: (softmax(q @ k.T) * keep / 0.9) @ v, q=f(5, 4), k=f(5, 4), v=f(5, 4),
     keep=rng.integers(0, 2, (5, 5)).astype(np.int32))
case("""scheme near(width) = abs(i - j) < width
scheme soft(s : [h, i, j], open) = softmax(s where open)
kernel passed(q, k, v : f32[2, 5, 4]) -> f32[2, 5, 4] {
  s = einsum("g m d, g n d -> g m n", q, k)
  w = soft(s, near(2, i = m, j = n))
  return einsum("g m n, g n d -> g m d", w, v)
}""", lambda q, k, v: softmax(q @ k.transpose(0, 2, 1), mask=abs(i5 - j5) < 2) @ v, q=f(2, 5, 4), k=f(2, 5, 4), v=f(2, 5, 4))
case("""kernel interpolated(t : f32[4, 3], x : f32[8, 3]) -> f32[8, 3] {
  return einsum("n c -> n c", x) + interpolate(t, 8)
}""", lambda t, x: x + np.stack([np.interp((np.arange(8) + 0.5) / 2 - 0.5, np.arange(4), t[:, c]) for c in range(3)], 1),
     t=f(4, 3), x=f(8, 3))
case("""param n = 3, N = 6
kernel part_of(q : f32[n, 4], k, v : f32[N, 4], table : f32[2*N - 1, 4]) -> f32[n, 4] {
  part i = n of N from q0
  s = einsum("i d, j d -> i j", q, k) + einsum("i d, (j - i + N - 1) d -> i j", q, table)
  return einsum("i j, j d -> i d", softmax(s where j <= i), v)
}""", lambda q, k, v, table: (lambda i, j: softmax(q @ k.T + np.einsum("id,ijd->ij", q, table[j - i + 5]), mask=j <= i) @ v)(
    at(3, 6)[0] + 2, at(3, 6)[1]), options=("--origin", "q0=2"), q=f(3, 4), k=f(6, 4), v=f(6, 4), table=f(11, 4))
case("""size N <= 20
kernel any_length(q, k, v : f32[N, 4], table : f32[2*N - 1, 4], last : i32[N] in 0..N - 1) -> f32[N, 4] {
  s = (einsum("i d, j d -> i j", q, k) + einsum("i d, (j - i + N - 1) d -> i j", q, table)) * (log(N) / 4)
  return einsum("i j, j d -> i d", softmax(s where j <= last[i]), v)
}""", lambda q, k, v, table, last: softmax((q @ k.T + np.einsum("id,ijd->ij", q, table[j6 - i6 + 5])) * np.log(6) / 4,
                                           mask=j6 <= last[:, None]) @ v,
     q=f(6, 4), k=f(6, 4), v=f(6, 4), table=f(11, 4), last=np.array([0, 3, 5, 1, 4, 2], np.int32))

# Single expressions -------------------------------------------------------------------------------------------------------
x34, y34, v3, w4, x245 = f(3, 4), f(3, 4), f(3), f(4), f(2, 4, 5)
n3, d4 = at(3, 4)


def one(name, expression, oracle, before="", shape="3, 4", **inputs):
    types = ", ".join(f"{key} : {'i32' if array.dtype == np.int32 else 'f32'}[{', '.join(map(str, array.shape))}]"
                      for key, array in inputs.items())
    body = expression if "return" in expression else "return " + expression
    case(f"{before}kernel {name}({types}) -> f32[{shape}] {{\n  {body}\n}}", oracle, **inputs)


NAMED = 't = einsum("n d -> n d", x)\n  return '
one("powers", NAMED + "t * -2^2 + t * 2^-1^2 - -t^2", lambda x: -4 * x + 0.5 * x + x * x, x=x34)
one("negative_floors", NAMED + "t * ((n - 5) // 3) + (d - 7) % 3", lambda x: x * ((n3 - 5) // 3) + (d4 - 7) % 3, x=x34)
one("nested_choices", NAMED + "t if n < 1 else -t if d < 2 else 2 * t if n == 2 else 0",
    lambda x: np.where(n3 < 1, x, np.where(d4 < 2, -x, np.where(n3 == 2, 2 * x, 0))), x=x34)
one("not_and_or", NAMED + "t * (not n < 1 and d > 0 or n == 0 and not d > 2)",
    lambda x: x * (((n3 >= 1) & (d4 > 0)) | ((n3 == 0) & (d4 <= 2))), x=x34)
one("chosen_by_values", NAMED + "t if t > 0 and y[n, d] < t or n == d else y[n, d] / 2",
    lambda x, y: np.where(((x > 0) & (y < x)) | (n3 == d4), x, y / 2), x=x34, y=y34)
one("rolled", NAMED + "x[(n + 1) % 3, d] + 0 * t", lambda x: np.roll(x, -1, 0), x=x34)
one("flipped", 'einsum("(len(n) - 1 - n) (3 - d) -> n d", x, n = 3, d = 4)', lambda x: x[::-1, ::-1], x=x34)
one("upper", 'einsum("m d, n m -> n d", x, tabulate(m > n, n = 3, m = 3))', lambda x: np.triu(np.ones((3, 3)), 1) @ x, x=x34)
one("running", 'einsum("m d -> n d", x, n = 3, where = m <= n)', lambda x: np.cumsum(x, 0), x=x34)
one("running_back", NAMED + "sum(t, n) - cumsum(t, n) + t", lambda x: np.cumsum(x[::-1], 0)[::-1], x=x34)
one("outer", 'v[n] * w[d] + einsum("n d -> n d", x)', lambda x, v, w: x + np.outer(v, w), x=x34, v=v3, w=w4)
one("outer_reversed", 'w[d] * v[n] + einsum("n d -> n d", x)', lambda x, v, w: x + np.outer(v, w), x=x34, v=v3, w=w4)
one("by_place_and_name", 'x + v[:, None] * (y[0] + w)', lambda x, y, v, w: x + v[:, None] * (y[0] + w), x=x34, y=y34, v=v3, w=w4)
one("diagonal", 'einsum("n n d -> n d", x)', lambda x: np.einsum("nnd->nd", x), shape="4, 5", x=f(4, 4, 5))
one("trace", 'einsum("n n -> ", x)[...] * einsum("d -> d", w)', lambda x, w: np.trace(x) * w, shape="4", x=f(4, 4), w=w4)
one("read_diagonal", NAMED + "t + y[n, n]", lambda x, y: x + np.diag(y)[:, None], x=x34, y=f(3, 3))
one("strided", 'rearrange(x[:, ::2, 1:], "a b c -> b (a c)")', lambda x: x[:, ::2, 1:].transpose(1, 0, 2).reshape(2, 8), shape="2, 8", x=x245)
one("split_and_merged", '(a, b) = rearrange(x, "n (2 d) -> 2 n d")\n  return concat(b, a, dim = 1)',
    lambda x: np.concatenate([x[:, 2:], x[:, :2]], 1), x=x34)
one("gathered", 'gather(x, (n * 2) % 3, n = 3, dim = 0)', lambda x: x[[0, 2, 1]], x=x34)
case("""kernel picked(x : f32[3, 4], w : f32[8], p : i32[3] in 0..4) -> f32[3, 4] {
  return einsum("n d -> n d", x) + w[p[n] + d] * (p[n] > 0)
}""", lambda x, w, p: x + w[p[:, None] + np.arange(4)] * (p > 0)[:, None], x=x34, w=f(8), p=np.array([0, 3, 4], np.int32))
one("softmax_of_columns", NAMED + "softmax(t where d <= n + 1, axis = n)", lambda x: softmax(x, 0, d4 <= n3 + 1), x=x34)
one("lse_of_columns", NAMED + "logsumexp(t where d <= n, axis = n)",
    lambda x: np.array([np.log(np.exp(x[d:, d]).sum()) for d in range(3)]), shape="3", x=f(3, 3))
one("extrema", NAMED + "max(t, axis = d)[:, None] - min(t, axis = n)", lambda x: x.max(1)[:, None] - x.min(0), x=x34)
one("largest_of_positions", NAMED + "t * max(n, d) + min(n - d, 0)", lambda x: x * np.maximum(n3, d4) + np.minimum(n3 - d4, 0), x=x34)
one("mean_of_a_condition", NAMED + "t - mean(t > 0, d)[:, None]", lambda x: x - (x > 0).mean(1)[:, None], x=x34)
one("count_of_positions", NAMED + "t * sum(n < d, d)[:, None]", lambda x: x * (n3 < d4).sum(1)[:, None], x=x34)
one("real_index", NAMED + "t * w[floor(sqrt(n * d))]", lambda x, w: x * w[np.floor(np.sqrt(n3 * d4)).astype(int)], x=x34, w=w4)
one("list_of_weights", NAMED + "t * [0.5, 0.25, 0.125][n] + [3, 1, 2, 0][d]",
    lambda x: x * np.array([0.5, 0.25, 0.125])[:, None] + np.array([3, 1, 2, 0]), x=x34)
one("list_as_index", NAMED + "x[n, [3, 1, 2, 0][d]] - t", lambda x: x[:, [3, 1, 2, 0]] - x, x=x34)
one("scheme_of_numbers", NAMED + "t * pick(2) + pick(n)", lambda x: x * 3 + (n3 * n3 - 1), before="scheme pick(a) = a * a - 1\n", x=x34)
one("scheme_twice", NAMED + "twice(twice(t, 1), d)", lambda x: 2 * (2 * x + 1) + d4, before="scheme twice(x, d) = 2 * x + d\n", x=x34)
one("scheme_of_axes", NAMED + "centred(t) * centred(rearrange(t, \"n d -> n d\"))", lambda x: (x - x.mean(0)) ** 2,
    before="scheme centred(x : [a, n]) = x - mean(x, a)\n", x=x34)
one("scheme_own_axes", NAMED + "mixed(t, w) + t", lambda x, w: (x * w).sum(1, keepdims=True) + x,
    before='scheme mixed(x : [n, c], w : [c]) = einsum("n c, c -> n", x, w)[:, None]\n', x=x34, w=w4)
one("bits_of_positions", NAMED + "t * ((n << 2) + (d >> 1)) + (d & 5)", lambda x: x * ((n3 << 2) + (d4 >> 1)) + (d4 & 5), x=x34)
one("infinite_bias", NAMED + "softmax(t + (0 if d > n else -inf))", lambda x: softmax(x, mask=d4 > n3), x=x34)
one("hidden_rows", NAMED + "softmax(t where n > 0)", lambda x: softmax(x, mask=n3 > 0), x=x34)
one("where_of_where", NAMED + "softmax((t where d > 0) * 2 where n + d < 4)", lambda x: softmax(2 * x, mask=(d4 > 0) & (n3 + d4 < 4)), x=x34)
one("moved_where", 't = einsum("n d -> n d", x)\n  w = softmax(rearrange(t where d > n, "n d -> d n"))\n  return rearrange(w, "d n -> n d")',
    lambda x: softmax(x, 0, d4 > n3), x=x34)
one("guarded_read", NAMED + "t + (w[d - n] if d >= n else 0)", lambda x, w: x + np.where(d4 >= n3, w[np.maximum(d4 - n3, 0)], 0), x=x34, w=w4)
one("three_operands", 'einsum("n d, n, d -> d n", x, v, w)', lambda x, v, w: (x * v[:, None] * w).T, shape="4, 3", x=x34, v=v3, w=w4)
one("summed_twice", 'sum(sum(einsum("a b c -> a b c", x), b), a) + sum(x, (0, 1))', lambda x: 2 * x.sum((0, 1)), shape="5", x=x245)
one("ellipsis", "x[..., None, 1] + x[0][:, None, 0][None]",
    lambda x: x[..., None, 1] + x[0][:, None, 0][None], shape="2, 4, 1", x=x245)
one("minus_infinity_rows", NAMED + "logsumexp(t where n > d + 1)", lambda x: np.array([-np.inf, -np.inf, x[2, 0]]), shape="3", x=x34)
one("divided_positions", NAMED + "t / (n + 1) + d / 2 - (n + d) / 4 * 2", lambda x: x / (n3 + 1) + d4 / 2 - (n3 + d4) / 2, x=x34)
one("param_is_axis", NAMED + "t * d^-0.5 / (2 * d)", lambda x: x / 2 / 8, before="param d = 4\n", x=x34)


def run(skewer, text, inputs, folder, *options):
    spec = os.path.join(folder, "text.attn")
    with open(spec, "w", encoding="utf-8") as out:
        out.write(text + "\n")
    command = [skewer, "run", spec, *options]
    for name, array in inputs.items():
        np.save(os.path.join(folder, name + ".npy"), array)
        command += ["--input", f"{name}={folder}/{name}.npy"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def why_wrong(skewer, text, inputs, oracle, options):
    """Returns why the text does not give its meaning; nothing if it does."""
    with tempfile.TemporaryDirectory() as folder:
        first = "w" if "-> (w :" in text else ""
        out = os.path.join(folder, "out.npy")
        done = run(skewer, text, inputs, folder, "--output", f"{first}={out}" if first else out, *options)
        if done.returncode:
            return done.stdout + done.stderr
        found = np.load(out).astype(np.float64)
    with np.errstate(all="ignore"):
        expected = np.asarray(oracle(**{n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in inputs.items()}))
    if found.shape != expected.shape:
        return f"shape {found.shape}, expected {expected.shape}"
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite]):
        return "infinities are elsewhere"
    error = np.abs(found[finite] - expected[finite]).max(initial=0) / max(np.abs(expected[finite]).max(initial=0), 1e-30)
    return "" if error < 4e-6 else f"off by {error:.2g} of the largest value"


def main():
    skewer, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or CASES
    wrong = 0
    for name in names:
        if why := why_wrong(skewer, *CASES[name]):
            wrong += 1
            print(f"{name}: {why}\n{CASES[name][0]}", flush=True)
    print(f"{len(names)} texts, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
