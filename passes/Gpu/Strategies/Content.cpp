// Terms in which a query meets a key: a matrix product of the warp's queries with the tile of keys.
#include "passes/Gpu/Strategies/Strategies.h"

using namespace skewer;
using namespace skewer::gpu;

namespace {

class Content : public Strategy {
public:
  Content(const KernelContext &in, const ContentTerm &term, const SharedTile &keys)
      : Strategy(in), term(term), queries(in.layout.numberOf(term.query, term.depth)), keys(keys) {}

  void locate() override { source = in.place.keysOf(term.key, term.depth); }
  void fill(Value firstKey, Value copy) override {
    in.pipeline.fillRows(keys, in.place.inTile(source, firstKey), firstKey, in.place.keys(), copy);
  }
  std::optional<double> scaleOfProducts() const override { return term.scale; }
  void addProducts(const Step &step, Tiles &sums) override {
    in.pipeline.bring([&] { fill(step.firstKey, step.copy); });
    sums = in.queries.products(queries, {keys, step.copy, {}}, sums);
  }

private:
  const ContentTerm &term;
  size_t queries;
  const SharedTile &keys;
  RowSource source;
};

} // namespace

namespace skewer::gpu {
void addContent(const KernelContext &in, Strategies &all) {
  for (auto [term, keys] : llvm::zip_equal(in.shape.attention.content, in.layout.content))
    all.push_back(std::make_unique<Content>(in, term, keys));
}
} // namespace skewer::gpu
