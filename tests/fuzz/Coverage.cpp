// Counting what the seeds hold.
#include "tests/fuzz/Coverage.h"
#include "passes/Analysis/TermClass.h"
#include <fmt/format.h>

namespace skewer::fuzz {

/// Kinds that no attention holds: their specs are not fused, whatever else is in them.
static const std::set<TermKind> &neverFused() {
  static const std::set<TermKind> kinds = {};
  return kinds;
}

/// Classes that no kernel of a random spec holds.
static const std::set<std::string> &neverInKernels() {
  static const std::set<std::string> classes = {"function"}; // needs a plugin
  return classes;
}

/// Returns the features that no spec for GPUs has, because each of them makes a layer go by rows.
static const std::set<std::string> &byRowsOnGpus() {
  static const std::set<std::string> features = {"weights returned"};
  return features;
}

/// Returns the features of a layer around its terms, each with a test for it.
static const std::vector<std::pair<std::string, bool (*)(const Spec &)>> &allFeatures() {
  static const std::vector<std::pair<std::string, bool (*)(const Spec &)>> features = {
      {"lse", [](const Spec &s) { return s.lse; }},
      {"weights returned", [](const Spec &s) { return s.stored; }},
      {"result of another order", [](const Spec &s) { return s.result != ResultOrder::Same; }},
      {"heads merged in the result", [](const Spec &s) { return s.result == ResultOrder::Merged; }},
      {"keys and values in one operand", [](const Spec &s) { return s.packing == Packing::KeysValues; }},
      {"queries, keys and values in one", [](const Spec &s) { return s.packing == Packing::All; }},
      {"norm: Euclid", [](const Spec &s) { return s.norm == Norm::Euclid; }},
      {"norm: root mean square", [](const Spec &s) { return s.norm == Norm::RootMeanSquare; }},
      {"norm: cosine", [](const Spec &s) { return s.norm == Norm::Cosine; }},
      {"turn: neighbours", [](const Spec &s) { return s.turn == Turn::Rope || s.turn == Turn::Rotate; }},
      {"turn: halves", [](const Spec &s) { return s.turn == Turn::RopeHalf || s.turn == Turn::RotateHalf; }},
      {"turn: on a map", [](const Spec &s) { return s.turn == Turn::Rope2d || s.turn == Turn::Rope2dHalf; }},
      {"vector added to the content", [](const Spec &s) { return s.contentBias || s.keyBias; }},
      {"shared key heads", [](const Spec &s) { return s.groups < s.heads; }},
      {"part of the queries", [](const Spec &s) { return s.queryPart.beyond >= 0; }},
      {"part of the keys", [](const Spec &s) { return s.keyPart.beyond >= 0; }},
      {"part of the heads", [](const Spec &s) { return s.headPart.beyond >= 0; }},
  };
  return features;
}

void Coverage::add(const Spec &spec, const Outcome &outcome) {
  ++specs;
  fused += outcome.isFused;
  masks[nameOf(spec.mask)].add(outcome.isFused);
  types[spec.type].add(outcome.isFused);
  for (const std::string &name : std::set<std::string>(outcome.classes.begin(), outcome.classes.end()))
    for (Count *count : {&classes[name], &classesUnder[{name, nameOf(spec.mask)}], &classesUnder[{name, spec.type}]})
      count->add(outcome.isFused);
  std::set<TermKind> present;
  for (const Term &term : spec.terms)
    present.insert(term.kind);
  for (TermKind kind : present) {
    kinds[nameOf(kind)].add(outcome.isFused);
    pairs.insert({kind, spec.mask});
  }
  for (const auto &[name, holds] : allFeatures()) {
    if (!holds(spec))
      continue;
    features[name].add(outcome.isFused);
    for (TermKind kind : present)
      beside.insert({kind, name});
  }
  if (!outcome.isFused)
    ++reasons[outcome.generic];
}

std::string Coverage::report() const {
  std::string text = fmt::format("{} specs, {} fused\n", specs, fused);
  auto table = [&](const char *title, const std::map<std::string, Count> &counts) {
    text += fmt::format("{} (specs that hold it, of these fused):\n", title);
    for (const auto &[name, count] : counts)
      text += fmt::format("  {:<34}{:>6}{:>6}\n", name, count.all, count.fused);
  };
  table("classes", classes);
  text += fmt::format("classes under masks and in types: {}\n", classesUnder.size());
  table("kinds of terms", kinds);
  table("masks", masks);
  table("types", types);
  table("features of the layer", features);
  text += "not fused:\n";
  for (const auto &[reason, count] : reasons)
    text += fmt::format("  {:>6}  {}\n", count, reason);
  return text;
}

std::vector<std::string> Coverage::gaps(bool isForGpus) const {
  std::vector<std::string> missing;
  auto isExpected = [&](const std::string &feature) { return !isForGpus || !byRowsOnGpus().count(feature); };
  auto check = [&](const char *what, const std::map<std::string, Count> &counts, const std::string &name, bool fuses) {
    auto found = counts.find(name);
    if (found == counts.end())
      missing.push_back(fmt::format("{} '{}' does not occur", what, name));
    else if (fuses && found->second.fused == 0)
      missing.push_back(fmt::format("{} '{}' occurs in {} specs, and none was fused", what, name, found->second.all));
  };
  for (llvm::StringRef termClass : termClassNames()) {
    std::string name = termClass.str();
    if (neverInKernels().count(name))
      continue;
    check("class", classes, name, true);
    for (const char *type : {"f16", "bf16", "f32"})
      if (isForGpus && classesUnder.count({name, type}) == 0)
        missing.push_back(fmt::format("class '{}' does not occur in {}", name, type));
  }
  for (const auto &[pair, count] : classesUnder)
    if (count.fused == 0)
      missing.push_back(fmt::format("class '{}' with '{}' occurs in {} specs, and none was fused", pair.first,
                                    pair.second, count.all));
  for (int k = 0; k < kTermKinds; ++k) {
    auto kind = static_cast<TermKind>(k);
    check("kind of term", kinds, nameOf(kind), !neverFused().count(kind));
    for (int m = 0; m < kMasks; ++m)
      if (!pairs.count({kind, static_cast<Mask>(m)}))
        missing.push_back(fmt::format("kind of term '{}' does not occur under mask '{}'", nameOf(kind),
                                      nameOf(static_cast<Mask>(m))));
    for (const auto &[name, holds] : allFeatures())
      if (isExpected(name) && !beside.count({kind, name}))
        missing.push_back(fmt::format("kind of term '{}' does not occur beside '{}'", nameOf(kind), name));
  }
  for (const auto &[name, holds] : allFeatures())
    if (isExpected(name))
      check("feature", features, name, true);
  for (int m = 0; m < kMasks; ++m)
    check("mask", masks, nameOf(static_cast<Mask>(m)), true);
  return missing;
}

} // namespace skewer::fuzz
