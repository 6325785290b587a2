// Checks that whole-number arithmetic stays within 64 bits, by intervals in 128 bits.
#include "dialect/Subscript/Checks.h"
#include <algorithm>
#include <unordered_map>

namespace skewer::subscript {

namespace {
using Wide = __int128;
struct WideRange {
  Wide low, high;
};

WideRange hull(std::initializer_list<Wide> ends) { return {std::min(ends), std::max(ends)}; }

Wide floorDivideWide(Wide a, Wide n) {
  Wide q = a / n;
  return q - (a % n < 0);
}

class OverflowFinder {
public:
  explicit OverflowFinder(const Domain &domain) : domain(domain) {}
  std::optional<Expr> found;

  WideRange rangeOf(const Expr &e) {
    auto known = ranges.find(e.identity());
    if (known != ranges.end())
      return known->second;
    WideRange range = compute(e);
    if (range.low < INT64_MIN || range.high > INT64_MAX) {
      if (!found)
        found = e;
      range = {INT64_MIN, INT64_MAX}; // reported once; 128 bits suffice for expressions over it
    }
    return ranges[e.identity()] = range;
  }

private:
  WideRange given(const std::string &key, WideRange otherwise) const {
    auto range = domain.find(key);
    return range == domain.end() ? otherwise : WideRange{range->second.low, range->second.high};
  }

  WideRange compute(const Expr &e) {
    std::vector<WideRange> o;
    for (const Expr &operand : e.operands())
      o.push_back(rangeOf(operand));
    switch (e.kind()) {
    case Kind::Constant:
      return {e.value(), e.value()};
    case Kind::Symbol:
      return given(e.name(), {0, INT32_MAX});
    case Kind::Read:
      return given(elementsOf(e.name()), {INT32_MIN, INT32_MAX});
    case Kind::Add:
      return {o[0].low + o[1].low, o[0].high + o[1].high};
    case Kind::Mul:
      return hull({o[0].low * o[1].low, o[0].low * o[1].high, o[0].high * o[1].low, o[0].high * o[1].high});
    case Kind::FloorDiv: {
      Wide least = std::max<Wide>(o[1].low, 1), most = std::max<Wide>(o[1].high, 1); // a divisor is positive
      return hull({floorDivideWide(o[0].low, least), floorDivideWide(o[0].low, most), floorDivideWide(o[0].high, least),
                   floorDivideWide(o[0].high, most)});
    }
    case Kind::Mod:
      if (o[0].low >= 0 && o[0].high < o[1].low)
        return o[0];
      return {0, std::max<Wide>(o[1].high - 1, 0)};
    case Kind::Min:
      return {std::min(o[0].low, o[1].low), std::min(o[0].high, o[1].high)};
    case Kind::Max:
      return {std::max(o[0].low, o[1].low), std::max(o[0].high, o[1].high)};
    case Kind::Abs:
      return {std::max<Wide>({0, o[0].low, -o[0].high}), std::max<Wide>(o[0].high, -o[0].low)};
    case Kind::Select:
      return {std::min(o[1].low, o[2].low), std::max(o[1].high, o[2].high)};
    case Kind::Table: {
      const auto &values = e.table();
      if (values.empty())
        return {0, 0};
      auto ends = std::minmax_element(values.begin(), values.end());
      return {*ends.first, *ends.second};
    }
    default: // predicates
      return {0, 1};
    }
  }

  const Domain &domain;
  std::unordered_map<const void *, WideRange> ranges;
};
} // namespace

std::optional<Expr> findOverflow(const Expr &e, const Domain &domain) {
  OverflowFinder finder(domain);
  finder.rangeOf(e);
  return finder.found;
}

} // namespace skewer::subscript
