// Greedy descent over simplifications.
#include "tests/fuzz/Shrink.h"
#include <algorithm>

namespace skewer::fuzz {
namespace {

class Simplifier {
public:
  explicit Simplifier(const Spec &spec) : spec(spec), text(print(spec)) {}

  std::vector<Spec> all() {
    for (size_t k = 0; k < spec.terms.size(); ++k)
      attempt([&](Spec &s) { s.terms.erase(s.terms.begin() + static_cast<long>(k)); });
    layer();
    sizes();
    for (size_t k = 0; k < spec.terms.size(); ++k)
      term(k);
    return std::move(found);
  }

private:
  template <typename Change> void attempt(Change change) {
    Spec simpler = spec;
    change(simpler);
    normalise(simpler);
    if (print(simpler) != text)
      found.push_back(std::move(simpler));
  }
  /// Sets a member to its simplest value.
  template <typename T, typename U> void set(T Spec::*member, U value) {
    attempt([&](Spec &s) { s.*member = value; });
  }

  void layer() {
    set(&Spec::mask, Mask::None);
    set(&Spec::type, "f32");
    attempt([](Spec &s) { s.type = s.tableType = "f32"; });
    set(&Spec::map, false);
    set(&Spec::content, false);
    set(&Spec::contentBias, false);
    set(&Spec::cap, 0);
    set(&Spec::divided, false);
    set(&Spec::weights, Weights::Softmax);
    set(&Spec::residual, false);
    set(&Spec::commonScale, false);
    set(&Spec::contentScale, 1);
    set(&Spec::tokenMajor, false);
    set(&Spec::depthMajorKeys, false);
    set(&Spec::groupedText, false);
    set(&Spec::mapNames, false);
    set(&Spec::contentLast, false);
    set(&Spec::maskArgument, false);
    set(&Spec::lse, false);
    set(&Spec::stored, false);
    set(&Spec::result, ResultOrder::Same);
    set(&Spec::packing, Packing::None);
    if (spec.packing != Packing::None)
      set(&Spec::packingOrder, PackingOrder::Tokens);
    set(&Spec::norm, Norm::None);
    set(&Spec::turn, Turn::None);
    if (spec.turn != Turn::None)
      set(&Spec::turn, Turn::Rope);
    set(&Spec::keyBias, false);
    set(&Spec::gated, false);
    set(&Spec::compared, false);
    set(&Spec::wholeOperands, false);
    for (Part Spec::*part : {&Spec::queryPart, &Spec::keyPart, &Spec::headPart}) {
      if ((spec.*part).beyond < 0)
        continue;
      attempt([&](Spec &s) { s.*part = {}; });
      attempt([&](Spec &s) { s.*part = {0, 0}; });
      attempt([&](Spec &s) { (s.*part).origin /= 2; });
      attempt([&](Spec &s) { (s.*part).beyond /= 2; });
    }
    attempt([](Spec &s) { s.batch = Batch::None; });
    if (spec.batch == Batch::RunTime)
      set(&Spec::batch, Batch::Fixed);
    attempt([](Spec &s) { s.heads = s.groups = 1; });
    attempt([](Spec &s) { s.groups = s.heads; });
  }

  void sizes() {
    // A layer with as many queries as keys stays one where that helps.
    for (auto next : {+[](int64_t) { return int64_t(1); }, +[](int64_t n) { return (n + 1) / 2; },
                      +[](int64_t n) { return std::max<int64_t>(n - 1, 1); }}) {
      attempt([&](Spec &s) { s.queries = s.keys = next(std::max(s.queries, s.keys)); });
      for (int axis : {0, 1})
        attempt([&](Spec &s) { s.queryMap[axis] = s.keyMap[axis] = next(std::max(s.queryMap[axis], s.keyMap[axis])); });
      attempt([&](Spec &s) { s.dim = s.width = next(std::max(s.dim, s.width)); });
      for (int64_t Spec::*size :
           {&Spec::queries, &Spec::keys, &Spec::batchSize, &Spec::heads, &Spec::dim, &Spec::width, &Spec::maskSize})
        attempt([&](Spec &s) { s.*size = next(s.*size); });
      for (int axis : {0, 1}) {
        attempt([&](Spec &s) { s.queryMap[axis] = next(s.queryMap[axis]); });
        attempt([&](Spec &s) { s.keyMap[axis] = next(s.keyMap[axis]); });
      }
    }
  }

  void term(size_t k) {
    auto set = [&](auto member, auto value) { attempt([&](Spec &s) { s.terms[k].*member = value; }); };
    set(&Term::spelling, Spelling::Einsum);
    set(&Term::row, RowForm::Plain);
    set(&Term::guard, Guard::None);
    set(&Term::bias, false);
    set(&Term::steps, 0);
    set(&Term::token, TokenForm::Differ);
    set(&Term::ofKey, false);
    set(&Term::perHead, false);
    set(&Term::headLast, false);
    set(&Term::isConst, false);
    set(&Term::otherNames, false);
    set(&Term::plain, false);
    set(&Term::scale, 1.0);
    set(&Term::sign, 1);
    set(&Term::low, 0);
    set(&Term::high, 0);
    set(&Term::left, spec.terms[k].left / 2);
    set(&Term::right, spec.terms[k].right / 2);
  }

  const Spec &spec;
  std::string text;
  std::vector<Spec> found;
};

} // namespace

std::vector<Spec> simplerThan(const Spec &spec) { return Simplifier(spec).all(); }

Spec shrink(Spec spec, const std::function<bool(const Spec &)> &fails, int attempts) {
  // After a success the search goes on at the same place: what failed to help before seldom helps now. A last round
  // from the start makes sure of it.
  for (bool progress = true; progress && attempts > 0;) {
    progress = false;
    std::vector<Spec> candidates = simplerThan(spec);
    for (size_t k = 0; k < candidates.size() && attempts-- > 0; ++k)
      if (fails(candidates[k])) {
        spec = candidates[k];
        candidates = simplerThan(spec);
        progress = true;
        --k;
      }
  }
  return spec;
}

} // namespace skewer::fuzz
