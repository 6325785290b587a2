// Writes NAME_explain(), which explains a status in a sentence: the argument, the expected and the found value. The
// function is valid C99 and C++.
#include "codegen/ABI/HeaderExplain.h"
#include "codegen/ABI/Emit.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace skewer {

void writeExplainShared(raw_ostream &out) {
  out << R"(#ifndef SKEWER_EXPLAIN
#define SKEWER_EXPLAIN
#ifdef __cplusplus
#define SKEWER_CAST(type, value) static_cast<type>(value)
#define SKEWER_ADDRESS(pointer) reinterpret_cast<uintptr_t>(pointer)
#else
#define SKEWER_CAST(type, value) ((type)(value))
#define SKEWER_ADDRESS(pointer) ((uintptr_t)(pointer))
#endif
/* What the _explain() of a kernel knows of a call. */
typedef struct skewer_known_tensor {
  const char *field, *type;
  uintptr_t address;
  uint64_t bytes, multiple;
  int is_written;
} skewer_known_tensor;
typedef struct skewer_known_number {
  const char *field;
  int64_t value, least, most;
} skewer_known_number;
typedef struct skewer_text {
  char *at;
  size_t left;
} skewer_text;

static inline void skewer_say(skewer_text *text, const char *words) {
  while (*words && text->left > 1) {
    *text->at++ = *words++;
    --text->left;
  }
  if (text->left)
    *text->at = 0;
}
static inline void skewer_say_number(skewer_text *text, const char *before, uint64_t number, unsigned base) {
  char digits[24];
  size_t first = sizeof digits - 1;
  digits[first] = 0;
  do {
    digits[--first] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number);
  skewer_say(text, before);
  skewer_say(text, digits + first);
}
static inline void skewer_say_signed(skewer_text *text, const char *before, int64_t number) {
  skewer_say(text, before);
  if (number < 0)
    skewer_say_number(text, "-", 0u - SKEWER_CAST(uint64_t, number), 10);
  else
    skewer_say_number(text, "", SKEWER_CAST(uint64_t, number), 10);
}
static inline void skewer_explain_tensors(skewer_text *text, skewer_status status, const skewer_known_tensor *tensors,
                                          size_t count) {
  size_t k;
  for (k = 0; k < count; ++k)
    if (status == SKEWER_NULL_TENSOR ? tensors[k].address == 0 : tensors[k].address % tensors[k].multiple != 0) {
      skewer_say(text, "; args->");
      skewer_say(text, tensors[k].field);
      skewer_say(text, ", ");
      skewer_say(text, tensors[k].type);
      if (status == SKEWER_NULL_TENSOR) {
        skewer_say(text, ", is null");
      } else {
        skewer_say_number(text, ", is at 0x", tensors[k].address, 16);
        skewer_say_number(text, "; expected a multiple of ", tensors[k].multiple, 10);
      }
    }
}
static inline void skewer_explain_numbers(skewer_text *text, const skewer_known_number *numbers, size_t count) {
  size_t k;
  for (k = 0; k < count; ++k)
    if (numbers[k].value < numbers[k].least || numbers[k].value > numbers[k].most) {
      skewer_say(text, "; args->");
      skewer_say(text, numbers[k].field);
      skewer_say_signed(text, " is ", numbers[k].value);
      if (numbers[k].most == INT64_MAX)
        skewer_say_signed(text, "; expected at least ", numbers[k].least);
      else
        skewer_say_signed(text, "; expected ", numbers[k].least);
      if (numbers[k].most != INT64_MAX && numbers[k].most > numbers[k].least)
        skewer_say_signed(text, " to ", numbers[k].most);
    }
}
static inline int skewer_share(uintptr_t first, uint64_t bytes, uintptr_t second, uint64_t others) {
  return first < second + others && second < first + bytes;
}
static inline void skewer_explain_overlap(skewer_text *text, const skewer_known_tensor *tensors, size_t count,
                                          const skewer_exec *exec, uint64_t needed) {
  size_t k, other;
  for (k = 0; k < count; ++k) {
    if (needed && skewer_share(tensors[k].address, tensors[k].bytes, SKEWER_ADDRESS(exec->workspace), needed)) {
      skewer_say(text, "; exec->workspace shares memory with args->");
      skewer_say(text, tensors[k].field);
    }
    for (other = 0; other < k; ++other)
      if (tensors[k].is_written &&
          skewer_share(tensors[k].address, tensors[k].bytes, tensors[other].address, tensors[other].bytes)) {
        skewer_say(text, "; args->");
        skewer_say(text, tensors[k].field);
        skewer_say(text, " shares memory with args->");
        skewer_say(text, tensors[other].field);
      }
  }
}
static inline void skewer_explain_exec(skewer_text *text, skewer_status status, const skewer_exec *exec,
                                       uint64_t needed) {
  if (status == SKEWER_BAD_EXEC_SIZE) {
    skewer_say_number(text, "; it is ", exec->size, 10);
    skewer_say_number(text, ", expected ", sizeof *exec, 10);
  } else if (status == SKEWER_BAD_EXEC_VERSION) {
    skewer_say_number(text, "; it is ", exec->version, 10);
    skewer_say_number(text, ", expected ", SKEWER_ABI_VERSION, 10);
  } else if (status == SKEWER_BAD_WORKERS) {
    skewer_say_signed(text, "; it is ", exec->workers);
  } else if (status == SKEWER_NULL_WORKSPACE) {
    skewer_say_number(text, "; expected ", needed, 10);
    skewer_say(text, " bytes");
  } else if (status == SKEWER_SMALL_WORKSPACE) {
    skewer_say_number(text, "; it is ", exec->workspace_bytes, 10);
    skewer_say_number(text, ", expected ", needed, 10);
  } else if (status == SKEWER_MISALIGNED_WORKSPACE) {
    skewer_say_number(text, "; it is at 0x", SKEWER_ADDRESS(exec->workspace), 16);
  }
}
#endif
)";
}

