// Decodes arithmetic, conversions and functions of the LLVM and NVVM dialects, lane by lane and element by element.
#include "codegen/GPU/Interpreter/Numbers.h"
#include "codegen/GPU/Interpreter/Program.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace skewer::gpu;

namespace {

uint64_t cut(uint64_t value, unsigned bits) { return bits >= 64 ? value : value & ((uint64_t(1) << bits) - 1); }
int64_t extend(uint64_t value, unsigned bits) {
  return bits >= 64 ? int64_t(value) : int64_t(value << (64 - bits)) >> (64 - bits);
}

/// The format of a float type: converts a number to the bits of a register, and back. Arithmetic is in f32 or f64.
struct Format {
  unsigned bits;
  bool brain;
  double read(uint64_t value) const {
    if (bits == 64) {
      double x;
      std::memcpy(&x, &value, sizeof x);
      return x;
    }
    return bits == 32 ? floatOf(uint32_t(value)) : brain ? fromBrain(uint16_t(value)) : fromHalf(uint16_t(value));
  }
  uint64_t write(double x) const {
    if (bits == 64) {
      uint64_t value;
      std::memcpy(&value, &x, sizeof x);
      return value;
    }
    return bits == 32 ? skewer::gpu::bitsOf(float(x)) : brain ? toBrain(float(x)) : toHalf(float(x));
  }
};
Format formatOf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return {element.getIntOrFloatBitWidth(), element.isBF16()};
}

/// Runs f(operands of one lane…) for each element of the result.
template <typename F> void elementwise(Decoder &decoder, Operation &op, Step &step, F f) {
  SmallVector<Slots> in;
  for (Value operand : op.getOperands())
    in.push_back(decoder.slots(operand));
  Slots out = decoder.slots(op.getResult(0));
  step.run = [in, out, f](Warp &warp) {
    for (unsigned k = 0; k < out.count; ++k) {
      std::array<const Lanes *, 3> operands{};
      for (size_t n = 0; n < in.size() && n < 3; ++n)
        operands[n] = &warp.registers[in[n].first + (in[n].count > 1 ? k : 0)];
      Lanes &target = warp.registers[out.first + k];
      for (unsigned lane = 0; lane < kLanes; ++lane)
        if (warp.runs(lane))
          target[lane] = cut(f(operands, lane), out.bits);
    }
  };
}
using Operands = std::array<const Lanes *, 3>;

template <typename F> void integers(Decoder &decoder, Operation &op, Step &step, F f) {
  elementwise(decoder, op, step, [f](const Operands &x, unsigned lane) { return f((*x[0])[lane], (*x[1])[lane]); });
}
template <typename F> void signedIntegers(Decoder &decoder, Operation &op, Step &step, F f) {
  unsigned bits = decoder.slots(op.getOperand(0)).bits;
  elementwise(decoder, op, step, [f, bits](const Operands &x, unsigned lane) {
    return uint64_t(f(extend((*x[0])[lane], bits), extend((*x[1])[lane], bits)));
  });
}
/// Returns an f32 as an instruction with .ftz reads and writes it: subnormal numbers become 0.
double flushed(double x) { return std::fabs(x) < 0x1p-126 ? std::copysign(0, x) : x; }

/// Computes in double. For two f32 operands, the sum, product and quotient round to the same f32 as the operation
/// itself would.
template <typename F> void floats(Decoder &decoder, Operation &op, Step &step, F f) {
  Format from = formatOf(op.getOperand(0).getType()), to = formatOf(op.getResult(0).getType());
  unsigned count = op.getNumOperands();
  bool flushes = decoder.kernel.getDenormalFpMathF32().value_or("").starts_with("preserve-sign");
  bool reads = flushes && from.bits == 32, writes = flushes && to.bits == 32;
  elementwise(decoder, op, step, [=](const Operands &x, unsigned lane) {
    double values[3] = {};
    for (unsigned k = 0; k < count; ++k) {
      values[k] = from.read((*x[k])[lane]);
      values[k] = reads ? flushed(values[k]) : values[k];
    }
    double result = f(values[0], values[1], values[2]);
    return to.write(writes ? flushed(result) : result);
  });
}

