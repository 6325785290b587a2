// Numbers for it, and a call that prints what it makes of them.
func.func private @block(tensor<6x8xf32>, tensor<8x8xf32>, tensor<11x8xf32>) -> tensor<6x8xf32>
func.func private @printMemrefF32(tensor<*xf32>) attributes {llvm.emit_c_interface}
func.func private @numbers(%rows: index) -> tensor<?x8xf32> {
  %t = tensor.generate %rows {
  ^bb0(%i: index, %j: index):
    %c37 = arith.constant 37 : index
    %c11 = arith.constant 11 : index
    %c29 = arith.constant 29 : index
    %x = arith.muli %i, %c37 : index
    %y = arith.muli %j, %c11 : index
    %z = arith.addi %x, %y : index
    %m = arith.remsi %z, %c29 : index
    %n = arith.index_cast %m : index to i64
    %f = arith.sitofp %n : i64 to f32
    %step = arith.constant 0.0625 : f32
    %g = arith.mulf %f, %step : f32
    %one = arith.constant 1.0 : f32
    %k = arith.subf %g, %one : f32
    tensor.yield %k : f32
  } : tensor<?x8xf32>
  return %t : tensor<?x8xf32>
}
func.func @main() {
  %six = arith.constant 6 : index
  %eight = arith.constant 8 : index
  %eleven = arith.constant 11 : index
  %x0 = call @numbers(%six) : (index) -> tensor<?x8xf32>
  %w0 = call @numbers(%eight) : (index) -> tensor<?x8xf32>
  %t0 = call @numbers(%eleven) : (index) -> tensor<?x8xf32>
  %x = tensor.cast %x0 : tensor<?x8xf32> to tensor<6x8xf32>
  %w = tensor.cast %w0 : tensor<?x8xf32> to tensor<8x8xf32>
  %t = tensor.cast %t0 : tensor<?x8xf32> to tensor<11x8xf32>
  %r = call @block(%x, %w, %t) : (tensor<6x8xf32>, tensor<8x8xf32>, tensor<11x8xf32>) -> tensor<6x8xf32>
  %u = tensor.cast %r : tensor<6x8xf32> to tensor<*xf32>
  call @printMemrefF32(%u) : (tensor<*xf32>) -> ()
  return
}
