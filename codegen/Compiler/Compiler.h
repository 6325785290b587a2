// The compiler as a library. `compile` turns a request into objects, headers and manifests; a Compilation goes the same
// way step by step, for who wants a module between two of them. Programs include this header and no other of the folder
// (`house.compiler-header`).
#pragma once
#include "codegen/Compiler/Compilation.h"
#include "codegen/Compiler/CompileGpu.h"
#include "codegen/Compiler/Dialects.h"
#include "codegen/Compiler/Facts.h"
#include "codegen/Compiler/Flops.h"
#include "codegen/Compiler/FunctionText.h"
#include "codegen/Compiler/Messages.h"
#include "codegen/Compiler/Request.h"
#include "codegen/Compiler/SchedulePins.h"
#include "codegen/Compiler/SpecFile.h"
#include "codegen/Compiler/Targets.h"

namespace skewer {

/// Compiles the specs of a request. Writes nothing to disk and prints nothing.
CompileResult compile(const CompileRequest &);

} // namespace skewer
