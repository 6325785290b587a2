// MLIR's own passes around a layer: an attention without a reader is removed, two equal ones become one, one that does not
// depend on a loop leaves it, and a function made of the dialect's operations is inlined.
// RUN: skewer-opt -canonicalize %s | FileCheck %s --check-prefix=DEAD
// RUN: skewer-opt -cse %s | FileCheck %s --check-prefix=SAME
// RUN: skewer-opt -loop-invariant-code-motion %s | FileCheck %s --check-prefix=LOOP
// RUN: skewer-opt -inline %s | FileCheck %s --check-prefix=INLINE

// DEAD-LABEL: func.func @dead
// DEAD-NEXT: return
func.func @dead(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) {
  %o = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %k) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// The terms of the third attention have another scale.
// SAME-LABEL: func.func @alike
// SAME: %[[A:.*]] = attn.attention
// SAME: scale 1.000000e+00
// SAME: %[[B:.*]] = attn.attention
// SAME: scale 5.000000e-01
// SAME-NOT: attn.attention
// SAME: return %[[A]], %[[A]], %[[B]]
func.func @alike(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>)
    -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %a = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %k) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  %b = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %k) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  %c = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %k) scale 0.5 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// LOOP-LABEL: func.func @loop
// LOOP: attn.attention
// LOOP: scf.for
// LOOP-NOT: attn.attention
// LOOP: return
func.func @loop(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>, %times: index) -> tensor<4x8xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %sum = scf.for %n = %zero to %times step %one iter_args(%before = %v) -> tensor<4x8xf32> {
    %o = attn.attention "i j" value "j e -> i e" (%v) score {
      attn.term "i d, j d" (%q, %k) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
    } : tensor<4x8xf32> -> tensor<4x8xf32>
    %after = arith.addf %before, %o : tensor<4x8xf32>
    scf.yield %after : tensor<4x8xf32>
  }
  return %sum : tensor<4x8xf32>
}

func.func private @layer(%q: tensor<4x8xf32>, %k: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %o = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %k) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
// A kernel that reads run-time indices by its arguments' names stays a call.
func.func private @padded(%q: tensor<4x8xf32>, %n: tensor<1xi32> {attn.name = "n", attn.range = array<i64: 0, 4>}) -> tensor<4x8xf32> {
  %o = attn.attention "i j" where "j < n[0]" indices(n = %n : tensor<1xi32>) value "j e -> i e" (%q) score {
    attn.term "i d, j d" (%q, %q) scale 1.0 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<4x8xf32> -> tensor<4x8xf32>
  return %o : tensor<4x8xf32>
}
// INLINE-LABEL: func.func @caller
// INLINE-SAME: %[[X:.*]]: tensor<4x8xf32>
// INLINE-NOT: call @layer
// INLINE: attn.attention "i j" value "j e -> i e"(%[[X]])
// INLINE: call @padded
func.func @caller(%x: tensor<4x8xf32>, %n: tensor<1xi32>) -> tensor<4x8xf32> {
  %o = call @layer(%x, %x, %x) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %p = call @padded(%o, %n) : (tensor<4x8xf32>, tensor<1xi32>) -> tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}

// So does one that names an index operand: inlined, one function would have two of that name.
func.func private @named(%n: tensor<4xi32>) -> tensor<4xi32> {
  %twice = arith.addi %n, %n : tensor<4xi32>
  %row = attn.index "row" in [0, 6] (%twice) : tensor<4xi32>
  return %row : tensor<4xi32>
}
// INLINE-LABEL: func.func @calls_named
// INLINE-COUNT-2: call @named
func.func @calls_named(%n: tensor<4xi32>) -> tensor<4xi32> {
  %a = call @named(%n) : (tensor<4xi32>) -> tensor<4xi32>
  %b = call @named(%a) : (tensor<4xi32>) -> tensor<4xi32>
  return %b : tensor<4xi32>
}
