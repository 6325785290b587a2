// Prints the typed tensors of a kernel as text, for readers and tests: skewer … --emit=typed.
#include "dialect/Language/Typed.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace skewer::language::typed {

namespace {
/// Returns the place of a piece of the text: "12:7", "built-in rel1d.attn:3:5".
std::string placeOf(StringRef piece, SourceMgr &sources) {
  SMLoc at = SMLoc::getFromPointer(piece.data());
  unsigned buffer = piece.data() ? sources.FindBufferContainingLoc(at) : 0;
  if (!buffer)
    return "-";
  auto [line, column] = sources.getLineAndColumn(at, buffer);
  std::string place = std::to_string(line) + ":" + std::to_string(column);
  if (buffer == sources.getMainFileID())
    return place;
  return sources.getMemoryBuffer(buffer)->getBufferIdentifier().str() + ":" + place;
}

std::string quoted(const std::string &text) { return " \"" + text + "\""; }
std::string where(const std::optional<subscript::Expr> &condition) {
  return condition ? " where" + quoted(subscript::print(*condition)) : "";
}
std::string with(const subscript::AxisSizes &sizes) {
  std::string text;
  for (const auto &[axis, size] : sizes)
    text += (text.empty() ? " with " : ", ") + axis + " = " + std::to_string(size);
  return text;
}
std::string listOf(ArrayRef<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "[" : ", ") + std::to_string(number);
  return text + "]";
}
std::string numberOf(double number) {
  std::string text;
  raw_string_ostream(text) << format("%g", number);
  return text;
}

/// Describes an operation and its attributes.
struct Description {
  std::string operator()(const Argument &) { return "operand"; }
  std::string operator()(const Constant &) { return "constant"; }
  std::string operator()(const Splat &splat) { return "number " + numberOf(splat.number); }
  std::string operator()(const Position &position) {
    return "position" + quoted(subscript::print(position.expression));
  }
  std::string operator()(const Einsum &einsum) {
    return "einsum" + quoted(einsum.text) + with(einsum.sizes) + where(einsum.guard);
  }
  std::string operator()(const Rows &rows) {
    return (rows.isSoftmax ? "softmax" : "logsumexp") + quoted(rows.axes) + " over " + rows.over + where(rows.mask);
  }
  std::string operator()(const Extremum &extremum) {
    return (extremum.isLeast ? "min" : "max") + quoted(extremum.text) + with(extremum.sizes);
  }
  std::string operator()(const Rearrange &rearrange) {
    return "rearrange" + quoted(rearrange.text) + with(rearrange.sizes);
  }
  std::string operator()(const Elementwise &elements) { return nameOf(elements.function).str(); }
  std::string operator()(const Apply &apply) { return "apply" + quoted(apply.function); }
  std::string operator()(const Cast &) { return "cast"; }
  std::string operator()(const Skew &) { return "skew"; }
  std::string operator()(const Pad &pad) {
    return "pad low " + listOf(pad.low) + " high " + listOf(pad.high) + " value " + numberOf(pad.value);
  }
  std::string operator()(const Reshape &) { return "reshape"; }
  std::string operator()(const Slice &slice) {
    return "slice from " + listOf(slice.offsets) + " by " + listOf(slice.strides);
  }
  std::string operator()(const Gather &gather) { return "gather along " + std::to_string(gather.dimension); }
  std::string operator()(const Concat &concat) { return "concat along " + std::to_string(concat.dimension); }
};
} // namespace

std::string describe(const Dimensions &dimensions, Element element) {
  std::string text = nameOf(element).str() + "[";
  for (const Dimension &d : dimensions)
    text += (text.back() == '[' ? "" : ", ") + (d.namings.empty() ? "_" : language::print(d.namings[0])) + " = " +
            (d.isRuntime() ? d.runtime : std::to_string(d.size));
  return text + "]";
}

void print(const Kernel &kernel, SourceMgr &sources, raw_ostream &out) {
  out << "kernel " << kernel.name << "\n";
  for (const Operand &operand : kernel.operands)
    if (operand.element == Element::I32) // texts read it by its name
      out << "  " << placeOf(operand.name, sources) << " " << operand.name << ": "
          << describe(operand.dimensions, operand.element) << " operand\n";
  std::map<const Tensor *, size_t> numbers;
  auto list = [&](ArrayRef<Tensor *> tensors) {
    interleave(tensors, out, [&](const Tensor *tensor) { out << "%" << numbers.at(tensor); }, ", ");
  };
  for (const auto &tensor : kernel.tensors) {
    size_t number = numbers[tensor.get()] = numbers.size();
    out << "  " << placeOf(tensor->place, sources) << " %" << number;
    auto *argument = tensor->as<Argument>();
    if (StringRef name = argument ? kernel.operands[argument->number].name : tensor->name; !name.empty())
      out << " " << name;
    auto named = find_if(kernel.names, [&](const Name &name) { return name.tensor == tensor.get(); });
    const Dimensions &dimensions = argument || named == kernel.names.end() ? tensor->dimensions : named->dimensions;
    out << ": " << describe(dimensions, tensor->element) << " " << std::visit(Description(), tensor->operation);
    if (!tensor->operands.empty()) {
      out << " of ";
      list(tensor->operands);
    }
    out << "\n";
  }
  out << "  " << placeOf(kernel.returnPlace, sources) << " return ";
  list(kernel.returned);
  out << "\n";
}

} // namespace skewer::language::typed
