// An attention layer as a structure: made from a seed, made smaller piece by piece, printed as .attn text.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace skewer::fuzz {

/// The kinds of terms of the score and of the values. K and Q are positions of key and query.
enum class TermKind {
  OffsetQuery,   // q_i·R[±(K - Q) + c]
  OffsetKey,     // k_j·R[±(K - Q) + c]
  AxisQuery,     // q_i·R[..] on one axis of a map
  AxisKey,       // k_j·R[..] on one axis of a map
  StridedAxis,   // q_i·R[Qy - 2*Ky + c] on one axis of a map
  KeyTable,      // q_i·E[K]
  KeyAxisTable,  // q_i·E[Ky]
  KeyScalar,     // T[K]
  QueryScalar,   // T[Q]
  ScalarOffset,  // T[f(K - Q)]
  ScalarMap,     // T[(Qy - Ky + c)*rows + Qx - Kx + d]
  ScalarMapAxes, // T[Qy - Ky + c, Qx - Kx + d]
  Slope,         // slope[h] * f(K - Q)
  Position,      // a number times f(Q, K)
  Gated,         // gate[b, h, Q] * T[f(K - Q)]
  Matrix,        // T[Q, K]; on a map also T[Q, Ky], with an odd `left`
  ValueOffset,   // Σ p·R[K - Q + c], added to the result
  ValueAxis,     // the same on one axis of a map
  TokenRows,     // q_i·E[f(a[b, Q], c[b, K])], or k_j·E[..], by index operands a and c
  TokenScalar,   // T[f(a[b, Q], c[b, K])]
  TokenNumber,   // a number times f(a[b, Q], c[b, K])
};
constexpr int kTermKinds = static_cast<int>(TermKind::TokenNumber) + 1;

/// The ways in which the row of a table follows from the offset.
enum class RowForm {
  Plain,    // ±(K - Q) + c, with a row for every offset
  Clamped,  // clamp(K - Q, -left, right) + left
  Absolute, // abs(K - Q)
  Halved,   // (±(K - Q) + c) // 2
  Windowed, // K - Q + left, under the guard abs(K - Q) <= left
  Bucketed, // t5_bucket(K - Q)
  Causal,   // K - Q + c, with rows for K <= Q only: under a causal mask
};
/// The ways in which the row of a table follows from index operands.
enum class TokenForm {
  Differ,   // a[b, Q] != c[b, K]
  Clamped,  // clamp(a[b, Q] - c[b, K], -2, 2) + 2
  Key,      // c[b, K]
  Buckets,  // a[K - Q + N - 1]
  Pairs,    // a[Q, K]
  AndOrder, // (a[b, Q] == c[b, K]) + 2*(K <= Q)
};
constexpr int kTokenForms = static_cast<int>(TokenForm::AndOrder) + 1;
enum class Guard { None, Window, Corner };
/// The ways to write a term.
enum class Spelling {
  Einsum,
  Index,              // table[h, j - i + c]
  Gather,             // the rows, gathered to a tensor of queries × keys, then an einsum
  Skew,               // skew(einsum with the whole table)
  RelativeToAbsolute, // the same as pad, flatten, pad, reshape, slice
  RelativeShift,      // Transformer-XL's pad, reshape, slice
  CausalShift,        // Music Transformer's pad, reshape, slice
};
enum class Mask {
  None,
  Causal,
  CausalBottom,
  Strict,
  Sliding,
  Band,
  Prefix,
  Blocks,
  Odd,
  PerHead,
  MapWindow,
  Lengths,   // K < lengths[b], by an index operand
  Documents, // a[b, Q] == c[b, K]
  Reach,     // K < reach[b, Q]
};
constexpr int kMasks = static_cast<int>(Mask::Reach) + 1;
/// The functions that make weights of the scores.
enum class Weights {
  Softmax,
  Sigmoid,
  SquaredRelu,
  Swish,       // s × sigmoid(s)
  Exponential, // a softmax without its maximum, if `divided`
  Linear,      // the scores themselves
  Decayed,     // s × exp(-|i - j| / 8)
  Shifted,     // the softmax of 4 × tanh(q·k / 4), other terms, and |i - j| / 8
};
constexpr int kWeights = static_cast<int>(Weights::Shifted) + 1;
enum class Batch { None, Fixed, RunTime };
/// The norms between an operand and the product that reads it; the same for queries and keys. A turn follows the norm.
enum class Norm {
  None,
  Euclid,         // q / |q|
  RootMeanSquare, // q / sqrt(mean of q²), times a gain
  Cosine,         // the product of queries and keys over both lengths
};
enum class Turn { None, Rope, RopeHalf, Rotate, RotateHalf, Rope2d, Rope2dHalf };
constexpr int kTurns = static_cast<int>(Turn::Rope2dHalf) + 1;
/// The tensors that one operand holds together, and the order of its dimensions.
enum class Packing { None, KeysValues, All };
enum class PackingOrder { Tokens, Flat, Heads, InHeads, FlatInHeads };
constexpr int kPackingOrders = static_cast<int>(PackingOrder::FlatInHeads) + 1;
/// The order of the result's dimensions.
enum class ResultOrder {
  Same,       // as q has them
  HeadMajor,  // b h i e
  TokenMajor, // b i h e
  Merged,     // b i (h e)
  DepthMajor, // b h e i
};
constexpr int kResultOrders = static_cast<int>(ResultOrder::DepthMajor) + 1;

