#!/usr/bin/env python3
"""wav2vec2-BERT (transformers) with Skewer's attention: clipped offsets on the key side."""

import functools

import torch
import whole_model
from transformers.models.wav2vec2_bert.configuration_wav2vec2_bert import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertModel, Wav2Vec2BertSelfAttention

SPEC = "w2v_bert/w2v_bert_2.attn"


@functools.lru_cache(None)
def layer_for(length, heads, dim, left, right):
    """A layer for each length that is met."""
    return whole_model.Layer(SPEC, N=length, heads=heads, dim=dim, left=left, right=right)


def forward(self, hidden_states, attention_mask=None, relative_position_embeddings=None, **_):
    """Wav2Vec2BertSelfAttention.forward for whole sequences, whose weights are never held."""
    batch, length, channels = hidden_states.shape
    heads = (batch, length, self.num_heads, self.head_size)
    query, key, value = (linear(hidden_states).view(heads).transpose(1, 2)
                         for linear in (self.linear_q, self.linear_k, self.linear_v))
    layer = layer_for(length, self.num_heads, self.head_size, self.left_max_position_embeddings,
                      self.right_max_position_embeddings)
    out = layer(query, key, value, self.distance_embedding.weight)
    return self.linear_out(out.transpose(1, 2).reshape(batch, length, channels)), None


swap = whole_model.swapping(Wav2Vec2BertSelfAttention, forward)


def main():
    options = whole_model.arguments(__doc__)
    torch.manual_seed(1)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 96} \
        if options.small else {"num_hidden_layers": 4}
    model = Wav2Vec2BertModel(Wav2Vec2BertConfig(**sizes, position_embeddings_type="relative_key")).eval()
    whole_model.randomise(model)
    frames = torch.randn(1, 120 if options.small else 1000, model.config.feature_projection_input_dim)
    whole_model.compare("wav2vec2-BERT", model, swap, (frames,), options)


if __name__ == "__main__":
    main()
