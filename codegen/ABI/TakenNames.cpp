// Lists the names that a kernel or a field must not have: keywords, Skewer's own names, and names of C's headers and
// libraries (LibraryNames.inc).
#include "codegen/ABI/TakenNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace llvm;

namespace skewer {
namespace {

#include "codegen/ABI/LibraryNames.inc"

// Words that cannot name a field or a function in C99 or C++20, and predefined macros.
const char kWords[] =
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class "
    "compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype "
    "default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline "
    "int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public "
    "register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast "
    "struct switch template this thread_local throw true try typedef typeid typename typeof union unsigned using "
    "virtual void volatile wchar_t while xor xor_eq linux unix NULL main ";

// The types in a kernel's header. In C++, a struct that uses them cannot have a member of that name.
const char kTypes[] = "size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t";

class Words {
public:
  explicit Words(StringRef text) {
    SmallVector<StringRef> words;
    text.split(words, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef word : words)
      set.insert(word);
  }
  bool contains(StringRef name) const { return set.contains(name); }

private:
  StringSet<> set;
};

bool isWord(StringRef name) {
  static const Words words(kWords);
  // Names with a double underscore or a leading underscore are reserved for the implementation.
  return words.contains(name) || name.starts_with("_") || name.contains("__");
}

bool isMacro(StringRef name) {
  static const Words macros(kMacros);
  // <inttypes.h> defines hundreds of these: PRId64, SCNuFAST16, …
  return macros.contains(name) || name.starts_with("PRI") || name.starts_with("SCN");
}

bool isOurs(StringRef name) { return name.starts_with_insensitive("skewer_"); }

bool isIdentifier(StringRef name) {
  return !name.empty() && !isDigit(name.front()) && all_of(name, [](char c) { return isAlnum(c) || c == '_'; });
}

} // namespace

bool isTakenField(StringRef name) {
  static const Words types(kTypes);
  return isWord(name) || isMacro(name) || types.contains(name) || isOurs(name);
}

std::string whyNoKernel(StringRef name) {
  static const Words functions(kFunctions);
  if (!isIdentifier(name) || isWord(name) || name == "std")
    return "the name must be a C identifier that C and C++ leave free; choose another";
  if (isOurs(name))
    return "names that begin with 'skewer_' are those of every kernel's header; choose another";
  if (isMacro(name))
    return "the name is that of a macro of C's headers; choose another";
  if (functions.contains(name))
    return "the name is taken by the C library: a function, a variable or a type of it; choose another";
  return "";
}

std::vector<std::string> declaredNames(StringRef kernel) {
  // Suffixes of all kernels, of kernels with several codes or `const` operands, and of kernels for GPUs.
  const char *const kSuffixes[] = {"", "_args", "_args_init", "_raw", "_phases", "_items", "_workspace_bytes", "_info",
                                   "_status_text", "_explain", "_code", "_prepared_bytes", "_prepare", "_prepared",
                                   "_cuda", "_cuda_workspace_bytes", "_cuda_prepare", "_cuda_unload",
                                   "_cuda_prepared_bytes", "_cuda_prepare_const", "_cuda_prepared"};
  std::vector<std::string> names;
  for (const char *suffix : kSuffixes)
    names.push_back((kernel + suffix).str());
  return names;
}

} // namespace skewer
