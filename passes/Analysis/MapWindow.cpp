// Windows on maps as intervals of positions. Pairs outside of the interval are not computed; the mask hides the other
// pairs inside of it.
#include "passes/Analysis/AttentionShape.h"

using namespace skewer;
using namespace skewer::subscript;

void skewer::boundByMap(AttentionShape &shape) {
  const attn::ScoreSpace &space = shape.space;
  if (shape.visible || shape.masks.empty() || space.query.size() != space.key.size() || space.query.size() < 2)
    return;
  Domain domain = domainOf(space.sizes);
  Range positions{0, 0};
  for (size_t place = 0; place < space.query.size(); ++place) {
    const MapAxis &query = shape.queryAxes[place], &key = shape.keyAxes[place];
    if (query.inner != key.inner) // maps of different widths
      return;
    Range own{1 - query.extent, key.extent - 1};
    for (const MaskPart &part : shape.masks)
      if (auto interval = asOffsetInterval(part.predicate, space.query[place], space.key[place], domain))
        own = {std::max(own.low, interval->low), std::min(own.high, interval->high)};
    positions.low += own.low * query.inner;
    positions.high += own.high * query.inner;
  }
  if (positions.low > 1 - shape.queries || positions.high < shape.keys - 1)
    shape.visible = positions;
}
