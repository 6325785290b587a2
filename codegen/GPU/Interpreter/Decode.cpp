// Decodes the registers, blocks and constants of a kernel. The other Decode files decode single operations, each a
// family.
#include "codegen/GPU/Interpreter/Program.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace skewer::gpu;

static unsigned bitsOf(Type type) { return isa<LLVM::LLVMPointerType>(type) ? 64 : type.getIntOrFloatBitWidth(); }

ElementShape skewer::gpu::elementShape(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return {bitsOf(vector.getElementType()), unsigned(vector.getNumElements())};
  if (auto structure = dyn_cast<LLVM::LLVMStructType>(type)) {
    ElementShape shape = elementShape(structure.getBody().front());
    shape.count *= unsigned(structure.getBody().size());
    return shape;
  }
  return {bitsOf(type), 1};
}

Slots Decoder::slots(Value value) {
  auto [place, isNew] = known.try_emplace(value);
  if (isNew) {
    ElementShape shape = elementShape(value.getType());
    place->second = {program.registers, shape.count, shape.bits};
    program.registers += shape.count;
  }
  return place->second;
}

uint64_t Decoder::addressOf(LLVM::GlobalOp global) {
  if (global.getAddrSpace() == 3)
    return 0; // the block's shared memory begins at 0
  auto found = globals.find(global);
  if (found != globals.end())
    return found->second;
  std::vector<char> bytes;
  if (auto values = dyn_cast_or_null<DenseElementsAttr>(global.getValueOrNull())) {
    unsigned size = values.getElementType().getIntOrFloatBitWidth() / 8;
    auto put = [&](const APInt &value) {
      for (unsigned k = 0; k < size; ++k)
        bytes.push_back(char(value.getZExtValue() >> 8 * k));
    };
    if (isa<IntegerType>(values.getElementType()))
      llvm::for_each(values.getValues<APInt>(), put);
    else
      for (const APFloat &value : values.getValues<APFloat>())
        put(value.bitcastToAPInt());
  }
  uint64_t address = device.add(bytes.size(), bytes.data(), false, global.getSymName().str());
  return globals[global] = address;
}

/// Decodes a constant's scalars as register contents.
static bool decodeConstant(Decoder &decoder, LLVM::ConstantOp op) {
  Slots to = decoder.slots(op.getResult());
  auto put = [&](unsigned place, Attribute attribute) {
    if (auto integer = dyn_cast<IntegerAttr>(attribute))
      decoder.constant(to.first + place, integer.getValue().getZExtValue());
    else if (auto number = dyn_cast<FloatAttr>(attribute))
      decoder.constant(to.first + place, number.getValue().bitcastToAPInt().getZExtValue());
    else
      return false;
    return true;
  };
  if (auto elements = dyn_cast<DenseElementsAttr>(op.getValue())) {
    for (auto [place, attribute] : llvm::enumerate(elements.getValues<Attribute>()))
      if (!put(unsigned(place), attribute))
        return false;
    return true;
  }
  return put(0, op.getValue());
}

Program Decoder::run() {
  for (BlockArgument argument : kernel.getArguments())
    program.arguments.push_back(slots(argument));
  llvm::DenseMap<Block *, unsigned> numbers;
  for (Block &block : kernel.getBody())
    numbers[&block] = unsigned(numbers.size());
  auto edge = [&](Block *target, ValueRange operands) {
    Edge result{numbers[target], {}};
    for (auto [from, to] : llvm::zip_equal(operands, target->getArguments())) {
      Slots source = slots(from), sink = slots(to);
      for (unsigned k = 0; k < source.count; ++k)
        result.moves.push_back({source.first + k, sink.first + k});
    }
    return result;
  };
  for (Block &block : kernel.getBody()) {
    CodeBlock code;
    code.end = block.getTerminator();
    for (Operation &op : block.without_terminator()) {
      Step step;
      step.operation = &op;
      if (auto number = dyn_cast<LLVM::ConstantOp>(op)) {
        if (decodeConstant(*this, number))
          continue;
      } else if (isa<LLVM::UndefOp, LLVM::PoisonOp, LLVM::ZeroOp>(op)) {
        for (unsigned k = 0; k < slots(op.getResult(0)).count; ++k) {
          constant(slots(op.getResult(0)).first + k, 0);
          if (!isa<LLVM::ZeroOp>(op))
            program.poison.push_back(slots(op.getResult(0)).first + k);
        }
        continue;
      } else if (auto address = dyn_cast<LLVM::AddressOfOp>(op)) {
        auto module = op.getParentOfType<LLVM::LLVMFuncOp>()->getParentOp();
        if (auto global =
                dyn_cast_or_null<LLVM::GlobalOp>(SymbolTable::lookupSymbolIn(module, address.getGlobalNameAttr()))) {
          constant(slots(address.getResult()).first, addressOf(global));
          continue;
        }
      } else if (decodeArithmetic(*this, op, step) || decodeMemory(*this, op, step) || decodeWarp(*this, op, step) ||
                 decodeBarriers(*this, op, step) || decodeBulk(*this, op, step) || decodeWgmma(*this, op, step)) {
        code.steps.push_back(std::move(step));
        continue;
      }
      if (program.unsupported.empty())
        program.unsupported = op.getName().getStringRef().str();
    }
    if (auto jump = dyn_cast<LLVM::BrOp>(code.end)) {
      code.edges.push_back(edge(jump.getDest(), jump.getDestOperands()));
    } else if (auto branch = dyn_cast<LLVM::CondBrOp>(code.end)) {
      code.condition = slots(branch.getCondition()).first;
      code.edges.push_back(edge(branch.getTrueDest(), branch.getTrueDestOperands()));
      code.edges.push_back(edge(branch.getFalseDest(), branch.getFalseDestOperands()));
    } else if (!isa<LLVM::ReturnOp>(code.end) && program.unsupported.empty()) {
      program.unsupported = code.end->getName().getStringRef().str();
    }
    program.blocks.push_back(std::move(code));
  }
  if (program.concurrent)
    noteRegisters();
  return std::move(program);
}

/// Notes for each step the registers that it reads and writes.
void Decoder::noteRegisters() {
  for (CodeBlock &block : program.blocks)
    for (Step &step : block.steps) {
      step.ownRegisters();
      for (Value operand : step.operation->getOperands())
        step.ownRegisters().reads.push_back(slots(operand));
      for (Value result : step.operation->getResults())
        step.ownRegisters().writes.push_back(slots(result));
    }
}
