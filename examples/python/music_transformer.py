#!/usr/bin/env python3
"""Music Transformer (arXiv:1809.04281), written out as published, with Skewer's attention: causal and unclipped."""

import torch
import whole_model
from torch import nn

TEXT = """
# The layer of examples/music, on queries, keys and values as the projections lay them out.
param N = 2048, heads = 8, dim = 64
size batch

kernel music(q, k, v : f32[batch, N, heads, dim], const table : f32[N, dim]) -> f32[batch, N, heads, dim] {
  content  = einsum("b i h d, b j h d -> b h i j", q, k)
  padded   = pad(einsum("b i h d, r d -> b h i r", q, table), (1, 0))
  position = reshape(padded, [batch, heads, N + 1, N])[:, :, 1:, :]
  weights  = softmax((content + position) * dim^-0.5 where j <= i)
  return einsum("b h i j, b j h d -> b i h d", weights, v)
}
"""


class RelativeAttention(nn.Module):
    """Relative global attention with the skew of section 3.4.1: queries times all rows of the table, a column of zeros
    on the left, a reshape, and the first row dropped."""

    def __init__(self, channels, heads, length):
        super().__init__()
        self.heads, self.dim = heads, channels // heads
        self.query, self.key, self.value, self.out = (nn.Linear(channels, channels) for _ in range(4))
        self.table = nn.Parameter(torch.zeros(length, self.dim))

    def split(self, x):
        return [linear(x).unflatten(-1, (self.heads, self.dim)).transpose(1, 2)
                for linear in (self.query, self.key, self.value)]

    def forward(self, x):
        query, key, value = self.split(x)
        length = x.shape[1]
        logits = nn.functional.pad(query @ self.table.T, (1, 0))
        position = logits.reshape(*logits.shape[:2], length + 1, length)[:, :, 1:]
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = ((query @ key.transpose(-1, -2) + position) * self.dim ** -0.5).masked_fill(later, float("-inf"))
        return self.out((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, channels, heads, length):
        super().__init__()
        self.attention = RelativeAttention(channels, heads, length)
        self.feed_forward = nn.Sequential(nn.Linear(channels, 4 * channels), nn.ReLU(),
                                          nn.Linear(4 * channels, channels))
        self.first, self.second = nn.LayerNorm(channels), nn.LayerNorm(channels)

    def forward(self, x):
        x = self.first(x + self.attention(x))
        return self.second(x + self.feed_forward(x))


def forward(module, x):
    """RelativeAttention.forward, whose scores are never held."""
    layer = whole_model.layer_of(module, TEXT, {"table": module.table}, N=x.shape[1], heads=module.heads, dim=module.dim)
    query, key, value = (linear(x).unflatten(-1, (module.heads, module.dim))
                         for linear in (module.query, module.key, module.value))
    return module.out(layer(query, key, value).flatten(2))


swap = whole_model.swapping(RelativeAttention, forward)


def main():
    options = whole_model.arguments(__doc__)
    torch.manual_seed(1)
    layers, channels, heads, length = (2, 64, 4, 96) if options.small else (6, 512, 8, 2048)
    events, vocabulary = torch.randint(400, (1, length)), nn.Embedding(400, channels)
    model = nn.Sequential(vocabulary, *(Block(channels, heads, length) for _ in range(layers))).eval()
    whole_model.randomise(model)
    alone = whole_model.Attention("attention", lambda model: model[1].attention, ["query", "key", "value"], "out")
    whole_model.compare("Music Transformer", model, swap, (events,), options, [alone])


if __name__ == "__main__":
    main()
