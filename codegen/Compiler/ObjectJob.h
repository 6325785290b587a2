// LLVM's share of an object: optimisation and code generation. It takes two thirds of a compilation. It
// needs nothing of MLIR's context; so another thread may lower the next target or kernel of the same spec meanwhile.
#pragma once
#include "codegen/ABI/Cuda.h"
#include "codegen/Compiler/Request.h"
#include "codegen/Compiler/TargetCode.h"
#include <memory>
#include <string>
#include <vector>

namespace skewer {

/// The modules of an object's codes, and the artefacts whose bytes `run` fills in.
struct ObjectJob {
  /// Makes the object. Returns false after a diagnostic.
  bool run();

  std::string kernel, specHash;
  TargetVariant variant;
  std::vector<CudaImage> images;              // the code for GPUs that the object holds too
  std::unique_ptr<llvm::LLVMContext> context; // of the modules
  LlvmModules modules;
  Artefact *llvmText = nullptr, *assembly = nullptr; // null: nobody wants it
  Artefact *object = nullptr;
};

} // namespace skewer
