// Tests the header and the object file with a C compiler.
#include "AbiTesting.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace skewer;
using namespace skewer::testing;

namespace {
/// Writes the files and runs this build's compiler on them; returns 0 if it accepts them.
class CompilerTest : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("skewer-abi", folder)); }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }
  void write(const char *name, llvm::StringRef text) {
    std::error_code error;
    llvm::raw_fd_ostream(path(name), error) << text;
    ASSERT_FALSE(error);
  }
  std::string path(llvm::StringRef name) { return (folder + "/" + name).str(); }
  int execute(const char *program, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), program);
    std::string why;
    int code = llvm::sys::ExecuteAndWait(
        program, llvm::SmallVector<llvm::StringRef>(arguments.begin(), arguments.end()), std::nullopt, {}, 0, 0, &why);
    EXPECT_EQ(why, "");
    return code;
  }
  llvm::SmallString<128> folder;
};

TEST_F(CompilerTest, HeadersAreCleanCAndCxxBesideEachOther) {
  KernelPlan second = doublePlan();
  second.name = "other";
  second.inputs.push_back({"class", ElementType::BF16, {{"", 3}}, std::nullopt});
  second.inputs.push_back({"seg", ElementType::I32, {{"n", 1}}, IndexRange{-2, 31}});
  second.outputs.front().type = ElementType::F16;
  write("twice.h", headerText(doublePlan(), "0123456789abcdef"));
  write("other.h", headerText(second, "fedcba9876543210"));
  EXPECT_NE(headerText(second, "").find("const int32_t *seg; /* i32[n], every element within -2..31 */"),
            std::string::npos);
  write("use.c", "#include \"twice.h\"\n#include \"other.h\"\n#include \"twice.h\"\n");
  write("use.cpp", "#include \"other.h\"\n#include \"twice.h\"\n");
  EXPECT_EQ(execute(SKEWER_C_COMPILER,
                    {"-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", path("use.c")}),
            0);
  for (const char *standard : {"-std=c++11", "-std=c++20"})
    EXPECT_EQ(execute(SKEWER_CXX_COMPILER,
                      {standard, "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", path("use.cpp")}),
              0);
}

constexpr const char *kCaller = R"c(
#include "twice.h"
#include <string.h>
static _Alignas(64) unsigned char space[64 * 8];
int main(void) {
  float x[12], out[12];
  for (int k = 0; k < 12; ++k) x[k] = (float)k, out[k] = -1;
  twice_args args = twice_args_init();
  skewer_exec exec = skewer_exec_init();
  args.x = x; args.out = out; args.n = 3;
  exec.workspace = space; exec.workspace_bytes = sizeof space;
  if (twice_workspace_bytes(&args, NULL) != 64 * 4) return 1;
  if (twice(NULL, &exec) != SKEWER_NULL_ARGS) return 2;
  if (twice(&args, NULL) != SKEWER_NULL_EXEC) return 3;
  args.size += 8;
  if (twice(&args, &exec) != SKEWER_BAD_ARGS_SIZE) return 4;
  if (twice_workspace_bytes(&args, &exec) != SIZE_MAX || twice_items(&args, 0) != -1) return 5;
  args.size -= 8; args.version = 2;
  if (twice(&args, &exec) != SKEWER_BAD_ARGS_VERSION) return 6;
  args.version = 1; args.head0 = 1;
  if (twice(&args, &exec) != SKEWER_BAD_ORIGIN) return 7;
  args.head0 = 0;
  if (twice_phases() != 2 || twice_items(&args, 1) != 3 || twice_items(&args, 2) != -1) return 8;
  if (twice_raw(&args, &exec, 2, 0, 1, 0) != SKEWER_BAD_PHASE) return 9;
  if (twice_raw(&args, &exec, 0, 0, 4, 0) != SKEWER_BAD_RANGE) return 10;
  if (twice_raw(&args, &exec, 0, 2, 1, 0) != SKEWER_BAD_RANGE) return 11;
  if (twice_raw(&args, &exec, 0, 0, 1, 1) != SKEWER_BAD_RANGE) return 12;
  if (twice_raw(&args, &exec, 0, 0, 1, -1) != SKEWER_BAD_RANGE) return 13;
  for (int k = 0; k < 12; ++k) if (out[k] != -1) return 14;
  for (int32_t phase = 0; phase < twice_phases(); ++phase)
    for (int64_t item = 3; item-- > 0;)
      if (twice_raw(&args, &exec, phase, item, item + 1, 0) != SKEWER_OK) return 15;
  for (int k = 0; k < 12; ++k) if (out[k] != 2 * x[k]) return 16;
  if (strcmp(skewer_status_text(SKEWER_OK), "done") != 0) return 17;
  if (!strstr(skewer_status_text(SKEWER_BAD_ORIGIN), "0 where the kernel has no such part")) return 21;
  if (twice_status_text(SKEWER_BAD_INDEX) != skewer_status_text(SKEWER_BAD_INDEX)) return 20;
  if (!strstr(twice_info(), "0123456789abcdef")) return 18;
  return twice(&args, &exec) == SKEWER_OK ? 0 : 19;
}
)c";

TEST_F(CompilerTest, ObjectFileIsReproducibleAndLinksWithACProgram) {
  std::string objects[2];
  for (std::string &object : objects) {
    llvm::LLVMContext context;
    auto module = emit(context, doublePlan(), plainTarget());
    ASSERT_TRUE(bool(module));
    ASSERT_FALSE(bool(optimize(**module, plainTarget())));
    auto bytes = emitObject(**module, plainTarget());
    ASSERT_TRUE(bool(bytes));
    object = *bytes;
  }
  EXPECT_TRUE(objects[0] == objects[1]);
  write("twice.o", objects[0]);
  write("twice.h", headerText(doublePlan(), "0123456789abcdef"));
  write("use.c", kCaller);
  ASSERT_EQ(
      execute(SKEWER_C_COMPILER, {"-std=c11", "-Wall", "-Werror", path("use.c"), path("twice.o"), "-o", path("use")}),
      0);
  EXPECT_EQ(execute(path("use").c_str(), {}), 0);
}
} // namespace