/// Returns an extent in C: "4", or an expression of sizes, "(2*args->N - 1)".
static std::string inC(const Extent &known, const KernelPlan &plan, const ArgumentLayout &layout) {
  if (known.name.empty())
    return std::to_string(known.fixed);
  StringRef extent = known.name;
  std::string text = "(";
  while (!extent.empty()) {
    StringRef word = extent.take_while([](char c) { return isAlnum(c) || c == '_'; });
    if (word.empty())
      word = extent.take_front();
    auto size = find(plan.sizes, word);
    text += size == plan.sizes.end() ? word.str() : "args->" + layout.sizes[size - plan.sizes.begin()];
    extent = extent.drop_front(word.size());
  }
  return text + ")";
}

/// Returns the tensor's bytes in C; correct if the sizes are valid.
static std::string bytesInC(const TensorArgument &tensor, const KernelPlan &plan, const ArgumentLayout &layout) {
  std::string text = "SKEWER_CAST(uint64_t, " + std::to_string(fixedBytes(tensor));
  for (const Extent &extent : tensor.shape)
    if (!extent.name.empty())
      text += " * " + inC(extent, plan, layout);
  return text + ")";
}

void writeExplain(raw_ostream &out, const KernelPlan &plan, const ArgumentLayout &layout) {
  const std::string &name = plan.name;
  out << "/* What a status of a call with these arguments means: which argument it is about, what was expected and what "
         "was found.\n   Writes at most `bytes` bytes, the last one a zero, and returns `buffer`. */\n"
      << "static inline const char *" << name << "_explain(const " << name
      << "_args *args, const skewer_exec *exec, skewer_status status,\n    char *buffer, size_t bytes) {\n"
      << "  skewer_text text;\n  uint64_t needed = 0;\n"
      << "  text.at = buffer;\n  text.left = bytes;\n"
      << "  skewer_say(&text, \"" << name << ": \");\n"
      << "  skewer_say(&text, " << name << "_status_text(status));\n"
      << "  if (!args || status == SKEWER_OK)\n    return buffer;\n"
      << "  if (args->size != sizeof *args) {\n"
      << "    skewer_say_number(&text, \"; it is \", args->size, 10);\n"
      << "    skewer_say_number(&text, \", expected \", sizeof *args, 10);\n    return buffer;\n  }\n"
      << "  if (status == SKEWER_BAD_ARGS_LAYER) {\n"
      << "    skewer_say(&text, \"; this header's hash is \" SKEWER_HASH_" << name << " \", that of the object stands in "
      << name << "_info()\");\n    return buffer;\n  }\n"
      << "  if (status == SKEWER_BAD_SIZE || status == SKEWER_BAD_ORIGIN) {\n"
      << "    skewer_known_number numbers[] = {\n";
  for (auto [size, field] : zip_equal(plan.sizes, layout.sizes)) {
    auto bound = plan.boundOf(size);
    out << "        {\"" << field << "\", args->" << field << ", 1, "
        << (bound ? std::to_string(*bound) : std::string("INT64_MAX")) << "},\n";
  }
  for (unsigned number = 0; number < std::size(kOrigins); ++number) {
    int64_t last = 0;
    for (const TensorArgument &input : plan.inputs)
      last = input.origin == number ? input.range->high : last;
    out << "        {\"" << kOrigins[number] << "\", args->" << kOrigins[number] << ", 0, " << last << "},\n";
  }
  out << "    };\n    skewer_explain_numbers(&text, numbers, sizeof numbers / sizeof *numbers);\n"
      << "    return buffer;\n  }\n"
      << "  if (status >= SKEWER_BAD_EXEC_SIZE && !exec)\n    return buffer;\n"
      << "  if (status == SKEWER_NULL_WORKSPACE || status == SKEWER_SMALL_WORKSPACE || status == SKEWER_OVERLAP)\n"
      << "    needed = " << name << "_workspace_bytes(args, exec);\n"
      << "  if (status >= SKEWER_BAD_EXEC_SIZE && status <= SKEWER_MISALIGNED_WORKSPACE)\n"
      << "    skewer_explain_exec(&text, status, exec, needed);\n"
      << "  if (status == SKEWER_NULL_TENSOR || status == SKEWER_MISALIGNED_TENSOR || status == SKEWER_OVERLAP) {\n"
      << "    skewer_known_tensor tensors[] = {\n";
  auto tensor = [&](const TensorArgument &argument, const std::string &field, bool isWritten) {
    out << "        {\"" << field << "\", \"" << textOf(argument) << "\", SKEWER_ADDRESS(args->" << field << "),\n"
        << "         " << bytesInC(argument, plan, layout) << ", " << bytesOf(argument.type) << ", " << isWritten
        << "},\n";
  };
  for (auto [input, field] : zip_equal(plan.inputs, layout.inputs))
    if (input.isTensor())
      tensor(input, field, false);
  for (auto [output, field] : zip_equal(plan.outputs, layout.outputs))
    tensor(output, field, true);
  out << "    };\n"
      << "    if (status == SKEWER_OVERLAP)\n"
      << "      skewer_explain_overlap(&text, tensors, sizeof tensors / sizeof *tensors, exec, needed);\n"
      << "    else\n"
      << "      skewer_explain_tensors(&text, status, tensors, sizeof tensors / sizeof *tensors);\n  }\n";
  for (auto [number, index] : enumerate(rangedInputs(plan))) {
    const TensorArgument &input = plan.inputs[index];
    const std::string &field = layout.inputs[index];
    std::string low = std::to_string(input.range->low), high = std::to_string(input.range->high);
    if (!input.range->ends.empty())
      low = inC(input.range->ends[0], plan, layout), high = inC(input.range->ends[1], plan, layout);
    out << "  if (status == SKEWER_BAD_INDEX + " << number << ") {\n"
        << "    uint64_t at = 0, count = " << bytesInC(input, plan, layout) << " / 4;\n"
        << "    while (at < count && args->" << field << "[at] >= " << low << " && args->" << field
        << "[at] <= " << high << ")\n      ++at;\n"
        << "    if (at < count) {\n"
        << "      skewer_say_number(&text, \"; element \", at, 10);\n"
        << "      skewer_say_signed(&text, \" of args->" << field << " is \", args->" << field << "[at]);\n"
        << "    }\n  }\n";
  }
  out << "  return buffer;\n}\n";
}

} // namespace skewer
