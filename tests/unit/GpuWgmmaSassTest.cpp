// Tests what ptxas makes of kernels on wgmma, where ptxas and cuobjdump are: it must not let products run one after
// another, spill registers or drop their moves, and the loop over keys must have the instructions that were written.
#include "codegen/GPU/Sass.h"
#include "tests/unit/GpuCodeBuilder.h"
#include "tests/unit/LanguageTesting.h"
#include "llvm/Support/Regex.h"

using namespace skewer;
using namespace skewer::testing;

namespace {

/// The text of a known layer in bf16, with heads of this width.
std::string known(const std::string &name, int64_t dim) {
  std::string text = fileText(SKEWER_SOURCE_DIR "/tests/bench/specs/" + name + ".attn");
  for (auto [from, to] :
       {std::pair<std::string, std::string>("f32[", "bf16["), {"dim = 64", "dim = " + std::to_string(dim)}})
    for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  return text;
}

/// The instructions of a kernel by their names, in order, and the shortest loop with so many products and exponentials.
struct Code {
  Code(llvm::StringRef sass, const std::string &kernel, size_t products, size_t exponentials)
      : products(products), exponentials(exponentials) {
    llvm::SmallVector<llvm::StringRef> lines;
    sass.split(lines, '\n');
    llvm::Regex form("/\\*([0-9a-f]+)\\*/ +(@!?U?P[0-9T]+ )?([A-Z][A-Z0-9_.]+)(.*)");
    bool inside = false;
    std::vector<uint64_t> addresses;
    for (llvm::StringRef line : lines) {
      if (llvm::StringRef text = line.trim(); text.consume_front("Function :"))
        inside = text.trim() == kernel;
      llvm::SmallVector<llvm::StringRef> found;
      if (!inside || !form.match(line, &found))
        continue;
      uint64_t address = 0, target = 0;
      found[1].getAsInteger(16, address);
      addresses.push_back(address);
      names.push_back(found[3].str());
      llvm::StringRef operands = found[4].split(';').first; // its bits stand behind
      size_t place = operands.rfind("0x");
      if (found[3].starts_with("BRA") && place != llvm::StringRef::npos &&
          !operands.drop_front(place + 2).take_while(llvm::isHexDigit).getAsInteger(16, target) && target < address)
        noteLoop(size_t(llvm::lower_bound(addresses, target) - addresses.begin()), names.size());
    }
  }
  /// Returns the number of instructions whose names begin so.
  static size_t count(llvm::ArrayRef<std::string> in, llvm::StringRef name) {
    return size_t(llvm::count_if(in, [&](llvm::StringRef one) { return one.starts_with(name); }));
  }
  size_t all(llvm::StringRef name) const { return count(names, name); }
  size_t inLoop(llvm::StringRef name) const { return count(llvm::ArrayRef(names).slice(begin, end - begin), name); }

