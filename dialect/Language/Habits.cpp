// Tables of words of other languages, with a hint for each. tests/dialect/language/habits.attn shows the messages.
#include "dialect/Language/Habits.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace skewer::language {

/// Returns a hint for functions that move, make or multiply tensors.
static StringRef insteadOfShaping(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"matmul", "bmm", "mm", "dot", "dot_product", "tensordot", "inner", "linear", "Linear", "baddbmm"},
             "a product of tensors is an einsum: einsum(\"b h i d, b h j d -> b h i j\", q, k)")
      .Case("outer", "an outer product is an einsum: einsum(\"i, j -> i j\", x, y)")
      .Cases({"transpose", "permute", "swapaxes", "moveaxis", "movedim", "t"},
             "axes change places by name: rearrange(x, \"b h i d -> b i h d\"); an einsum reads them in any order")
      .Cases({"view", "unflatten", "flatten", "ravel"},
             "write reshape(x, [batch, N, -1]), or by the names of axes rearrange(x, \"b (h w) d -> b h w d\", w = 14)")
      .Cases({"unsqueeze", "expand_dims"}, "a dimension of size 1 is put in with None: x[..., None]")
      .Case("squeeze", "a dimension of size 1 is left out by its index: x[..., 0]")
      .Cases({"cat", "concatenate", "stack", "hstack", "vstack"}, "write concat(a, b, dim = 1)")
      .Cases({"chunk", "split", "unbind", "tensor_split"},
             "write (q, k, v) = rearrange(x, \"b n (3 h d) -> 3 b h n d\", h = heads), or slices, x[:, :N]")
      .Cases({"repeat", "repeat_interleave", "expand", "tile", "broadcast_to", "expand_as"},
             "write broadcast(x, \"b i d -> b h i d\", h = heads); in arithmetic a dimension of size 1 is repeated by "
             "itself")
      .Cases({"zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "eye", "empty", "tensor", "array",
              "constant"},
             "numbers stand beside tensors as they are, and a table of a function of positions is tabulate(…)")
      .Cases({"randn", "rand", "normal", "uniform", "Parameter", "Embedding", "embedding"},
             "weights are operands of the kernel; rows of a table are read in an einsum, \"(j - i + N - 1) d\", or in "
             "brackets, table[j - i + N - 1, h]")
      .Cases({"shape", "size", "ndim", "numel", "dim"}, "the length of an axis is len(i)")
      .Cases({"flip", "roll", "index_select", "take", "take_along_axis", "take_along_dim"},
             "rows are picked by an index expression: einsum(\"(len(i) - 1 - i) d -> i d\", x, i = N), or gather(…)")
      .Cases({"topk", "argmax", "argmin", "sort", "argsort", "unique"},
             "what is chosen at run time comes in as an index operand: chosen : i32[batch, N, m] in 0..M - 1")
      .Cases({"Rearrange"}, "write rearrange(x, \"b n (h d) -> b h n d\", h = heads)")
      .Default("");
}

