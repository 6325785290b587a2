// The verifier must accept these: each constraint at its edge, and proofs that need more than intervals. The files
// *-verification.mlir have the same edges from the other side.
// RUN: skewer-opt %s | FileCheck %s

// attn_c1, attn_c2: the largest sizes there are, and the smallest.
// CHECK-LABEL: func.func @sizes
func.func @sizes(%huge: tensor<288230376151711744xf32>, %one: tensor<1x1xf32>) {
  // CHECK: attn.einsum "i -> i"
  %0 = attn.einsum "i -> i"(%huge) : (tensor<288230376151711744xf32>) -> tensor<288230376151711744xf32>
  // CHECK: attn.reshape
  %1 = attn.reshape %huge : tensor<288230376151711744xf32> to tensor<536870912x536870912xf32>
  // CHECK: attn.skew %{{.*}} : tensor<1x1xf32> to tensor<1x1xf32>
  %2 = attn.skew %one : tensor<1x1xf32> to tensor<1x1xf32>
  return
}

// einsum_c5 by intervals of sums, by the guard, by division, by enumeration of a table's rows, by ranges of elements.
// CHECK-LABEL: func.func @inside
// CHECK-COUNT-9: attn.einsum
func.func @inside(%q: tensor<6x8xf32>, %r11: tensor<11x8xf32>, %r6: tensor<6x8xf32>, %r3: tensor<3x8xf32>, %r2: tensor<2x8xf32>,
                  %seg: tensor<6xi32> {attn.name = "seg", attn.range = array<i64: -1, 2>}) {
  %0 = attn.einsum "i d, (j - i + 5) d -> i j" sizes {j = 6 : i64}(%q, %r11) : (tensor<6x8xf32>, tensor<11x8xf32>) -> tensor<6x6xf32>
  %1 = attn.einsum "i d, (j - i + 5) d -> i j" where "j <= i" sizes {j = 6 : i64}(%q, %r6) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
  %2 = attn.einsum "i d, (i floordiv 2 - j floordiv 2 + 2) d -> i j" where "j <= i" sizes {j = 6 : i64}(%q, %r6) : (tensor<6x8xf32>, tensor<6x8xf32>) -> tensor<6x6xf32>
  %3 = attn.einsum "i d, (clamp(j - i, -1, 1) + 1) d -> i j" sizes {j = 6 : i64}(%q, %r3) : (tensor<6x8xf32>, tensor<3x8xf32>) -> tensor<6x6xf32>
  %4 = attn.einsum "i d, ([0, 2, 1, 1, 0, 2][(i*j) mod 6]) d -> i j" sizes {j = 6 : i64}(%q, %r3) : (tensor<6x8xf32>, tensor<3x8xf32>) -> tensor<6x6xf32>
  %5 = attn.einsum "i d, ((i*i + j) mod 3) d -> i j" sizes {j = 6 : i64}(%q, %r3) : (tensor<6x8xf32>, tensor<3x8xf32>) -> tensor<6x6xf32>
  %6 = attn.einsum "i d, (seg[i] == seg[j]) d -> i j" sizes {j = 6 : i64} indices(seg = %seg : tensor<6xi32>)(%q, %r2) : (tensor<6x8xf32>, tensor<2x8xf32>) -> tensor<6x6xf32>
  %7 = attn.einsum "i d, (max(seg[j], 0)) d -> i j" sizes {j = 6 : i64} indices(seg = %seg : tensor<6xi32>)(%q, %r3) : (tensor<6x8xf32>, tensor<3x8xf32>) -> tensor<6x6xf32>
  %8 = attn.einsum "i d, (j - 3) d -> i j" where "abs(2*j - 8) <= 2" sizes {j = 6 : i64}(%q, %r3) : (tensor<6x8xf32>, tensor<3x8xf32>) -> tensor<6x6xf32>
  return
}

// einsum_c3: the one unknown factor of a product, told by a later operand, by the result, by `sizes`; a run-time size first.
// CHECK-LABEL: func.func @unknown_factors
// CHECK-COUNT-4: attn.einsum
func.func @unknown_factors(%x: tensor<12x8xf32>, %h: tensor<3xf32>, %b: tensor<?x12xf32>) {
  %0 = attn.einsum "(h n) d, h -> h n d"(%x, %h) : (tensor<12x8xf32>, tensor<3xf32>) -> tensor<3x4x8xf32>
  %1 = attn.einsum "(h n) d -> h n d" sizes {n = 4 : i64}(%x) : (tensor<12x8xf32>) -> tensor<3x4x8xf32>
  %2 = attn.einsum "b (h n) -> (b h) n" sizes {n = 4 : i64}(%b) : (tensor<?x12xf32>) -> tensor<?x4xf32>
  %3 = attn.einsum "(a b c) d -> a b c d" sizes {a = 2 : i64, c = 2 : i64}(%x) : (tensor<12x8xf32>) -> tensor<2x3x2x8xf32>
  return
}

