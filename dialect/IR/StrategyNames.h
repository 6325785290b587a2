// Names of strategies that plugins have brought: a schedule may name them beside the built-in ones.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/DialectInterface.h"
#include "llvm/ADT/StringSet.h"

namespace skewer::attn {

class StrategyNames : public mlir::DialectInterface::Base<StrategyNames> {
public:
  explicit StrategyNames(mlir::Dialect *dialect) : Base(dialect) {}
  /// The dialect's; made where there are none yet. Only while the dialect is loaded.
  static StrategyNames &of(AttnDialect *);
  void add(llvm::StringRef name) { names.insert(name); }
  bool has(llvm::StringRef name) const { return names.contains(name); }

private:
  llvm::StringSet<> names;
};

/// Whether a plugin has brought a strategy of this name to the context.
bool isPluginStrategy(mlir::MLIRContext *, llvm::StringRef name);

} // namespace skewer::attn
