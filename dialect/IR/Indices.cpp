// Run-time index operands by name: the kernel's arguments and the attn.index that an operation's texts read.
#include "dialect/IR/Attn.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace skewer::attn;
using namespace skewer::subscript;

namespace {
/// Calls `visit` with the operation if it may have `indices`.
template <typename Function> bool withIndices(Operation *op, Function visit) {
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<EinsumOp, SoftmaxOp, LogSumExpOp, PositionOp, AttentionOp, TermOp>([&](auto typed) {
        visit(typed);
        return true;
      })
      .Default(false);
}

void collectReads(const Dimensions &dimensions, std::set<std::string> &names) {
  for (const Dimension &dimension : dimensions)
    if (!dimension.isProduct())
      names.merge(readsOf(dimension.index));
}
void collectReads(std::optional<llvm::StringRef> text, std::set<std::string> &names) {
  if (auto expression = text ? parse(std::string_view(*text)) : std::nullopt)
    names.merge(readsOf(*expression));
}
void collectSpecReads(llvm::StringRef text, std::set<std::string> &names) {
  auto spec = parseEinsum(std::string_view(text));
  if (!spec)
    return;
  for (const Dimensions &operand : spec->operands)
    collectReads(operand, names);
}

/// Returns the names that the operation's own texts read.
std::set<std::string> readNames(Operation *op) {
  std::set<std::string> names;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](EinsumOp o) {
        collectSpecReads(o.getSpec(), names);
        collectReads(o.getGuard(), names);
      })
      .Case<SoftmaxOp, LogSumExpOp>([&](auto o) { collectReads(o.getMask(), names); })
      .Case([&](PositionOp o) { collectReads(o.getExpression(), names); })
      .Case([&](AttentionOp o) {
        collectSpecReads(o.getValueSpec(), names);
        collectReads(o.getMask(), names);
      })
      .Case([&](TermOp o) {
        collectSpecReads(o.getSubscripts(), names);
        collectReads(o.getGuard(), names);
        collectReads(o.getValue(), names);
        if (o.getArguments())
          for (StringAttr argument : o.getArgumentsAttr().getAsRange<StringAttr>())
            collectReads(argument.getValue(), names);
      });
  return names;
}
} // namespace

IndexOperands skewer::attn::indicesOf(Operation *op) {
  IndexOperands result;
  withIndices(op, [&](auto typed) {
    if (ArrayAttr names = typed.getIndexNamesAttr())
      for (auto [name, operand] : llvm::zip(names.template getAsRange<StringAttr>(), typed.getIndices()))
        result[name.str()] = operand;
  });
  return result;
}

IndexOperands skewer::attn::kernelIndices(Operation *op) {
  IndexOperands result;
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    function = op->getParentOfType<FunctionOpInterface>();
  if (!function || function.isExternal())
    return result;
  for (BlockArgument argument : function.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), kArgumentName);
    if (type && type.getElementType().isInteger(32) && name)
      result.insert({name.str(), argument});
  }
  // An attn.index is available only after its place in the block.
  if (op == function)
    function.walk([&](IndexOp index) { result.insert({index.getCalled().str(), index.getResult()}); });
  for (; op != function; op = op->getParentOp())
    for (auto index : op->getBlock()->getOps<IndexOp>())
      if (index != op && index->isBeforeInBlock(op))
        result.insert({index.getCalled().str(), index.getResult()});
  return result;
}

void skewer::attn::bindIndices(Operation *op) {
  withIndices(op, [&](auto typed) {
    std::set<std::string> names = readNames(op);
    SmallVector<Attribute> texts;
    SmallVector<Value> operands;
    if (!names.empty()) {
      IndexOperands known = kernelIndices(op);
      for (const std::string &name : names)
        if (auto found = known.find(name); found != known.end()) {
          texts.push_back(StringAttr::get(op->getContext(), name));
          operands.push_back(found->second);
        }
    }
    typed.setIndexNamesAttr(texts.empty() ? ArrayAttr() : ArrayAttr::get(op->getContext(), texts));
    typed.getIndicesMutable().assign(operands);
  });
}

std::optional<skewer::subscript::Range> skewer::attn::rangeOf(Value operand) {
  if (auto index = operand.getDefiningOp<IndexOp>()) {
    auto ends = index.getRange();
    return ends && ends->size() == 2 ? std::optional(skewer::subscript::Range{(*ends)[0], (*ends)[1]}) : std::nullopt;
  }
  auto argument = dyn_cast<BlockArgument>(operand);
  auto function = argument ? dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp()) : nullptr;
  if (!function)
    return std::nullopt;
  auto range = function.getArgAttrOfType<DenseI64ArrayAttr>(argument.getArgNumber(), kArgumentRange);
  if (!range || range.size() != 2)
    return std::nullopt;
  return skewer::subscript::Range{range[0], range[1]};
}

void skewer::attn::addRanges(Domain &domain, const IndexOperands &operands) {
  for (const auto &[name, operand] : operands)
    if (auto range = rangeOf(operand))
      domain[elementsOf(name)] = *range;
}

void skewer::attn::addSizesOfReads(const Einsum &spec, const IndexOperands &operands, AxisSizes &sizes) {
  std::set<std::string> known;
  for (const Dimensions &operand : spec.operands)
    known.merge(axesOf(operand));
  for (const Dimensions &operand : spec.operands)
    for (const Dimension &dimension : operand)
      for (const Expr &read : readNodes(dimension.index)) {
        auto found = operands.find(read.name());
        std::vector<int64_t> shape = found == operands.end() ? std::vector<int64_t>() : shapeOf(found->second);
        for (size_t d = 0; d < shape.size() && d < read.operands().size(); ++d)
          if (const Expr &at = read.operands()[d]; at.isSymbol() && !known.count(at.name()))
            sizes.insert({at.name(), shape[d]});
      }
}

//===- The assembly: `indices(seg = %seg : tensor<?x40xi32>)` ------------------------------===//

ParseResult skewer::attn::parseIndices(OpAsmParser &parser, ArrayAttr &names,
                                       SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
                                       SmallVectorImpl<Type> &types) {
  SmallVector<Attribute> texts;
  auto one = [&]() -> ParseResult {
    std::string name;
    if (parser.parseKeywordOrString(&name) || parser.parseEqual() || parser.parseOperand(operands.emplace_back()) ||
        parser.parseColonType(types.emplace_back()))
      return failure();
    texts.push_back(parser.getBuilder().getStringAttr(name));
    return success();
  };
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, one))
    return failure();
  names = parser.getBuilder().getArrayAttr(texts);
  return success();
}

void skewer::attn::printIndices(OpAsmPrinter &printer, Operation *, ArrayAttr names, OperandRange operands,
                                TypeRange types) {
  if (!names)
    names = ArrayAttr::get(operands.front().getContext(), {}); // malformed: the verifier reports it
  printer << "(";
  llvm::interleaveComma(llvm::zip(names.getAsRange<StringAttr>(), operands, types), printer, [&](auto entry) {
    auto [name, operand, type] = entry;
    printer.printKeywordOrString(name.getValue());
    printer << " = " << operand << " : " << type;
  });
  printer << ")";
}
