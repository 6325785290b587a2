// The term classes that come with Skewer.
#pragma once
#include "passes/Analysis/TermClass.h"

namespace skewer {
using RegisterTermClass = llvm::function_ref<void(std::unique_ptr<TermClass>, unsigned order)>;

/// Registers orders 100 to 500: a vector of the query or the key contracted with another vector.
void registerBuiltinTermClasses(RegisterTermClass);
/// Registers orders 600 to 900: one number for each query and key.
void registerScalarTermClasses(RegisterTermClass);
void registerPerTokenTermClass(RegisterTermClass);
/// Registers orders 910 to 930: rows and numbers that other functions of positions pick.
void registerPositionTermClasses(RegisterTermClass);
/// Registers order 950: terms that apply a plugin's function.
void registerFunctionTermClass(RegisterTermClass);
/// Registers orders 1000 to 1300: terms of the values.
void registerValueTermClasses(RegisterTermClass);
} // namespace skewer
