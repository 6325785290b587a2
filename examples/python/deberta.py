#!/usr/bin/env python3
"""DeBERTa-v3 (transformers) with Skewer's disentangled attention: content to position and position to content."""

import functools

import torch
import whole_model
from transformers import DebertaV2Config, DebertaV2Model
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention

TEXT = """
# The layer of examples/deberta with the longest distance as a parameter.
param N = 512, heads = 12, dim = 64, S = 256, longest = 512
size batch

kernel deberta_v3(q, k, v : f32[batch, heads, N, dim],
                  const pos_key, pos_query : f32[heads, 2*S, dim]) -> f32[batch, heads, N, dim] {
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = deberta(q, k, pos_key, pos_query, buckets = S, max_position = longest)
  weights  = softmax((content + position) * (3*dim)^-0.5)
  return einsum("b h i j, b h j d -> b h i d", weights, v)
}
"""


@functools.lru_cache(None)
def layer_for(**parameters):
    """A layer for each length that is met."""
    return whole_model.Layer(TEXT, **parameters)


def heads_of(linear, states, module):
    """What `linear` makes of [..., N, channels], as [..., heads, N, dim]."""
    return linear(states).unflatten(-1, (module.num_attention_heads, -1)).transpose(-3, -2)


def forward(module, hidden_states, attention_mask, output_attentions=False, query_states=None, relative_pos=None,
            rel_embeddings=None):
    """DisentangledSelfAttention.forward for whole sequences, whose scores are never held."""
    if not attention_mask.all() or query_states is not None:
        raise ValueError("expected whole sequences, found a mask or queries of their own")
    rows = rel_embeddings[:2 * module.pos_ebd_size]
    to_key, to_query = (module.key_proj, module.query_proj) if module.share_att_key else \
        (module.pos_key_proj, module.pos_query_proj)
    layer = layer_for(N=hidden_states.shape[1], heads=module.num_attention_heads, dim=module.attention_head_size,
                      S=module.pos_ebd_size, longest=module.max_relative_positions)
    out = layer(*(heads_of(linear, hidden_states, module)
                  for linear in (module.query_proj, module.key_proj, module.value_proj)),
                *(heads_of(linear, rows, module).contiguous() for linear in (to_key, to_query)))
    return out.transpose(1, 2).flatten(2), None


swap = whole_model.swapping(DisentangledSelfAttention, forward)


def main():
    options = whole_model.arguments(__doc__)
    torch.manual_seed(1)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96,
             "max_position_embeddings": 128, "position_buckets": 32} if options.small else \
        {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
         "max_position_embeddings": 512, "position_buckets": 256}
    model = DebertaV2Model(DebertaV2Config(
        **sizes, vocab_size=1000, relative_attention=True, pos_att_type=["p2c", "c2p"], share_att_key=True,
        norm_rel_ebd="layer_norm", position_biased_input=False)).eval()
    whole_model.randomise(model)
    tokens = torch.randint(1000, (1, 100 if options.small else 512))
    whole_model.compare("DeBERTa-v3", model, swap, (tokens,), options)


if __name__ == "__main__":
    main()
