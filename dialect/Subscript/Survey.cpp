// Visits corners, or all points, of the box of an expression's symbols.
#include "dialect/Subscript/Survey.h"
#include "dialect/Subscript/Program.h"
#include <algorithm>

namespace skewer::subscript {

namespace {
constexpr size_t kMaximumCornerSymbols = 8; // 256 corners
constexpr int64_t kSmallBox = 4096;         // below this, visiting all points is cheaper than a shorter way

/// Advances the last coordinate fastest; false after the last point.
bool next(std::vector<int64_t> &at, const std::vector<Interval> &box) {
  for (size_t k = at.size(); k-- > 0;) {
    if (++at[k] <= box[k].high)
      return true;
    at[k] = box[k].low;
  }
  return false;
}
} // namespace

Surveyor::Surveyor(Simplifier &simplifier, const Expr &given, const Domain &domain, const std::optional<Expr> &guard)
    : simplifier(simplifier), expression(simplifier.simplify(given)) {
  std::set<std::string> everything = symbolsOf(given);
  std::vector<Expr> conjuncts;
  if (guard) {
    for (const std::string &name : symbolsOf(*guard))
      everything.insert(name);
    Simplifier unguarded(domain, std::nullopt);
    unguarded.separate();
    conjuncts = conjunctsOf(unguarded.simplify(*guard));
  }
  for (const std::string &name : everything) {
    Interval range = simplifier.rangeOf(Expr::symbol(name));
    defaults[name] = range.low != INT64_MIN ? range.low : range.high != INT64_MAX ? range.high : 0;
  }
  // Grow the expression's part, then the parts of the remaining conjuncts, until no conjunct adds another symbol.
  auto isBounded = [&](const std::string &name) { return simplifier.rangeOf(Expr::symbol(name)).bounded(); };
  auto grow = [&](std::set<std::string> names) {
    Part part;
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t k = 0; k < conjuncts.size(); ++k) {
        std::set<std::string> own = symbolsOf(conjuncts[k]);
        bool touches = own.empty() || std::any_of(own.begin(), own.end(), [&](auto &s) { return names.count(s) != 0; });
        if (!touches)
          continue;
        names.insert(own.begin(), own.end());
        part.conjuncts.push_back(conjuncts[k]);
        conjuncts.erase(conjuncts.begin() + k);
        grown = true;
        break;
      }
    }
    part.symbols.assign(names.begin(), names.end());
    for (const std::string &name : part.symbols) {
      Interval range = simplifier.rangeOf(Expr::symbol(name));
      part.bounded &= range.bounded();
      part.box.push_back(range);
      auto size = range.bounded() && !range.empty() ? checkedSubtract(range.high, range.low) : std::nullopt;
      size = size ? checkedAdd(*size, 1) : std::nullopt;
      auto points = size ? checkedMultiply(part.points, *size) : std::nullopt;
      part.points = points.value_or(INT64_MAX);
      if (part.points == INT64_MAX)
        part.points = INT64_MAX / 2;
    }
    return part;
  };
  std::vector<Expr> all = conjuncts;
  std::set<std::string> own = symbolsOf(expression);
  main = grow(own);
  if (!main.bounded && std::all_of(own.begin(), own.end(), isBounded)) {
    // `j < lengths[b]`, where lengths have no range: without the conjunct, j is just as free.
    conjuncts.clear();
    for (const Expr &conjunct : all) {
      std::set<std::string> names = symbolsOf(conjunct);
      if (std::all_of(names.begin(), names.end(), isBounded))
        conjuncts.push_back(conjunct);
    }
    relaxed = true;
    main = grow(own);
  }
  while (!conjuncts.empty()) {
    std::set<std::string> names = symbolsOf(conjuncts[0]);
    others.push_back(grow(names));
  }
}

