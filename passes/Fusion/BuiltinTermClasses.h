// The term classes that come with Skewer.
#pragma once
#include "passes/Fusion/TermClass.h"

namespace skewer {
void registerBuiltinTermClasses(
    llvm::function_ref<void(std::unique_ptr<TermClass>, unsigned order)> registerClass);
} // namespace skewer
