#!/usr/bin/env python3
"""T5's encoder (transformers) with Skewer's attention: a number a bucket of the offset, shared by all layers."""

import functools

import torch
import whole_model
from transformers import T5Config, T5EncoderModel
from transformers.models.t5.modeling_t5 import T5Attention

TEXT = """
# The layer of examples/t5, on queries, keys and values as the model's projections lay them out: nothing is copied.
param N = 512, heads = 12, dim = 64
size batch

kernel t5(q : f32[batch, N, heads, dim] ~ dim^-0.5, k, v : f32[batch, N, heads, dim], const table : f32[32, heads])
    -> f32[batch, N, heads, dim] {
  content = einsum("b i h d, b j h d -> b h i j", q, k)
  return einsum("b h i j, b j h d -> b i h d", softmax(content + t5(table)), v)
}
"""
# The same for sequences of different lengths.
PADDED = TEXT.replace(", const table", ", lengths : i32[batch] in 0..N, const table") \
    .replace("+ t5(table)", "+ t5(table) where j < lengths[b]")


def forward(module, table, hidden_states, mask=None, **_):
    """T5Attention.forward, whose scores are never held."""
    batch, length, _ = hidden_states.shape
    heads = (batch, length, module.n_heads, module.key_value_proj_dim)
    lengths = whole_model.lengths_of(mask)
    layer = whole_model.layer_of(module, PADDED if lengths else TEXT, {"table": table}, N=length, heads=heads[2],
                                 dim=heads[3])
    out = layer(*(linear(hidden_states).view(heads) for linear in (module.q, module.k, module.v)), *lengths)
    return module.o(out.view(batch, length, -1)), None, None


def swap(model):
    """Puts the layers into every attention of the encoder; returns how many."""
    attentions = [module for module in model.modules() if isinstance(module, T5Attention)]
    table = attentions[0].relative_attention_bias.weight
    for module in attentions:
        module.forward = functools.partial(forward, module, table)
    return len(attentions)


def main():
    options = whole_model.arguments(__doc__, has_masks=True)
    torch.manual_seed(1)
    sizes = {"d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4} if options.small else \
        {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
    # 128 is the spec's, and T5's own, largest distance.
    model = T5EncoderModel(T5Config(**sizes, vocab_size=1000, relative_attention_max_distance=128)).eval()
    whole_model.randomise(model, 0.5)  # T5 does not divide scores by anything
    tokens = torch.randint(1000, (1, 150 if options.small else 512))
    # The bias of all layers is computed in the first one: the second one is given it.
    alone = whole_model.Attention("attention of the second layer",
                                  lambda model: model.encoder.block[1].layer[0].SelfAttention, ["q", "k", "v"], "o",
                                  whole_model.WAYS)
    whole_model.compare("T5's encoder", model, swap, whole_model.padded(tokens, options.padded), options,
                        [] if options.padded else [alone])


if __name__ == "__main__":
    main()
