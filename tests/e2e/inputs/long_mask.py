"""Prints a layer whose mask is a long condition."""
parts = " or ".join(f"(j >= {8 * k} and j < {8 * k + 3 + k % 4} and i > {8 * k + 2})" for k in range(8))
print(f"""param N = 64
kernel long(q, k, v : f32[1, 2, N, 8]) -> f32[1, 2, N, 8] {{
  scores = einsum("b h i d, b h j d -> b h i j", q, k)
  return einsum("b h i j, b h j d -> b h i d", softmax(scores where j == i or {parts}), v)
}}""")
