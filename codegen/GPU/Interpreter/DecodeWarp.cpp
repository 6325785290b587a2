// Decodes the operations that the lanes of a warp execute together (mma.sync, ldmatrix, stmatrix, shuffles, votes,
// barriers), and the operations that return a lane's position. Fragment layouts: PTX ISA, "Warp Level Matrix
// Instructions", figures of mma.m16n8k16 and mma.m16n8k8 and of ldmatrix.
#include "codegen/GPU/Interpreter/Concurrency.h"
#include "codegen/GPU/Interpreter/Numbers.h"
#include "codegen/GPU/Interpreter/Program.h"
#include "codegen/GPU/Interpreter/TensorCore.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinTypes.h"
#include <algorithm>

using namespace mlir;
using namespace skewer::gpu;

namespace {

enum class Multiplicand { F16, BF16, TF32 };

/// Unpacks the elements of an operand's registers in one lane, lowest first: two of each register, or one for tf32.
void unpack(const Warp &warp, const SmallVector<Slots> &operand, unsigned lane, Multiplicand type, float *to) {
  for (const Slots &part : operand)
    for (unsigned k = 0; k < part.count; ++k) {
      uint64_t bits = warp.registers[part.first + k][lane];
      if (type == Multiplicand::TF32) {
        *to++ = fromTf32(uint32_t(bits));
        continue;
      }
      for (unsigned half = 0; half < part.bits / 16; ++half, bits >>= 16)
        *to++ = type == Multiplicand::F16 ? fromHalf(uint16_t(bits)) : fromBrain(uint16_t(bits));
    }
}

/// Decodes D[16×8] = A[16×K]·B[K×8] + C, where K is 16 for f16 and bf16, and 8 for tf32.
bool decodeMultiply(Decoder &decoder, NVVM::MmaOp op, Step &step) {
  auto shape = op.getShapeAttr();
  auto type = op.getMultiplicandAPtxType();
  if (!type || shape.getM() != 16 || shape.getN() != 8 || op.getLayoutA() != NVVM::MMALayout::row ||
      op.getLayoutB() != NVVM::MMALayout::col)
    return false;
  Multiplicand multiplicand;
  if (*type == NVVM::MMATypes::f16 && shape.getK() == 16)
    multiplicand = Multiplicand::F16;
  else if (*type == NVVM::MMATypes::bf16 && shape.getK() == 16)
    multiplicand = Multiplicand::BF16;
  else if (*type == NVVM::MMATypes::tf32 && shape.getK() == 8)
    multiplicand = Multiplicand::TF32;
  else
    return false;
  auto slotsOf = [&](ValueRange values) {
    SmallVector<Slots> result;
    for (Value value : values)
      result.push_back(decoder.slots(value));
    return result;
  };
  SmallVector<Slots> a = slotsOf(op.getOperandA()), b = slotsOf(op.getOperandB()), c = slotsOf(op.getOperandC());
  Slots d = decoder.slots(op.getResult());
  if (c.size() != 4 || d.count != 4 || d.bits != 32)
    return false; // accumulators of f16
  unsigned depth = unsigned(shape.getK());
  unsigned atOnce = multiplicand == Multiplicand::TF32 ? kProductsAtOnce / 2 : kProductsAtOnce;
  step.run = [=](Warp &warp) {
    warp.needAllLanes("mma.sync");
    ++warp.block->report->matrixSteps;
    Term rows[16][16], columns[16][8];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      unsigned group = lane / 4, inGroup = lane % 4;
      float elements[8];
      unpack(warp, a, lane, multiplicand, elements);
      if (multiplicand == Multiplicand::TF32) {
        for (unsigned i = 0; i < 4; ++i)
          rows[group + (i % 2) * 8][inGroup + (i / 2) * 4] = Term::of(elements[i]);
      } else {
        for (unsigned i = 0; i < 8; ++i)
          rows[group + (i / 2 % 2) * 8][inGroup * 2 + i % 2 + (i / 4) * 8] = Term::of(elements[i]);
      }
      unpack(warp, b, lane, multiplicand, elements);
      if (multiplicand == Multiplicand::TF32) {
        for (unsigned i = 0; i < 2; ++i)
          columns[inGroup + i * 4][group] = Term::of(elements[i]);
      } else {
        for (unsigned i = 0; i < 4; ++i)
          columns[inGroup * 2 + i % 2 + (i / 2) * 8][group] = Term::of(elements[i]);
      }
    }
    for (unsigned lane = 0; lane < kLanes; ++lane)
      for (unsigned i = 0; i < 4; ++i) {
        unsigned row = lane / 4 + (i / 2) * 8, column = lane % 4 * 2 + i % 2;
        float before = floatOf(uint32_t(warp.registers[c[i].first][lane]));
        warp.registers[d.first + i][lane] =
            bitsOf(multiplyAdd(rows[row], &columns[0][column], 8, depth, atOnce, before));
      }
  };
  return true;
}

