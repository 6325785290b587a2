// Registers the dialect's operations and attributes.
#include "dialect/IR/Attn.h"
#include "dialect/IR/BuiltinFunctions.h"
#include "dialect/IR/ElementFunction.h"
#include "dialect/IR/Inliner.h"
#include "dialect/IR/Reductions.h"
#include "dialect/IR/TermViews.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace skewer::attn;

#include "dialect/IR/AttnAttrInterfaces.cpp.inc"
#include "dialect/IR/AttnDialect.cpp.inc"
#include "dialect/IR/AttnInterfaces.cpp.inc"
/// Parses the optional parts of a GPU schedule, in any order: `, columns = 96, warp_rows = 32, copies = "tma"`.
static ParseResult parseTileOptions(AsmParser &parser, int64_t &columns, int64_t &warpRows, std::string &copies) {
  std::optional<int64_t> asked[2];
  std::optional<std::string> way;
  while (succeeded(parser.parseOptionalComma())) {
    llvm::SMLoc at = parser.getCurrentLocation();
    StringRef name;
    if (parser.parseKeyword(&name))
      return failure();
    if (name != "columns" && name != "warp_rows" && name != "copies")
      return parser.emitError(at) << "unknown part '" << name << "', expected 'columns', 'warp_rows' or 'copies'";
    std::optional<int64_t> &part = asked[name == "columns" ? 0 : 1];
    if (name == "copies" ? way.has_value() : part.has_value())
      return parser.emitError(at) << "'" << name << "' is given twice";
    if (name == "copies") {
      if (parser.parseEqual() || parser.parseString(&way.emplace()))
        return failure();
      continue;
    }
    int64_t number;
    if (parser.parseEqual() || parser.parseInteger(number))
      return failure();
    part = number;
  }
  columns = asked[0].value_or(0);
  warpRows = asked[1].value_or(16);
  copies = way.value_or("cp_async");
  return success();
}
static void printTileOptions(AsmPrinter &printer, int64_t columns, int64_t warpRows, StringRef copies) {
  if (columns)
    printer << ", columns = " << columns;
  if (warpRows != 16)
    printer << ", warp_rows = " << warpRows;
  if (copies != "cp_async")
    printer << ", copies = \"" << copies << '"';
}

#define GET_ATTRDEF_CLASSES
#include "dialect/IR/AttnAttributes.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/IR/AttnOps.cpp.inc"

void AttnDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialect/IR/AttnOps.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/IR/Reductions.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/IR/AttnAttributes.cpp.inc"
      >();
  addInterfaces<ElementFunctions, Inliner, TermViews>();
  addBuiltinFunctions(ElementFunctions::of(this));
}

// Terms are summands, so their order has no meaning, but they use values from above like any straight-line code.
RegionKind AttentionOp::getRegionKind(unsigned) { return RegionKind::SSACFG; }

llvm::StringRef TermOp::getTermSubscripts() { return getSubscripts(); }
ValueRange TermOp::getTermOperands() { return getInputs(); }
double TermOp::getTermScale() { return getScale().convertToDouble(); }
std::optional<llvm::StringRef> TermOp::getTermGuard() { return getGuard(); }
bool TermOp::isValueSide() {
  auto attention = dyn_cast_or_null<AttentionOp>((*this)->getParentOp());
  return attention && (*this)->getParentRegion() == &attention.getValues();
}

SmallVector<TermOp> skewer::attn::termsOf(AttentionOp attention) {
  SmallVector<TermOp> terms;
  for (Region *side : {&attention.getScore(), &attention.getValues()})
    for (TermOp term : side->getOps<TermOp>())
      terms.push_back(term);
  return terms;
}
