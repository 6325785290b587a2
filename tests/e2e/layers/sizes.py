"""Sizes that fill whole vectors and tiles: multiples of 16 if the layer allows them. The defaults of the texts are odd.

NAME: params of the text, given as -D; the constants of NAME.py get the same values. Another constant of NAME.py follows behind `;`.
"""
WHOLE = {
    "af3_local": "blocks=4 nq=16 nk=48 heads=2 dim=16",
    "alibi_asym": "N=96 dim=32",
    "axial3d": "Z=2 Y=32 X=48 dim=16",
    "bigbird": "bs=8 nb=12 dim=32",
    "blockmask": "N=96 heads=2 dim=32",
    "cape": "N=64 c=64",
    "causal_add": "N=112 heads=4 dim=32",
    "chunked_llama4": "N=64 chunk=16 heads=4 dim=32",
    "convit": "H=8 W=8 dim=16",
    "cope": "N=48 npos=16 dim=32",
    "cswin": "H=16 W=16 sw=4 heads=2 dim=16",
    "decode": "Nq=8 C=96 heads=4 dim=32",
    "deformable": "Q=32 H=8 W=16 heads=2 dim=32",
    "dinov3": "H=8 W=8 prefix=16 heads=2 dim=32",
    "dropout": "N=48 heads=2 dim=32",
    "dsa_topk": "N=96 K=32 c=32 r=16",
    "evoformer_row": "S=4 R=48 heads=2 dim=16",
    "focal": "Y=4 X=4 w=4 heads=2 dim=16",
    "fox": "N=80 heads=2 dim=32",
    "gated_attention": "N=64 heads=4 dim=16 c=64",
    "gemma2": "N=64 W=16 dim=32",
    "gptoss_sink": "N=64 W=32 heads=4 dim=32",
    "graphormer": "N=48 dim=16 heads=2 distances=64 edges=32; NODES=(48, 32)",
    "halonet": "H=32 W=16 heads=2 dim=32",
    "hstu": "N=64 dim=32",
    "irpe_cross": "H=8 W=8 dim=16",
    "irpe_euclidean": "H=8 W=8 heads=2 dim=32",
    "irpe_product": "H=8 W=16 heads=2 dim=16",
    "layernorm_qk": "N=64 heads=2 dim=32",
    "layoutlmv3": "N=64 heads=2 dim=32",
    "layoutlmv3_buckets": "N=64 heads=2 dim=32",
    "linear": "N=80 heads=2 dim=16 vdim=16",
    "linear_causal": "N=80 heads=2 dim=16 vdim=16",
    "llama4_nope": "N=64 heads=4 dim=32",
    "longrope_weights": "N=80 heads=2 dim=32",
    "mamba2_ssd": "N=64 heads=2 dim=16 state=32",
    "manual_softmax": "N=96 heads=2 dim=32",
    "megabyte": "K=16 P=8 heads=2 dim=16",
    "mla_absorb": "Nq=8 Nk=96 heads=4 dim=16 vdim=16 latent=32 rd=16",
    "mla_prefill": "N=64 dim=16 vdim=16 rd=16 latent=32",
    "mrope": "N=64 heads=4",
    "natten": "H=16 W=16 heads=2",
    "nsa_gatherfirst": "nb=8 bs=16 T=4 heads=2",
    "padding_cross": "Nq=48 Nk=64 heads=4 dim=32",
    "paged": "pages=24 page=16 maxp=8 Nq=8 heads=4 dim=16",
    "partial_rope": "N=64 heads=2 dim=64; ROT=16",
    "perceiver": "M=32 H=8 W=8 c=14 dim=16",
    "prefill_varlen": "N=160 heads=2 dim=32; LENGTHS=[1, 39, 5, 64, 51]",
    "qknorm": "N=64 heads=4 groups=2 dim=32",
    "rope_complex": "N=64 heads=2 dim=32",
    "rope_hf": "N=80 heads=2 dim=32",
    "sdpa_mask": "N=96 heads=2 dim=32",
    "sigmoid": "N=64 heads=2 dim=32",
    "streaming": "W=44 heads=2 dim=32",
    "swin_mask": "w=4 heads=2 dim=32",
    "swinv2_cpb": "w=8 heads=2 dim=32",
    "talking": "N=48 dim=32",
    "tokenformer": "N=48 c=32 T=96",
    "tree": "C=48 T=16 heads=4 dim=32",
    "triangle": "N=32 c=32 heads=2 dim=16",
    "vggt_like_qkv": "N=64 c=64 heads=4 dim=16",
    "video_swin": "T=2 w=4 heads=2 windows=8",
    "weights_out": "N=64 heads=2 dim=32",
    "window_partition": "H=16 W=16 w=8 heads=2 dim=16",
    "xca": "N=96 heads=2 dim=16",
    "yarn": "N=64 heads=2 dim=32",
}
# Params of a text whose constant in NAME.py is not their name in capitals.
CALLED = {"llama4_nope": {"floor_scale": "FLOOR"}, "video_swin": {"w": "WIN"}, "prefill_varlen": {"N": None}}


def parse(name):
    """Returns (params of the text, constants of NAME.py) as dictionaries of texts."""
    params, _, others = WHOLE[name].partition(";")
    given = dict(pair.split("=") for pair in params.split())
    constants = {}
    for param, value in given.items():
        constant = CALLED.get(name, {}).get(param, param)
        if constant is not None:
            constants[constant] = value
    if others:
        constant, value = others.strip().split("=", 1)
        constants[constant] = value
    return given, constants