/// Returns a hint for arithmetic, sums and comparisons.
static StringRef insteadOfArithmetic(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"reduce", "reduce_sum", "nansum", "add_reduce"},
             "the sum over an axis is sum(x, j), over the last dimension sum(x, -1); an einsum sums over the axes that "
             "its result lacks: einsum(\"b h i j -> b h i\", x)")
      .Cases({"logical_and", "logical_or", "logical_not"}, "conditions are joined by 'and', 'or' and 'not'")
      .Case("average", "write mean(x, j)")
      .Cases({"var", "std", "variance"}, "a variance is mean((x - mean(x, -1)[..., None])^2, -1)")
      .Cases({"amax", "reduce_max", "maxpool", "nanmax"}, "the largest element along an axis is max(x, axis = j)")
      .Cases({"amin", "reduce_min", "nanmin"}, "the least element along an axis is min(x, axis = j)")
      .Cases({"greater", "less", "equal", "not_equal", "gt", "ge", "lt", "le", "eq", "ne"},
             "values are compared as they are written: x > y, x <= 0")
      .Case("isinf", "write abs(x) == inf")
      .Cases({"signum", "sgn"}, "write sign(x)")
      .Cases({"arange", "range", "iota", "linspace", "meshgrid", "indices"},
             "positions have names: after an einsum with the axes i and j, 'j - i' is the offset of key and query")
      .Cases({"pow", "power", "float_power"}, "write x^y")
      .Case("square", "write x^2")
      .Case("reciprocal", "write 1 / x")
      .Cases({"negative", "neg"}, "write -x")
      .Cases({"add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide"},
             "arithmetic is written with + - * /")
      .Case("log2", "write log(x) / log(2)")
      .Case("log10", "write log(x) / log(10)")
      .Case("log1p", "write log(1 + x)")
      .Case("expm1", "write exp(x) - 1")
      .Case("exp2", "write 2^x")
      .Case("tan", "write sin(x) / cos(x)")
      .Case("rint", "write round(x)")
      .Cases({"trunc", "fix"}, "write floor(abs(x)) * sign(x)")
      .Case("minimum", "write min(a, b)")
      .Case("maximum", "write max(a, b)")
      .Cases({"clip", "clamp_min", "clamp_max", "hardtanh"}, "write clamp(x, low, high)")
      .Case("cumprod", "of positive numbers that is exp(cumsum(log(x), j))")
      .Default("");
}

/// Returns a hint for whole parts of layers, and for functions that a layer does not need.
static StringRef insteadOfLayers(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"masked_fill", "masked_softmax", "tril", "triu", "causal_mask", "make_causal_mask", "create_mask"},
             "a mask is a condition on positions: softmax(scores where j <= i)")
      .Case("swish", "write silu(x)")
      .Cases({"soft_cap", "soft_capping", "logit_cap"}, "write softcap(x, 50)")
      .Cases({"logsigmoid", "log_sigmoid"}, "write -softplus(-x)")
      .Case("mish", "write x * tanh(softplus(x))")
      .Cases({"log_softmax"}, "write x - logsumexp(x)[..., None]")
      .Cases({"softmax_", "Softmax"}, "write softmax(x)")
      .Case("where", "a choice is written x if P else 0, and a mask scores where j <= i")
      .Case("dropout", "a layer computes what it does in use, without dropout")
      .Cases({"rms_norm", "RMSNorm", "rmsnorm"}, "write x * rsqrt(mean(x * x, -1)[..., None] + 1e-6)")
      .Cases({"layer_norm", "LayerNorm", "layernorm"},
             "write (x - mean(x, -1)[..., None]) * rsqrt(mean((x - mean(x, -1)[..., None])^2, -1)[..., None] + 1e-5)")
      .Cases({"normalize", "l2norm", "l2_norm", "l2normalize", "l2_normalize"},
             "write x * rsqrt(max(sum(x * x, -1)[..., None], 1e-24))")
      .Case("norm", "write sqrt(sum(x * x, -1))")
      .Cases({"scaled_dot_product_attention", "attention", "MultiheadAttention", "flash_attention", "sdpa",
              "multi_head_attention"},
             "attention is written out: einsum(\"b h i j, b h j d -> b h i d\", softmax(einsum(\"b h i d, b h j d -> b "
             "h i "
             "j\", q, k) * dim^-0.5), v)")
      .Cases({"float", "int", "to", "astype", "cast", "half", "double", "bfloat16", "float16", "float32", "bf16", "f16",
              "type", "asarray"},
             "numbers need no conversion; f32, f16 and bf16 are types of operands and results")
      .Cases({"print", "printf"}, "'skewer explain' says what became of each term")
      .Default("");
}

StringRef insteadOfFunction(StringRef name) {
  for (auto instead : {insteadOfShaping, insteadOfArithmetic, insteadOfLayers})
    if (StringRef words = instead(name); !words.empty())
      return words;
  return "";
}

static bool isModule(StringRef name) {
  return StringSwitch<bool>(name)
      .Cases({"np", "numpy", "torch", "jnp", "jax", "F", "nn", "tf", "math", "einops", "functional", "lax", "mx"}, true)
      .Default(false);
}

