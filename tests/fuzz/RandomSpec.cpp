// From a seed to a spec.
#include "tests/fuzz/RandomSpec.h"
#include "tests/fuzz/Dice.h"
#include <cmath>

namespace skewer::fuzz {
namespace {

// A call of the float64 reference and one of the unfused path must stay far below a second.
constexpr double kMostCost = 1.5e6;
constexpr uint64_t kFirstOfWeights = 500, kFirstOfValues = 600, kFirstOfDirect = 700;

/// The features around the terms; each kind of term meets them one after the other. There are 17 turns and 14 masks, so
/// a kind has met every feature under every mask after as many rounds.
enum class Feature {
  Lse,
  ResultOrder,
  MergedHeads,
  KeysValuesPacked,
  AllPacked,
  Euclid,
  RootMeanSquare,
  Cosine,
  TurnNeighbours,
  TurnHalves,
  TurnOnMap,
  Bias,
  SharedHeads,
  QueryPart,
  KeyPart,
  HeadPart,
  Stored,
};
constexpr uint64_t kTurnsOfFeatures = static_cast<uint64_t>(Feature::Stored) + 1;

class Generator {
public:
  explicit Generator(uint64_t seed)
      : seed(seed), turn(static_cast<Feature>((seed / kTermKinds + seed) % kTurnsOfFeatures)), dice(seed) {}

  Spec make() {
    // The first kind and the mask go round, so that every pair of them occurs; the rest is left to the dice.
    auto first = static_cast<TermKind>(seed % kTermKinds);
    spec.mask = static_cast<Mask>(seed / kTermKinds % kMasks);
    spec.map = isOnMap(first) || spec.mask == Mask::MapWindow || turn == Feature::TurnOnMap || dice.chance(20);
    chooseSizes();
    chooseWords();
    chooseResults();
    choosePrologue();
    chooseParts();
    spec.terms.push_back(chooseTerm(first));
    static const std::vector<int> more = {0, 0, 0, 1, 1, 2};
    for (int k = dice.pick(more); k > 0; --k)
      spec.terms.push_back(chooseTerm(static_cast<TermKind>(dice.below(kTermKinds))));
    if (seed >= kTermKinds * kMasks && dice.chance(3))
      spec.terms.clear();
    chooseWeights();
    chooseProducts();
    chooseValues();
    chooseDirect();
    normalise(spec);
    while (costOf(spec) > kMostCost)
      makeCheaper();
    return std::move(spec);
  }

private:
  void chooseSizes() {
    static const std::vector<int64_t> lengths = {1,  2,  3,  7,  13, 15, 16, 17, 19, 23, 31, 32,
                                                 33, 37, 41, 48, 49, 53, 63, 64, 65, 79, 97};
    static const std::vector<int64_t> sides = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11};
    spec.queries = spec.keys = dice.pick(lengths);
    if (dice.chance(35))
      spec.keys = dice.pick(lengths);
    for (int axis : {0, 1})
      spec.queryMap[axis] = spec.keyMap[axis] = dice.pick(sides);
    if (dice.chance(30))
      for (int axis : {0, 1})
        spec.keyMap[axis] = dice.pick(sides);
    static const std::vector<int64_t> heads = {1, 1, 2, 2, 3, 4, 6},
                                      depths = {1, 2, 3, 8, 8, 15, 16, 16, 17, 24, 32, 40};
    spec.heads = spec.groups = dice.pick(heads);
    if (turn == Feature::SharedHeads && spec.heads == 1)
      spec.heads = 4;
    if (spec.heads > 1 && has(Feature::SharedHeads, 30))
      spec.groups = spec.heads % 2 == 0 && dice.chance(50) ? spec.heads / 2 : 1;
    spec.dim = spec.width = dice.pick(depths);
    if (dice.chance(30))
      spec.width = dice.pick(depths);
    static const std::vector<Batch> batches = {Batch::None, Batch::Fixed, Batch::Fixed, Batch::RunTime, Batch::RunTime};
    spec.batch = dice.pick(batches);
    spec.batchSize = dice.between(1, 3);
  }

  void chooseWords() {
    if (dice.chance(12)) {
      spec.type = dice.chance(50) ? "f16" : "bf16";
      spec.tableType = dice.chance(50) ? spec.type : "f32";
    }
    spec.tokenMajor = dice.chance(20);
    spec.depthMajorKeys = dice.chance(8);
    spec.groupedText = dice.chance(40);
    spec.mapNames = dice.chance(60);
    spec.content = dice.chance(88);
    spec.contentLast = dice.chance(15);
    spec.commonScale = dice.chance(45);
    spec.contentScale = scale();
    if (dice.chance(4))
      spec.cap = 5;
    spec.residual = dice.chance(6);
    spec.maskSize = dice.between(1, 9);
    spec.maskArgument = dice.chance(25);
  }

