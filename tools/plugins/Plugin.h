// What a plugin's source includes: the registries that it adds to, and its entry point.
//
//   static void add(mlir::DialectRegistry *registry) {
//     registry->addExtension(+[](mlir::MLIRContext *, skewer::attn::AttnDialect *dialect) { … });
//   }
//   SKEWER_PLUGIN("periodic", add)
//
// The shared object is loaded by MLIR's own mechanism, `skewer … --load-dialect-plugin=FILE` (and skewer-opt). It links
// neither MLIR nor Skewer: both are the program's that loads it. See docs/extending.md.
#pragma once
#include "dialect/IR/ElementFunction.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "passes/Analysis/TermClass.h"
#include "passes/Analysis/TermStrategy.h"
#include "tools/plugins/Version.h"

/// Marks a shared object as one of this version; read before anything of it runs. For passes alone (an object with
/// `mlirGetPassPluginInfo`) this is all that Skewer asks for.
#define SKEWER_PLUGIN_MARK()                                                                                           \
  extern "C" {                                                                                                         \
  extern const char skewer_plugin_version[];                                                                           \
  __attribute__((visibility("default"))) const char skewer_plugin_version[] = SKEWER_PLUGIN_VERSION;                   \
  }

/// The entry point: `REGISTER` is a function void(mlir::DialectRegistry *).
#define SKEWER_PLUGIN(NAME, REGISTER)                                                                                  \
  SKEWER_PLUGIN_MARK()                                                                                                 \
  extern "C" __attribute__((visibility("default"))) ::mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {      \
    return {MLIR_PLUGIN_API_VERSION, NAME, SKEWER_PLUGIN_VERSION, REGISTER};                                           \
  }