bool compare(LLVM::ICmpPredicate predicate, uint64_t a, uint64_t b, unsigned bits) {
  int64_t x = extend(a, bits), y = extend(b, bits);
  switch (predicate) {
  case LLVM::ICmpPredicate::eq:
    return a == b;
  case LLVM::ICmpPredicate::ne:
    return a != b;
  case LLVM::ICmpPredicate::slt:
    return x < y;
  case LLVM::ICmpPredicate::sle:
    return x <= y;
  case LLVM::ICmpPredicate::sgt:
    return x > y;
  case LLVM::ICmpPredicate::sge:
    return x >= y;
  case LLVM::ICmpPredicate::ult:
    return a < b;
  case LLVM::ICmpPredicate::ule:
    return a <= b;
  case LLVM::ICmpPredicate::ugt:
    return a > b;
  case LLVM::ICmpPredicate::uge:
    return a >= b;
  }
  return false;
}
/// Returns whether the predicate holds for two numbers. The bits of a predicate are the outcomes for which it holds:
/// equal, greater, less, unordered. Predicates up to `ord` need an order; `ueq` to `une` are the same predicates with
/// "or unordered".
bool compare(LLVM::FCmpPredicate predicate, double a, double b) {
  unsigned number = unsigned(predicate), ordered = unsigned(LLVM::FCmpPredicate::ord);
  unsigned holds = predicate == LLVM::FCmpPredicate::uno     ? 8
                   : predicate == LLVM::FCmpPredicate::_true ? 15
                   : number <= ordered                       ? number
                                                             : (number - ordered) | 8;
  unsigned outcome = std::isnan(a) || std::isnan(b) ? 8 : a < b ? 4 : a > b ? 2 : 1;
  return holds & outcome;
}

/// Decodes operations that extract and insert parts of values, by copying registers.
bool decodeParts(Decoder &decoder, Operation &op, Step &step) {
  auto copy = [&](SmallVector<std::pair<unsigned, unsigned>> moves) {
    step.ownRegisters().moves.assign(moves.begin(), moves.end());
    step.run = [moves = std::move(moves)](Warp &warp) {
      for (auto [from, to] : moves)
        for (unsigned lane = 0; lane < kLanes; ++lane)
          if (warp.runs(lane))
            warp.registers[to][lane] = warp.registers[from][lane];
    };
    return true;
  };
  SmallVector<std::pair<unsigned, unsigned>> moves;
  auto insert = [&](Value whole, Value part, Value result, unsigned place) {
    Slots from = decoder.slots(whole), piece = decoder.slots(part), to = decoder.slots(result);
    for (unsigned k = 0; k < to.count; ++k) {
      bool inside = k >= place && k < place + piece.count;
      moves.push_back({inside ? piece.first + k - place : from.first + k, to.first + k});
    }
    return copy(std::move(moves));
  };
  auto extract = [&](Value whole, Value result, unsigned place) {
    Slots from = decoder.slots(whole), to = decoder.slots(result);
    for (unsigned k = 0; k < to.count; ++k)
      moves.push_back({from.first + place + k, to.first + k});
    return copy(std::move(moves));
  };
  auto constantOf = [](Value index) -> std::optional<unsigned> {
    IntegerAttr value;
    if (!matchPattern(index, m_Constant(&value)))
      return std::nullopt;
    return unsigned(value.getInt());
  };
  if (auto extraction = dyn_cast<LLVM::ExtractValueOp>(op)) {
    if (extraction.getPosition().size() != 1)
      return false;
    unsigned each = decoder.slots(op.getResult(0)).count;
    return extract(extraction.getContainer(), extraction.getResult(), unsigned(extraction.getPosition()[0]) * each);
  }
  if (auto insertion = dyn_cast<LLVM::InsertValueOp>(op)) {
    if (insertion.getPosition().size() != 1)
      return false;
    unsigned each = decoder.slots(insertion.getValue()).count;
    return insert(insertion.getContainer(), insertion.getValue(), insertion.getResult(),
                  unsigned(insertion.getPosition()[0]) * each);
  }
  if (auto extraction = dyn_cast<LLVM::ExtractElementOp>(op)) {
    auto place = constantOf(extraction.getPosition());
    return place && extract(extraction.getVector(), extraction.getResult(), *place);
  }
  if (auto insertion = dyn_cast<LLVM::InsertElementOp>(op)) {
    auto place = constantOf(insertion.getPosition());
    return place && insert(insertion.getVector(), insertion.getValue(), insertion.getResult(), *place);
  }
  if (isa<LLVM::BitcastOp>(op)) {
    Slots from = decoder.slots(op.getOperand(0)), to = decoder.slots(op.getResult(0));
    step.run = [from, to](Warp &warp) {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (!warp.runs(lane))
          continue;
        for (unsigned k = 0; k < to.count; ++k) {
          uint64_t value = 0;
          for (unsigned bit = 0; bit < to.bits; bit += std::min(from.bits, to.bits)) {
            unsigned at = k * to.bits + bit;
            value |=
                cut(warp.registers[from.first + at / from.bits][lane] >> at % from.bits, std::min(from.bits, to.bits))
                << bit;
          }
          warp.registers[to.first + k][lane] = value;
        }
      }
    };
    return true;
  }
  return false;
}

