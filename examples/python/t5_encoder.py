#!/usr/bin/env python3
"""T5's encoder (transformers) with Skewer's attention: a number a bucket of the offset, shared by all layers."""

import functools

import torch
import whole_model
from transformers import T5Config, T5EncoderModel
from transformers.models.t5.modeling_t5 import T5Attention

SPEC = "t5/t5_base.attn"


@functools.lru_cache(None)
def layer_for(length, heads, dim):
    """A layer for each length that is met."""
    return whole_model.Layer(SPEC, N=length, heads=heads, dim=dim)


def forward(module, table, hidden_states, mask=None, **_):
    """T5Attention.forward for whole sequences, whose scores are never held."""
    if mask is not None:
        raise ValueError("expected whole sequences, found a mask")
    batch, length, _ = hidden_states.shape
    heads = (batch, length, module.n_heads, module.key_value_proj_dim)
    query, key, value = (linear(hidden_states).view(heads).transpose(1, 2) for linear in (module.q, module.k, module.v))
    out = layer_for(length, *heads[2:])(query, key, value, table)
    return module.o(out.transpose(1, 2).reshape(batch, length, -1)), None, None


def swap(model):
    """Puts the layers into every attention of the encoder; returns how many."""
    attentions = [module for module in model.modules() if isinstance(module, T5Attention)]
    table = attentions[0].relative_attention_bias.weight
    for module in attentions:
        module.forward = functools.partial(forward, module, table)
    return len(attentions)


def main():
    options = whole_model.arguments(__doc__)
    torch.manual_seed(1)
    sizes = {"d_model": 64, "d_kv": 16, "d_ff": 96, "num_layers": 2, "num_heads": 4} if options.small else \
        {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
    # 128 is the spec's, and T5's own, largest distance.
    model = T5EncoderModel(T5Config(**sizes, vocab_size=1000, relative_attention_max_distance=128)).eval()
    whole_model.randomise(model, 0.5)  # T5 does not divide scores by anything
    tokens = torch.randint(1000, (1, 150 if options.small else 512))
    whole_model.compare("T5's encoder", model, swap, (tokens,), options)


if __name__ == "__main__":
    main()
