// RUN: skewer-opt %s -attn-approximate-erf | FileCheck %s

// CHECK-LABEL: func.func @vector
// CHECK-NOT: math.erf
// CHECK: %[[SIZE:.*]] = math.absf %arg0 : vector<8xf32>
// CHECK-NOT: math.erf
// CHECK: %[[FAR:.*]] = math.copysign %{{.*}}, %arg0 : vector<8xf32>
// CHECK: %[[ERF:.*]] = arith.select %{{.*}}, %[[FAR]], %{{.*}} : vector<8xi1>, vector<8xf32>
// CHECK: return %[[ERF]]
func.func @vector(%x: vector<8xf32>) -> vector<8xf32> {
  %e = math.erf %x : vector<8xf32>
  return %e : vector<8xf32>
}

// A single number is a vector of one.
// CHECK-LABEL: func.func @number
// CHECK-NOT: math.erf
// CHECK: vector.extract
// CHECK: return
func.func @number(%x: f32) -> f32 {
  %e = math.erf %x : f32
  return %e : f32
}

// Other types stay.
// CHECK-LABEL: func.func @wide
// CHECK: math.erf %arg0 : f64
func.func @wide(%x: f64) -> f64 {
  %e = math.erf %x : f64
  return %e : f64
}
