// Tests machine files with one mistake: each field, each part of it, each kind of value. The error names the field, and
// the line and column of the mistake.
#include "passes/Schedule/GpuMachine.h"
#include "passes/Schedule/JsonPlaces.h"
#include "passes/Schedule/Machine.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace skewer;
namespace json = llvm::json;

namespace {
/// Returns the text of a machine that comes with Skewer.
llvm::StringRef someText() { return machineTexts().front().text; }

std::string errorOf(const std::string &text) {
  auto machine = parseMachine(text, "my.json", /*forCode=*/false);
  if (machine)
    return "";
  return llvm::toString(machine.takeError());
}

/// Returns the text with the value of a field's part replaced, and the place of the value.
std::string withPart(llvm::StringRef field, llvm::StringRef part, const std::string &value, std::string *place) {
  llvm::StringRef text = someText();
  std::string path = (field + "." + part).str();
  for (const JsonMember &member : jsonMembers(text)) {
    if (member.path != path)
      continue;
    // Values are numbers or texts of one line.
    size_t end =
        text[member.value] == '"' ? text.find('"', member.value + 1) + 1 : text.find_first_of(",}", member.value);
    auto [line, column] = lineAndColumn(text, member.value);
    *place = llvm::formatv("my.json:{0}:{1}: error: ", line, column);
    return (text.take_front(member.value) + value + text.drop_front(end)).str();
  }
  ADD_FAILURE() << "no " << path;
  return "";
}

/// Returns the text without the line that begins with this member.
std::string withoutLine(llvm::StringRef member) {
  llvm::SmallVector<llvm::StringRef> lines;
  someText().split(lines, '\n');
  llvm::erase_if(lines, [&](llvm::StringRef line) { return line.ltrim().starts_with(("\"" + member + "\"").str()); });
  std::string text = llvm::join(lines, "\n");
  size_t comma = text.find(",\n}"); // of the line that is now the last
  return comma == std::string::npos ? text : text.erase(comma, 1);
}

TEST(MachineErrors, TheTextItselfIsRight) {
  EXPECT_EQ(errorOf(someText().str()), "");
  EXPECT_EQ(errorOf(withoutLine("about")), "") << "which may be left out";
}

TEST(MachineErrors, EveryFieldIsNeeded) {
  for (const MachineField &field : machineFields()) {
    if (field.isOptional) {
      EXPECT_EQ(errorOf(withoutLine(field.name)), "");
      continue;
    }
    std::string error = errorOf(withoutLine(field.name));
    EXPECT_TRUE(llvm::StringRef(error).starts_with("my.json:1:1: error: '" + field.name.str() + "' is missing"))
        << error;
    EXPECT_TRUE(llvm::StringRef(error).contains(field.unit)) << error << " says what is expected";
  }
  for (const char *text : {"name", "cpu", "features"})
    EXPECT_EQ(errorOf(withoutLine(text)),
              std::string("my.json:1:1: error: '") + text + "' is missing: expected a text");
}

/// Tests values outside both ends of the range, between whole numbers, and values that are no numbers.
TEST(MachineErrors, ValuesAreInTheirRange) {
  for (const MachineField &field : machineFields()) {
    std::vector<std::string> wrong = {"\"4\"", "true", "null", "-1", "1e30"};
    if (field.least > 0)
      wrong.push_back("0");
    if (field.count)
      wrong.push_back(llvm::formatv("{0}", field.least + 0.5).str());
    if (field.isPowerOfTwo)
      wrong.push_back(llvm::formatv("{0}", int64_t(field.least) + 1).str());
    for (const std::string &value : wrong) {
      std::string place;
      std::string error = errorOf(withPart(field.name, "value", value, &place));
      EXPECT_TRUE(llvm::StringRef(error).starts_with(place + field.name.str() + ": expected " + field.range()))
          << field.name.str() << " = " << value << " gives " << error;
    }
    for (double end : {field.least, field.most}) {
      if (field.isPowerOfTwo && std::exp2(std::floor(std::log2(end))) != end)
        continue;
      std::string place;
      std::string error = errorOf(withPart(field.name, "value", llvm::formatv("{0}", json::Value(end)).str(), &place));
      EXPECT_FALSE(llvm::StringRef(error).contains(field.name.str() + ": expected " + field.range()))
          << "the end of the range is in it: " << error;
    }
  }
}

TEST(MachineErrors, UnitsAndSourcesAreStated) {
  for (const MachineField &field : machineFields()) {
    std::string place;
    std::string error = errorOf(withPart(field.name, "unit", "\"furlongs\"", &place));
    EXPECT_EQ(error, place + field.name.str() + ": expected the unit \"" + field.unit.str() + "\", found \"furlongs\"");
    for (const char *source : {"\"\"", "\"  \"", "7"}) {
      error = errorOf(withPart(field.name, "source", source, &place));
      EXPECT_TRUE(llvm::StringRef(error).starts_with(place + field.name.str() + ": expected a text that says where"))
          << error;
    }
  }
}

TEST(MachineErrors, NamesAreKnownAndGivenOnce) {
  auto changed = [](llvm::StringRef from, llvm::StringRef to) {
    std::string text = someText().str();
    size_t place = text.find(from.str());
    EXPECT_NE(place, std::string::npos);
    return text.replace(place, from.size(), to.str());
  };
  EXPECT_TRUE(llvm::StringRef(errorOf(changed("\"l2_rate\"", "\"l2_rats\"")))
                  .contains("unknown field 'l2_rats' (did you mean 'l2_rate'?)"));
  EXPECT_TRUE(llvm::StringRef(errorOf(changed("\"l3_rate\"", "\"l2_rate\""))).contains("'l2_rate' is given twice"));
  EXPECT_TRUE(llvm::StringRef(errorOf(changed("{\"value\"", "{\"worth\""))).contains("unknown part 'worth'"));
  EXPECT_TRUE(llvm::StringRef(errorOf(changed("\"name\": \"", "\"name\": \"a b"))).contains("name: expected up to 64"));
}

/// Every prefix of the text is an error with a place; none is a machine.
TEST(MachineErrors, TextsThatEndTooSoon) {
  llvm::StringRef text = someText().rtrim();
  for (size_t end = 0; end < text.size(); ++end) {
    std::string error = errorOf(text.take_front(end).str());
    ASSERT_TRUE(llvm::StringRef(error).starts_with("my.json:")) << end << " characters: " << error;
    ASSERT_TRUE(llvm::StringRef(error).contains(": error: ")) << error;
  }
}

TEST(MachineErrors, ObjectsInObjectsAreNoMachine) {
  std::string deep = "{\"name\": " + std::string(100000, '[') + std::string(100000, ']') + "}";
  EXPECT_TRUE(llvm::StringRef(errorOf(deep)).contains("in each other 5 deep"));
  EXPECT_TRUE(llvm::StringRef(errorOf("[]")).contains("expected an object of a machine's fields, found a list"));
  EXPECT_TRUE(llvm::StringRef(errorOf("7")).contains("found 7"));
}

//===- GPUs ------------------------------------------------------------------------===//

/// Returns the error of the first GPU's file after `change`, without its place.
std::string gpuErrorAfter(llvm::function_ref<void(json::Object &)> change) {
  auto root = json::parse(gpu::gpuMachineTexts().front().text);
  if (!root)
    return llvm::toString(root.takeError());
  change(*root->getAsObject());
  auto description = gpu::parseGpuDescription(llvm::formatv("{0}", *root).str(), "my.json");
  if (description)
    return "";
  std::string error = llvm::toString(description.takeError());
  auto [place, what] = llvm::StringRef(error).split(": error: ");
  EXPECT_TRUE(place.starts_with("my.json:1:"));
  return what.str();
}

TEST(GpuMachineErrors, EveryFieldIsAPositiveNumberWithItsUnit) {
  EXPECT_EQ(gpuErrorAfter([](json::Object &) {}), "");
  for (const gpu::GpuMachineField &field : gpu::gpuMachineFields()) {
    std::string name = field.name.str(), unit = field.unit.str();
    std::string form = "{\"value\": …, \"unit\": \"" + unit + "\", \"source\": \"…\"}";
    EXPECT_EQ(gpuErrorAfter([&](json::Object &all) { all.erase(field.name); }),
              "'" + name + "' is missing: expected " + form);
    auto set = [&](const char *part, json::Value value) {
      return gpuErrorAfter([&](json::Object &all) { (*all.getObject(field.name))[part] = std::move(value); });
    };
    std::string number =
        name + ": expected a positive " + (field.count ? "whole " : "") + "number (" + unit + "), found ";
    for (json::Value value : {json::Value(0), json::Value(-1), json::Value("1"), json::Value(nullptr)})
      EXPECT_EQ(set("value", value), number + llvm::formatv("{0}", value).str());
    EXPECT_EQ(set("value", 1.5), field.count ? number + "1.5" : "");
    EXPECT_EQ(set("unit", "apples"), name + ": expected the unit \"" + unit + "\", found \"apples\"");
    EXPECT_EQ(set("source", " "), name + ": expected a text that says where the value comes from, found \" \"");
    EXPECT_EQ(set("more", 1), name + ": unknown part 'more', expected " + form);
  }
}

TEST(GpuMachineErrors, TargetsEnginesAndDevices) {
  EXPECT_TRUE(llvm::StringRef(gpuErrorAfter([](json::Object &all) {
                all["warp"] = 1;
              })).starts_with("unknown field 'warp' (did you mean 'warps'?); known: about, targets, "));
  const std::string names = "targets: expected a list of names like \"sm_80\"";
  EXPECT_EQ(gpuErrorAfter([](json::Object &all) { all.erase("targets"); }), names);
  EXPECT_EQ(gpuErrorAfter([](json::Object &all) { all["targets"] = json::Array(); }), names);
  EXPECT_EQ(gpuErrorAfter([](json::Object &all) { all["targets"] = json::Array{"gfx90a"}; }), names);
  EXPECT_EQ(gpuErrorAfter([](json::Object &all) { all["targets"] = "sm_80"; }), names + ", found \"sm_80\"");
  EXPECT_EQ(gpuErrorAfter([](json::Object &all) { all["targets"] = json::Array{8}; }), names + ", found 8 in it");
  EXPECT_EQ(gpuErrorAfter([](json::Object &all) { all["engines"] = json::Object(); }),
            "engines: expected an object of rates");
  EXPECT_EQ(gpuErrorAfter([](json::Object &all) { all["devices"] = 3; }), "devices: expected a list of objects");
  EXPECT_EQ(gpuErrorAfter([](json::Object &all) { all["devices"] = json::Array{3}; }),
            "devices: expected a list of objects, found 3 in it");
  EXPECT_EQ(gpuErrorAfter([](json::Object &all) { all["devices"] = json::Array{json::Object()}; }),
            "'devices[0].name' is missing: expected a text");
  EXPECT_EQ(gpuErrorAfter([](json::Object &all) {
              all["devices"] = json::Array{json::Object{{"title", "x"}}};
            }),
            "unknown field 'devices[0].title'");
  EXPECT_TRUE(llvm::StringRef(gpuErrorAfter([](json::Object &all) {
                all["devices"] = json::Array{json::Object{{"name", "x"}}};
              })).starts_with("'devices[0].processors' is missing"));
}

TEST(GpuMachineErrors, PlacesAreThoseOfTheText) {
  llvm::ArrayRef<MachineText> texts = gpu::gpuMachineTexts();
  auto hasDevices = [](const MachineText &one) { return llvm::StringRef(one.text).contains("\"GHz\""); };
  auto found = llvm::find_if(texts, hasDevices);
  ASSERT_NE(found, texts.end());
  std::string text = found->text;
  size_t at = text.find("\"GHz\"");
  text.replace(at, 5, "\"MHz\"");
  auto [line, column] = lineAndColumn(text, at);
  EXPECT_GT(line, 1u);
  auto description = gpu::parseGpuDescription(text, "my.json");
  ASSERT_FALSE(description);
  EXPECT_EQ(
      llvm::toString(description.takeError()),
      llvm::formatv("my.json:{0}:{1}: error: devices[0].clock: expected the unit \"GHz\", found \"MHz\"", line, column)
          .str());
}
} // namespace