  std::vector<std::string> names;
  size_t begin = 0, end = 0; // of the loop

private:
  void noteLoop(size_t from, size_t to) {
    auto inside = llvm::ArrayRef(names).slice(from, to - from);
    if (count(inside, "HGMMA") >= products && count(inside, "MUFU.EX2") >= exponentials &&
        (end == begin || to - from < end - begin))
      begin = from, end = to;
  }
  size_t products, exponentials;
};

/// A layer, the width of its heads, the engine, and how regular rows are copied.
using SassCase = std::tuple<const char *, int, const char *, const char *>;
class GpuWgmmaSass : public ::testing::TestWithParam<SassCase> {};

TEST_P(GpuWgmmaSass, HasWhatWasWritten) {
  std::optional<SassTools> tools = findSassTools();
  if (!tools)
    GTEST_SKIP() << "no ptxas or no cuobjdump";
  auto [name, dim, engine, copies] = GetParam();
  GpuCodeBuilder builder(known(name, dim));
  builder.pinned.engine = engine;
  builder.pinned.copies = copies;
  builder.pinned.rows = 128; // so that registers are moved
  auto code = builder.build(*gpu::findGpuTarget("sm_90a"), tools->ptxas);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  ASSERT_TRUE(*code);
  EXPECT_EQ((*code)->resources.warnings, "");
  EXPECT_EQ((*code)->resources.losses, "");
  EXPECT_EQ((*code)->resources.spilledBytes, 0);
  const gpu::GpuLaunch &launch = (*code)->program.launches.front();
  auto sass = gpu::disassemble((*code)->cubin, tools->cuobjdump);
  ASSERT_TRUE(bool(sass)) << llvm::toString(sass.takeError());
  // 16 elements of the depth, then 16 keys, for each instruction. A thread has half of a row's scores.
  auto products = size_t(dim / 16 + launch.keys / 16);
  bool isBoxed = !launch.boxKernel.empty();
  EXPECT_EQ(isBoxed, llvm::StringRef(copies) == gpu::kTma);
  Code kernel(*sass, isBoxed ? launch.boxKernel : launch.kernel, products, size_t(launch.keys / 2));
  SCOPED_TRACE(std::to_string(launch.rows) + " rows, " + std::to_string(launch.keys) + " keys");
  ASSERT_LT(kernel.begin, kernel.end) << "a loop with products";
  EXPECT_EQ(kernel.inLoop("HGMMA"), products);
  // What runs ahead has a product of each kind outside of the loop.
  EXPECT_GE(kernel.all("HGMMA"), gpu::factsOf(engine).runsAhead ? 2 * products : products);
  // A fence and a wait for each of the two products.
  EXPECT_EQ(kernel.inLoop("WARPGROUP.ARRIVE"), 2u);
  EXPECT_EQ(kernel.inLoop("WARPGROUP.DEPBAR"), 2u);
  EXPECT_EQ(kernel.all("USETMAXREG"), 2u);
  EXPECT_EQ(kernel.all("STL") + kernel.all("LDL"), 0u);
  // Descriptors stand in uniform registers, which few instructions fill.
  EXPECT_LE(kernel.inLoop("R2UR"), 8u);
  if (!isBoxed)
    return;
  // Boxes of keys, values and windows of tables, in a loop of one warp; threads copy the queries, and what is no such
  // row.
  size_t boxes = 0;
  for (const gpu::GpuTensorMap &map : launch.maps) {
    int64_t rows = launch.keys % map.boxRows == 0 ? launch.keys : launch.rows + launch.keys;
    boxes += size_t(map.columns / map.boxColumns * (rows / map.boxRows));
  }
  EXPECT_GE(boxes, 2u);
  EXPECT_GE(kernel.all("UTMALDG"), boxes);
  EXPECT_EQ(kernel.inLoop("UTMALDG"), 0u);
  Code plain(*sass, launch.kernel, products, size_t(launch.keys / 2));
  EXPECT_EQ(plain.all("UTMALDG"), 0u);
  EXPECT_LT(kernel.all("LDGSTS"), plain.all("LDGSTS"));
  EXPECT_EQ(plain.inLoop("HGMMA"), products);
  EXPECT_LE(plain.inLoop("R2UR"), 8u);
}
INSTANTIATE_TEST_SUITE_P(
    Layers, GpuWgmmaSass,
    ::testing::Values(SassCase("plain-1k", 64, "wgmma", ""), SassCase("plain-1k", 128, "wgmma", ""),
                      SassCase("plain-1k", 64, "wgmma_ahead", ""), SassCase("causal-1k", 128, "wgmma_ahead", ""),
                      SassCase("t5", 64, "wgmma", ""), SassCase("sam-global", 64, "wgmma", ""),
                      SassCase("rel1d-1k", 64, "wgmma", ""), SassCase("rel1d-1k", 128, "wgmma", ""),
                      SassCase("plain-1k", 64, "wgmma", "tma"), SassCase("plain-1k", 64, "wgmma_ahead", "tma"),
                      SassCase("plain-1k", 128, "wgmma_ahead", "tma"), SassCase("causal-1k", 128, "wgmma_ahead", "tma"),
                      SassCase("sam-global", 64, "wgmma", "tma"), SassCase("rel1d-1k", 64, "wgmma", "tma"),
                      SassCase("t5", 64, "wgmma", "tma")),
    [](const auto &info) {
      std::string name = std::get<0>(info.param);
      llvm::erase(name, '-');
      return name + "_" + std::to_string(std::get<1>(info.param)) + "_" + std::get<2>(info.param) +
             (*std::get<3>(info.param) ? "_tma" : "");
    });

} // namespace
