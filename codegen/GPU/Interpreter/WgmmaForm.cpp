// Parses the inline assembly of wgmma, piece by piece.
#include "codegen/GPU/Interpreter/WgmmaForm.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <string>

using namespace llvm;
using namespace skewer::gpu;

namespace {

std::string withoutSpaces(StringRef text) {
  std::string result;
  for (char c : text)
    if (!isSpace(c))
      result += c;
  return result;
}

/// Takes one piece after another from a text. After the first missing piece it stays in the failed state.
struct Reader {
  StringRef rest;
  bool good = true;
  void take(StringRef expected) { good = good && rest.consume_front(expected); }
  unsigned number() {
    unsigned value = 0;
    good = good && !rest.consumeInteger(10, value);
    return value;
  }
  void operand(unsigned expected) {
    take("$");
    good = number() == expected && good;
  }
  bool flag() { // 0 or 1
    bool set = rest.starts_with("1");
    take(set ? "1" : "0");
    return set;
  }
  bool negative() { // 1 or -1
    bool minus = rest.consume_front("-");
    take("1");
    return minus;
  }
};

std::optional<WgmmaType> typeOf(StringRef name) {
  if (name == "f16")
    return WgmmaType::F16;
  if (name == "bf16")
    return WgmmaType::BF16;
  if (name == "tf32")
    return WgmmaType::TF32;
  if (name == "e4m3")
    return WgmmaType::E4M3;
  return std::nullopt;
}

/// Returns the constraints "=f,…,0,1,…" of `count` tied results, followed by `others`.
std::string constraintsOf(unsigned count, StringRef others) {
  std::string text;
  for (unsigned k = 0; k < count; ++k)
    text += "=f,";
  for (unsigned k = 0; k < count; ++k)
    text += std::to_string(k) + ",";
  return text + others.str();
}

} // namespace

std::optional<WgmmaForm> skewer::gpu::wgmmaFormOf(StringRef text, StringRef constraints) {
  std::string plain = withoutSpaces(text);
  WgmmaForm form;
  form.registersA = StringRef(constraints).contains(",r,r,r,r,l,r");
  Reader in{plain};
  in.take("{.reg.predp;setp.ne.b32p,$");
  unsigned scale = in.number();
  in.take(",0;wgmma.mma_async.sync.aligned.m64n");
  form.columns = in.number();
  in.take("k");
  unsigned depth = in.number();
  in.take(".f32.");
  auto [name, after] = in.rest.split('.');
  std::optional<WgmmaType> type = typeOf(name);
  if (!in.good || !type || form.columns < 8 || form.columns > 256 || form.columns % 8)
    return std::nullopt;
  form.type = *type;
  in.rest = after;
  in.take(name);
  in.take("{");
  for (unsigned k = 0; k < form.results(); ++k) {
    in.take(k ? "," : "");
    in.operand(k);
  }
  unsigned next = 2 * form.results();
  in.take(form.registersA ? "},{" : "},");
  for (unsigned k = 0; k < (form.registersA ? 4 : 1); ++k) {
    in.take(k ? "," : "");
    in.operand(next++);
  }
  in.take(form.registersA ? "}," : ",");
  in.operand(next++);
  in.take(",p,");
  form.negatedA = in.negative();
  in.take(",");
  form.negatedB = in.negative();
  if (form.bytes() == 2) {
    if (!form.registersA) {
      in.take(",");
      form.transposedA = in.flag();
    }
    in.take(",");
    form.transposedB = in.flag();
  }
  in.take(";}");
  std::string expected = constraintsOf(form.results(), form.registersA ? "r,r,r,r,l,r,~{memory}" : "l,l,r,~{memory}");
  if (!in.good || !in.rest.empty() || scale != next || depth != form.depth() || constraints != expected)
    return std::nullopt;
  return form;
}

std::optional<unsigned> skewer::gpu::wgmmaWaitOf(StringRef text, StringRef constraints, unsigned operands) {
  std::string plain = withoutSpaces(text);
  Reader in{plain};
  in.take("wgmma.wait_group.sync.aligned");
  unsigned groups = in.number();
  in.take(";");
  SmallVector<StringRef> parts;
  constraints.split(parts, ',');
  bool fits = parts.size() == 2 * operands + 1 && parts.back() == "~{memory}";
  for (unsigned k = 0; fits && k < operands; ++k)
    fits = (parts[k] == "=f" || parts[k] == "=r") && parts[operands + k] == std::to_string(k);
  if (!in.good || !in.rest.empty() || !fits)
    return std::nullopt;
  return groups;
}
