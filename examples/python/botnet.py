#!/usr/bin/env python3
"""BoTNet-26 (timm) with Skewer's attention in the last blocks of its convolutions: a table a direction of the map."""

import timm
import torch
import whole_model
from timm.layers.bottleneck_attn import BottleneckAttn

TEXT = """
# The layer of examples/botnet, on queries, keys and values as a convolution lays them out: positions innermost.
param H = 16, W = 16, heads = 4, dim = 128
size batch

kernel botnet(x, y, z : f32[batch, heads, dim, H*W], rel_h : f32[2*H - 1, dim], rel_w : f32[2*W - 1, dim])
    -> f32[batch, heads, dim, H*W] {
  q = rearrange(x, "b h d i -> b h i d")
  k = rearrange(y, "b h d j -> b h j d")
  content  = einsum("b h i d, b h j d -> b h i j", q, k)
  position = rel2d(q, rel_h, rel_w, map = (H, W))
  weights  = softmax((content + position) * dim^-0.5)
  return einsum("b h i j, b h d j -> b h d i", weights, z)
}
"""


def forward(module, image):
    """BottleneckAttn.forward, whose scores are never held."""
    batch, _, height, width = image.shape
    sizes = [module.dim_out_qk, module.dim_out_qk, module.dim_out_v]
    query, key, value = (part.reshape(batch, module.num_heads, -1, height * width)
                         for part in module.qkv(image).split(sizes, dim=1))
    # The spec scales content and positions together, as published; timm only the content, unless it is asked to.
    rows, columns = (table if module.scale_pos_embed else table / module.scale
                     for table in (module.pos_embed.height_rel, module.pos_embed.width_rel))
    layer = whole_model.layer_of(module, TEXT, H=height, W=width, heads=module.num_heads, dim=module.dim_head_qk)
    out = layer(query, key, value, positions=[rows, columns])
    return module.pool(out.view(batch, module.dim_out_v, height, width))


swap = whole_model.swapping(BottleneckAttn, forward)


def first_attention(model):
    return next(module for module in model.modules() if isinstance(module, BottleneckAttn))


def main():
    options = whole_model.arguments(__doc__)
    torch.manual_seed(1)
    pixels = 128 if options.small else 256
    # A last norm of 0 in each block, which training begins with, would leave attention without part in the output.
    model = timm.create_model("botnet26t_256", img_size=pixels, zero_init_last=False).eval()
    whole_model.randomise(model)
    whole_model.compare("BoTNet-26", model, swap, (torch.randn(1, 3, pixels, pixels),), options,
                        [whole_model.Attention("attention", first_attention, ["qkv"], "pool")])


if __name__ == "__main__":
    main()