std::string insteadOfMember(StringRef receiver, StringRef member, bool isCalled) {
  if (isModule(receiver)) {
    StringRef instead = insteadOfFunction(member);
    return "there are no modules; " + (instead.empty()
                                           ? "it is called by its name alone: " + member.str() + (isCalled ? "(…)" : "")
                                           : instead.str());
  }
  if (member == "T" || member == "mT" || member == "H")
    return "tensors have no attributes; the einsum that reads one names its axes in any order: einsum(\"b h i d, b h j "
           "d "
           "-> b h i j\", q, k)";
  if (StringRef instead = insteadOfFunction(member); !instead.empty())
    return "tensors have no methods; " + instead.str();
  if (!isCalled)
    return "tensors have no attributes";
  return "tensors have no methods; functions are called by their names: " + member.str() + "(" + receiver.str() + ")";
}

StringRef insteadOfArgument(StringRef function, StringRef argument) {
  if (function == "softmax" || function == "logsumexp") {
    if (argument == "mask" || argument == "attn_mask" || argument == "attention_mask" || argument == "is_causal")
      return "a mask is a condition on positions: softmax(x where j <= i)";
  }
  if (function == "concat" && argument == "axis")
    return "the argument is 'dim'";
  return "";
}

StringRef insteadOfOperator(StringRef symbol) {
  return StringSwitch<StringRef>(symbol)
      .Case("@", "a product of tensors is an einsum: einsum(\"b h i d, b h j d -> b h i j\", q, k)")
      .Case("|", "conditions are joined by 'or'")
      .Case("?", "a choice is written x if P else 0")
      .Default("");
}

StringRef insteadOfWord(StringRef word) {
  return StringSwitch<StringRef>(word)
      .Cases({"for", "while"}, "there are no loops: an einsum says over which axes something is computed and summed")
      .Cases({"if", "else", "elif"},
             "a choice is part of an expression: x if P else 0, and a mask is a condition: scores "
             "where j <= i")
      .Cases({"let", "var", "auto", "val", "float", "Tensor"}, "a name is given its value by NAME = … alone")
      .Cases({"def", "fn", "func", "function", "lambda", "class"},
             "what comes out is a 'kernel NAME(operands) -> type { … }', and a function of one's own a 'scheme NAME(x) "
             "= …'")
      .Cases({"import", "from", "include", "using"}, "nothing is imported: built-in schemes are known by their names")
      .Cases({"assert"}, "a condition on sizes is require N % 2 == 0, \"what is wrong\"")
      .Cases({"print"}, "'skewer explain' says what became of each term")
      .Case("const", "a number known at compile time is a param: param N = 16")
      .Default("");
}

StringRef insteadOfConstant(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"True", "true"}, "a condition that always holds is 1")
      .Cases({"False", "false"}, "a condition that never holds is 0")
      .Cases({"pi", "PI"}, "it is written as a number: 3.14159265358979")
      .Cases({"nan", "NaN", "NAN"}, "there is no such number")
      .Cases({"None", "newaxis"}, "it stands in brackets after a tensor: x[..., None]")
      .Default("");
}

StringRef elementTypeFor(StringRef name) {
  return StringSwitch<StringRef>(name)
      .Cases({"float", "float32", "fp32", "single", "F32", "tf32"}, "f32")
      .Cases({"half", "float16", "fp16", "F16"}, "f16")
      .Cases({"bfloat16", "brain", "BF16"}, "bf16")
      .Cases({"int", "int32", "int64", "i64", "long", "index", "u32", "uint32", "size_t", "int32_t", "int64_t"}, "i32")
      .Cases({"int8", "int8_t", "char", "s8"}, "i8")
      .Cases({"fp8", "f8", "float8", "float8_e4m3fn", "float8_e4m3", "f8e4m3fn", "f8E4M3FN", "fp8_e4m3", "e4m3"},
             "f8e4m3")
      .Default("");
}

} // namespace skewer::language
