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

// A missing part is an error, and never 0.
// expected-error @below {{expected ','}}
#l = #attn.launch<kernel = "f", title = "move", shared_bytes = 0, blocks = <fixed = 1, scaled = 0, factors = []>, rows = 0, keys = 0, note = "">
