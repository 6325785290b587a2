#!/usr/bin/env python3
"""Swin V2 (transformers) with Skewer's attention: scores are cosines, the bias is a small network's of the offset."""

import torch
import whole_model
from transformers import Swinv2Config, Swinv2Model
from transformers.models.swinv2.modeling_swinv2 import Swinv2SelfAttention

TEXT = """
# Swin V2 (arXiv:2111.09883, section 3.3) with the network of its bias inside, computed once, on queries, keys and values as
# the model's projections lay them out.
param w = 8, windows = 1, heads = 3, dim = 32, hidden = 512, trained = w
size batch

scheme spaced(x) = sign(x) * log(1 + abs(x) * 8 / (trained - 1)) / log(8)
scheme unit(x : [b, n, h, d]) = x / max(sqrt(einsum("b n h d, b n h d -> b n h", x, x)), 1e-12)[..., None]

kernel swin_v2(q, k, v : f32[batch, w*w, heads, dim],
               const w1 : f32[hidden, 2], const b1 : f32[hidden], const w2 : f32[heads, hidden] ~ hidden^-0.5,
               const scale : f32[heads] ~ 2 + 0.3) -> f32[batch, w*w, heads, dim] {
  places = tabulate(select(c == 0, spaced(t // (2*w - 1) - w + 1), spaced(t % (2*w - 1) - w + 1)),
                    t = (2*w - 1)^2, c = 2)
  table  = 16 * sigmoid(einsum("t u, h u -> t h", relu(einsum("t c, u c -> t u", places, w1) + b1), w2))
  cosine = einsum("b (iy ix) h d, b (jy jx) h d -> b h (iy ix) (jy jx)", unit(q), unit(k), iy = w, jy = w)
  scores = cosine * exp(min(scale, log(100)))[:, None, None] + table[(iy - jy + w - 1)*(2*w - 1) + ix - jx + w - 1, h]
  return einsum("b h i j, b j h d -> b i h d", softmax(scores), v)
}
"""
# Windows whose shift brings different regions together keep them apart by the model's own mask, one a window of an image.
SHIFTED = TEXT.replace("0.3)", "0.3, mask : f32[windows, w*w, w*w])").replace(
    "softmax(scores)", "softmax(scores + mask[b % windows, iy*w + ix, jy*w + jx])")


def forward(module, hidden_states, attention_mask=None, output_attentions=False):
    """Swinv2SelfAttention.forward, whose scores are never held."""
    batch, tokens, _ = hidden_states.shape
    masks = [] if attention_mask is None else [attention_mask]
    first, _, last = module.continuous_position_bias_mlp
    constants = {"w1": first.weight, "b1": first.bias, "w2": last.weight, "scale": module.logit_scale.view(-1)}
    layer = whole_model.layer_of(module, SHIFTED if masks else TEXT, constants, w=module.window_size[0],
                                 windows=masks[0].shape[0] if masks else 1, heads=module.num_attention_heads,
                                 dim=module.attention_head_size, hidden=first.out_features,
                                 trained=module.pretrained_window_size[0] or module.window_size[0])
    query, key, value = (linear(hidden_states).view(batch, tokens, module.num_attention_heads, -1)
                         for linear in (module.query, module.key, module.value))
    return (layer(query, key, value, positions=masks).flatten(2),)


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
    whole_model.compare("Swin V2", model, swap, (image,), options, [
        whole_model.Attention(label, lambda model, n=n: model.encoder.layers[0].blocks[n].attention.self,
                              ["query", "key", "value"])
        for n, label in enumerate(("attention of the first stage", "attention of the first stage, windows shifted"))])


if __name__ == "__main__":
    main()
