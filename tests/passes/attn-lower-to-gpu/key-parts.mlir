// RUN: skewer-opt %s --attn-lower-to-gpu -split-input-file -verify-diagnostics | FileCheck %s
// Keys in parts: a kernel for them, and one that joins what they leave, of (3 parts) x (20 queries) x (16 + 2 numbers) x 4 bytes.

// CHECK: attn.program = #attn.program<"joined"
// CHECK-SAME: 4352
// CHECK-SAME: kernel = "joined"
// CHECK-SAME: kernel = "joined_join", title = "join"
func.func @joined(%q: tensor<20x32xf16>, %k: tensor<300x32xf16>, %v: tensor<300x16xf16>) -> tensor<20x16xf16> attributes {attn.kernel, attn.sizes = []} {
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %k) scale 0.25 : tensor<20x32xf16>, tensor<300x32xf16>
  } {attn.gpu_key_parts = 3 : i64} : tensor<300x16xf16> -> tensor<20x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 32, keys = 16, stages = 2, keep_queries = true, strategies = ["matmul"]>
  return %0 : tensor<20x16xf16>
}

// -----
// One block has not all queries.
func.func @f(%q: tensor<40x32xf16>, %k: tensor<300x32xf16>, %v: tensor<300x16xf16>) -> tensor<40x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{'attn.gpu_key_parts' is 3, but that is for blocks that have all queries: 40 are more than 32 rows}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %k) scale 0.25 : tensor<40x32xf16>, tensor<300x32xf16>
  } {attn.gpu_key_parts = 3 : i64} : tensor<300x16xf16> -> tensor<40x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 32, keys = 16, stages = 2, keep_queries = true, strategies = ["matmul"]>
  return %0 : tensor<40x16xf16>
}

// -----
// No number.
func.func @f(%q: tensor<20x32xf16>, %k: tensor<300x32xf16>, %v: tensor<300x16xf16>) -> tensor<20x16xf16> attributes {attn.kernel, attn.sizes = []} {
  // expected-error @below {{'attn.gpu_key_parts' is "two", expected a number}}
  %0 = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %k) scale 0.25 : tensor<20x32xf16>, tensor<300x32xf16>
  } {attn.gpu_key_parts = "two"} : tensor<300x16xf16> -> tensor<20x16xf16> schedule #attn.gpu_schedule<target = "sm_80", engine = "mma_sync", rows = 32, keys = 16, stages = 2, keep_queries = true, strategies = ["matmul"]>
  return %0 : tensor<20x16xf16>
}
