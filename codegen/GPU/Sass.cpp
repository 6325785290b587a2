// Parses the output of cuobjdump to instructions with their jumps, and finds the main loop of a kernel in it.
#include "codegen/GPU/Sass.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

using namespace llvm;
using namespace skewer::gpu;

const char *skewer::gpu::nameOf(InstructionKind kind) {
  constexpr const char *kNames[kInstructionKinds] = {"mma",    "exp2",   "float",   "shuffle",
                                                     "shared", "global", "integer", "other"};
  return kNames[size_t(kind)];
}

InstructionKind skewer::gpu::kindOf(StringRef opcode) {
  StringRef base = opcode.split('.').first;
  auto isOneOf = [&](std::initializer_list<StringRef> names) { return is_contained(names, base); };
  if (isOneOf({"HMMA", "IMMA", "DMMA", "HGMMA", "QGMMA", "UTCHMMA"}))
    return InstructionKind::Matrix;
  if (base == "MUFU")
    return opcode.starts_with("MUFU.EX2") ? InstructionKind::Exponential : InstructionKind::Float;
  if (base == "SHFL")
    return InstructionKind::Shuffle;
  if (isOneOf({"LDS", "STS", "LDSM", "STSM", "ATOMS"}))
    return InstructionKind::Shared;
  if (isOneOf({"LDG", "STG", "LDGSTS", "LD", "ST", "LDL", "STL", "ATOM", "ATOMG", "RED", "REDG", "UBLKCP", "UTMALDG"}))
    return InstructionKind::Global;
  if (isOneOf({"BRA",  "BRX",  "BAR",      "BSSY",   "BSYNC",     "BREAK", "CALL",     "RET",
               "EXIT", "NOP",  "WARPSYNC", "DEPBAR", "LDGDEPBAR", "LDC",   "ULDC",     "LDCU",
               "S2R",  "S2UR", "CS2UR",    "MEMBAR", "ERRBAR",    "YIELD", "NANOSLEEP"}))
    return InstructionKind::Other;
  if (base.starts_with("F") && base != "FLO")
    return InstructionKind::Float;
  if (base.starts_with("HADD") || base.starts_with("HMUL") || base.starts_with("HFMA") || base.starts_with("HSET") ||
      base.starts_with("HMNMX") || base.starts_with("I2F"))
    return InstructionKind::Float;
  return InstructionKind::Integer;
}

int64_t MainLoop::all() const { return std::accumulate(counts.begin(), counts.end(), int64_t(0)); }

