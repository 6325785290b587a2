// RUN: skewer-opt %s -attn-fit-lengths -split-input-file -verify-diagnostics | FileCheck %s
// RUN: not skewer-opt %s -pass-pipeline="builtin.module(attn-fit-lengths{pipeline=attn-fuse,attn-melt})" 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// A number that differs is a function of the length, sizes get extents, and the length is an operand.
// CHECK-LABEL: func.func @layer
// CHECK-SAME: attn.shape = ["N", 8]
// CHECK-SAME: attn.length, attn.name = "N", attn.range = array<i64: 1, 64>
// CHECK: attn.einsum "i j, (N[0] - 1 - i) j -> i j" where "i < N[0]"
// CHECK-SAME: attn.axis_extents = {i = "N"}, attn.extents = ["N", 0]
// CHECK-NOT: func.func
// UNKNOWN: error: pipeline 'attn-fuse,attn-melt': {{.*}}'attn-melt' does not refer to a registered pass or pass pipeline
module {
  module {
    func.func @layer(%x: tensor<64x8xf32> {attn.name = "x", attn.shape = [64, 8]}, %t: tensor<64x8xf32> {attn.name = "table", attn.shape = [64, 8]}) -> (tensor<64x8xf32> {attn.shape = [64, 8]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = []} {
      %y = attn.einsum "i d, (63 - i) d -> i d"(%x, %t) : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
      return %y : tensor<64x8xf32>
    }
  }
  module {
    func.func @layer(%x: tensor<63x8xf32> {attn.name = "x", attn.shape = [63, 8]}, %t: tensor<63x8xf32> {attn.name = "table", attn.shape = [63, 8]}) -> (tensor<63x8xf32> {attn.shape = [63, 8]}) attributes {attn.kernel, attn.sizes = []} {
      %y = attn.einsum "i d, (62 - i) d -> i d"(%x, %t) : (tensor<63x8xf32>, tensor<63x8xf32>) -> tensor<63x8xf32>
      return %y : tensor<63x8xf32>
    }
  }
  module {
    func.func @layer(%x: tensor<61x8xf32> {attn.name = "x", attn.shape = [61, 8]}, %t: tensor<61x8xf32> {attn.name = "table", attn.shape = [61, 8]}) -> (tensor<61x8xf32> {attn.shape = [61, 8]}) attributes {attn.kernel, attn.sizes = []} {
      %y = attn.einsum "i d, (60 - i) d -> i d"(%x, %t) : (tensor<61x8xf32>, tensor<61x8xf32>) -> tensor<61x8xf32>
      return %y : tensor<61x8xf32>
    }
  }
}

// -----

// A number that fits two of the lengths, but not the one that checks.
module {
  module {
    func.func @layer(%x: tensor<64x8xf32> {attn.name = "x", attn.shape = [64, 8]}, %t: tensor<64x8xf32> {attn.name = "table", attn.shape = [64, 8]}) -> (tensor<64x8xf32> {attn.shape = [64, 8]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = []} {
      // expected-error@below {{a layer of run-time length: 'i < 40' is 'i < 37' at another length; give the length its value at compile time (-D), or write this in another way}}
      %y = attn.einsum "i d, (63 - i) d -> i d" where "i < 40"(%x, %t) : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
      return %y : tensor<64x8xf32>
    }
  }
  module {
    func.func @layer(%x: tensor<63x8xf32> {attn.name = "x", attn.shape = [63, 8]}, %t: tensor<63x8xf32> {attn.name = "table", attn.shape = [63, 8]}) -> (tensor<63x8xf32> {attn.shape = [63, 8]}) attributes {attn.kernel, attn.sizes = []} {
      %y = attn.einsum "i d, (62 - i) d -> i d" where "i < 40"(%x, %t) : (tensor<63x8xf32>, tensor<63x8xf32>) -> tensor<63x8xf32>
      return %y : tensor<63x8xf32>
    }
  }
  module {
    func.func @layer(%x: tensor<61x8xf32> {attn.name = "x", attn.shape = [61, 8]}, %t: tensor<61x8xf32> {attn.name = "table", attn.shape = [61, 8]}) -> (tensor<61x8xf32> {attn.shape = [61, 8]}) attributes {attn.kernel, attn.sizes = []} {
      %y = attn.einsum "i d, (60 - i) d -> i d" where "i < 37"(%x, %t) : (tensor<61x8xf32>, tensor<61x8xf32>) -> tensor<61x8xf32>
      return %y : tensor<61x8xf32>
    }
  }
}

// -----

// expected-error@below {{expected 3 modules, one for each combination of a length and one less, and one that checks; found 2}}
module {
  module {
    func.func @layer(%x: tensor<64x8xf32> {attn.name = "x", attn.shape = [64, 8]}, %t: tensor<64x8xf32> {attn.name = "table", attn.shape = [64, 8]}) -> (tensor<64x8xf32> {attn.shape = [64, 8]}) attributes {attn.kernel, attn.lengths = {N = 64 : i64}, attn.sizes = []} {
      %y = attn.einsum "i d, (63 - i) d -> i d"(%x, %t) : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
      return %y : tensor<64x8xf32>
    }
  }
  module {
    func.func @layer(%x: tensor<63x8xf32> {attn.name = "x", attn.shape = [63, 8]}, %t: tensor<63x8xf32> {attn.name = "table", attn.shape = [63, 8]}) -> (tensor<63x8xf32> {attn.shape = [63, 8]}) attributes {attn.kernel, attn.sizes = []} {
      %y = attn.einsum "i d, (62 - i) d -> i d"(%x, %t) : (tensor<63x8xf32>, tensor<63x8xf32>) -> tensor<63x8xf32>
      return %y : tensor<63x8xf32>
    }
  }
}

// -----

// expected-error@below {{expected modules, the first with a layer that has 'attn.lengths'}}
module {
  module {
    func.func @layer(%x: tensor<64x8xf32> {attn.name = "x", attn.shape = [64, 8]}, %t: tensor<64x8xf32> {attn.name = "table", attn.shape = [64, 8]}) -> (tensor<64x8xf32> {attn.shape = [64, 8]}) attributes {attn.kernel, attn.sizes = []} {
      %y = attn.einsum "i d, (63 - i) d -> i d"(%x, %t) : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x8xf32>
      return %y : tensor<64x8xf32>
    }
  }
}

// -----

module {
  // expected-error@below {{expected one function: the layer at one of the lengths}}
  module {
  }
}
