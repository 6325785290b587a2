// Tests machine files: those that come with Skewer, reading and writing, and a machine's description of itself.
#include "passes/Schedule/Machine.h"
#include "passes/Schedule/JsonPlaces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <gtest/gtest.h>

using namespace skewer;

namespace {

TEST(Machine, FilesAreInTheFormThatIsWritten) {
  ASSERT_EQ(machineTexts().size(), knownMachines().size());
  for (const MachineText &file : machineTexts()) {
    auto machine = parseMachine(file.text, file.name, /*forCode=*/false);
    ASSERT_TRUE(bool(machine)) << llvm::toString(machine.takeError());
    EXPECT_EQ(machine->target.name, file.name);
    EXPECT_EQ(textOf(*machine), file.text);
    EXPECT_FALSE(machine->about.empty()) << file.name;
    EXPECT_FALSE(machine->origin.empty()) << file.name;
  }
}

TEST(Machine, NoProcessorHasTwoDescriptions) {
  llvm::StringSet<> seen;
  for (const Machine &machine : knownMachines())
    for (const std::string &cpu : machine.cpus)
      EXPECT_TRUE(seen.insert(cpu).second) << cpu;
  EXPECT_TRUE(seen.contains("emeraldrapids"));
  EXPECT_TRUE(seen.contains("skylake-avx512"));
}

TEST(Machine, WhatIsWrittenIsRead) {
  Machine machine = hostMachine();
  machine.about = "quotes \" and umlauts äöü";
  machine.set("l2_rate", 31 / 3.0, "of no short decimal form");
  auto read = parseMachine(textOf(machine), "host.json");
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  EXPECT_EQ(read->about, machine.about);
  EXPECT_EQ(read->cpus, machine.cpus);
  EXPECT_EQ(read->sources, machine.sources);
  EXPECT_EQ(read->target.features, machine.target.features);
  for (const MachineField &field : machineFields())
    EXPECT_EQ(field.of(read->target), field.of(machine.target)) << field.name.str();
}

TEST(Machine, TheHostIsDescribedTheSameEveryTime) {
  EXPECT_EQ(textOf(hostMachine()), textOf(hostMachine()));
  HostCaches caches = hostCaches();
  if (caches.l1 > 0 && caches.l2 >= 32 << 10) {
    EXPECT_EQ(hostTarget().l1Bytes, caches.l1);
    EXPECT_EQ(hostTarget().l2Bytes, caches.l2);
  }
}

/// Makes a folder like that of a core's caches.
class CacheFolder {
public:
  CacheFolder() { EXPECT_FALSE(llvm::sys::fs::createUniqueDirectory("caches", folder)); }
  ~CacheFolder() { llvm::sys::fs::remove_directories(folder); }
  void add(const char *index, const char *level, const char *type, const char *size) {
    llvm::SmallString<128> cache(folder);
    llvm::sys::path::append(cache, index);
    EXPECT_FALSE(llvm::sys::fs::create_directory(cache));
    for (auto [name, text] : {std::pair("level", level), std::pair("type", type), std::pair("size", size)}) {
      std::error_code code;
      llvm::raw_fd_ostream((cache + "/" + name).str(), code) << text << "\n";
      EXPECT_FALSE(code);
    }
  }
  llvm::SmallString<128> folder;
};

TEST(Machine, CachesAreThoseOfData) {
  CacheFolder caches;
  caches.add("index0", "1", "Data", "48K");
  caches.add("index1", "1", "Instruction", "64K");
  caches.add("index2", "2", "Unified", "2048K");
  caches.add("index3", "3", "Unified", "260M");
  HostCaches found = readCaches(caches.folder);
  EXPECT_EQ(found.l1, 48 << 10);
  EXPECT_EQ(found.l2, 2 << 20);
  EXPECT_EQ(found.l3, 260 << 20);
}

TEST(Machine, CachesThatAreNoNumbersAreUnknown) {
  CacheFolder caches;
  caches.add("index0", "1", "Data", "large");
  caches.add("index2", "2", "Unified", "99999999999999999999K");
  HostCaches found = readCaches(caches.folder);
  EXPECT_EQ(found.l1, 0);
  EXPECT_EQ(found.l2, 0);
  EXPECT_EQ(readCaches("/no/such/folder").l1, 0);
}

TEST(JsonPlaces, MembersAreWhereTheyStand) {
  llvm::StringRef text = "{\n  \"a\": {\"b\": 1, \"c\\\"\": [\"x\"]},\n  \"d\" : 2}";
  std::vector<JsonMember> members = jsonMembers(text);
  ASSERT_EQ(members.size(), 4u);
  EXPECT_EQ(members[0].path, "a");
  EXPECT_EQ(members[1].path, "a.b");
  EXPECT_EQ(lineAndColumn(text, members[1].value), std::pair(2u, 14u));
  EXPECT_EQ(members[3].path, "d");
  EXPECT_EQ(lineAndColumn(text, members[3].key), std::pair(3u, 3u));
  EXPECT_EQ(lineAndColumn(text, members[3].value), std::pair(3u, 9u));
}

TEST(JsonPlaces, ElementsOfListsHaveNumbers) {
  std::vector<std::string> paths;
  for (const JsonMember &member : jsonMembers("{\"a\": [{\"b\": 1, \"c\": 2}, {\"b\": [[{\"d\": \",\"}]]}], \"e\": 3}"))
    paths.push_back(member.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"a", "a[0].b", "a[0].c", "a[1].b", "a[1].b[0][0].d", "e"}));
}