// attn_c8: elements that are read only where a conjunct next to them holds, mirrored, at clamped places.
// CHECK-LABEL: func.func @guarded_reads
// CHECK-COUNT-3: attn.position
func.func @guarded_reads(%near: tensor<5xi32> {attn.name = "near"}, %two: tensor<3x4xi32> {attn.name = "two"}) {
  %0 = attn.position "i j" = "abs(i - j) <= 2 and near[j - i + 2] == 1" indices(near = %near : tensor<5xi32>) : tensor<6x6xf32>
  %1 = attn.position "a b" = "two[a, b] + two[2 - a, 3 - b]" indices(two = %two : tensor<3x4xi32>) : tensor<3x4xf32>
  %2 = attn.position "i j" = "near[clamp(j - i, -2, 2) + 2]" indices(near = %near : tensor<5xi32>) : tensor<6x6xf32>
  return
}

// slice_c4: the last element that is read is the last that there is; pad_c2: padding of nothing.
// CHECK-LABEL: func.func @ends
func.func @ends(%x: tensor<10xf32>, %b: tensor<?x10xf32>) {
  // CHECK: attn.slice %{{.*}} offsets [1] strides [4]
  %0 = attn.slice %x offsets [1] strides [4] : tensor<10xf32> to tensor<3xf32>
  // CHECK: attn.slice %{{.*}} offsets [9] strides [7]
  %1 = attn.slice %x offsets [9] strides [7] : tensor<10xf32> to tensor<1xf32>
  // CHECK: attn.pad %{{.*}} low [0] high [0]
  %2 = attn.pad %x low [0] high [0] : tensor<10xf32> to tensor<10xf32>
  // CHECK: attn.slice %{{.*}} offsets [0, 9] strides [1, 1]
  %3 = attn.slice %b offsets [0, 9] strides [1, 1] : tensor<?x10xf32> to tensor<?x1xf32>
  return
}

// gather_c3: the first and the last row, indices of any rank, none of them twice or all of them the same.
// CHECK-LABEL: func.func @gathers
// CHECK-COUNT-3: attn.gather
func.func @gathers(%x: tensor<4x2xf32>) {
  %0 = attn.gather %x dimension 0 indices dense<[0, 3]> : tensor<2xi64> : tensor<4x2xf32> to tensor<2x2xf32>
  %1 = attn.gather %x dimension 1 indices dense<[[[1, 0, 1]]]> : tensor<1x1x3xi64> : tensor<4x2xf32> to tensor<4x1x1x3xf32>
  %2 = attn.gather %x dimension 0 indices dense<3> : tensor<i64> : tensor<4x2xf32> to tensor<2xf32>
  return
}

// attention_c2, attention_c5: a width of 1, a value axis of two parts, one query, one key.
// CHECK-LABEL: func.func @values
// CHECK-COUNT-3: attn.attention
func.func @values(%q: tensor<4x8xf32>, %v: tensor<4x1xf32>, %parts: tensor<4x2x3xf32>, %one: tensor<1x8xf32>) {
  %0 = attn.attention "i j" value "j e -> i e"(%v) score {
    attn.term "i d, j d"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x1xf32> -> tensor<4x1xf32>
  %1 = attn.attention "i j" value "j e e1 -> i e e1"(%parts) score {
    attn.term "i d, j d"(%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x2x3xf32> -> tensor<4x2x3xf32>
  %2 = attn.attention "i j" value "j e -> i e"(%one) score {
    attn.term "i d, j d"(%one, %one) scale 1.0 : tensor<1x8xf32>, tensor<1x8xf32>
  } : tensor<1x8xf32> -> tensor<1x8xf32>
  return
}

// term_c3, term_c4, term_c5: contracted axes of two names, a row that only mask and guard together keep inside, a scale
// of 0, a factor without an operand.
// CHECK-LABEL: func.func @terms
// CHECK-COUNT-4: attn.term
func.func @terms(%q: tensor<4x2x8xf32>, %v: tensor<4x8xf32>, %t: tensor<2x8xf32>) -> tensor<4x8xf32> {
  %0 = attn.attention "i j" where "j <= i" value "j e -> i e"(%v) score {
    attn.term "i c d, j c d"(%q, %q) scale -0.5 : tensor<4x2x8xf32>, tensor<4x2x8xf32>
    attn.term "i d, (i - j) d"(%v, %t) scale 1.0 where "i - j <= 1" : tensor<4x8xf32>, tensor<2x8xf32>
    attn.term ""() times "i*j" scale 0.0
    attn.term ""() times "1" scale 1.0
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
