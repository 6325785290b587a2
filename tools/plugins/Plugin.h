// The header for a plugin's source: the registries that a plugin adds to, and its entry point.
//
//   static void add(mlir::DialectRegistry *registry) {
//     registry->addExtension(+[](mlir::MLIRContext *, skewer::attn::AttnDialect *dialect) { … });
//   }
//   SKEWER_PLUGIN("periodic", add)
//
// MLIR's own mechanism loads the shared object: `skewer … --load-dialect-plugin=FILE` (and skewer-opt). The object
// links neither MLIR nor Skewer; it uses those of the program that loads it. See docs/extending.md.
#pragma once
#include "dialect/IR/ElementFunction.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "passes/Analysis/TermClass.h"
#include "passes/Cpu/TermStrategy.h"
#include "tools/plugins/Version.h"

/// Marks a shared object as a plugin of this version. The mark is read before any code of the object runs. For passes
/// alone (an object with `mlirGetPassPluginInfo`), Skewer requires nothing else.
#define SKEWER_PLUGIN_MARK()                                                                                           \
  extern "C" {                                                                                                         \
  extern const char skewer_plugin_version[];                                                                           \
  __attribute__((visibility("default"))) const char skewer_plugin_version[] = SKEWER_PLUGIN_VERSION;                   \
  }

/// Defines the entry point. `REGISTER` is a function void(mlir::DialectRegistry *).
#define SKEWER_PLUGIN(NAME, REGISTER)                                                                                  \
  SKEWER_PLUGIN_MARK()                                                                                                 \
  extern "C" __attribute__((visibility("default"))) ::mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {      \
    return {MLIR_PLUGIN_API_VERSION, NAME, SKEWER_PLUGIN_VERSION, REGISTER};                                           \
  }
