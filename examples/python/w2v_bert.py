#!/usr/bin/env python3
"""wav2vec2-BERT (transformers) with Skewer's attention: clipped offsets on the key side."""

import torch
import whole_model
from transformers.models.wav2vec2_bert.configuration_wav2vec2_bert import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertModel, Wav2Vec2BertSelfAttention

TEXT = """
# The layer of examples/w2v_bert, on queries, keys and values as the model's projections lay them out: nothing is copied.
param N = 1000, heads = 16, dim = 64, left = 64, right = 8
size batch

kernel w2v_bert(q, k, v : f32[batch, N, heads, dim], const table : f32[left + right + 1, dim])
    -> f32[batch, N, heads, dim] {
  content  = einsum("b i h d, b j h d -> b h i j", q, k)
  position = einsum("b i h d, (clamp(j - i, -left, right) + left) d -> b h i j", q, table)
  weights  = softmax((content + position) * dim^-0.5)
  return einsum("b h i j, b j h d -> b i h d", weights, v)
}
"""
# The same for sequences of different lengths.
PADDED = TEXT.replace(", const table", ", lengths : i32[batch] in 0..N, const table") \
    .replace("* dim^-0.5)", "* dim^-0.5 where j < lengths[b])")


def forward(module, hidden_states, attention_mask=None, relative_position_embeddings=None, **_):
    """Wav2Vec2BertSelfAttention.forward, whose weights are never held."""
    batch, length, channels = hidden_states.shape
    heads = (batch, length, module.num_heads, module.head_size)
    lengths = whole_model.lengths_of(attention_mask)
    layer = whole_model.layer_of(module, PADDED if lengths else TEXT, {"table": module.distance_embedding.weight},
                                 N=length, heads=heads[2], dim=heads[3], left=module.left_max_position_embeddings,
                                 right=module.right_max_position_embeddings)
    out = layer(*(linear(hidden_states).view(heads) for linear in (module.linear_q, module.linear_k, module.linear_v)),
                *lengths)
    return module.linear_out(out.view(batch, length, channels)), None


swap = whole_model.swapping(Wav2Vec2BertSelfAttention, forward)


def main():
    options = whole_model.arguments(__doc__, has_masks=True)
    torch.manual_seed(1)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 96} \
        if options.small else {"num_hidden_layers": 4}
    model = Wav2Vec2BertModel(Wav2Vec2BertConfig(**sizes, position_embeddings_type="relative_key")).eval()
    whole_model.randomise(model)
    frames = torch.randn(1, 120 if options.small else 1000, model.config.feature_projection_input_dim)
    alone = whole_model.Attention("attention", lambda model: model.encoder.layers[0].self_attn,
                                  ["linear_q", "linear_k", "linear_v"], "linear_out", whole_model.WAYS)
    inputs = whole_model.padded(frames, options.padded)
    whole_model.compare("wav2vec2-BERT", model, swap, inputs, options, [] if options.padded else [alone])


if __name__ == "__main__":
    main()
