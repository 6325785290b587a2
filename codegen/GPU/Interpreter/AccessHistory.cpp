// Finds races in shared memory: an access races with an earlier one of another agent that it does not know of, unless
// both only read.
#include "codegen/GPU/Interpreter/AccessHistory.h"
#include <fmt/format.h>

using namespace skewer::gpu;

bool AccessHistory::exists(uint64_t address, unsigned size, const Access &access) {
  if (address + size <= places.size() * 2 && address + size >= address)
    return true;
  report.add(FaultKind::OutOfBounds, access.operation,
             fmt::format("{} bytes at {} of {} bytes of shared memory, asked for by thread {} of block {}", size,
                         int64_t(address), places.size() * 2, access.thread, access.block));
  return false;
}

void AccessHistory::conflict(const char *does, const char *did, Event other, Event self, uint64_t address,
                             const Knowledge &known, bool async, const Access &access) {
  bool onlyFence = async && known.generic.knows(other) && other.agent < clocks.threads();
  report.add(FaultKind::Race, access.operation,
             fmt::format("{} of block {} {} shared address {}, which {} {}{}", clocks.nameOf(self.agent), access.block,
                         does, address, clocks.nameOf(other.agent), did,
                         onlyFence ? " through the generic proxy, with no fence.proxy.async after it"
                                   : ", and no barrier or wait lies between"));
}

void AccessHistory::noteRead(Place &place, uint64_t address, Event self, const Knowledge &known, bool async,
                             const Access &access) {
  if (place.isBarrier)
    report.add(FaultKind::Misuse, access.operation,
               fmt::format("{} of block {} reads shared address {}, which is an mbarrier", clocks.nameOf(self.agent),
                           access.block, address));
  else if (!place.writer.time)
    report.add(FaultKind::Uninitialised, access.operation,
               fmt::format("{} of block {} reads shared address {} which nothing wrote", clocks.nameOf(self.agent),
                           access.block, address));
  if (place.writer.time && !(async ? known.async : known.generic).knows(place.writer))
    conflict("reads", "wrote", place.writer, self, address, known, async, access);
  for (Event &reader : place.readers)
    if (reader.agent == self.agent) {
      reader.time = std::max(reader.time, self.time);
      return;
    }
  place.readers.push_back(self);
}

void AccessHistory::noteWrite(Place &place, uint64_t address, Event self, const Knowledge &known, bool async,
                              const Access &access) {
  const Clock &clock = async ? known.async : known.generic;
  if (place.isBarrier)
    report.add(FaultKind::Misuse, access.operation,
               fmt::format("{} of block {} writes shared address {}, which is an mbarrier", clocks.nameOf(self.agent),
                           access.block, address));
  if (place.writer.time && !clock.knows(place.writer))
    conflict("writes", "wrote", place.writer, self, address, known, async, access);
  for (const Event &reader : place.readers)
    if (!clock.knows(reader))
      conflict("writes", "reads", reader, self, address, known, async, access);
  place.readers.clear();
  place.writer = self;
}

void AccessHistory::read(uint64_t address, unsigned size, const Access &access) {
  for (uint64_t index = address / 2; index < (address + size + 1) / 2; ++index)
    noteRead(places[index], index * 2, clocks.now(access.thread), clocks.of(access.thread), false, access);
}
void AccessHistory::write(uint64_t address, unsigned size, const Access &access) {
  for (uint64_t index = address / 2; index < (address + size + 1) / 2; ++index)
    noteWrite(places[index], index * 2, clocks.now(access.thread), clocks.of(access.thread), false, access);
}

void AccessHistory::beginCopy(uint64_t address, unsigned size, const Access &access) {
  setGroup(access.thread, 0);
  Event copy{clocks.copierOf(access.thread), copyGroups[access.thread]};
  for (uint64_t index = address / 2; index < (address + size + 1) / 2; ++index)
    noteWrite(places[index], index * 2, copy, clocks.of(access.thread), false, access);
}
void AccessHistory::finishCopies(unsigned thread, uint32_t group) {
  clocks.of(thread).generic.raise({clocks.copierOf(thread), group});
}
void AccessHistory::setGroup(unsigned thread, uint32_t group) {
  copyGroups.resize(std::max<size_t>(copyGroups.size(), thread + 1), 1);
  copyGroups[thread] = std::max(copyGroups[thread], group);
}

bool AccessHistory::asyncRead(uint64_t address, unsigned size, Event event, const Knowledge &visible,
                              const Access &access) {
  if (!exists(address, size, access))
    return false;
  for (uint64_t index = address / 2; index < (address + size + 1) / 2; ++index)
    noteRead(places[index], index * 2, event, visible, true, access);
  return true;
}
bool AccessHistory::asyncWrite(uint64_t address, unsigned size, Event event, const Knowledge &visible,
                               const Access &access) {
  if (!exists(address, size, access))
    return false;
  for (uint64_t index = address / 2; index < (address + size + 1) / 2; ++index)
    noteWrite(places[index], index * 2, event, visible, true, access);
  return true;
}

void AccessHistory::claim(uint64_t address, bool isBarrier) {
  for (uint64_t index = address / 2; index < address / 2 + 4; ++index) {
    places[index].isBarrier = isBarrier;
    if (!isBarrier)
      places[index].writer.time = 0; // the contents are undefined
  }
}
