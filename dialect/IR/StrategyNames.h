// The names of strategies that schedules may have. Code generators and plugins add them; the verifiers of schedules
// look here. The dialect itself knows no strategy.
#pragma once
#include "dialect/IR/Attn.h"
#include "mlir/IR/DialectInterface.h"
#include <map>

namespace skewer::attn {

class StrategyNames : public mlir::DialectInterface::Base<StrategyNames> {
public:
  explicit StrategyNames(mlir::Dialect *dialect) : Base(dialect) {}
  /// Returns the dialect's names; makes them if there are none yet. Call it only while the dialect is being loaded.
  static StrategyNames &of(AttnDialect *);
  /// Returns the names that the context knows for schedules of a kind, which is the attribute's mnemonic, in the order
  /// in which they were added. Nothing is known if no code generator has added names: any name may stand then.
  static llvm::ArrayRef<std::string> of(mlir::MLIRContext *, llvm::StringRef kind);
  /// Returns whether a work item of a schedule with this strategy is a phase: the queries of one lane of every vector.
  static bool isInPhases(mlir::StringAttr strategy);

  void add(llvm::StringRef kind, llvm::StringRef name, bool inPhases = false);

private:
  std::map<std::string, std::vector<std::string>, std::less<>> names; // by kind
  std::vector<std::string> ofPhases;
};

} // namespace skewer::attn
