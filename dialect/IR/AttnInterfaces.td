//===- Interfaces of the attn dialect --------------------------------------===//
#ifndef SKEWER_DIALECT_IR_ATTNINTERFACES_TD
#define SKEWER_DIALECT_IR_ATTNINTERFACES_TD
include "mlir/IR/OpBase.td"

def IndexMapOpInterface : OpInterface<"IndexMapOpInterface"> {
  let cppNamespace = "::skewer::attn";
  let description = [{
    An operation that only moves elements: each element of its result is one element of its operand, or padding.
    Passes compose these maps and never look at which operation said them.
  }];
  let methods = [
    InterfaceMethod<"The operand whose elements are moved.", "::mlir::Value", "getMappedOperand", (ins), "", "return $_op.getInput();">,
    InterfaceMethod<[{The map from result indices (symbols `d0`, `d1`, …) to operand indices, with the predicate that says
      where an element comes from the operand rather than from the padding.}],
      "::skewer::attn::IndexMap", "getIndexMap">
  ];
}

def TermInterface : OpInterface<"TermInterface"> {
  let cppNamespace = "::skewer::attn";
  let description = [{
    A summand of the score (or of the value side) of `attn.attention`: scale × contraction of subscripted operands, under
    a guard. The class of a term is derived from these answers each time it is needed, and never stored.
  }];
  let methods = [
    InterfaceMethod<"The operands' subscripts, in terms of the score's axes and the contracted axes.",
      "::llvm::StringRef", "getTermSubscripts">,
    InterfaceMethod<"The tensors read.", "::mlir::ValueRange", "getTermOperands">,
    InterfaceMethod<"The factor in front.", "double", "getTermScale">,
    InterfaceMethod<"Where the term is present; elsewhere it is 0.", "::std::optional<::llvm::StringRef>", "getTermGuard">,
    InterfaceMethod<"Whether the term belongs to the values rather than to the score.", "bool", "isValueSide">
  ];
}

def ScheduleInterface : AttrInterface<"ScheduleInterface"> {
  let cppNamespace = "::skewer::attn";
  let description = [{
    How one attention is run on one kind of machine. What can be said of it alone is verified with the attribute, what
    can be said of it and the layer with the attention; the pass that schedules for a machine verifies the rest, and then
    obeys it.
  }];
  let methods = [
    InterfaceMethod<"What the schedule is for, as `--target` names it.", "::llvm::StringRef", "getTarget">,
    InterfaceMethod<"How each term is computed: those of the score, in order, then those of the values.",
      "::llvm::ArrayRef<::mlir::StringAttr>", "getStrategies">,
    InterfaceMethod<"Whether an attention of so many queries and keys can have it.",
      "::llvm::LogicalResult", "verifyFor", (ins "::mlir::Operation *":$attention, "int64_t":$queries, "int64_t":$keys)>
  ];
}
#endif
