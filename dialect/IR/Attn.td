//===- All of the attn dialect -----------------------------------------------===//
// Includes all files from which TableGen makes C++. The reference has a page for the operations and one for the plan
// (tools/cmake/SkewerDocs.cmake).
#ifndef SKEWER_DIALECT_IR_ATTN_TD
#define SKEWER_DIALECT_IR_ATTN_TD
include "dialect/IR/AttnOps.td"
include "dialect/IR/PlanAttributes.td"
#endif
