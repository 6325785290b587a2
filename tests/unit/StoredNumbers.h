// Numbers in a tensor's element type, by LLVM's software floating point.
#pragma once
#include "dialect/IR/KernelPlan.h"
#include "llvm/ADT/APFloat.h"
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace skewer::testing {

inline const llvm::fltSemantics &semantics(ElementType type) {
  return type == ElementType::F16      ? llvm::APFloat::IEEEhalf()
         : type == ElementType::BF16   ? llvm::APFloat::BFloat()
         : type == ElementType::F8E4M3 ? llvm::APFloat::Float8E4M3FN()
                                       : llvm::APFloat::IEEEsingle();
}

/// Returns the bits of the nearest number of the type. There are no infinities of 8 bits, so that the largest number
/// stands for those beyond it.
inline uint32_t encode(double value, ElementType type) {
  if (type == ElementType::F8E4M3 && !std::isnan(value))
    value = std::clamp(value, -448.0, 448.0);
  llvm::APFloat number(value);
  bool lost;
  number.convert(semantics(type), llvm::APFloat::rmNearestTiesToEven, &lost);
  return static_cast<uint32_t>(number.bitcastToAPInt().getZExtValue());
}

inline double decode(uint32_t bits, ElementType type) {
  llvm::APFloat number(semantics(type), llvm::APInt(bytesOf(type) * 8, bits));
  bool lost;
  number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
  return number.convertToDouble();
}

} // namespace skewer::testing
