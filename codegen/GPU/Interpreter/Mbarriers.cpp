// Counts the arrivals and bytes of mbarriers, and completes their phases.
#include "codegen/GPU/Interpreter/Mbarriers.h"
#include <fmt/format.h>

using namespace skewer::gpu;

namespace {
constexpr uint64_t kMostArrivals = (1 << 20) - 1;
constexpr int64_t kMostBytes = (1 << 20) - 1;
} // namespace

Mbarriers::Object *Mbarriers::find(uint64_t address, const Access &access) {
  auto found = objects.find(address);
  if (found == objects.end()) {
    report.add(
        FaultKind::Misuse, access.operation,
        fmt::format("{} uses an mbarrier at {}, where none has been initialised", who(access), int64_t(address)));
    return nullptr;
  }
  if (!clocks.of(access.thread).generic.knows(found->second.initialised))
    report.add(FaultKind::Race, access.operation,
               fmt::format("{} uses the mbarrier at {}, which {} initialises with no barrier between", who(access),
                           address, clocks.nameOf(found->second.initialised.agent)));
  return &found->second;
}

void Mbarriers::init(uint64_t address, uint64_t count, const Access &access) {
  if (address % 8 || sharedBytes < 8 || address > sharedBytes - 8) {
    report.add(FaultKind::Misaligned, access.operation,
               fmt::format("{} initialises an mbarrier at {}: 8 bytes of shared memory, aligned to 8, are needed",
                           who(access), int64_t(address)));
    return;
  }
  if (count == 0 || count > kMostArrivals)
    report.add(FaultKind::Misuse, access.operation,
               fmt::format("an mbarrier for {} arrivals; 1 to {} are possible", count, kMostArrivals));
  if (objects.count(address)) {
    report.add(FaultKind::Misuse, access.operation,
               fmt::format("{} initialises the mbarrier at {} again, without mbarrier.inval", who(access), address));
    return;
  }
  history.write(address, 8, access);
  history.claim(address, true);
  Object object;
  object.expected = object.pending = count;
  object.agent = clocks.add(fmt::format("a copy that completes on the mbarrier at {}", address));
  object.initialised = clocks.now(access.thread);
  objects[address] = std::move(object);
  ++changed;
}

void Mbarriers::invalidate(uint64_t address, const Access &access) {
  Object *object = find(address, access);
  if (!object)
    return;
  if (object->pending != object->expected || object->bytes)
    report.add(FaultKind::Misuse, access.operation,
               fmt::format("{} invalidates the mbarrier at {} during a phase", who(access), address));
  if (!clocks.of(access.thread).generic.knows({object->agent, object->phase}))
    report.add(
        FaultKind::Race, access.operation,
        fmt::format("{} invalidates the mbarrier at {} and has not waited for its last phase", who(access), address));
  objects.erase(address);
  history.claim(address, false);
  ++changed;
}

void Mbarriers::fenceInit(unsigned thread) {
  for (auto &[address, object] : objects)
    if (object.initialised.agent == thread)
      object.fenced = true;
}

void Mbarriers::finishPhase(Object &object) {
  ++changed;
  if (object.pending || object.bytes)
    return;
  ++object.phase;
  object.pending = object.expected;
  object.gathered.raise({object.agent, object.phase});
  object.complete = object.gathered;
}

bool Mbarriers::lacks(const Object &object, uint64_t count, uint64_t address, const Access &access) {
  if (count > 0 && count <= object.pending)
    return true;
  report.add(FaultKind::Misuse, access.operation,
             fmt::format("{} arrives {} times at the mbarrier at {}, whose phase {} lacks {} of {} arrivals",
                         who(access), count, address, object.phase, object.pending, object.expected));
  return false;
}

void Mbarriers::arriveFor(uint64_t address, Event copies, const Access &access) {
  Object *object = find(address, access);
  if (!object || !lacks(*object, 1, address, access))
    return;
  object->gathered.generic.raise(copies);
  --object->pending;
  finishPhase(*object);
}

void Mbarriers::arrive(uint64_t address, uint64_t count, const Access &access) {
  Object *object = find(address, access);
  if (!object || !lacks(*object, count, address, access))
    return;
  clocks.release(access.thread, object->gathered);
  object->pending -= count;
  finishPhase(*object);
}

void Mbarriers::expect(uint64_t address, uint64_t bytes, const Access &access) {
  Object *object = find(address, access);
  if (!object)
    return;
  object->bytes += int64_t(bytes);
  if (object->bytes > kMostBytes)
    report.add(FaultKind::Misuse, access.operation,
               fmt::format("a phase of the mbarrier at {} waits for {} bytes; {} are possible", address, object->bytes,
                           kMostBytes));
  ++changed;
}

bool Mbarriers::wait(uint64_t address, unsigned parity, const Access &access) {
  Object *object = find(address, access);
  if (!object)
    return true;
  if ((object->phase & 1) == (parity & 1))
    return false;
  clocks.acquire(access.thread, object->complete);
  return true;
}

std::optional<Event> Mbarriers::beginCopy(uint64_t address, const Access &access) {
  Object *object = find(address, access);
  if (!object)
    return std::nullopt;
  if (!object->fenced || !clocks.of(access.thread).async.knows(object->initialised)) {
    report.add(FaultKind::Race, access.operation,
               fmt::format("a copy uses the mbarrier at {}, but {} has not executed fence.mbarrier_init and then "
                           "fence.proxy.async after mbarrier.init",
                           address, clocks.nameOf(object->initialised.agent)));
    object->fenced = true; // once is enough
  }
  return Event{object->agent, object->phase + 1};
}

void Mbarriers::complete(uint64_t address, uint64_t bytes, Event copy, const Access &access) {
  auto found = objects.find(address);
  if (found == objects.end() || found->second.agent != copy.agent) {
    report.add(FaultKind::Misuse, access.operation,
               fmt::format("a copy completes on the mbarrier at {}, which has been invalidated", address));
    return;
  }
  Object &object = found->second;
  if (object.phase + 1 != copy.time)
    report.add(
        FaultKind::Misuse, access.operation,
        fmt::format("phase {} of the mbarrier at {} has ended before a copy of it has: expect_tx of too few bytes",
                    copy.time - 1, address));
  object.bytes -= int64_t(bytes);
  if (object.bytes < 0 && object.pending == 0)
    report.add(FaultKind::Misuse, access.operation,
               fmt::format("phase {} of the mbarrier at {} gets {} bytes more than expect_tx has announced",
                           object.phase, address, -object.bytes));
  finishPhase(object);
}

std::string Mbarriers::describe(uint64_t address, unsigned parity) const {
  auto found = objects.find(address);
  if (found == objects.end())
    return fmt::format("the mbarrier at {}, which does not exist", address);
  const Object &object = found->second;
  return fmt::format("parity {} of the mbarrier at {}, whose phase {} lacks {} of {} arrivals and {} bytes", parity & 1,
                     address, object.phase, object.pending, object.expected, object.bytes);
}