/// Decodes ldmatrix. Lanes 8m … 8m+7 hold the addresses of the eight rows (16 bytes each) of matrix m. A lane gets two
/// neighbours of row lane/4, or with .trans of column lane/4.
bool decodeLoadMatrix(Decoder &decoder, NVVM::LdMatrixOp op, Step &step) {
  if (op.getEltType() != NVVM::LdStMatrixEltType::B16 || op.getShape().getM() != 8 || op.getShape().getN() != 8)
    return false;
  Slots from = decoder.slots(op.getPtr()), to = decoder.slots(op.getRes());
  bool transposed = op.getLayout() == NVVM::MMALayout::col;
  step.run = [=](Warp &warp) {
    warp.needAllLanes("ldmatrix");
    const Lanes addresses = warp.registers[from.first];
    SharedMemory &shared = *warp.block->shared;
    for (unsigned m = 0; m < to.count; ++m) {
      shared.countBanks(addresses, Mask(0xff) << 8 * m, 16, warp.operation);
      uint64_t matrix[8][8] = {};
      for (unsigned row = 0; row < 8; ++row) {
        unsigned lane = 8 * m + row;
        if (addresses[lane] % 16) {
          warp.block->report->add(FaultKind::Misaligned, warp.operation,
                                  "a row of ldmatrix begins at no multiple of 16");
          continue;
        }
        for (unsigned column = 0; column < 8; ++column)
          matrix[row][column] = shared.load(addresses[lane] + 2 * column, 2, warp.access(lane));
      }
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        unsigned major = lane / 4, minor = lane % 4 * 2;
        uint64_t low = transposed ? matrix[minor][major] : matrix[major][minor];
        uint64_t high = transposed ? matrix[minor + 1][major] : matrix[major][minor + 1];
        warp.registers[to.first + m][lane] = low | high << 16;
      }
    }
  };
  return true;
}

/// Decodes stmatrix, which is ldmatrix in the other direction. Lane 8m + r writes row r of matrix m.
bool decodeStoreMatrix(Decoder &decoder, NVVM::StMatrixOp op, Step &step) {
  if (op.getEltType() != NVVM::LdStMatrixEltType::B16 || op.getShape().getM() != 8 || op.getShape().getN() != 8)
    return false;
  Slots to = decoder.slots(op.getPtr());
  SmallVector<unsigned> from;
  for (Value source : op.getSources())
    from.push_back(decoder.slots(source).first);
  bool transposed = op.getLayout() == NVVM::MMALayout::col;
  step.run = [=](Warp &warp) {
    warp.needAllLanes("stmatrix");
    const Lanes addresses = warp.registers[to.first];
    SharedMemory &shared = *warp.block->shared;
    for (unsigned m = 0; m < from.size(); ++m) {
      shared.countBanks(addresses, Mask(0xff) << 8 * m, 16, warp.operation);
      uint64_t matrix[8][8] = {};
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        unsigned major = lane / 4, minor = lane % 4 * 2;
        uint64_t value = warp.registers[from[m]][lane];
        (transposed ? matrix[minor][major] : matrix[major][minor]) = value & 0xffff;
        (transposed ? matrix[minor + 1][major] : matrix[major][minor + 1]) = value >> 16 & 0xffff;
      }
      for (unsigned row = 0; row < 8; ++row) {
        unsigned lane = 8 * m + row;
        if (addresses[lane] % 16) {
          warp.block->report->add(FaultKind::Misaligned, warp.operation,
                                  "a row of stmatrix begins at no multiple of 16");
          continue;
        }
        for (unsigned column = 0; column < 8; ++column)
          shared.store(addresses[lane] + 2 * column, 2, matrix[row][column], warp.access(lane));
      }
    }
  };
  return true;
}

