// Places in texts as locations: a call of a scheme is a call site whose caller is named after the scheme.
#include "dialect/IR/TextPlace.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace skewer::attn {

Location calledFrom(Location location, ArrayRef<std::pair<std::string, Location>> calls) {
  SmallVector<Location> frames;
  for (const auto &[scheme, place] : calls)
    frames.push_back(NameLoc::get(StringAttr::get(location.getContext(), scheme), place));
  return frames.empty() ? location : CallSiteLoc::get(location, frames);
}

std::optional<Location> firstPlace(Location location) {
  std::optional<Location> found;
  location->walk([&](Location inner) {
    if (!isa<CallSiteLoc, FileLineColRange>(inner))
      return WalkResult::advance();
    found = inner;
    return WalkResult::interrupt();
  });
  return found;
}

TextPlace textPlaceOf(Location location) {
  TextPlace place;
  std::optional<Location> at = firstPlace(location);
  auto call = at ? dyn_cast<CallSiteLoc>(*at) : CallSiteLoc();
  auto own = at ? dyn_cast<FileLineColRange>(call ? call.getCallee() : *at) : FileLineColRange();
  if (!own)
    return place;
  place.file = own.getFilename().str(), place.line = own.getStartLine(), place.column = own.getStartColumn();
  while (call) {
    Location caller = call.getCaller();
    call = dyn_cast<CallSiteLoc>(caller);
    auto named = dyn_cast<NameLoc>(call ? call.getCallee() : caller);
    if (auto where = named ? dyn_cast<FileLineColRange>(named.getChildLoc()) : FileLineColRange())
      place.calls.push_back(
          {named.getName().str(), where.getFilename().str(), where.getStartLine(), where.getStartColumn()});
  }
  return place;
}

} // namespace skewer::attn
