// Records of composed operations: fused locations with a dictionary as their metadata.
#include "passes/Fusion/Provenance.h"
#include "dialect/IR/Attn.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;
using namespace skewer;

namespace {
constexpr StringLiteral kComposed = "composed", kShape = "shape", kBytes = "bytes";

DictionaryAttr recordOf(Location location) {
  auto fused = dyn_cast<FusedLoc>(location);
  auto record = fused ? dyn_cast_or_null<DictionaryAttr>(fused.getMetadata()) : DictionaryAttr();
  return record && record.getAs<StringAttr>(kComposed) ? record : DictionaryAttr();
}

void collect(Location location, SmallVectorImpl<Location> &records) {
  if (recordOf(location)) {
    records.push_back(location);
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location inner : fused.getLocations())
      collect(inner, records);
  }
}

Location fuse(Location location, ArrayRef<Location> records) {
  if (records.empty())
    return location;
  SmallVector<Location> all{location};
  all.append(records.begin(), records.end());
  return FusedLoc::get(location.getContext(), all);
}
} // namespace

Location skewer::withComposed(Location location, Location from) {
  SmallVector<Location> records;
  collect(from, records);
  return fuse(location, records);
}

Location skewer::withComposed(Location location, Operation *op) {
  SmallVector<Location> records;
  collect(op->getLoc(), records);
  auto type = op->getNumResults() == 1 ? dyn_cast<RankedTensorType>(op->getResult(0).getType()) : RankedTensorType();
  if (!type || (isa<attn::EinsumOp>(op) && !records.empty()))
    return fuse(location, records);
  Builder builder(op->getContext());
  std::vector<int64_t> shape;
  for (int64_t size : type.getShape())
    shape.push_back(ShapedType::isDynamic(size) ? -1 : size);
  auto record = builder.getDictionaryAttr(
      {builder.getNamedAttr(kBytes, builder.getI64IntegerAttr(type.getElementTypeBitWidth() / 8)),
       builder.getNamedAttr(kComposed, builder.getStringAttr(op->getName().stripDialect())),
       builder.getNamedAttr(kShape, builder.getDenseI64ArrayAttr(shape))});
  Location place = attn::firstPlace(op->getLoc()).value_or(UnknownLoc::get(op->getContext()));
  records.push_back(FusedLoc::get(op->getContext(), {place}, record));
  return fuse(location, records);
}

Location skewer::withoutComposed(Location location) {
  while (auto fused = dyn_cast<FusedLoc>(location)) {
    if (fused.getMetadata())
      break;
    location = fused.getLocations().front();
  }
  return location;
}

Location skewer::withoutContraction(Location location) {
  SmallVector<Location> records;
  collect(location, records);
  auto contraction = llvm::find_if(
      records, [](Location at) { return recordOf(at).getAs<StringAttr>(kComposed).getValue() == "einsum"; });
  if (contraction != records.end())
    records.erase(contraction);
  return fuse(withoutComposed(location), records);
}

std::vector<ComposedOperation> skewer::composedInto(Location location) {
  SmallVector<Location> records;
  collect(location, records);
  std::vector<ComposedOperation> result;
  for (Location at : records) {
    DictionaryAttr record = recordOf(at);
    ComposedOperation composed;
    composed.operation = record.getAs<StringAttr>(kComposed).str();
    if (auto shape = record.getAs<DenseI64ArrayAttr>(kShape))
      composed.shape.assign(shape.asArrayRef().begin(), shape.asArrayRef().end());
    if (auto bytes = record.getAs<IntegerAttr>(kBytes))
      composed.elementBytes = bytes.getInt();
    composed.place = attn::textPlaceOf(at);
    result.push_back(std::move(composed));
  }
  return result;
}
