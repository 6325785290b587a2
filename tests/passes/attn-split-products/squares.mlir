// RUN: timeout 60 skewer-opt %s -attn-split-products | FileCheck %s
// A tensor that is multiplied with itself repeatedly is examined a bounded number of times: with each square twice as
// many ways lead back to the first one.
// CHECK-LABEL: func.func @squares
// CHECK-COUNT-48: arith.mulf
// CHECK-NOT: arith.mulf
// CHECK: attn.einsum "h i j, h j c -> h i c"(%{{.*}}, %arg1)
func.func @squares(%t0: tensor<2x4x4xf32>, %v: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
  %t1 = arith.mulf %t0, %t0 : tensor<2x4x4xf32>
  %t2 = arith.mulf %t1, %t1 : tensor<2x4x4xf32>
  %t3 = arith.mulf %t2, %t2 : tensor<2x4x4xf32>
  %t4 = arith.mulf %t3, %t3 : tensor<2x4x4xf32>
  %t5 = arith.mulf %t4, %t4 : tensor<2x4x4xf32>
  %t6 = arith.mulf %t5, %t5 : tensor<2x4x4xf32>
  %t7 = arith.mulf %t6, %t6 : tensor<2x4x4xf32>
  %t8 = arith.mulf %t7, %t7 : tensor<2x4x4xf32>
  %t9 = arith.mulf %t8, %t8 : tensor<2x4x4xf32>
  %t10 = arith.mulf %t9, %t9 : tensor<2x4x4xf32>
  %t11 = arith.mulf %t10, %t10 : tensor<2x4x4xf32>
  %t12 = arith.mulf %t11, %t11 : tensor<2x4x4xf32>
  %t13 = arith.mulf %t12, %t12 : tensor<2x4x4xf32>
  %t14 = arith.mulf %t13, %t13 : tensor<2x4x4xf32>
  %t15 = arith.mulf %t14, %t14 : tensor<2x4x4xf32>
  %t16 = arith.mulf %t15, %t15 : tensor<2x4x4xf32>
  %t17 = arith.mulf %t16, %t16 : tensor<2x4x4xf32>
  %t18 = arith.mulf %t17, %t17 : tensor<2x4x4xf32>
  %t19 = arith.mulf %t18, %t18 : tensor<2x4x4xf32>
  %t20 = arith.mulf %t19, %t19 : tensor<2x4x4xf32>
  %t21 = arith.mulf %t20, %t20 : tensor<2x4x4xf32>
  %t22 = arith.mulf %t21, %t21 : tensor<2x4x4xf32>
  %t23 = arith.mulf %t22, %t22 : tensor<2x4x4xf32>
  %t24 = arith.mulf %t23, %t23 : tensor<2x4x4xf32>
  %t25 = arith.mulf %t24, %t24 : tensor<2x4x4xf32>
  %t26 = arith.mulf %t25, %t25 : tensor<2x4x4xf32>
  %t27 = arith.mulf %t26, %t26 : tensor<2x4x4xf32>
  %t28 = arith.mulf %t27, %t27 : tensor<2x4x4xf32>
  %t29 = arith.mulf %t28, %t28 : tensor<2x4x4xf32>
  %t30 = arith.mulf %t29, %t29 : tensor<2x4x4xf32>
  %t31 = arith.mulf %t30, %t30 : tensor<2x4x4xf32>
  %t32 = arith.mulf %t31, %t31 : tensor<2x4x4xf32>
  %t33 = arith.mulf %t32, %t32 : tensor<2x4x4xf32>
  %t34 = arith.mulf %t33, %t33 : tensor<2x4x4xf32>
  %t35 = arith.mulf %t34, %t34 : tensor<2x4x4xf32>
  %t36 = arith.mulf %t35, %t35 : tensor<2x4x4xf32>
  %t37 = arith.mulf %t36, %t36 : tensor<2x4x4xf32>
  %t38 = arith.mulf %t37, %t37 : tensor<2x4x4xf32>
  %t39 = arith.mulf %t38, %t38 : tensor<2x4x4xf32>
  %t40 = arith.mulf %t39, %t39 : tensor<2x4x4xf32>
  %t41 = arith.mulf %t40, %t40 : tensor<2x4x4xf32>
  %t42 = arith.mulf %t41, %t41 : tensor<2x4x4xf32>
  %t43 = arith.mulf %t42, %t42 : tensor<2x4x4xf32>
  %t44 = arith.mulf %t43, %t43 : tensor<2x4x4xf32>
  %t45 = arith.mulf %t44, %t44 : tensor<2x4x4xf32>
  %t46 = arith.mulf %t45, %t45 : tensor<2x4x4xf32>
  %t47 = arith.mulf %t46, %t46 : tensor<2x4x4xf32>
  %t48 = arith.mulf %t47, %t47 : tensor<2x4x4xf32>
  %o = attn.einsum "h i j, h j c -> h i c"(%t48, %v) : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %o : tensor<2x4x8xf32>
}
