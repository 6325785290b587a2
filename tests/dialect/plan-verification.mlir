// RUN: skewer-opt %s -split-input-file -verify-diagnostics
// #attn.plan: the facts that code generation may rely on.

// plan_c1: sizes are not negative
// expected-error @below {{a size of -64 + 0 × …, expected no negative numbers (plan_c1)}}
#s = #attn.size<fixed = -64, scaled = 0, factors = []>

// -----

// plan_c1: and depend on sizes that have names
// expected-error @below {{a size depends on a run-time size without a name (plan_c1)}}
#s = #attn.size<fixed = 0, scaled = 4, factors = [""]>

// -----

// plan_c2: a name
// expected-error @below {{an argument has no name (plan_c2)}}
#a = #attn.argument<"", f32, [4]>

// -----

// plan_c2: a type that kernels have
// expected-error @below {{argument 'x' has elements of type 'f64', expected f32, f16, bf16, i32, i8 or f8E4M3FN (plan_c2)}}
#a = #attn.argument<"x", f64, [4]>

// -----

// plan_c3: extents
// expected-error @below {{argument 'x' has the extent -1 : i64, expected a number of i64 from 0 on or the name of a run-time size (plan_c3)}}
#a = #attn.argument<"x", f32, [4, -1]>

// -----

// plan_c3: that are numbers or names
// expected-error @below {{argument 'x' has the extent true, expected a number of i64 from 0 on or the name of a run-time size (plan_c3)}}
#a = #attn.argument<"x", f32, [true]>

// -----

// plan_c4: a range, of numbers that have one
// expected-error @below {{argument 'x' has the range array<i64: 0, 4>, expected array<i64: low, high>, low <= high, of an i32 (plan_c4)}}
#a = #attn.argument<"x", f32, [4] range = [0, 4]>

// -----

// plan_c4: and two ends
// expected-error @below {{argument 'x' has the range array<i64: 3>, expected array<i64: low, high>, low <= high, of an i32 (plan_c4)}}
#a = #attn.argument<"x", i32, [4] range = [3]>

// -----

// plan_c4: a standard deviation
// expected-error @below {{argument 'x' has the standard deviation -1.000000e+00 : f64, expected a positive f64 (plan_c4)}}
#a = #attn.argument<"x", f32, [4] deviation = -1.0 : f64>

// -----

// plan_c4: a finite mean
// expected-error @below {{argument 'x' has the mean 0x7FF0000000000000 : f64, expected a finite f64 (plan_c4)}}
#a = #attn.argument<"x", f32, [4] mean = 0x7FF0000000000000 : f64>

// -----

// plan_c4: one way in which values lie
// expected-error @below {{argument 'x' has values between array<f64: 1.000000e+00, 2.000000e+00>, expected array<f64: low, high>, low <= high, and no mean or deviation beside it (plan_c4)}}
#a = #attn.argument<"x", f32, [4] deviation = 1.0 : f64 between = [1.0, 2.0]>

// -----

// plan_c4: words that there are
// expected-error @below {{argument 'x' is in word 3 : i64, expected 0, 1 or 2 (q0, k0, head0) of an i32 (plan_c4)}}
#a = #attn.argument<"x", i32, [1] origin = 3>

// -----

// plan_c5: phases have functions
// expected-error @below {{a phase names no function (plan_c5)}}
#p = #attn.phase<function = "", title = "pack", items = <fixed = 1, scaled = 0, factors = []>>

// -----

// plan_c5: what is made once has items of a known number
// expected-error @below {{a phase that prepares has items that depend on run-time sizes, expected a number (plan_c5)}}
#p = #attn.phase<function = "f", title = "pack", items = <fixed = 0, scaled = 1, factors = ["n"]>, prepares = true>

// -----

// plan_c4: words of the argument struct differ from call to call
// expected-error @below {{argument 'q0' is const, expected a tensor, no word of the argument struct (plan_c4)}}
#a = #attn.argument<"q0", i32, [1] range = [0, 4] origin = 0 const = unit>

// -----

// plan_c6: lines are those of a text
// expected-error @below {{a stage is in line -3 of the text, expected a number of a line or 0 (plan_c6)}}
#s = #attn.stage<title = "attention", line = -3, bytes = <fixed = 0, scaled = 0, factors = []>>

// -----

// plan_c7: a kernel has an output
// expected-error @below {{a kernel has no output (plan_c7)}}
#p = #attn.plan<"f", inputs = [], outputs = [], sizes = [], stages = [], phases = [], shared_bytes = <fixed = 0, scaled = 0, factors = []>, local_bytes = 0>

// -----

// plan_c7: whose arguments differ
// expected-error @below {{two arguments are called 'x' (plan_c7)}}
#p = #attn.plan<"f", inputs = [<"x", f32, [4]>], outputs = [<"x", f32, [4]>], sizes = [], stages = [], phases = [], shared_bytes = <fixed = 0, scaled = 0, factors = []>, local_bytes = 0>

