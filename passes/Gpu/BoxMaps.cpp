// Finds the pointer and the extents of each boxed tensor in a program.
#include "passes/Gpu/BoxMaps.h"
#include "passes/Gpu/Shape/GpuLayout.h"
#include "llvm/Support/MathExtras.h"

using namespace skewer;
using namespace skewer::gpu;

/// Returns the number of the kernels' argument that points to an output, with the number of outputs to the workspace,
/// and behind it to prepared memory.
static unsigned pointerOf(const KernelPlan &signature, size_t output) {
  auto tensors = llvm::count_if(signature.inputs, [](const TensorArgument &input) { return input.isTensor(); });
  return unsigned(size_t(tensors) + output);
}

/// Sets the pointer and the offset of an operand's memory; see Operands::placeOf.
static void locate(const GpuAttention &shape, size_t input, GpuTensorMap &map) {
  const KernelPlan &signature = shape.signature;
  if (input < signature.inputs.size()) {
    auto before = llvm::ArrayRef(signature.inputs).take_front(input);
    map.argument = unsigned(llvm::count_if(before, [](const TensorArgument &other) { return other.isTensor(); }));
    return;
  }
  const GpuPlace &where = shape.furtherInputs[input - signature.inputs.size()];
  if (where.output) {
    map.argument = pointerOf(signature, *where.output);
    return;
  }
  map.argument = pointerOf(signature, signature.outputs.size() + (where.place.prepared ? 1 : 0));
  if (where.place.scaled && !where.place.prepared)
    map.offset = {shape.workspace.fixed, where.place.offset, shape.workspace.factors};
  else
    map.offset = {where.place.offset, 0, {}};
}

/// Returns the number of places of a tensor: one each `stride` elements, and at least as many as hold rows.
static SizeExpression placesOf(const TensorArgument &tensor, int64_t stride) {
  SizeExpression places{0, 1, {}};
  for (const Extent &extent : tensor.shape)
    if (extent.name.empty())
      places.scaled *= extent.fixed;
    else
      places.factors.push_back(extent.name);
  places.scaled = int64_t(llvm::divideCeil(places.scaled, stride));
  return places;
}

std::vector<GpuTensorMap> skewer::gpu::mapsOfBoxes(const GpuAttention &shape) {
  std::vector<GpuTensorMap> maps;
  for (const TensorBox &box : layoutOf(shape, shape.tile).boxes) {
    size_t input = shape.inputs[box.argument];
    const TensorArgument &tensor = shape.plan.inputs[input];
    GpuTensorMap map;
    locate(shape, input, map);
    map.type = tensor.type;
    map.columns = box.columns;
    map.rows = {shape.attention.keys, 0, {}};
    if (box.rows)
      map.rows = {box.rows, 0, {}};
    else if (shape.attention.bounds.keyLength)
      map.rows = {0, 1, {shape.keyExtent.name}};
    map.places = placesOf(tensor, box.placeStride);
    int64_t bytes = bytesOf(tensor.type);
    map.rowBytes = box.rowStride * bytes;
    map.placeBytes = box.placeStride * bytes;
    map.boxColumns = box.boxColumns;
    map.boxRows = box.boxRows;
    maps.push_back(std::move(map));
  }
  return maps;
}
