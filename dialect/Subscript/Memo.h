// Remembers answers so that they are not computed again. A verifier asks the same questions after each pass, and layers
// of run-time length are verified at several lengths. Internal to this library.
#pragma once
#include "dialect/Subscript/Analysis.h"
#include <functional>
#include <unordered_map>

namespace skewer::subscript {

/// Answers of a function that depends on nothing but the question. Each thread has its own.
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
    if (sizeOf(question.e) > kMostNodes) // large shared graphs are not compared
      return compute();
    auto known = answers.find(question);
    if (known != answers.end())
      return known->second;
    Answer answer = compute(); // may call answer() too
    if (answers.size() >= kMost)
      answers.clear();
    answers.emplace(std::move(question), answer);
    return answer;
  }

private:
  // A layer asks some hundreds of questions; a language server sees layer after layer.
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