/// Decodes shfl.sync (PTX ISA): the source lane follows from the offset, the clamp and the segment mask.
bool decodeShuffle(Decoder &decoder, NVVM::ShflOp op, Step &step) {
  if (op.getReturnValueAndIsValid())
    return false;
  Slots members = decoder.slots(op.getThreadMask()), value = decoder.slots(op.getVal()),
        offset = decoder.slots(op.getOffset()), clamp = decoder.slots(op.getMaskAndClamp()),
        out = decoder.slots(op.getRes());
  NVVM::ShflKind kind = op.getKind();
  step.run = [=](Warp &warp) {
    Lanes result{};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      if (!warp.runs(lane))
        continue;
      if (Mask(warp.registers[members.first][lane]) != warp.mask)
        warp.block->report->add(FaultKind::Divergence, warp.operation,
                                "the lanes that shfl.sync names are not those that run it");
      unsigned c = unsigned(warp.registers[clamp.first][lane]), segment = c >> 8 & 31, bound = c & 31;
      int b = int(warp.registers[offset.first][lane] & 31);
      int highest = int((lane & segment) | (bound & ~segment)), lowest = int(lane & segment), source = int(lane);
      bool valid = false;
      switch (kind) {
      case NVVM::ShflKind::idx:
        source = lowest | (b & ~int(segment));
        valid = source <= highest;
        break;
      case NVVM::ShflKind::bfly:
        source = int(lane) ^ b;
        valid = source <= highest;
        break;
      case NVVM::ShflKind::up:
        source = int(lane) - b;
        valid = source >= highest;
        break;
      case NVVM::ShflKind::down:
        source = int(lane) + b;
        valid = source <= highest;
        break;
      }
      unsigned from = valid ? unsigned(source) : lane;
      if (!warp.runs(from))
        warp.block->report->add(FaultKind::Divergence, warp.operation, "shfl.sync reads a lane that does not run it");
      result[lane] = warp.registers[value.first][from];
    }
    for (unsigned lane = 0; lane < kLanes; ++lane)
      if (warp.runs(lane))
        warp.registers[out.first][lane] = result[lane];
  };
  return true;
}

bool decodeVote(Decoder &decoder, NVVM::VoteSyncOp op, Step &step) {
  Slots predicate = decoder.slots(op.getPred()), out = decoder.slots(op.getRes());
  NVVM::VoteSyncKind kind = op.getKind();
  if (kind == NVVM::VoteSyncKind::uni)
    return false;
  step.run = [=](Warp &warp) {
    warp.needAllLanes("vote.sync");
    Mask ballot = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane)
      ballot |= Mask(warp.registers[predicate.first][lane] != 0) << lane;
    uint64_t answer = kind == NVVM::VoteSyncKind::any   ? ballot != 0
                      : kind == NVVM::VoteSyncKind::all ? ballot == ~0u
                                                        : ballot;
    warp.registers[out.first].fill(answer);
  };
  return true;
}

bool decodePlace(Decoder &decoder, Operation &op, Step &step) {
  auto set = [&](auto f) {
    Slots out = decoder.slots(op.getResult(0));
    step.run = [=](Warp &warp) {
      for (unsigned lane = 0; lane < kLanes; ++lane)
        if (warp.runs(lane))
          warp.registers[out.first][lane] = f(warp, lane);
    };
    return true;
  };
  if (isa<NVVM::ThreadIdXOp>(op))
    return set([](Warp &warp, unsigned lane) { return uint64_t(warp.index * kLanes + lane); });
  if (isa<NVVM::BlockIdXOp>(op))
    return set([](Warp &warp, unsigned) { return uint64_t(warp.block->index); });
  if (isa<NVVM::BlockDimXOp>(op))
    return set([](Warp &warp, unsigned) { return uint64_t(warp.block->threads); });
  if (isa<NVVM::GridDimXOp>(op))
    return set([](Warp &warp, unsigned) { return uint64_t(warp.block->grid); });
  return false;
}

} // namespace

bool skewer::gpu::decodeWarp(Decoder &decoder, Operation &op, Step &step) {
  if (auto multiply = dyn_cast<NVVM::MmaOp>(op))
    return decodeMultiply(decoder, multiply, step);
  if (auto load = dyn_cast<NVVM::LdMatrixOp>(op))
    return decodeLoadMatrix(decoder, load, step);
  if (auto store = dyn_cast<NVVM::StMatrixOp>(op))
    return decodeStoreMatrix(decoder, store, step);
  if (auto shuffle = dyn_cast<NVVM::ShflOp>(op))
    return decodeShuffle(decoder, shuffle, step);
  if (auto vote = dyn_cast<NVVM::VoteSyncOp>(op))
    return decodeVote(decoder, vote, step);
  if (isa<NVVM::SyncWarpOp>(op)) {
    step.run = [](Warp &warp) {
      warp.needAllLanes("bar.warp.sync");
      ++warp.epoch;
      if (Concurrency *block = warp.block->concurrency)
        block->clocks.joinWarp(warp.index);
    };
    return true;
  }
  if (isa<NVVM::Barrier0Op>(op)) {
    step.barrier = true;
    step.run = [](Warp &warp) {
      warp.needAllLanes("bar.sync");
      if (!warp.block->concurrency)
        return;
      NamedBarriers &named = warp.block->concurrency->named;
      warp.blocked = !named.sync(warp, 0, warp.block->threads);
      if (warp.blocked)
        warp.waitsFor = [&named] { return named.describe(0); };
    };
    return true;
  }
  return decodePlace(decoder, op, step);
}