/// Decodes functions of single numbers that the hardware has.
bool decodeFunctions(Decoder &decoder, Operation &op, Step &step) {
  auto function = [&](auto f) {
    floats(decoder, op, step, f);
    return true;
  };
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case([&](LLVM::FFloorOp) { return function([](double a, double, double) { return std::floor(a); }); })
      .Case([&](LLVM::FTruncOp) { return function([](double a, double, double) { return std::trunc(a); }); })
      .Case([&](LLVM::RoundOp) { return function([](double a, double, double) { return std::round(a); }); })
      .Case([&](LLVM::FCeilOp) { return function([](double a, double, double) { return std::ceil(a); }); })
      .Case([&](LLVM::CallIntrinsicOp call) { // lg2.approx.f32
        return call.getIntrin() == "llvm.nvvm.lg2.approx.f" &&
               function([](double a, double, double) { return std::log2(a); });
      })
      .Case([&](NVVM::RcpApproxFtzF32Op) { // numbers below 2^-126 become 0, in the operand and the result
        return function([](double a, double, double) {
          auto flushed = [](double x) { return std::abs(x) < 0x1p-126 ? std::copysign(0.0, x) : x; };
          return flushed(1 / flushed(a));
        });
      })
      .Case([&](LLVM::SqrtOp) { return function([](double a, double, double) { return std::sqrt(a); }); })
      .Case([&](LLVM::RoundEvenOp) { return function([](double a, double, double) { return std::nearbyint(a); }); })
      .Case([&](LLVM::CopySignOp) { return function([](double a, double b, double) { return std::copysign(a, b); }); })
      .Case([&](LLVM::MinimumOp) {
        return function(
            [](double a, double b, double) { return std::isnan(a) || std::isnan(b) ? NAN : std::fmin(a, b); });
      })
      .Default([](Operation *) { return false; });
}

/// Decodes conversions between types of numbers.
bool decodeConversions(Decoder &decoder, Operation &op, Step &step) {
  unsigned bits = op.getNumOperands() ? decoder.slots(op.getOperand(0)).bits : 0;
  return llvm::TypeSwitch<Operation *, bool>(&op)
      .Case<LLVM::SExtOp>([&](auto) {
        elementwise(decoder, op, step,
                    [=](const Operands &x, unsigned lane) { return uint64_t(extend((*x[0])[lane], bits)); });
        return true;
      })
      .Case<LLVM::ZExtOp, LLVM::TruncOp, LLVM::PtrToIntOp, LLVM::IntToPtrOp>([&](auto) {
        elementwise(decoder, op, step, [](const Operands &x, unsigned lane) { return (*x[0])[lane]; });
        return true;
      })
      .Case<LLVM::SIToFPOp>([&](auto) {
        Format to = formatOf(op.getResult(0).getType());
        elementwise(decoder, op, step, [=](const Operands &x, unsigned lane) {
          // Directly to f32: through double, a large number would be rounded twice.
          int64_t value = extend((*x[0])[lane], bits);
          return to.bits == 32 ? skewer::gpu::bitsOf(float(value)) : to.write(double(value));
        });
        return true;
      })
      .Case<LLVM::FPToSIOp>([&](auto) {
        Format from = formatOf(op.getOperand(0).getType());
        elementwise(decoder, op, step,
                    [=](const Operands &x, unsigned lane) { return uint64_t(int64_t(from.read((*x[0])[lane]))); });
        return true;
      })
      .Case([&](NVVM::ConvertF8x2ToF16x2Op convert) { // PTX ISA, "cvt": .rn.f16x2.e4m3x2, which is exact
        if (!isa<Float8E4M3FNType>(convert.getSrcType()) || convert.getRelu())
          return false;
        elementwise(decoder, op, step, [](const Operands &x, unsigned lane) {
          return uint64_t(toHalf(fromE4M3(uint8_t((*x[0])[lane]))));
        });
        return true;
      })
      .Default([](Operation *) { return false; });
}

} // namespace

