//===- The passes of Skewer, in the order they run ---------------------------===//
#ifndef SKEWER_PASSES_TD
#define SKEWER_PASSES_TD
include "mlir/Pass/PassBase.td"

def AttnRaiseSkew : Pass<"attn-raise-skew", "::mlir::func::FuncOp"> {
  let summary = "chains of pad, reshape, slice, gather and rearrange become one index map each";
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnPropagateMasks : Pass<"attn-propagate-masks", "::mlir::func::FuncOp"> {
  let summary = "a softmax's mask becomes known to the terms that feed it";
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnComposeSkew : Pass<"attn-compose-skew", "::mlir::func::FuncOp"> {
  let summary = "an index map after an einsum becomes an index expression inside the einsum";
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnFormAttention : Pass<"attn-form-attention", "::mlir::func::FuncOp"> {
  let summary = "softmax of a sum of terms, times values, becomes attn.attention";
  let dependentDialects = ["::skewer::attn::AttnDialect", "::mlir::arith::ArithDialect"];
}
def AttnPrintTermClasses : Pass<"attn-print-term-classes", "::mlir::func::FuncOp"> {
  let summary = "a remark on each term that says its class";
  let dependentDialects = ["::skewer::attn::AttnDialect"];
}
def AttnSchedule : Pass<"attn-schedule", "::mlir::func::FuncOp"> {
  let summary = "the cost model chooses tiles, blocks and a strategy for each term";
  let dependentDialects = ["::skewer::attn::AttnDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "description of the processor">];
}
def AttnLowerToCpu : Pass<"attn-lower-to-cpu", "::mlir::ModuleOp"> {
  let summary = "scheduled attention becomes loops over vectors";
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect", "::mlir::vector::VectorDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::func::FuncDialect"];
  let options = [Option<"target", "target", "std::string", "\"host\"", "description of the processor">];
}
def AttnToLinalg : Pass<"attn-to-linalg", "::mlir::ModuleOp"> {
  let summary = "the generic path: what did not fuse becomes linalg on buffers";
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::func::FuncDialect"];
}
#endif