bool Surveyor::visit(Survey &survey, const Part &part, Program &program, size_t value,
                     const std::vector<size_t> &conditions, const std::vector<int64_t> &at) {
  program.run(at);
  bool certain = true;
  for (size_t condition : conditions) {
    auto holds = program.value(condition);
    if (holds && !*holds)
      return false;
    certain &= holds.has_value();
  }
  auto v = program.value(value);
  if (!certain || !v) {
    survey.uncertain = true;
    if (!v)
      return false;
    // The guard may hold here: the value counts for the range, but the point proves nothing.
    survey.range = survey.range.unite({*v, *v});
    return false;
  }
  auto point = [&](Assignment &assignment) {
    for (size_t k = 0; k < at.size(); ++k)
      assignment[part.symbols[k]] = at[k];
  };
  if (!survey.any || *v < survey.range.low)
    point(survey.lowest);
  if (!survey.any || *v > survey.range.high)
    point(survey.highest);
  survey.any = true;
  survey.range = survey.range.unite({*v, *v});
  return true;
}

Survey Surveyor::candidates() {
  Survey survey;
  survey.relaxed = relaxed;
  if (!main.bounded)
    return survey;
  size_t count = main.symbols.size();
  Program program(main.symbols);
  size_t value = program.add(expression);
  std::vector<size_t> conditions;
  for (const Expr &conjunct : main.conjuncts)
    conditions.push_back(program.add(conjunct));
  std::vector<std::vector<int64_t>> corners;
  auto corner = [&](auto isHigh) {
    std::vector<int64_t> at;
    for (size_t k = 0; k < count; ++k)
      at.push_back(isHigh(k) ? main.box[k].high : main.box[k].low);
    corners.push_back(std::move(at));
  };
  if (count <= kMaximumCornerSymbols) {
    for (size_t bits = 0; bits < (size_t(1) << count); ++bits)
      corner([&](size_t k) { return bits >> k & 1; });
  } else {
    Linear l = simplifier.linear(expression);
    for (bool high : {false, true}) {
      corner([&](size_t) { return high; });
      corner([&](size_t k) { return (l.coefficientOf(Expr::symbol(main.symbols[k])) > 0) == high; });
    }
  }
  for (const std::vector<int64_t> &at : corners)
    visit(survey, main, program, value, conditions, at);
  // Move from each corner along one axis to where an assumption is tight: abs(i - j) <= 4 is reached at (0, 4).
  for (const Linear &fact : simplifier.affineFacts()) {
    Program sum(main.symbols);
    size_t total = sum.add(toExpr(fact));
    for (const std::vector<int64_t> &from : corners) {
      sum.run(from);
      auto excess = sum.value(total);
      if (!excess || *excess == INT64_MIN)
        continue;
      for (size_t k = 0; k < count; ++k) {
        int64_t c = fact.coefficientOf(Expr::symbol(main.symbols[k]));
        if (c == 0 || c == INT64_MIN)
          continue;
        // Take the step for which excess + c*step <= 0 is as tight as integers allow.
        int64_t step =
            c > 0 ? -floorDivide(*excess, c) - (*excess % c != 0) : floorDivide(*excess, -c) + (*excess % c != 0);
        auto moved = checkedAdd(from[k], step);
        if (!moved || *moved < main.box[k].low || *moved > main.box[k].high)
          continue;
        std::vector<int64_t> at = from;
        at[k] = *moved;
        visit(survey, main, program, value, conditions, at);
      }
    }
  }
  for (const Part &part : others)
    settle(survey, part, 4096);
  finish(survey);
  return survey;
}

Survey Surveyor::all(int64_t limit) {
  Survey survey;
  survey.relaxed = relaxed;
  if (main.points > std::min(kSmallBox, limit))
    if (auto differences = byDifference(limit))
      return *differences;
  if (!main.bounded || main.points > limit)
    return survey;
  Program program(main.symbols);
  size_t value = program.add(expression);
  std::vector<size_t> conditions;
  for (const Expr &conjunct : main.conjuncts)
    conditions.push_back(program.add(conjunct));
  std::vector<int64_t> at;
  bool empty = false;
  for (const Interval &range : main.box) {
    at.push_back(range.low);
    empty |= range.empty();
  }
  survey.complete = true;
  if (!empty)
    do
      visit(survey, main, program, value, conditions, at);
    while (next(at, main.box));
  for (const Part &part : others)
    settle(survey, part, limit);
  finish(survey);
  return survey;
}

