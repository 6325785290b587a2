// RUN: skewer-opt %s -split-input-file -verify-diagnostics
// #attn.program: the facts that launchers may rely on.

// A program of one kernel, whose grid depends on a size of the plan.
#none = #attn.size<fixed = 0, scaled = 0, factors = []>
#grid = #attn.size<fixed = 0, scaled = 4, factors = ["batch"]>
#launch = #attn.launch<kernel = "f", title = "attention", threads = 128, shared_bytes = 46080, blocks = #grid, rows = 64, keys = 64, note = "">
module attributes {attn.plan = #attn.plan<"f", inputs = [], outputs = [<"o", f32, ["batch"]>], sizes = ["batch"], stages = [], phases = [], shared_bytes = #none, local_bytes = 0>} {
  gpu.module @f_gpu attributes {attn.program = #attn.program<"f", workspace = #none, launches = [#launch]>} {
    llvm.func @f()
  }
}

// -----

// program_c1: kernels have names
// expected-error @below {{a launch names no kernel (program_c1)}}
#l = #attn.launch<kernel = "", title = "move", threads = 128, shared_bytes = 0, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 0, keys = 0, note = "">

// -----

// program_c2: blocks are whole warps
// expected-error @below {{kernel 'f' has blocks of 100 threads, expected a multiple of 32 up to 1024 (program_c2)}}
#l = #attn.launch<kernel = "f", title = "move", threads = 100, shared_bytes = 0, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 0, keys = 0, note = "">

// -----

// program_c2: as many as a block may have
// expected-error @below {{kernel 'f' has blocks of 1056 threads, expected a multiple of 32 up to 1024 (program_c2)}}
#l = #attn.launch<kernel = "f", title = "move", threads = 1056, shared_bytes = 0, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 0, keys = 0, note = "">

// -----

// program_c3: shared memory is whole vectors
// expected-error @below {{kernel 'f' has 100 bytes of shared memory, expected a multiple of 16 (program_c3)}}
#l = #attn.launch<kernel = "f", title = "move", threads = 128, shared_bytes = 100, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 0, keys = 0, note = "">

// -----

// program_c3: and not negative
// expected-error @below {{kernel 'f' has -16 bytes of shared memory, expected a multiple of 16 (program_c3)}}
#l = #attn.launch<kernel = "f", title = "move", threads = 128, shared_bytes = -16, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 0, keys = 0, note = "">

// -----

// program_c4: a tile has rows and keys
// expected-error @below {{kernel 'f' has a tile of 64 rows and 0 keys, expected positive numbers, or 0 and 0 (program_c4)}}
#l = #attn.launch<kernel = "f", title = "attention", threads = 128, shared_bytes = 0, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 64, keys = 0, note = "">

// -----

// program_c5: something runs
// expected-error @below {{a program launches nothing (program_c5)}}
#p = #attn.program<"f", workspace = <fixed = 0, scaled = 0, factors = []>, launches = []>

// -----

// program_c5: under a name
// expected-error @below {{a program has no name (program_c5)}}
#p = #attn.program<"", workspace = <fixed = 0, scaled = 0, factors = []>, launches = [<kernel = "f", title = "move", threads = 128, shared_bytes = 0, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 0, keys = 0, note = "">]>

// -----