// -----

// plan_c8: what anything depends on is one of the kernel's sizes
// expected-error @below {{argument 'o' depends on 'n', which is none of the kernel's sizes (plan_c8)}}
#p = #attn.plan<"f", inputs = [], outputs = [<"o", f32, ["n"]>], sizes = ["batch"], stages = [], phases = [], shared_bytes = <fixed = 0, scaled = 0, factors = []>, local_bytes = 0>

// -----

// plan_c8: items of phases too
// expected-error @below {{a phase depends on 'n', which is none of the kernel's sizes (plan_c8)}}
#p = #attn.plan<"f", inputs = [], outputs = [<"o", f32, [4]>], sizes = [], stages = [], phases = [<function = "g", title = "move", items = <fixed = 0, scaled = 1, factors = ["n"]>>], shared_bytes = <fixed = 0, scaled = 0, factors = []>, local_bytes = 0>

// -----

// plan_c8: sizes are declared once
// expected-error @below {{the run-time sizes are not of different names (plan_c8)}}
#p = #attn.plan<"f", inputs = [], outputs = [<"o", f32, [4]>], sizes = ["n", "n"], stages = [], phases = [], shared_bytes = <fixed = 0, scaled = 0, factors = []>, local_bytes = 0>

// -----

// plan_c9: a plan stands on a module
// expected-error @below {{has attn.plan, expected a module with an #attn.plan (plan_c9)}}
module attributes {attn.plan = {name = "f"}} {}

// -----

// plan_c11: ends of ranges stand beside a plan
// expected-error @below {{has attn.range_ends, expected a dictionary beside attn.plan (plan_c11)}}
module attributes {attn.range_ends = {x = [1, "n"]}} {}

// -----

// plan_c11: of an input that has a range
#p = #attn.plan<"f", inputs = [<"x", i32, [4]>], outputs = [<"o", f32, [4]>], sizes = ["n"], stages = [], phases = [], shared_bytes = <fixed = 0, scaled = 0, factors = []>, local_bytes = 0>
// expected-error @below {{has the ends [1, "n"] of a range of 'x', expected two numbers or expressions of lengths, of an input that has a range (plan_c11)}}
module attributes {attn.plan = #p, attn.range_ends = {x = [1, "n"]}} {}

// -----

// plan_c8: of the kernel's sizes
#p = #attn.plan<"f", inputs = [<"x", i32, [4] range = [1, 8]>], outputs = [<"o", f32, [4]>], sizes = ["n"], stages = [], phases = [], shared_bytes = <fixed = 0, scaled = 0, factors = []>, local_bytes = 0>
// expected-error @below {{the range of 'x' depends on 'm + 1', which is none of the kernel's sizes (plan_c8)}}
module attributes {attn.plan = #p, attn.range_ends = {x = [1, "m + 1"]}} {}

// -----

// plan_c10: workspaces are whole lines of cache
// expected-error @below {{local_bytes is 100, expected a multiple of 64 (plan_c10)}}
#p = #attn.plan<"f", inputs = [], outputs = [<"o", f32, [4]>], sizes = [], stages = [], phases = [], shared_bytes = <fixed = 0, scaled = 0, factors = []>, local_bytes = 100>

// -----

// plan_c10: the shared one too
// expected-error @below {{shared_bytes is 4, expected a multiple of 64 (plan_c10)}}
#p = #attn.plan<"f", inputs = [], outputs = [<"o", f32, [4]>], sizes = ["n"], stages = [], phases = [], shared_bytes = <fixed = 0, scaled = 4, factors = ["n"]>, local_bytes = 64>

// -----

// plan_c10: and prepared memory
// expected-error @below {{prepared_bytes is 32, expected a multiple of 64 (plan_c10)}}
#p = #attn.plan<"f", inputs = [], outputs = [<"o", f32, [4]>], sizes = [], stages = [], phases = [], shared_bytes = <fixed = 0, scaled = 0, factors = []>, local_bytes = 0, prepared_bytes = 32>

// -----

// plan_c10: which there is where something is made
// expected-error @below {{a phase prepares, but prepared_bytes is 0 (plan_c10)}}
#p = #attn.plan<"f", inputs = [], outputs = [<"o", f32, [4]>], sizes = [], stages = [], phases = [<function = "p", title = "pack", items = <fixed = 1, scaled = 0, factors = []>, prepares = true>], shared_bytes = <fixed = 0, scaled = 0, factors = []>, local_bytes = 0>

// -----

// A missing part is an error, and never 0.
// expected-error @below {{duplicate or unknown struct parameter name: factors}}
#s = #attn.size<fixed = 64, factors = []>