std::optional<Survey> Surveyor::byDifference(int64_t limit) {
  if (!main.bounded || main.symbols.size() != 2 || main.box[0].empty() || main.box[1].empty())
    return std::nullopt;
  const Interval &first = main.box[0], &second = main.box[1];
  auto low = checkedSubtract(second.low, first.high), high = checkedSubtract(second.high, first.low);
  if (!low || !high || !checkedSubtract(*high, *low) || *high - *low >= limit)
    return std::nullopt;
  const std::string name = "difference of " + main.symbols[1]; // no parsed name has a space
  Simplifier along({{name, {*low, *high}}}, std::nullopt);
  Substitution moved{{main.symbols[1], Expr::symbol(main.symbols[0]) + Expr::symbol(name)}};
  auto rewritten = [&](const Expr &e) { return along.simplify(substitute(e, moved)); };
  Part line;
  line.symbols = {name};
  line.box = {{*low, *high}};
  Expr value = rewritten(expression);
  bool alone = !symbolsOf(value).count(main.symbols[0]);
  for (const Expr &conjunct : main.conjuncts) {
    line.conjuncts.push_back(rewritten(conjunct));
    alone = alone && !symbolsOf(line.conjuncts.back()).count(main.symbols[0]);
  }
  if (!alone)
    return std::nullopt;
  // Every difference of the two ranges occurs at some point.
  Program program(line.symbols);
  size_t result = program.add(value);
  std::vector<size_t> conditions;
  for (const Expr &conjunct : line.conjuncts)
    conditions.push_back(program.add(conjunct));
  Survey survey;
  survey.relaxed = relaxed;
  survey.complete = true;
  for (int64_t difference = *low; difference <= *high; ++difference)
    visit(survey, line, program, result, conditions, {difference});
  for (Assignment *point : {&survey.lowest, &survey.highest}) {
    auto found = point->find(name);
    if (found == point->end())
      continue;
    int64_t difference = found->second, start = std::max(first.low, second.low - difference);
    *point = {{main.symbols[0], start}, {main.symbols[1], start + difference}};
  }
  for (const Part &part : others)
    settle(survey, part, limit);
  finish(survey);
  return survey;
}

void Surveyor::settle(Survey &survey, const Part &part, int64_t limit) {
  Program program(part.symbols);
  std::vector<size_t> conditions;
  for (const Expr &conjunct : part.conjuncts)
    conditions.push_back(program.add(conjunct));
  bool uncertain = false;
  auto holds = [&](const std::vector<int64_t> &at) {
    program.run(at);
    bool certain = true;
    for (size_t condition : conditions) {
      auto value = program.value(condition);
      if (value && !*value)
        return false;
      certain &= value.has_value();
    }
    uncertain |= !certain;
    return certain;
  };
  std::vector<int64_t> at;
  for (const Interval &range : part.box)
    at.push_back(range.low != INT64_MIN ? range.low : range.high != INT64_MAX ? range.high : 0);
  bool found = holds(at);
  int64_t visited = 1;
  while (!found && part.bounded && ++visited <= limit && next(at, part.box))
    found = holds(at);
  if (found) {
    for (size_t k = 0; k < at.size(); ++k)
      survey.lowest[part.symbols[k]] = survey.highest[part.symbols[k]] = at[k];
    return;
  }
  if (!uncertain && part.bounded && part.points <= limit) {
    // No point satisfies this part of the guard.
    survey.any = survey.uncertain = false;
    survey.range = {INT64_MAX, INT64_MIN};
    survey.complete = true;
    return;
  }
  survey.any = false;
  survey.uncertain = true;
}

void Surveyor::finish(Survey &survey) {
  for (Assignment *point : {&survey.lowest, &survey.highest})
    for (const auto &[name, value] : defaults)
      point->emplace(name, value);
}

} // namespace skewer::subscript