namespace {

struct SassInstruction {
  uint64_t address = 0;
  StringRef opcode;
  bool conditional = false, ends = false; // ends: control does not reach the next instruction
  bool guarded = false;                   // by a predicate: some lanes may not run it
  std::optional<uint64_t> target;
  size_t jump = SIZE_MAX;    // index of the target instruction
  size_t meeting = SIZE_MAX; // for BSSY: where lanes that diverge after it meet again
};

/// Parses "        /*0e50*/              @!P3 BRA 0x26b0 ;       /* 0x… */".
std::optional<SassInstruction> parse(StringRef line) {
  line = line.trim();
  if (!line.consume_front("/*"))
    return std::nullopt;
  auto [digits, rest] = line.split("*/");
  SassInstruction result;
  rest = rest.split(';').first.trim();
  if (rest.empty() || digits.getAsInteger(16, result.address))
    return std::nullopt;
  if (rest.starts_with("{")) // old GPUs issue such pairs together
    rest = rest.drop_front().ltrim();
  if (rest.starts_with("@")) {
    result.conditional = !rest.starts_with("@PT ") && !rest.starts_with("@UPT ");
    result.guarded = result.conditional && !rest.starts_with("@U") && !rest.starts_with("@!U");
    rest = rest.split(' ').second.ltrim();
  }
  result.opcode = rest.split(' ').first;
  StringRef base = result.opcode.split('.').first;
  // ptxas writes a far jump as CALL.REL.NOINC, which does not return.
  if (base == "BRA" || base == "CALL" || base == "BSSY") {
    size_t place = rest.rfind("0x");
    uint64_t target;
    if (place != StringRef::npos && !rest.drop_front(place + 2).trim(" )`").getAsInteger(16, target))
      result.target = target;
    if (base == "BSSY")
      return result;
    // "BRA P0, 0x…" has its condition as an operand. "BRA.DIV ~URZ, 0x…" jumps only if lanes have diverged.
    StringRef operands = rest.split(' ').second.ltrim();
    result.conditional |= operands.starts_with("~") || operands.starts_with("P") || operands.starts_with("!P") ||
                          operands.starts_with("U") || operands.starts_with("!U");
    result.ends = !result.conditional;
  }
  result.ends |= !result.conditional && (base == "EXIT" || base == "RET");
  return result;
}

std::vector<SassInstruction> instructionsOf(StringRef sass, StringRef kernel) {
  SmallVector<StringRef> lines;
  sass.split(lines, '\n');
  std::vector<SassInstruction> result;
  bool inside = false;
  for (StringRef line : lines) {
    if (StringRef text = line.trim(); text.consume_front("Function :"))
      inside = text.trim() == kernel;
    else if (inside)
      if (auto instruction = parse(line))
        result.push_back(*instruction);
  }
  std::map<uint64_t, size_t> numbers;
  for (auto [number, instruction] : enumerate(result))
    numbers[instruction.address] = number;
  for (SassInstruction &instruction : result)
    if (instruction.target)
      if (auto place = numbers.find(*instruction.target); place != numbers.end())
        (instruction.opcode.starts_with("BSSY") ? instruction.meeting : instruction.jump) = place->second;
  return result;
}

/// Returns the shortest sequence of instructions from `first` to `last`, including both; empty if there is none.
std::vector<size_t> shortestWay(const std::vector<SassInstruction> &code, size_t first, size_t last) {
  std::vector<size_t> before(code.size(), SIZE_MAX), queue{first};
  before[first] = first;
  for (size_t k = 0; k < queue.size() && before[last] == SIZE_MAX; ++k) {
    size_t at = queue[k];
    auto visit = [&](size_t next) {
      if (next < code.size() && before[next] == SIZE_MAX) {
        before[next] = at;
        queue.push_back(next);
      }
    };
    if (!code[at].ends)
      visit(at + 1);
    visit(code[at].jump);
  }
  std::vector<size_t> way;
  if (before[last] == SIZE_MAX)
    return way;
  for (size_t at = last; way.push_back(at), at != first;)
    at = before[at];
  return way;
}

bool exponentiates(const SassInstruction &one) { return kindOf(one.opcode) == InstructionKind::Exponential; }

/// The products of a kernel. A loop that exponentiates without them, for example one that waits, is not the main loop.
/// A kernel on `wgmma` may have a second loop, for blocks whose result is not a number, that multiplies by `mma.sync`.
class Products {
public:
  explicit Products(const std::vector<SassInstruction> &code)
      : code(code), warpgroups(any_of(code, isOfWarpgroup)), any(warpgroups || any_of(code, isProduct)) {}
  /// Returns whether the kernel has products, but the way has none of them.
  template <typename Way> bool areMissing(const Way &way) const {
    return any && none_of(way, [&](size_t at) { return warpgroups ? isOfWarpgroup(code[at]) : isProduct(code[at]); });
  }

private:
  static bool isOfWarpgroup(const SassInstruction &one) { return one.opcode.starts_with("HGMMA"); }
  static bool isProduct(const SassInstruction &one) { return kindOf(one.opcode) == InstructionKind::Matrix; }
  const std::vector<SassInstruction> &code;
  bool warpgroups, any;
};

/// Returns the way from `begin` to the first exponential of code[begin, end], on to the last one, and to `exit`. With
/// `loopWith` the way must be a loop with products; returns nothing if it is not.
std::optional<MainLoop> wayByExponentials(const std::vector<SassInstruction> &code, size_t begin, size_t end,
                                          llvm::function_ref<size_t(size_t from)> exit,
                                          const Products *loopWith = nullptr) {
  size_t from = code.size(), to = from;
  for (size_t k = begin; k <= end && k < code.size(); ++k)
    if (exponentiates(code[k])) {
      from = std::min(from, k);
      to = k;
    }
  if (from == code.size())
    return std::nullopt;
  std::set<size_t> way;
  for (auto [first, last] : {std::pair(begin, from), std::pair(from, to), std::pair(to, exit(from))})
    if (last < code.size()) {
      std::vector<size_t> part = shortestWay(code, first, last);
      if (loopWith && part.empty()) // a jump back from code that nothing here reaches
        return std::nullopt;
      way.insert(part.begin(), part.end());
    }
  if (loopWith && loopWith->areMissing(way))
    return std::nullopt;
  MainLoop result;
  for (size_t at : way)
    ++result.counts[size_t(kindOf(code[at].opcode))];
  return result;
}

/// Returns the way through a kernel without a loop, to its exit.
std::optional<MainLoop> wayThrough(const std::vector<SassInstruction> &code) {
  auto exit = [&](size_t from) {
    for (size_t k = from; k < code.size(); ++k)
      if (code[k].ends && code[k].opcode == "EXIT" && !shortestWay(code, from, k).empty())
        return k;
    return code.size();
  };
  auto kernel = wayByExponentials(code, 0, code.size(), exit);
  if (kernel)
    kernel->once = true;
  return kernel;
}

/// Handles a loop that may omit its exponentials, for example where a tile is skipped: returns the way that computes
/// them.
std::optional<MainLoop> loopThatSkips(const std::vector<SassInstruction> &code, const Products &products) {
  std::optional<MainLoop> best;
  for (size_t latch = 0; latch < code.size(); ++latch)
    if (size_t header = code[latch].jump; header <= latch) {
      auto loop = wayByExponentials(code, header, latch, [&](size_t) { return latch; }, &products);
      if (loop && (!best || loop->all() < best->all()))
        best = loop;
    }
  return best;
}

} // namespace