TEST(JsonPlaces, MalformedTextsEnd) {
  for (llvm::StringRef text : {"", "\"", "{\"a", "{\"a\"", "{\"a\":", "}}]]", "{\"a\\", "\\\"{"}) {
    for (const JsonMember &member : jsonMembers(text))
      EXPECT_LE(member.value, text.size()) << text.str();
    EXPECT_EQ(jsonDeeperThan(text, 1), llvm::StringRef::npos) << text.str();
  }
  EXPECT_EQ(jsonDeeperThan("[[[1]]]", 2), 2u);
  EXPECT_EQ(jsonDeeperThan("[[\"[[[[\"]]", 2), llvm::StringRef::npos);
}

TEST(Machine, TilesAreLeftOutByName) {
  for (const char *name : {"sapphirerapids", "emeraldrapids", "graniterapids"}) {
    Target with = *findTarget(name), without = *findTarget(std::string(name) + ":no-amx");
    EXPECT_GT(with.tileStepsPerCycle, 0) << name;
    EXPECT_TRUE(hasFeature(with, "amx-tile") && hasFeature(with, "amx-bf16")) << name;
    EXPECT_EQ(without.tileStepsPerCycle, 0) << name;
    EXPECT_EQ(without.name, with.name);
    for (const MachineField &field : machineFields())
      if (field.name != "amx_rate")
        EXPECT_EQ(field.of(without), field.of(with)) << name << " " << field.name.str();
    // Passes get the spelling.
    EXPECT_EQ(findTarget(without.spelling())->tileStepsPerCycle, 0);
    EXPECT_EQ(withoutTiles(without).spelling(), without.spelling());
  }
  EXPECT_FALSE(findTarget("nobody:no-amx"));
  EXPECT_FALSE(findTarget("emeraldrapids:no-amx:no-amx:other"));
  EXPECT_FALSE(findTarget(":no-amx"));
}

TEST(Machine, ANameHasTwoParts) {
  TargetName file("my.json:no-amx"), machine("emeraldrapids");
  EXPECT_EQ(file.machine, "my.json");
  EXPECT_TRUE(file.isFile() && !file.usesTiles);
  EXPECT_EQ(machine.machine, "emeraldrapids");
  EXPECT_TRUE(machine.usesTiles && !machine.isFile());
}

// Emerald Rapids and Granite Rapids have been scheduled as Sapphire Rapids. What differs is used for predictions only.
TEST(Machine, ProcessorsWithAmxScheduleOtherLayersAlike) {
  Target first = *findTarget("sapphirerapids");
  for (const char *name : {"emeraldrapids", "graniterapids"})
    for (const MachineField &field : machineFields())
      if (field.name != "clock" && field.name != "memory_rate")
        EXPECT_EQ(field.of(*findTarget(name)), field.of(first)) << name << " " << field.name.str();
}

TEST(Machine, FeaturesAreThoseOfTheProcessorAndWhatIsSaidOfThem) {
  EXPECT_TRUE(hasFeature(*findTarget("zen4"), "avx512bf16"));
  EXPECT_TRUE(hasFeature(*findTarget("sapphirerapids"), "avx512bf16"));
  EXPECT_FALSE(hasFeature(*findTarget("cascadelake"), "avx512bf16"));
  EXPECT_FALSE(hasFeature(*findTarget("x86-64-v4"), "avx512bf16"));
  Target target = *findTarget("zen4");
  target.features = "+avx512bf16,-avx512bf16"; // a hypervisor hides it
  EXPECT_FALSE(hasFeature(target, "avx512bf16"));
  target.cpu = "x86-64-v4", target.features = "-sha,+avx512bf16";
  EXPECT_TRUE(hasFeature(target, "avx512bf16"));
  target.cpu = "nobody", target.features = "";
  EXPECT_FALSE(hasFeature(target, "avx512bf16"));
}
} // namespace
