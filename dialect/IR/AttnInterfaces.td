//===- Interfaces of the attn dialect --------------------------------------===//
#ifndef SKEWER_DIALECT_IR_ATTNINTERFACES_TD
#define SKEWER_DIALECT_IR_ATTNINTERFACES_TD
include "mlir/IR/OpBase.td"

def IndexMapOpInterface : OpInterface<"IndexMapOpInterface"> {
  let cppNamespace = "::skewer::attn";
  let description = [{
    An operation that only moves elements: each element of its result is an element of its operand, or padding. Passes
    compose these maps and never look at the operations that define them.
  }];
  let methods = [
    InterfaceMethod<"Returns the operand whose elements are moved.",
      "::mlir::Value", "getMappedOperand", (ins), "", "return $_op.getInput();">,
    InterfaceMethod<[{Returns the map from result indices (symbols `d0`, `d1`, …) to operand indices. Its predicate says
      where an element comes from the operand and not from the padding.}],
      "::skewer::attn::IndexMap", "getIndexMap">
  ];
}

def TermInterface : OpInterface<"TermInterface"> {
  let cppNamespace = "::skewer::attn";
  let description = [{
    A summand of the score, or of the values, of `attn.attention`: a scale times the contraction of subscripted
    operands, under a guard. The class of a term is derived from these methods whenever it is needed. It is never
    stored.
  }];
  let methods = [
    InterfaceMethod<"Returns the subscripts of the operands, over the axes of the score and the contracted axes.",
      "::llvm::StringRef", "getTermSubscripts">,
    InterfaceMethod<"Returns the tensors that the term reads.", "::mlir::ValueRange", "getTermOperands">,
    InterfaceMethod<"Returns the scale of the term.", "double", "getTermScale">,
    InterfaceMethod<"Returns the guard, if the term has one: where it does not hold, the term is 0.",
      "::std::optional<::llvm::StringRef>", "getTermGuard">,
    InterfaceMethod<"Returns whether the term belongs to the values and not to the score.", "bool", "isValueSide">
  ];
}

def ScheduleInterface : AttrInterface<"ScheduleInterface"> {
  let cppNamespace = "::skewer::attn";
  let description = [{
    How one kind of machine runs one attention. The attribute's verifier checks the schedule alone. The attention's
    verifier checks the schedule together with the layer. The pass that schedules for a machine checks the rest and
    then follows the schedule.
  }];
  let methods = [
    InterfaceMethod<"Returns the target of the schedule, as `--target` names it.", "::llvm::StringRef", "getTarget">,
    InterfaceMethod<"Returns the strategy of each term: first those of the score, in order, then those of the values.",
      "::llvm::ArrayRef<::mlir::StringAttr>", "getStrategies">,
    InterfaceMethod<"Succeeds if an attention with these numbers of queries and keys can have the schedule.",
      "::llvm::LogicalResult", "verifyFor", (ins "::mlir::Operation *":$attention, "int64_t":$queries, "int64_t":$keys)>
  ];
}
#endif
