// Emits the items of a packed table (PackedTable.h).
#include "passes/Cpu/PackedTable.h"

using namespace mlir;
using namespace skewer;

Value PackedTable::view() { return b.view(memory.shared, b.index(buffer.offset), buffer.floats); }

void PackedTable::pack(Value low, Value high, int64_t first, PackItem packItem) {
  Value table = view();
  b.loop(low, high, 1, [&](Value item) {
    Value local = b.sub(item, b.index(first));
    Value copy = b.divide(local, itemsOfCopy), own = b.remainder(local, itemsOfCopy);
    positions.enterCopy(axes, copy);
    packItem(table, copy, own);
  });
}