bool skewer::gpu::decodeArithmetic(Decoder &decoder, Operation &op, Step &step) {
  unsigned bits = op.getNumOperands() ? decoder.slots(op.getOperand(0)).bits : 0;
#define INTEGERS(OP, EXPRESSION)                                                                                       \
  .Case<LLVM::OP>([&](auto) {                                                                                          \
    integers(decoder, op, step, [=](uint64_t a, uint64_t b) -> uint64_t { return EXPRESSION; });                       \
    return true;                                                                                                       \
  })
#define SIGNED(OP, EXPRESSION)                                                                                         \
  .Case<LLVM::OP>([&](auto) {                                                                                          \
    signedIntegers(decoder, op, step, [=](int64_t a, int64_t b) -> int64_t { return EXPRESSION; });                    \
    return true;                                                                                                       \
  })
#define FLOATS(OP, EXPRESSION)                                                                                         \
  .Case<LLVM::OP>([&](auto) {                                                                                          \
    floats(decoder, op, step, [](double a, double b, double c) -> double { return EXPRESSION; });                      \
    return true;                                                                                                       \
  })
  bool done = llvm::TypeSwitch<Operation *, bool>(&op) INTEGERS(AddOp, a + b) INTEGERS(SubOp, a - b)
                  INTEGERS(MulOp, a * b) INTEGERS(AndOp, a & b) INTEGERS(OrOp, a | b) INTEGERS(XOrOp, a ^ b)
              // A shift by the width or more is poison in LLVM; 0 keeps the interpreter defined.
              INTEGERS(ShlOp, b < bits ? a << b : 0) INTEGERS(LShrOp, b < bits ? a >> b : 0)
                  INTEGERS(UDivOp, b ? a / b : 0) INTEGERS(URemOp, b ? a % b : 0) INTEGERS(UMinOp, std::min(a, b))
                      INTEGERS(UMaxOp, std::max(a, b)) SIGNED(SDivOp, b ? a / b : 0) SIGNED(SRemOp, b ? a % b : 0)
                          SIGNED(SMinOp, std::min(a, b)) SIGNED(SMaxOp, std::max(a, b))
                              SIGNED(AShrOp, a >> std::min<int64_t>(b, 63)) FLOATS(FAddOp, a + b) FLOATS(FSubOp, a - b)
                                  FLOATS(FMulOp, a * b) FLOATS(FDivOp, a / b) FLOATS(FNegOp, -a)
              // The product of two f32 is exact in double. The sum with it is rounded twice, so it differs from fma in
              // the last place in one case of 2^29.
              FLOATS(FMAOp, std::fma(a, b, c)) FLOATS(MaxNumOp, std::fmax(a, b)) FLOATS(MinNumOp, std::fmin(a, b))
                  FLOATS(MaximumOp, std::isnan(a) || std::isnan(b) ? NAN : std::fmax(a, b)) FLOATS(Exp2Op, std::exp2(a))
                      FLOATS(FAbsOp, std::fabs(a)) FLOATS(FPExtOp, a) FLOATS(FPTruncOp, a)
                          .Case<LLVM::ICmpOp>([&](LLVM::ICmpOp compareOp) {
                            LLVM::ICmpPredicate predicate = compareOp.getPredicate();
                            integers(decoder, op, step,
                                     [=](uint64_t a, uint64_t b) { return uint64_t(compare(predicate, a, b, bits)); });
                            return true;
                          })
                          .Case<LLVM::FCmpOp>([&](LLVM::FCmpOp compareOp) {
                            LLVM::FCmpPredicate predicate = compareOp.getPredicate();
                            Format from = formatOf(op.getOperand(0).getType());
                            integers(decoder, op, step, [=](uint64_t a, uint64_t b) {
                              return uint64_t(compare(predicate, from.read(a), from.read(b)));
                            });
                            return true;
                          })
                          .Case<LLVM::SelectOp>([&](auto) {
                            elementwise(decoder, op, step, [](const Operands &x, unsigned lane) {
                              return (*x[0])[lane] ? (*x[1])[lane] : (*x[2])[lane];
                            });
                            return true;
                          })
                          .Default([](Operation *) { return false; });
#undef INTEGERS
#undef SIGNED
#undef FLOATS
  return done || decodeConversions(decoder, op, step) || decodeFunctions(decoder, op, step) ||
         decodeParts(decoder, op, step);
}
