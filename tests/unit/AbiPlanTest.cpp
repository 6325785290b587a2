// Tests what a plan gives: a refusal with a reason, or visible names, a layout, a manifest and a hash.
#include "AbiTesting.h"
#include "codegen/ABI/Layout.h"
#include "llvm/Support/JSON.h"

using namespace skewer;
using namespace skewer::testing;

TEST(Abi, RefusesPlansWithoutACInterface) {
  KernelPlan plan = doublePlan();
  plan.name = "expf";
  EXPECT_NE(messageOf(plan).find("the name is taken by the C library"), std::string::npos);
  plan.name = "double";
  EXPECT_NE(messageOf(plan).find("must be a C identifier"), std::string::npos);
  plan.name = "my kernel";
  EXPECT_NE(messageOf(plan).find("must be a C identifier"), std::string::npos);
  plan = doublePlan();
  plan.inputs[0].shape[0].name = "m";
  EXPECT_NE(messageOf(plan).find("tensor 'x' has the size 'm'"), std::string::npos);
  plan = doublePlan();
  plan.sizes[0] = "n*/";
  EXPECT_NE(messageOf(plan).find("the run-time size 'n*/' must have a C identifier"), std::string::npos);
  plan = doublePlan();
  plan.inputs[0].shape[1].fixed = 0;
  EXPECT_NE(messageOf(plan).find("tensor 'x' has a dimension of 0 elements"), std::string::npos);
  for (const char *name : {"x\"", "x\\", "x\n", "x\xff"}) { // they would end the texts of the header
    plan = doublePlan();
    plan.inputs[0].name = name;
    EXPECT_NE(messageOf(plan).find("the name of tensor 'x\\"), std::string::npos) << messageOf(plan);
    EXPECT_NE(messageOf(plan).find("rename it"), std::string::npos);
  }
  plan = doublePlan();
  plan.phases[0].function = "absent";
  EXPECT_NE(messageOf(plan).find("function 'absent' is not defined"), std::string::npos);
  plan = doublePlan();
  plan.inputs.push_back(plan.inputs[0]);
  EXPECT_NE(messageOf(plan).find("has 23 parameters in flat form, expected 28"), std::string::npos);
}

TEST(Abi, RefusesCodeThatNeedsARuntime) {
  std::string text = kPhases;
  text.insert(text.find("  return"), "  func.call @elsewhere() : () -> ()\n");
  text += "func.func private @elsewhere()\n";
  EXPECT_NE(
      messageOf(doublePlan(), text.c_str()).find("the code calls 'elsewhere', which is neither in libc nor in libm"),
      std::string::npos);
}

TEST(Abi, OnlyTheEntriesAreVisibleAndPhasesKnowTheirMemory) {
  llvm::LLVMContext context;
  Target target = plainTarget();
  target.features = "+sse4.2";
  auto module = emit(context, doublePlan(), target);
  ASSERT_TRUE(bool(module));
  std::vector<std::string> visible;
  for (llvm::Function &function : **module) {
    if (function.isDeclaration())
      continue;
    if (!function.hasLocalLinkage())
      visible.push_back(function.getName().str());
    // Code that runs before the check of the processor is for every x86-64; the rest is for the target.
    bool isPhase = function.getName() == "twice.copy" || function.getName() == "twice.double";
    EXPECT_EQ(function.getFnAttribute("target-features").getValueAsString(), isPhase ? "+sse4.2" : "+sse2")
        << function.getName().str();
    // A function that calls the caller's parallel_for lets exceptions pass.
    EXPECT_EQ(function.doesNotThrow(), function.getName() != "twice") << function.getName().str();
  }
  llvm::sort(visible);
  EXPECT_EQ(visible, (std::vector<std::string>{"twice", "twice_info", "twice_items", "twice_phases", "twice_raw",
                                               "twice_workspace_bytes"}));
  llvm::Function *phase = (*module)->getFunction("twice.double");
  ASSERT_TRUE(phase);
  for (unsigned descriptor : {0u, 5u, 11u, 16u}) { // x, out, shared, local; n lies between
    EXPECT_TRUE(phase->getArg(descriptor)->use_empty());
    EXPECT_TRUE(phase->getArg(descriptor + 1)->hasNoAliasAttr());
  }
  EXPECT_TRUE(phase->getArg(1)->onlyReadsMemory());
  EXPECT_FALSE(phase->getArg(6)->onlyReadsMemory());
  EXPECT_EQ(phase->getArg(17)->getParamAlign(), llvm::MaybeAlign(64));
}

TEST(Abi, RefusesAnUnknownProcessor) {
  Target target = plainTarget();
  target.cpu = "abacus";
  llvm::LLVMContext context;
  auto module = emit(context, doublePlan(), target);
  ASSERT_FALSE(bool(module));
  EXPECT_NE(llvm::toString(module.takeError()).find("knows no processor 'abacus'"), std::string::npos);
}

