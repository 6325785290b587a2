#!/usr/bin/env python3
"""SAM's image encoder (transformers) with Skewer's attention in its global and windowed layers."""

import torch
import whole_model
from transformers.models.sam.configuration_sam import SamVisionConfig
from transformers.models.sam.modeling_sam import SamVisionAttention, SamVisionEncoder, SamVisionSdpaAttention

TEXT = """
# The layer of examples/sam, on queries, keys and values as the model's one projection lays them out: nothing is copied.
param H = 64, W = 64, heads = 12, dim = 64
size batch

kernel sam(qkv : f32[batch, H*W, 3, heads, dim], const rel_h : f32[2*H - 1, dim], const rel_w : f32[2*W - 1, dim])
    -> f32[batch, H*W, heads, dim] {
  q = qkv[:, :, 0]
  k = qkv[:, :, 1]
  v = qkv[:, :, 2]
  content = einsum("b i h d, b j h d -> b h i j", q, k) * dim^-0.5
  rows    = einsum("b (iy ix) h d, (iy - jy + H - 1) d -> b h (iy ix) (jy jx)", q, rel_h, iy = H, jy = H, jx = W)
  columns = einsum("b (iy ix) h d, (ix - jx + W - 1) d -> b h (iy ix) (jy jx)", q, rel_w, iy = H, jy = H, jx = W)
  return einsum("b h i j, b j h d -> b i h d", softmax(content + rows + columns), v)
}
"""


def forward(module, hidden_states, output_attentions=None):
    """SamVisionAttention.forward, whose weights are never held."""
    batch, height, width, channels = hidden_states.shape
    heads = module.num_attention_heads
    layer = whole_model.layer_of(module, TEXT, {"rel_h": module.rel_pos_h, "rel_w": module.rel_pos_w}, H=height, W=width,
                                 heads=heads, dim=channels // heads)
    out = layer(module.qkv(hidden_states).view(batch, height * width, 3, heads, -1))
    return module.proj(out.view(batch, height, width, channels)), None


swap = whole_model.swapping(SamVisionAttention, forward)


def becomes(kind):
    def change(module):
        module.__class__ = kind

    return change


def alone(label, number):
    return whole_model.Attention(label, lambda encoder: encoder.layers[number].attn, ["qkv"], "proj",
                                 {"eager": becomes(SamVisionAttention), "SDPA": becomes(SamVisionSdpaAttention)})


def main():
    options = whole_model.arguments(__doc__)
    torch.manual_seed(1)
    sizes = {"image_size": 256, "hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "mlp_ratio": 2.0,
             "global_attn_indexes": [1], "window_size": 7} if options.small else {}
    config = SamVisionConfig(**sizes)
    config._attn_implementation = "sdpa"
    encoder = SamVisionEncoder(config).eval()
    whole_model.randomise(encoder)
    image = torch.randn(1, 3, config.image_size, config.image_size)
    whole_model.compare("SAM's image encoder", encoder, swap, (image,), options,
                        [alone("global attention", config.global_attn_indexes[0]), alone("attention in windows", 0)])


if __name__ == "__main__":
    main()