// program_c6: a program stands on a module of a GPU
// expected-error @below {{has attn.program, expected a gpu.module with an #attn.program (program_c6)}}
module attributes {attn.program = #attn.program<"f", workspace = <fixed = 0, scaled = 0, factors = []>, launches = [<kernel = "f", title = "move", threads = 128, shared_bytes = 0, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 0, keys = 0, note = "">]>} {}

// -----

// program_c6: and is one
// expected-error @below {{has attn.program, expected a gpu.module with an #attn.program (program_c6)}}
gpu.module @f_gpu attributes {attn.program = {name = "f"}} {}

// -----

// program_c7: what is launched is there
// expected-error @below {{launches 'g', which is none of its functions (program_c7)}}
gpu.module @f_gpu attributes {attn.program = #attn.program<"f", workspace = <fixed = 0, scaled = 0, factors = []>, launches = [<kernel = "g", title = "move", threads = 128, shared_bytes = 0, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 0, keys = 0, note = "">]>} {
  llvm.func @f()
}

// -----

// program_c8: grids depend on sizes that launchers know
#none = #attn.size<fixed = 0, scaled = 0, factors = []>
module attributes {attn.plan = #attn.plan<"f", inputs = [], outputs = [<"o", f32, ["batch"]>], sizes = ["batch"], stages = [], phases = [], shared_bytes = #none, local_bytes = 0>} {
  // expected-error @below {{the grid of 'f' depends on 'n', which is none of the kernel's sizes (program_c8)}}
  gpu.module @f_gpu attributes {attn.program = #attn.program<"f", workspace = #none, launches = [<kernel = "f", title = "move", threads = 128, shared_bytes = 0, blocks = <fixed = 0, scaled = 1, factors = ["n"]>, rows = 0, keys = 0, note = "">]>} {
    llvm.func @f()
  }
}

// -----

// program_c8: workspaces too
#none = #attn.size<fixed = 0, scaled = 0, factors = []>
module attributes {attn.plan = #attn.plan<"f", inputs = [], outputs = [<"o", f32, [4]>], sizes = [], stages = [], phases = [], shared_bytes = #none, local_bytes = 0>} {
  // expected-error @below {{the workspace depends on 'n', which is none of the kernel's sizes (program_c8)}}
  gpu.module @f_gpu attributes {attn.program = #attn.program<"f", workspace = <fixed = 0, scaled = 64, factors = ["n"]>, launches = [<kernel = "f", title = "move", threads = 128, shared_bytes = 0, blocks = #none, rows = 0, keys = 0, note = "">]>} {
    llvm.func @f()
  }
}

// -----

// A launch with a kernel that copies boxes of a tensor.
#none = #attn.size<fixed = 0, scaled = 0, factors = []>
#map = #attn.tensor_map<argument = 1, offset = #none, type = f16, columns = 72, rows = <fixed = 0, scaled = 1, factors = ["n"]>, places = <fixed = 8, scaled = 0, factors = []>, row_bytes = 144, place_bytes = 144, box_columns = 16, box_rows = 64>
#launch = #attn.launch<kernel = "f", title = "attention", threads = 128, shared_bytes = 46080, blocks = #none, rows = 64, keys = 64, note = "", boxes = <"g", maps = [#map, #map]>>
module attributes {attn.plan = #attn.plan<"f", inputs = [], outputs = [<"o", f32, ["n"]>], sizes = ["n"], stages = [], phases = [], shared_bytes = #none, local_bytes = 0>} {
  gpu.module @f_gpu attributes {attn.program = #attn.program<"f", workspace = #none, launches = [#launch]>} {
    llvm.func @f()
    llvm.func @g()
  }
}

// -----

// program_c7: the kernel that copies boxes is there
#none = #attn.size<fixed = 0, scaled = 0, factors = []>
#map = #attn.tensor_map<argument = 1, offset = #none, type = f16, columns = 72, rows = #none, places = #none, row_bytes = 144, place_bytes = 144, box_columns = 16, box_rows = 64>
#launch = #attn.launch<kernel = "f", title = "attention", threads = 128, shared_bytes = 0, blocks = #none, rows = 64, keys = 64, note = "", boxes = <"g", maps = [#map]>>
// expected-error @below {{launches 'g', which is none of its functions (program_c7)}}
gpu.module @f_gpu attributes {attn.program = #attn.program<"f", workspace = #none, launches = [#launch]>} {
  llvm.func @f()
}

// -----

// program_c8: tensor maps too
#none = #attn.size<fixed = 0, scaled = 0, factors = []>
#map = #attn.tensor_map<argument = 1, offset = #none, type = f16, columns = 72, rows = <fixed = 0, scaled = 1, factors = ["n"]>, places = #none, row_bytes = 144, place_bytes = 144, box_columns = 16, box_rows = 64>
#launch = #attn.launch<kernel = "f", title = "attention", threads = 128, shared_bytes = 0, blocks = #none, rows = 64, keys = 64, note = "", boxes = <"f", maps = [#map]>>
module attributes {attn.plan = #attn.plan<"f", inputs = [], outputs = [<"o", f32, [4]>], sizes = [], stages = [], phases = [], shared_bytes = #none, local_bytes = 0>} {
  // expected-error @below {{a tensor map of 'f' depends on 'n', which is none of the kernel's sizes (program_c8)}}
  gpu.module @f_gpu attributes {attn.program = #attn.program<"f", workspace = #none, launches = [#launch]>} {
    llvm.func @f()
  }
}

// -----

// program_c9: an argument and columns
// expected-error @below {{a tensor map of argument 1 with 0 columns, expected a number from 0 and some columns (program_c9)}}
#m = #attn.tensor_map<argument = 1, offset = <fixed = 0, scaled = 0, factors = []>, type = f16, columns = 0, rows = <fixed = 8, scaled = 0, factors = []>, places = <fixed = 8, scaled = 0, factors = []>, row_bytes = 144, place_bytes = 144, box_columns = 16, box_rows = 64>

// -----

// program_c9: a type that is multiplied
// expected-error @below {{a tensor map of 'f32', expected f16 or bf16 (program_c9)}}
#m = #attn.tensor_map<argument = 1, offset = <fixed = 0, scaled = 0, factors = []>, type = f32, columns = 72, rows = <fixed = 8, scaled = 0, factors = []>, places = <fixed = 8, scaled = 0, factors = []>, row_bytes = 144, place_bytes = 144, box_columns = 16, box_rows = 64>

// -----

// program_c9: whole 16 bytes from row to row
// expected-error @below {{a tensor map with a distance of 40 bytes, expected a multiple of 16 below 2^40 (program_c9)}}
#m = #attn.tensor_map<argument = 1, offset = <fixed = 0, scaled = 0, factors = []>, type = f16, columns = 72, rows = <fixed = 8, scaled = 0, factors = []>, places = <fixed = 8, scaled = 0, factors = []>, row_bytes = 40, place_bytes = 144, box_columns = 16, box_rows = 64>

// -----

// program_c9: not too far
// expected-error @below {{a tensor map with a distance of 1099511627776 bytes, expected a multiple of 16 below 2^40 (program_c9)}}
#m = #attn.tensor_map<argument = 1, offset = <fixed = 0, scaled = 0, factors = []>, type = f16, columns = 72, rows = <fixed = 8, scaled = 0, factors = []>, places = <fixed = 8, scaled = 0, factors = []>, row_bytes = 144, place_bytes = 1099511627776, box_columns = 16, box_rows = 64>

// -----

// program_c9: rows that a swizzle permutes
// expected-error @below {{a box of 64 rows of 24 elements, expected 1 to 256 rows of 16, 32 or 64 (program_c9)}}
#m = #attn.tensor_map<argument = 1, offset = <fixed = 0, scaled = 0, factors = []>, type = f16, columns = 72, rows = <fixed = 8, scaled = 0, factors = []>, places = <fixed = 8, scaled = 0, factors = []>, row_bytes = 144, place_bytes = 144, box_columns = 24, box_rows = 64>

// -----

// program_c10: some maps
// expected-error @below {{kernel 'g' with 0 tensor maps, expected a name and 1 to 8 (program_c10)}}
#b = #attn.boxes<"g", maps = []>

// -----

// A missing part is an error, and never 0.
// expected-error @below {{expected ','}}
#l = #attn.launch<kernel = "f", title = "move", shared_bytes = 0, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 0, keys = 0, note = "">
