#!/usr/bin/env python3
"""SAM's image encoder (transformers) with Skewer's attention in its global and windowed layers."""

import types

import torch
import whole_model
from transformers.models.sam.configuration_sam import SamVisionConfig
from transformers.models.sam.modeling_sam import SamVisionAttention, SamVisionEncoder

SPEC = "sam/sam_global.attn"


def forward(self, hidden_states, output_attentions=None):
    """SamVisionAttention.forward, whose weights are never held."""
    batch, height, width, channels = hidden_states.shape
    qkv = self.qkv(hidden_states).reshape(batch, height * width, 3, self.num_attention_heads, -1)
    query, key, value = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    out = self.layer(query, key, value, self.rel_pos_h, self.rel_pos_w)
    return self.proj(out.transpose(1, 2).reshape(batch, height, width, channels)), None


def swap(encoder):
    """Puts the layers into every attention of the encoder; returns how many."""
    attentions = [module for module in encoder.modules() if isinstance(module, SamVisionAttention)]
    for module in attentions:
        height, width = ((module.rel_pos_h.shape[0] + 1) // 2, (module.rel_pos_w.shape[0] + 1) // 2)
        module.layer = whole_model.Layer(SPEC, H=height, W=width, heads=module.num_attention_heads,
                                         dim=module.rel_pos_h.shape[1])
        module.forward = types.MethodType(forward, module)
    return len(attentions)


def main():
    options = whole_model.arguments(__doc__)
    torch.manual_seed(1)
    sizes = {"image_size": 256, "hidden_size": 96, "num_hidden_layers": 2, "num_attention_heads": 3, "mlp_ratio": 2.0,
             "global_attn_indexes": [1], "window_size": 7} if options.small else {}
    config = SamVisionConfig(**sizes)
    config._attn_implementation = "eager"
    encoder = SamVisionEncoder(config).eval()
    whole_model.randomise(encoder)
    image = torch.randn(1, 3, config.image_size, config.image_size)
    whole_model.compare("SAM's image encoder", encoder, swap, (image,), options)


if __name__ == "__main__":
    main()