  /// Whether the layer has a feature: the one whose turn it is, and others at times.
  bool has(Feature feature, int percent) { return turn == feature || dice.chance(percent); }

  void chooseResults() {
    spec.lse = has(Feature::Lse, 20);
    // By dice of its own, so that what else a seed has stays.
    spec.stored = turn == Feature::Stored || Dice(~seed).chance(5);
    if (has(Feature::ResultOrder, 20))
      spec.result = static_cast<ResultOrder>(1 + dice.below(kResultOrders - 1));
    if (has(Feature::MergedHeads, 5))
      spec.result = ResultOrder::Merged;
    bool all = has(Feature::AllPacked, 8);
    if (!all && !has(Feature::KeysValuesPacked, 8))
      return;
    spec.packing = all ? Packing::All : Packing::KeysValues;
    spec.packingOrder = static_cast<PackingOrder>(dice.below(kPackingOrders));
    // Packed tensors have one width; if all three are packed, also one length.
    spec.width = spec.dim;
    if (!all)
      return;
    spec.keys = spec.queries;
    spec.groups = spec.heads;
    for (int axis : {0, 1})
      spec.keyMap[axis] = spec.queryMap[axis];
  }

  /// Seeds from kFirstOfWeights on have weights of every kind; what those before it cover, they cover under a softmax.
  void chooseWeights() {
    Dice own(~seed);
    if (seed < kFirstOfWeights || own.chance(25))
      return;
    spec.weights = static_cast<Weights>(own.below(kWeights));
    spec.divided = own.chance(30);
  }

  /// Those from there on have scalars that the layer itself makes, too.
  void chooseProducts() {
    Dice own(seed ^ 0x5ca1a75);
    if (seed < kFirstOfWeights)
      return;
    for (Term &term : spec.terms)
      if (isScalar(term.kind) && own.chance(40)) {
        term.steps = own.between(1, 20);
        term.spelling = Spelling::Einsum;
      }
  }

  /// Seeds from kFirstOfValues on have cumulated gates and comparisons of values.
  void chooseValues() {
    Dice own(seed ^ 0x5eed);
    if (seed < kFirstOfValues)
      return;
    spec.gated = own.chance(35);
    spec.compared = own.chance(35);
  }

  /// Seeds from kFirstOfDirect on have weights that are no softmax, and terms of the values, often under conditions:
  /// a key that a condition hides must count for nothing in each product with the weights, and in no other.
  void chooseDirect() {
    Dice own(seed ^ 0xd1eec7);
    if (seed < kFirstOfDirect)
      return;
    static const std::vector<Weights> direct = {Weights::Sigmoid, Weights::SquaredRelu, Weights::Swish,
                                                Weights::Linear, Weights::Decayed};
    spec.weights = own.pick(direct);
    spec.divided = own.chance(25);
    for (int64_t left = own.between(1, 2); left > 0; --left) {
      Term term = chooseTerm(spec.map && own.chance(50) ? TermKind::ValueAxis : TermKind::ValueOffset);
      if (own.chance(40))
        term.guard = own.chance(60) ? Guard::Window : Guard::Corner;
      spec.terms.push_back(term);
    }
  }

  void choosePrologue() {
    if (has(Feature::Euclid, 4))
      spec.norm = Norm::Euclid;
    if (has(Feature::RootMeanSquare, 4))
      spec.norm = Norm::RootMeanSquare;
    if (has(Feature::Cosine, 3)) {
      spec.norm = Norm::Cosine;
      spec.groups = spec.heads;
      spec.content = true;
    }
    if (has(Feature::TurnNeighbours, 6))
      spec.turn = dice.chance(60) ? Turn::Rope : Turn::Rotate;
    if (has(Feature::TurnHalves, 6))
      spec.turn = dice.chance(60) ? Turn::RopeHalf : Turn::RotateHalf;
    if (has(Feature::TurnOnMap, 0) || (spec.map && dice.chance(12)))
      spec.turn = dice.chance(50) ? Turn::Rope2d : Turn::Rope2dHalf;
    if (spec.turn != Turn::None) {
      spec.dim += (4 - spec.dim % 4) % 4; // dimensions turn in pairs, on a map in two pairs
      if (spec.packing != Packing::None)
        spec.width = spec.dim;
      if (spec.batch == Batch::None)
        spec.batch = Batch::Fixed;
    }
    spec.contentBias = spec.content && has(Feature::Bias, 8);
    spec.keyBias = spec.content && dice.chance(5);
  }