TEST(Abi, FieldNamesAreFreeInC) {
  KernelPlan plan = doublePlan();
  plan.inputs = {{"out", {}, {}}, {"register", {}, {}}, {"q0", {}, {}}, {"__x", {}, {}}, {"out_", {}, {}}};
  plan.sizes = {"n", "size"};
  ArgumentLayout layout = layoutOf(plan);
  EXPECT_EQ(layout.inputs, (std::vector<std::string>{"out_", "register_", "q0_", "xx", "out_2"}));
  EXPECT_EQ(layout.sizes, (std::vector<std::string>{"n", "size_"}));
  EXPECT_EQ(layout.bytes(), 8u * (1 + 5 + 1 + 2 + 3));
  plan.outputs = {{"int", {}, {}}, {"register", {}, {}}};
  EXPECT_EQ(layoutOf(plan).inputs.front(), "out"); // results with names leave it free
  EXPECT_EQ(layoutOf(plan).outputs, (std::vector<std::string>{"int_", "register_2"}));
}

TEST(Abi, ManifestSaysWhatTheHeaderSays) {
  std::string text = manifestText(doublePlan(), plainTarget(), "0123456789abcdef", R"({"note": 1})");
  EXPECT_EQ(text, manifestText(doublePlan(), plainTarget(), "0123456789abcdef", R"({"note": 1})"));
  auto manifest = llvm::json::parse(text);
  ASSERT_TRUE(bool(manifest));
  const llvm::json::Object &object = *manifest->getAsObject();
  EXPECT_EQ(object.getString("name"), llvm::StringRef("twice"));
  EXPECT_EQ(object.getInteger("abi_version"), 1);
  EXPECT_EQ(object.getString("spec_hash"), llvm::StringRef("0123456789abcdef"));
  const llvm::json::Object &input = *(*object.getArray("inputs"))[0].getAsObject();
  EXPECT_EQ(input.getString("type"), llvm::StringRef("f32"));
  EXPECT_EQ(*input.get("shape"), llvm::json::Value(llvm::json::Array{"n", 4}));
  EXPECT_EQ(object.getObject("workspace")->getInteger("bytes_per_worker"), 64);
  EXPECT_EQ(object.getObject("details")->getInteger("note"), 1);
  EXPECT_EQ(input.get("range"), nullptr);
  auto indexed = llvm::json::parse(manifestText(indexedPlan(), plainTarget(), "0123456789abcdef"));
  ASSERT_TRUE(bool(indexed));
  const llvm::json::Object &seg = *(*indexed->getAsObject()->getArray("inputs"))[1].getAsObject();
  EXPECT_EQ(seg.getString("type"), llvm::StringRef("i32"));
  EXPECT_EQ(*seg.get("range"), llvm::json::Value(llvm::json::Array{-2, 1}));
  EXPECT_EQ(seg.get("deviation"), nullptr);
  EXPECT_EQ(seg.get("range_ends"), nullptr);
  KernelPlan ofLengths = indexedPlan();
  ofLengths.inputs[1].range->ends = {Extent{"", -2}, Extent{"n + 1", 1}};
  auto ends = llvm::json::parse(manifestText(ofLengths, plainTarget(), "0123456789abcdef"));
  ASSERT_TRUE(bool(ends));
  EXPECT_EQ(*(*ends->getAsObject()->getArray("inputs"))[1].getAsObject()->get("range_ends"),
            llvm::json::Value(llvm::json::Array{-2, "n + 1"}));
  KernelPlan weighted = indexedPlan();
  weighted.inputs[0].deviation = 0.25;
  auto deviating = llvm::json::parse(manifestText(weighted, plainTarget(), "0123456789abcdef"));
  ASSERT_TRUE(bool(deviating));
  EXPECT_EQ((*deviating->getAsObject()->getArray("inputs"))[0].getAsObject()->getNumber("deviation"), 0.25);
}

TEST(Abi, HashDependsOnTextAndParametersAndNotOnTheirOrder) {
  std::string hash = hashOfSpec("kernel", {{"N", "4"}, {"D", "8"}});
  EXPECT_EQ(hash.size(), 16u);
  EXPECT_EQ(hash, hashOfSpec("kernel", {{"D", "8"}, {"N", "4"}}));
  EXPECT_NE(hash, hashOfSpec("kernel", {{"N", "8"}, {"D", "4"}}));
  EXPECT_NE(hash, hashOfSpec("kernel ", {{"N", "4"}, {"D", "8"}}));
}

TEST(Abi, AssemblyListsTheEntries) {
  llvm::LLVMContext context;
  auto module = emit(context, doublePlan(), plainTarget());
  ASSERT_TRUE(bool(module));
  ASSERT_FALSE(bool(optimize(**module, plainTarget())));
  auto text = emitObject(**module, plainTarget(), /*assembly=*/true);
  ASSERT_TRUE(bool(text));
  for (const char *name :
       {"twice:", "twice_raw:", "twice_phases:", "twice_items:", "twice_workspace_bytes:", "twice_info:"})
    EXPECT_NE(text->find(std::string("\n") + name), std::string::npos) << name;
}