std::vector<std::string> skewer::gpu::whereLanesParted(StringRef sass, StringRef kernel) {
  std::vector<SassInstruction> code = instructionsOf(sass, kernel);
  auto isOfWarp = [](StringRef opcode) {
    StringRef base = opcode.split('.').first;
    return kindOf(opcode) == InstructionKind::Matrix || is_contained({"SHFL", "LDSM", "VOTE", "BAR", "WARPSYNC"}, base);
  };
  std::set<size_t> found;
  /// Visits everything that can be reached from `first` without passing `meeting`.
  auto walk = [&](size_t first, size_t meeting, llvm::function_ref<void(size_t)> visit) {
    std::vector<bool> known(code.size() + 1);
    std::vector<size_t> queue{first};
    for (size_t k = 0; k < queue.size(); ++k) {
      size_t at = queue[k];
      if (at >= code.size() || at == meeting || known[at])
        continue;
      known[at] = true;
      visit(at);
      if (!code[at].ends)
        queue.push_back(at + 1);
      queue.push_back(code[at].jump);
    }
  };
  auto addAll = [&](size_t first, size_t meeting) {
    walk(first, meeting, [&](size_t at) {
      if (isOfWarp(code[at].opcode))
        found.insert(at);
    });
  };
  for (auto [number, instruction] : enumerate(code)) {
    if (instruction.guarded && isOfWarp(instruction.opcode))
      found.insert(number);
    if (instruction.guarded && instruction.opcode == "EXIT") // the other lanes continue alone
      addAll(number + 1, code.size());
    size_t meeting = instruction.meeting;
    if (meeting >= code.size())
      continue;
    walk(number + 1, meeting, [&](size_t at) {
      const SassInstruction &branch = code[at];
      if (!branch.opcode.starts_with("BRA") || !branch.guarded || branch.opcode.starts_with("BRA.DIV"))
        return;
      addAll(at + 1, meeting);
      addAll(branch.jump, meeting);
    });
  }
  std::vector<std::string> result;
  for (size_t at : found)
    result.push_back(llvm::utohexstr(code[at].address) + " " + code[at].opcode.str());
  return result;
}

std::optional<MainLoop> skewer::gpu::mainLoopOf(StringRef sass, StringRef kernel) {
  std::vector<SassInstruction> code = instructionsOf(sass, kernel);
  Products products(code);
  std::optional<MainLoop> best;
  for (size_t latch = 0; latch < code.size(); ++latch) {
    size_t header = code[latch].jump;
    if (header > latch) // a forward jump, or no jump
      continue;
    std::vector<size_t> way = shortestWay(code, header, latch);
    MainLoop loop;
    for (size_t at : way)
      ++loop.counts[size_t(kindOf(code[at].opcode))];
    // Choose the loop with the most exponentials. If an inner loop has all of them, choose the inner one.
    int64_t exponentials = loop.of(InstructionKind::Exponential);
    if (exponentials == 0 || products.areMissing(way))
      continue;
    int64_t known = best ? best->of(InstructionKind::Exponential) : 0;
    if (exponentials > known || (exponentials == known && loop.all() < best->all()))
      best = loop;
  }
  if (!best)
    best = loopThatSkips(code, products);
  return best ? best : wayThrough(code);
}