  void chooseParts() {
    bool isWhole =
        spec.turn == Turn::Rope2d || spec.turn == Turn::Rope2dHalf || (spec.map && spec.packing == Packing::All);
    int percent = dice.chance(20) ? 50 : 0;
    auto choose = [&](Part &part, Feature feature, int64_t most) {
      if (!has(feature, percent))
        return;
      part.beyond = dice.chance(10) ? 0 : dice.between(1, most);
      part.origin = dice.between(0, part.beyond);
    };
    if (!isWhole || turn == Feature::QueryPart || turn == Feature::KeyPart) {
      choose(spec.queryPart, Feature::QueryPart, 40);
      choose(spec.keyPart, Feature::KeyPart, 40);
    }
    choose(spec.headPart, Feature::HeadPart, 5);
    spec.wholeOperands = dice.chance(50);
  }

  /// Returns the scale of a product over the head dimension: 0 stands for dim^-0.5. Scores of a few units keep the
  /// comparison with float64 about the kernel, and not about how exp magnifies the rounding of large scores.
  double scale() {
    if (spec.dim <= 3 && dice.chance(50))
      return 1;
    return dice.chance(60) ? 0 : std::round(1e3 / std::sqrt(static_cast<double>(spec.dim))) * 1e-3;
  }

  Term chooseTerm(TermKind kind) {
    Term term;
    term.kind = kind;
    static const std::vector<RowForm> forms = {RowForm::Plain,    RowForm::Plain,   RowForm::Plain,    RowForm::Plain,
                                               RowForm::Plain,    RowForm::Clamped, RowForm::Absolute, RowForm::Halved,
                                               RowForm::Windowed, RowForm::Bucketed};
    term.row = dice.pick(forms);
    if (spec.mask == Mask::Causal && dice.chance(40))
      term.row = RowForm::Causal;
    if (dice.chance(15))
      term.guard = dice.chance(60) ? Guard::Window : Guard::Corner;
    if (dice.chance(35)) {
      static const std::vector<Spelling> pasted = {Spelling::Skew, Spelling::RelativeToAbsolute,
                                                   Spelling::RelativeShift, Spelling::Gather};
      term.spelling = term.row == RowForm::Causal ? Spelling::CausalShift : dice.pick(pasted);
    }
    if (isScalar(kind))
      term.spelling = dice.chance(60) ? Spelling::Index : Spelling::Einsum;
    bool isPasted = term.spelling != Spelling::Einsum && term.spelling != Spelling::Gather && !isScalar(kind);
    if (isPasted) {
      term.guard = Guard::None;
      if (term.row != RowForm::Causal)
        term.row = RowForm::Plain;
    } else {
      term.sign = dice.chance(35) ? -1 : 1;
      if (dice.chance(20))
        term.low = dice.between(0, 3), term.high = dice.between(0, 3);
    }
    term.left = dice.between(0, 8);
    term.right = dice.between(0, 5);
    term.axis = static_cast<int>(dice.below(2));
    term.token = static_cast<TokenForm>(dice.below(kTokenForms));
    term.ofKey = dice.chance(25);
    term.perHead = dice.chance(35);
    term.headLast = dice.chance(40);
    term.bias = dice.chance(10);
    term.isConst = dice.chance(25);
    term.otherNames = dice.chance(25);
    term.plain = dice.chance(30);
    term.scale = isContracted(kind) ? scale() : dice.chance(70) ? 1 : 0.5;
    if (kind == TermKind::Slope || kind == TermKind::Position)
      term.scale = dice.chance(50) ? 0.05 : -0.03; // offsets are as large as the layer is long
    if (kind == TermKind::TokenNumber)
      term.scale = dice.chance(50) ? 0.5 : -1.5;
    return term;
  }

  /// Numbers of queries and keys go last: tile edges are what this is about.
  void makeCheaper() {
    if (spec.batchSize > 1) {
      spec.batchSize = 1;
    } else if (spec.heads > 2) {
      spec.groups = spec.groups < spec.heads ? 1 : 2;
      spec.heads = 2;
    } else if (spec.dim > 17 || spec.width > 17) {
      spec.dim = spec.dim <= 17 ? spec.dim : spec.turn == Turn::None ? 17 : 16;
      spec.width = spec.packing != Packing::None ? spec.dim : spec.width > 17 ? 15 : spec.width;
    } else {
      for (int64_t *size : {&spec.queries, &spec.keys, &spec.queryMap[0], &spec.keyMap[0]})
        *size = (*size + 1) / 2;
    }
    normalise(spec);
  }

  uint64_t seed;
  Feature turn;
  Dice dice;
  Spec spec;
};

} // namespace

Spec randomSpec(uint64_t seed) { return Generator(seed).make(); }

} // namespace skewer::fuzz
