// RUN: skewer-opt %s -attn-split-products -split-input-file | FileCheck %s
// Two tensors that are read at the same rows, one of which has all dimensions of the other, are one.

// Pages of a cache and a scale for each page and head.
// CHECK-LABEL: func.func @pages
// CHECK: %[[V:.*]] = attn.einsum "o0 o1 o2 o3, o0 o2 -> o0 o1 o2 o3"(%arg1, %arg2) : {{.*}} -> tensor<7x4x2x8xf32>
// CHECK: attn.einsum "b h i (p s), (block[b, p]) s h d -> b h i d" {{.*}}(%arg0, %[[V]])
func.func @pages(%w: tensor<?x2x3x12xf32>, %v: tensor<7x4x2x8xbf16>, %scale: tensor<7x2xf32>,
                 %block: tensor<?x3xi32> {attn.name = "block", attn.range = array<i64: 0, 6>}) -> tensor<?x2x3x8xf32> {
  %o = attn.einsum "b h i (p s), (block[b, p]) s h d, (block[b, p]) h -> b h i d" indices(block = %block : tensor<?x3xi32>)(%w, %v, %scale)
      : (tensor<?x2x3x12xf32>, tensor<7x4x2x8xbf16>, tensor<7x2xf32>) -> tensor<?x2x3x8xf32>
  return %o : tensor<?x2x3x8xf32>
}

// -----
// Keys that are multiplied with queries, rows picked by an offset; the scale is written first.
// CHECK-LABEL: func.func @offsets
// CHECK: %[[R:.*]] = attn.einsum "o0 o1, o0 -> o0 o1"(%arg2, %arg1)
// CHECK: attn.einsum "i d, (j - i + 3) d -> i j" sizes {j = 4 : i64}(%arg0, %[[R]])
func.func @offsets(%q: tensor<4x2xf32>, %gain: tensor<7xf32>, %table: tensor<7x2xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "i d, (j - i + 3), (j - i + 3) d -> i j" sizes {j = 4 : i64}(%q, %gain, %table)
      : (tensor<4x2xf32>, tensor<7xf32>, tensor<7x2xf32>) -> tensor<4x4xf32>
  return %l : tensor<4x4xf32>
}

// -----
// Read at other rows, it stays an operand.
// CHECK-LABEL: func.func @apart
// CHECK: attn.einsum "i d, (j - i + 3) d, (j + 3) -> i j"
func.func @apart(%q: tensor<4x2xf32>, %gain: tensor<7xf32>, %table: tensor<7x2xf32>) -> tensor<4x4xf32> {
  %l = attn.einsum "i d, (j - i + 3) d, (j + 3) -> i j" sizes {j = 4 : i64}(%q, %table, %gain)
      : (tensor<4x2xf32>, tensor<7x2xf32>, tensor<7xf32>) -> tensor<4x4xf32>
  return %l : tensor<4x4xf32>
}

// -----
// A scale for each block of keys is read at one of the values' positions: it goes to them.
// CHECK-LABEL: func.func @blocks
// CHECK: %[[P:.*]] = attn.softmax
// CHECK: %[[V:.*]] = attn.einsum "j c, (j floordiv 4) -> j c"(%arg1, %arg2) : {{.*}} -> tensor<8x6xf32>
// CHECK: attn.einsum "i j, j c -> i c"(%[[P]], %[[V]])
func.func @blocks(%s: tensor<4x8xf32>, %v: tensor<8x6xbf16>, %scale: tensor<2xf32>) -> tensor<4x6xf32> {
  %p = attn.softmax "i j" over "j"(%s) : tensor<4x8xf32>
  %o = attn.einsum "i j, j c, (j floordiv 4) -> i c"(%p, %v, %scale)
      : (tensor<4x8xf32>, tensor<8x6xbf16>, tensor<2xf32>) -> tensor<4x6xf32>
  return %o : tensor<4x6xf32>
}
