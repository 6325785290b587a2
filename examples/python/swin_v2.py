#!/usr/bin/env python3
"""Swin V2 (transformers) with Skewer's attention: scores are cosines, the bias is a small network's of the offset."""

import functools

import torch
import whole_model
from transformers import Swinv2Config, Swinv2Model
from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention

TEXT = """
# Swin V2 (arXiv:2111.09883, section 3.3) with the network of its bias inside, computed once a call. Windows whose shift
# brings different regions together keep them apart, as examples/swin does.
param w = 8, windows = 64, heads = 3, dim = 32, hidden = 512, trained = w
size batch

scheme spaced(x) = sign(x) * log(1 + abs(x) * 8 / (trained - 1)) / log(8)
scheme unit(x : [b, h, n, d]) = x / max(sqrt(einsum("b h n d, b h n d -> b h n", x, x)), 1e-12)[..., None]

kernel swin_v2(q, k, v : f32[batch, heads, w*w, dim],
               const w1 : f32[hidden, 2], const b1 : f32[hidden], const w2 : f32[heads, hidden] ~ hidden^-0.5,
               const scale : f32[heads] ~ 2 + 0.3, region : i32[windows, w*w]) -> f32[batch, heads, w*w, dim] {
  places = tabulate(select(c == 0, spaced(t // (2*w - 1) - w + 1), spaced(t % (2*w - 1) - w + 1)),
                    t = (2*w - 1)^2, c = 2)
  table  = 16 * sigmoid(einsum("t u, h u -> t h", relu(einsum("t c, u c -> t u", places, w1) + b1), w2))
  cosine = einsum("b h (iy ix) d, b h (jy jx) d -> b h (iy ix) (jy jx)", unit(q), unit(k), iy = w, jy = w)
  scores = cosine * exp(min(scale, log(100)))[:, None, None] + table[(iy - jy + w - 1)*(2*w - 1) + ix - jx + w - 1, h]
  apart  = -100 * (region[b % windows, iy*w + ix] != region[b % windows, jy*w + jx])
  return einsum("b h i j, b h j d -> b h i d", softmax(scores + apart), v)
}
"""


@functools.lru_cache(None)
def layer_for(**parameters):
    """A layer for each number of windows that is met."""
    return whole_model.Layer(TEXT, **parameters)


def regions(mask, tokens):
    """A number a token, the same where the model's mask keeps nothing apart; one window of one region where there is no
    mask. The mask is 0 or -100: a token's region is the first token that it may see."""
    if mask is None:
        return torch.zeros(1, tokens, dtype=torch.int32)
    return (mask == 0).to(torch.uint8).argmax(-1).to(torch.int32)


def forward(module, hidden_states, attention_mask=None, output_attentions=False):
    """Swinv2SelfAttention.forward, whose scores are never held."""
    windows, tokens, _ = hidden_states.shape
    region = regions(attention_mask, tokens)
    first, _, last = module.continuous_position_bias_mlp
    layer = layer_for(w=module.window_size[0], windows=region.shape[0], heads=module.num_attention_heads,
                      dim=module.attention_head_size, hidden=first.out_features,
                      trained=module.pretrained_window_size[0] or module.window_size[0])
    query, key, value = (linear(hidden_states).view(windows, tokens, module.num_attention_heads, -1).transpose(1, 2)
                         for linear in (module.query, module.key, module.value))
    out = layer(query, key, value, first.weight, first.bias, last.weight, module.logit_scale.flatten(), region)
    return (out.transpose(1, 2).flatten(2),)


swap = whole_model.swapping(Swinv2SelfAttention, forward)


def main():
    options = whole_model.arguments(__doc__)
    torch.manual_seed(1)
    sizes = {"image_size": 64, "window_size": 4, "embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4]} \
        if options.small else {"image_size": 256, "window_size": 8}
    model = Swinv2Model(Swinv2Config(**sizes)).eval()
    with torch.no_grad():
        scales = {name: one.clone() for name, one in model.named_parameters() if name.endswith("logit_scale")}
        whole_model.randomise(model)
        for name, scale in scales.items():
            model.get_parameter(name).copy_(scale + 0.3 * torch.randn_like(scale))
    image = torch.randn(1, 3, model.config.image_size, model.config.image_size)
    whole_model.compare("Swin V2", model, swap, (image,), options)


if __name__ == "__main__":
    main()
