// The functions that check the arguments of an entry, in the order of docs/abi.md.
#pragma once
#include "codegen/ABI/EntrySizes.h"

namespace skewer::entry {

class EntryChecks {
public:
  /// Builds NAME.sizes, NAME.needed and, for operands of indices, NAME.within.
  EntryChecks(EntryCode &, EntrySizes &, const KernelPlan &, const ArgumentLayout &, uint32_t argsVersion);
  /// Builds `status NAME`suffix`(args, exec, frame)`, which checks everything that can be wrong with a call, and fills
  /// the frame. `constAlone`: ignores tensors that are not const.
  Function *build(const Twine &suffix, bool constAlone);

  /// Returns from the entry at hand with `otherwise` unless the sizes are right.
  void requireSizes(Value *arguments, Value *otherwise);
  /// Returns the bytes of workspace that so many workers need, -1 if they exceed 63 bits.
  Value *neededBytes(Value *arguments, Value *workers) { return b.CreateCall(needed, {arguments, workers}); }
  /// Refuses prepared memory that is null, misaligned or shared with a tensor or the workspace.
  void requirePrepared(Value *arguments, Value *how, Value *prepared, bool constAlone);

private:
  Function *buildSizes(uint32_t argsVersion);
  Function *buildNeeded();
  Function *buildWithin();
  Value *overlaps(Value *p, Value *n, Value *q, Value *m);
  void requireRanges(Value *arguments, bool constAlone);
  void fillFrame(Value *arguments, Value *how, Value *state);

  EntryCode &code;
  IRBuilder<> &b;
  EntrySizes &sizes;
  const KernelPlan &plan;
  const ArgumentLayout &layout;
  Function *rightSizes, *needed, *within;
};

} // namespace skewer::entry
