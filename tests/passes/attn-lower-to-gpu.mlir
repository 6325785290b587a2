// RUN: skewer-opt %s --attn-lower-to-gpu --split-input-file | FileCheck %s
// RUN: skewer-opt %s --attn-schedule-gpu="rows=32 keys=16 warp-rows=16" --attn-lower-to-gpu --split-input-file | FileCheck %s --check-prefix=SMALL

// Each leading index and 64 queries are a block; rows of 64 elements stand 144 bytes apart, so that ldmatrix meets no bank twice.
// CHECK: module attributes {attn.plan
// CHECK: gpu.module @layer_gpu attributes {attn.program = #attn.program<"layer", workspace = <fixed = 0, scaled = 0, factors = []>, launches = [<kernel = "layer", title = "attention", threads = 128, shared_bytes = 46080, blocks = <fixed = 0, scaled = 4, factors = ["batch"]>, rows = 64, keys = 64, note = "">]>}
// CHECK: llvm.mlir.global external @shared_memory() {addr_space = 3 : i32, alignment = 16 : i64}
// CHECK: llvm.func @layer(%{{.*}}: !llvm.ptr<1> {llvm.align = 16 : i64, llvm.noalias}, {{.*}}, %{{.*}}: !llvm.ptr<1> {llvm.align = 256 : i64, llvm.noalias}, %{{.*}}: i64)
// CHECK-SAME: nvvm.kernel
// CHECK-SAME: nvvm.maxntid = array<i32: 128, 1, 1>
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for
// CHECK: nvvm.cp.async.wait.group 0
// CHECK-NEXT: nvvm.barrier0
// The next tile is on its way while this one is multiplied.
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.ldmatrix
// CHECK: nvvm.mma.sync
// The mask is looked at only where its edge crosses the tile.
// CHECK: scf.if
// CHECK: nvvm.shfl.sync
// CHECK: llvm.intr.exp2
// CHECK: layout = #nvvm.mma_layout<col>
// CHECK: nvvm.mma.sync
// CHECK-NOT: func.func
// SMALL: threads = 64
// SMALL-SAME: scaled = 8
// SMALL-SAME: rows = 32, keys = 16, note = ""
func.func @layer(%q: tensor<?x2x128x64xf16> {attn.name = "q", attn.shape = ["batch", 2, 128, 64]},
                 %k: tensor<?x2x128x64xf16> {attn.name = "k", attn.shape = ["batch", 2, 128, 64]},
                 %v: tensor<?x2x128x64xf16> {attn.name = "v", attn.shape = ["batch", 2, 128, 64]})
    -> (tensor<?x2x128x64xf16> {attn.shape = ["batch", 2, 128, 64]}) attributes {attn.kernel, attn.sizes = ["batch"]} {
  %o = attn.attention "b h i j" where "j <= i" value "b h j e -> b h i e" (%v) score {
    attn.term "b h i d, b h j d" (%q, %k) scale 1.250000e-01 : tensor<?x2x128x64xf16>, tensor<?x2x128x64xf16>
  } : tensor<?x2x128x64xf16> -> tensor<?x2x128x64xf16>
  return %o : tensor<?x2x128x64xf16>
}

// -----
// A table of whole numbers that an index expression holds is a constant of the GPU module.
// CHECK: gpu.module @bias_gpu
// CHECK: llvm.mlir.global internal constant @index_table_0(dense<[0, 0, 1, 2, 2]> : tensor<5xi64>) {addr_space = 1 : i32
// CHECK: llvm.mlir.addressof @index_table_0
// SMALL: gpu.module @bias_gpu
func.func @bias(%q: tensor<32x16xbf16> {attn.name = "q", attn.shape = [32, 16]},
                %v: tensor<32x16xbf16> {attn.name = "v", attn.shape = [32, 16]},
                %t: tensor<3xf32> {attn.name = "t", attn.shape = [3]})
    -> (tensor<32x16xf32> {attn.shape = [32, 16]}) attributes {attn.kernel, attn.sizes = []} {
  %o = attn.attention "i j" value "j e -> i e" (%v) score {
    attn.term "i d, j d" (%q, %v) scale 2.500000e-01 : tensor<32x16xbf16>, tensor<32x16xbf16>
    attn.term "([0, 0, 1, 2, 2][clamp(j - i, -2, 2) + 2])" (%t) scale 1.000000e+00 : tensor<3xf32>
  } : tensor<32x16xbf16> -> tensor<32x16xf32>
  return %o : tensor<32x16xf32>
}
