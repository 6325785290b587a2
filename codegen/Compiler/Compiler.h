// The compiler as a library. `compile` turns a request into objects, headers and manifests. A Compilation runs the same
// steps one by one, for programs that need the module between two steps. Programs include this header, or its light
// parts Request.h and Messages.h, and no other of the folder (`house.compiler-header`).
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
#include "codegen/Compiler/TargetCode.h"
#include "codegen/Compiler/Targets.h"

namespace skewer {

/// Compiles the specs of a request. Writes nothing to disk and prints nothing.
CompileResult compile(const CompileRequest &);

} // namespace skewer
