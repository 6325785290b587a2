// Adds the code for GPUs to a kernel's manifest, under the key `gpu` (docs/manifest.md).
#include "codegen/GPU/Build.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace skewer;
using namespace skewer::gpu;

static json::Object describe(const SizeExpression &size) {
  return json::Object{{"fixed", size.fixed}, {"scaled", size.scaled}, {"factors", json::Array(size.factors)}};
}

/// Describes a tensor map in the terms of cuTensorMapEncodeTiled. Extents, distances and the box are innermost first.
static json::Object describe(const GpuTensorMap &map) {
  return json::Object{{"argument", int64_t(map.argument)},
                      {"offset_bytes", describe(map.offset)},
                      {"type", nameOf(map.type)},
                      {"columns", map.columns},
                      {"rows", describe(map.rows)},
                      {"places", describe(map.places)},
                      {"row_bytes", map.rowBytes},
                      {"place_bytes", map.placeBytes},
                      {"box", json::Array{map.boxColumns, map.boxRows, 1}},
                      {"swizzle_bytes", map.boxColumns * bytesOf(map.type)}};
}

static json::Object describe(const GpuLaunch &launch) {
  json::Object object{{"kernel", launch.kernel},
                      {"title", launch.title},
                      {"threads", launch.threads},
                      {"shared_bytes", launch.sharedBytes},
                      {"blocks", describe(launch.blocks)}};
  if (launch.rows)
    object["tile"] = json::Object{{"queries", launch.rows}, {"keys", launch.keys}};
  if (launch.prepares)
    object["prepares"] = true;
  if (!launch.note.empty())
    object["note"] = launch.note;
  if (!launch.boxKernel.empty()) {
    json::Array maps;
    for (const GpuTensorMap &map : launch.maps)
      maps.push_back(describe(map));
    object["boxes"] = json::Object{{"kernel", launch.boxKernel}, {"maps", std::move(maps)}};
  }
  return object;
}

std::string skewer::gpu::addGpuTargets(StringRef manifest, ArrayRef<GpuCode> codes) {
  json::Array targets;
  for (const GpuCode &code : codes) {
    std::string file = code.plan.name + "." + code.target.name;
    json::Array launches;
    for (const GpuLaunch &launch : code.program.launches)
      launches.push_back(describe(launch));
    json::Object entry{{"target", code.target.name},
                       {"ptx", file + ".ptx"},
                       {"workspace_bytes", describe(code.program.workspace)},
                       {"launches", std::move(launches)}};
    if (code.plan.hasConst())
      entry["prepared_bytes"] = int64_t(llvm::alignTo(code.plan.preparedBytes, 256));
    if (!code.cubin.empty()) {
      entry["cubin"] = file + ".cubin";
      entry["registers"] = code.resources.registers;
    }
    targets.push_back(std::move(entry));
  }
  auto parsed = json::parse(manifest);
  if (!parsed) { // cannot fail: the text has just been written
    consumeError(parsed.takeError());
    return manifest.str();
  }
  (*parsed->getAsObject())["gpu"] =
      json::Object{{"pointer_alignment", 16}, {"workspace_alignment", 256}, {"targets", std::move(targets)}};
  std::string text;
  raw_string_ostream(text) << formatv("{0:2}", *parsed) << '\n';
  return text;
}