/// A stretch of a longer axis.
struct Part {
  int64_t beyond = -1; // positions of the whole that the stretch lacks; -1: the axis is whole
  int64_t origin = 0;  // at most `beyond`
};

struct Term {
  TermKind kind = TermKind::OffsetQuery;
  RowForm row = RowForm::Plain;
  Guard guard = Guard::None;
  Spelling spelling = Spelling::Einsum;
  int sign = 1;                // 1: key minus query
  int64_t low = 0, high = 0;   // rows below and above those that are read
  int64_t left = 3, right = 2; // of Clamped and Windowed, and of the guard
  int axis = 0;                // of the map: 0 is y
  TokenForm token = TokenForm::Differ;
  bool ofKey = false;      // TokenRows: the key meets the row; ValueOffset: the row is that of the key
  bool perHead = false;    // a table a head
  bool headLast = false;   // [row, head] instead of [head, row] (scalars)
  bool bias = false;       // a vector a head is added to q
  bool isConst = false;    // the table is declared const
  bool otherNames = false; // written with flat positions where the spec uses the map's, or the other way round
  bool plain = false;      // meets the vector before the spec's norm and turn
  double scale = 1;
  int64_t steps = 0; // of scalars: each number of the table is a product of two vectors of so many; 0: it is given
};

struct Spec {
  int64_t queries = 16, keys = 16; // 1-D; on a map, products of these, less what a part lacks:
  bool map = false;
  int64_t queryMap[2] = {4, 4}, keyMap[2] = {4, 4};
  int64_t heads = 1, groups = 1; // groups: heads of k and v; divides heads
  int64_t dim = 8, width = 8;    // of q and k, of v
  Batch batch = Batch::Fixed;
  int64_t batchSize = 1;
  std::string type = "f32", tableType = "f32";
  bool tokenMajor = false;     // [b, i, h, d] instead of [b, h, i, d]
  bool depthMajorKeys = false; // k is [b, h, d, j]
  bool groupedText = false;    // heads written as (g r) instead of h // r
  bool mapNames = false;       // iy, ix, jy, jx instead of i, j
  bool content = true, contentBias = false, contentLast = false;
  double contentScale = 0;  // 0: dim^-0.5
  bool commonScale = false; // dim^-0.5 times the whole sum; contentScale is not used then
  double cap = 0;           // cap * tanh(score / cap), unless 0
  Weights weights = Weights::Softmax;
  bool divided = false;  // by the sum of a row's weights, where that is at least 1
  bool residual = false; // q is added to the result (width = dim)
  bool lse = false;      // a further result, logsumexp of the scores
  bool stored = false;   // a further result, the weights
  ResultOrder result = ResultOrder::Same;
  Packing packing = Packing::None;
  PackingOrder packingOrder = PackingOrder::Tokens;
  Norm norm = Norm::None;
  Turn turn = Turn::None;
  bool keyBias = false;  // a vector a head is added to k
  bool gated = false;    // the running sum of a key's log gates is added to the score
  bool compared = false; // keys are hidden by a comparison of numbers that keys and queries have
  Part queryPart, keyPart, headPart;
  bool wholeOperands = false; // matrices and index operands are as long as the whole of a part
  Mask mask = Mask::None;
  int64_t maskSize = 3;      // of a window, a block, a prefix
  bool maskArgument = false; // softmax(x, where = P) instead of softmax(x where P)
  std::vector<Term> terms;
};

/// The spec of a seed: deterministic, and valid. Seeds 0 … kTermKinds*kMasks - 1 hold each kind of term under each
/// mask.
Spec randomSpec(uint64_t seed);
/// Changes what does not fit together (a causal table without a causal mask, a pasted skew of a map) to what does.
void normalise(Spec &);
/// The spec as text, with one kernel named `layer`.
std::string print(const Spec &);
/// Operations of one call of the reference, roughly.
double costOf(const Spec &);
/// Values of the run-time sizes, and of the origins of parts.
std::map<std::string, int64_t> runTimeSizes(const Spec &);
std::map<std::string, int64_t> originsOf(const Spec &);
/// Lengths of the whole layer, of which the kernel may compute a part.
int64_t wholeQueries(const Spec &);
int64_t wholeKeys(const Spec &);
int64_t wholeHeads(const Spec &);
bool isPart(const Spec &);

const char *nameOf(TermKind);
const char *nameOf(Mask);
bool isOnMap(TermKind);      // needs a map
bool isValueSide(TermKind);  // belongs to the result, not to the score
bool isContracted(TermKind); // sums over the head dimension
bool isScalar(TermKind);     // one number of a table for each query and key
bool isOfTokens(TermKind);   // reads index operands
bool isWholeScore(TermKind); // its text names batch, head, query and key: it can be a score by itself

} // namespace skewer::fuzz
