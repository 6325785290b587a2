// What has been asked is not worked out again: a verifier asks after each pass what it asked before, and layers of
// run-time length are verified at several lengths. Internal to this library.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include <functional>
#include <unordered_map>

namespace skewer::subscript {

/// Answers of a function that depends on nothing but the question. Those of one thread.
template <typename Answer> class Memo {
public:
  struct Question {
    Expr e;
    std::optional<Expr> guard;
    Domain domain;
    Range range;
    bool operator==(const Question &o) const {
      return e == o.e && guard == o.guard && range == o.range && domain == o.domain;
    }
  };

  template <typename Compute> Answer answer(Question question, Compute compute) {
    if (sizeOf(question.e) > kMostNodes) // graphs that share much are not compared
      return compute();
    auto known = answers.find(question);
    if (known != answers.end())
      return known->second;
    Answer answer = compute(); // which may ask too
    if (answers.size() >= kMost)
      answers.clear();
    answers.emplace(std::move(question), answer);
    return answer;
  }

private:
  // Of a layer there are some hundreds; a language server sees layer after layer.
  static constexpr size_t kMost = 2048;
  static constexpr size_t kMostNodes = 50000;

  struct Hash {
    size_t operator()(const Question &q) const {
      size_t hash = q.e.hash() * 31 + (q.guard ? q.guard->hash() : 0);
      auto add = [&](size_t more) { hash = hash * 31 + more; };
      for (const auto &[name, range] : q.domain) {
        add(std::hash<std::string>()(name));
        add(static_cast<size_t>(range.low));
        add(static_cast<size_t>(range.high));
      }
      add(static_cast<size_t>(q.range.low));
      add(static_cast<size_t>(q.range.high));
      return hash;
    }
  };
  std::unordered_map<Question, Answer, Hash> answers;
};

} // namespace skewer::subscript
