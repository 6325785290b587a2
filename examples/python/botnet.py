#!/usr/bin/env python3
"""BoTNet-26 (timm) with Skewer's attention in the last blocks of its convolutions: a table a direction of the map."""

import functools

import timm
import torch
import whole_model
from timm.layers.bottleneck_attn import BottleneckAttn

SPEC = "botnet/botnet.attn"


@functools.lru_cache(None)
def layer_for(**parameters):
    """A layer for each size of the map."""
    return whole_model.Layer(SPEC, **parameters)


def forward(module, image):
    """BottleneckAttn.forward, whose scores are never held."""
    batch, _, height, width = image.shape
    sizes = [module.dim_out_qk, module.dim_out_qk, module.dim_out_v]
    query, key, value = (part.reshape(batch, module.num_heads, -1, height * width).transpose(-1, -2)
                         for part in module.qkv(image).split(sizes, dim=1))
    # The spec scales content and positions together, as published; timm only the content, unless it is asked to.
    rows, columns = (table if module.scale_pos_embed else table / module.scale
                     for table in (module.pos_embed.height_rel, module.pos_embed.width_rel))
    layer = layer_for(H=height, W=width, heads=module.num_heads, dim=module.dim_head_qk)
    out = layer(query, key, value, rows, columns)
    return module.pool(out.transpose(-1, -2).reshape(batch, module.dim_out_v, height, width))


swap = whole_model.swapping(BottleneckAttn, forward)


def main():
    options = whole_model.arguments(__doc__)
    torch.manual_seed(1)
    pixels = 128 if options.small else 256
    # A last norm of 0 in each block, which training begins with, would leave attention without part in the output.
    model = timm.create_model("botnet26t_256", img_size=pixels, zero_init_last=False).eval()
    whole_model.randomise(model)
    whole_model.compare("BoTNet-26", model, swap, (torch.randn(1, 3, pixels, pixels),), options)


if __name__ == "__main__":
    main()
