#!/usr/bin/env python3
"""DeBERTa-v3 (transformers) with Skewer's disentangled attention: content to position and position to content."""

import torch
import whole_model
from transformers import DebertaV2Config, DebertaV2Model
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention

TEXT = """
# The layer of examples/deberta with the longest distance as a parameter, on what the model's projections lay out.
param N = 512, heads = 12, dim = 64, S = 256, longest = 512
size batch

kernel deberta_v3(x, y, z : f32[batch, N, heads, dim], pos_key, pos_query : f32[2*S, heads, dim])
    -> f32[batch, N, heads, dim] {
  q = rearrange(x, "b n h d -> b h n d")
  k = rearrange(y, "b n h d -> b h n d")
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = deberta(q, k, rearrange(pos_key, "t h d -> h t d"), rearrange(pos_query, "t h d -> h t d"), buckets = S,
                     max_position = longest)
  weights  = softmax((content + position) * (3*dim)^-0.5)
  return einsum("b h i j, b j h d -> b i h d", weights, z)
}
"""


def heads_of(linear, states, module):
    """What `linear` makes of [..., N, channels], as [..., N, heads, dim]."""
    return linear(states).unflatten(-1, (module.num_attention_heads, -1))


def forward(module, hidden_states, attention_mask, output_attentions=False, query_states=None, relative_pos=None,
            rel_embeddings=None):
    """DisentangledSelfAttention.forward for whole sequences, whose scores are never held."""
    if not attention_mask.all() or query_states is not None:
        raise ValueError("expected whole sequences, found a mask or queries of their own")
    rows = rel_embeddings[:2 * module.pos_ebd_size]
    to_key, to_query = (module.key_proj, module.query_proj) if module.share_att_key else \
        (module.pos_key_proj, module.pos_query_proj)
    layer = whole_model.layer_of(module, TEXT, N=hidden_states.shape[1], heads=module.num_attention_heads,
                                 dim=module.attention_head_size, S=module.pos_ebd_size,
                                 longest=module.max_relative_positions)
    out = layer(*(heads_of(linear, hidden_states, module)
                  for linear in (module.query_proj, module.key_proj, module.value_proj)),
                positions=[heads_of(linear, rows, module) for linear in (to_key, to_query)])
    return out.flatten(2), None


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
    tokens = torch.randint(1000, (1, 100 if options.small else 384))
    whole_model.compare("DeBERTa-v3", model, swap, (tokens,), options, [
        whole_model.Attention("attention of the first layer", lambda model: model.encoder.layer[0].attention.self,
                              ["query_proj", "key_proj", "value_proj"])])


if __name__ == "__main__":
    main()
