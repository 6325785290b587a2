// The names of strategies that plugins provide. A schedule may name them as well as the built-in ones: the verifiers of
// schedules look here.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/StringSet.h"

namespace skewer::attn {

class StrategyNames : public mlir::DialectInterface::Base<StrategyNames> {
public:
  explicit StrategyNames(mlir::Dialect *dialect) : Base(dialect) {}
  /// Returns the dialect's names; makes them if there are none yet. Call it only while the dialect is being loaded.
  static StrategyNames &of(AttnDialect *);
  void add(llvm::StringRef name) { names.insert(name); }
  bool has(llvm::StringRef name) const { return names.contains(name); }

private:
  llvm::StringSet<> names;
};

/// Returns whether a plugin has provided a strategy of this name to the context.
bool isPluginStrategy(mlir::MLIRContext *, llvm::StringRef name);

} // namespace skewer::attn
