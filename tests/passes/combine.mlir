// RUN: -p tt-combine

// CHECK-LABEL: tt.func @merge_constant_steps
tt.func @merge_constant_steps(%p: !tt.ptr<f32>) -> f32 {
  // CHECK-NEXT: %[[SUM:.*]] = arith.constant 7 : i32
  // CHECK-NEXT: %[[PTR:.*]] = tt.addptr %p, %[[SUM]]
  // CHECK-NEXT: tt.load %[[PTR]]
  %a = arith.constant 3 : i32
  %b = arith.constant 4 : i32
  %x = tt.addptr %p, %a : !tt.ptr<f32>, i32
  %y = tt.addptr %x, %b : !tt.ptr<f32>, i32
  %v = tt.load %y : !tt.ptr<f32>
  tt.return %v : f32
}

// -----
// Steps whose sum does not fit, and steps that are not known, stay: i32 would wrap.

// CHECK-LABEL: tt.func @keep_steps
tt.func @keep_steps(%p: !tt.ptr<f32>, %a: i32, %b: i32) -> (!tt.ptr<f32>, !tt.ptr<f32>) {
  // CHECK-COUNT-4: tt.addptr
  // CHECK-NOT: tt.addptr
  %c = arith.constant 2147483647 : i32
  %d = arith.constant 1 : i32
  %x = tt.addptr %p, %c : !tt.ptr<f32>, i32
  %y = tt.addptr %x, %d : !tt.ptr<f32>, i32
  %z = tt.addptr %p, %a : !tt.ptr<f32>, i32
  %w = tt.addptr %z, %b : !tt.ptr<f32>, i32
  tt.return %y, %w : !tt.ptr<f32>, !tt.ptr<f32>
}

// -----
// CHECK-LABEL: tt.func @masks
tt.func @masks(%p: tensor<4x!tt.ptr<f32>>, %v: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %[[X:.*]] = tt.load %p : tensor<4x!tt.ptr<f32>>
  // CHECK-NEXT: tt.store %p, %[[X]] cacheModifier = cg : tensor<4x!tt.ptr<f32>>
  // CHECK-NEXT: tt.return %v
  %true = arith.constant dense<true> : tensor<4xi1>
  %false = arith.constant dense<false> : tensor<4xi1>
  %x = tt.load %p, %true, %v : tensor<4x!tt.ptr<f32>>
  tt.store %p, %x, %true cacheModifier = cg : tensor<4x!tt.ptr<f32>>
  tt.store %p, %v, %false : tensor<4x!tt.ptr<f32>>
  %y = tt.load %p, %false, %v : tensor<4x!tt.ptr<f32>>
  tt.return %y : tensor<4xf32>
}

// -----
// CHECK-LABEL: tt.func @select_of_load
tt.func @select_of_load(%p: tensor<4x!tt.ptr<f32>>, %m: tensor<4xi1>, %n: tensor<4xi1>, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %[[A:.*]] = tt.load %p, %m, %v
  // CHECK-NEXT: %[[B:.*]] = tt.load %p, %m
  // CHECK-NEXT: %[[C:.*]] = arith.select %n, %[[B]], %v
  // CHECK-NEXT: tt.return %[[A]], %[[C]]
  %x = tt.load %p, %m : tensor<4x!tt.ptr<f32>>
  %y = arith.select %m, %x, %v : tensor<4xi1>, tensor<4xf32>
  %z = tt.load %p, %m : tensor<4x!tt.ptr<f32>>
  %w = arith.select %n, %z, %v : tensor<4xi1>, tensor<4xf32>
  tt.return %y, %w : tensor<4xf32>, tensor<4xf32>
}

// -----
// CHECK-LABEL: tt.func @dot_and_add
tt.func @dot_and_add(%a: tensor<16x16xf16>, %b: tensor<16x16xf16>, %c: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  // CHECK: %[[D:.*]] = tt.dot %a, %b, %c, inputPrecision = tf32
  // CHECK-NEXT: %[[E:.*]] = tt.dot %a, %b, %c :
  // CHECK-NEXT: %[[F:.*]] = arith.addf %[[E]], %c
  // CHECK-NEXT: tt.return %[[D]], %[[F]]
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %d = tt.dot %a, %b, %zero, inputPrecision = tf32 : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
  %x = arith.addf %c, %d : tensor<16x16xf32>
  %e = tt.dot %a, %b, %c : tensor<16x16xf16> * tensor<16x16xf16> -> tensor<16x16xf32>
  %y = arith.addf %e, %c : tensor<16x16xf32>
  tt.return %x, %y : tensor<16x16xf32>, tensor<16x16xf32>
}

// -----
// CHECK-LABEL: tt.func @shapes
tt.func @shapes(%s: f32, %x: tensor<4x1xf32>) -> (tensor<8x4xf32>, tensor<4x1xf32>, tensor<4x16xf32>) {
  // CHECK-NEXT: %[[A:.*]] = tt.splat %s : f32 -> tensor<8x4xf32>
  // CHECK-NEXT: %[[B:.*]] = tt.broadcast %x : tensor<4x1xf32> -> tensor<4x16xf32>
  // CHECK-NEXT: tt.return %[[A]], %x, %[[B]]
  %a = tt.splat %s : f32 -> tensor<4xf32>
  %b = tt.expand_dims %a {axis = 0 : i32} : tensor<4xf32> -> tensor<1x4xf32>
  %c = tt.broadcast %b : tensor<1x4xf32> -> tensor<8x4xf32>
  %d = tt.trans %x {order = array<i32: 1, 0>} : tensor<4x1xf32> -> tensor<1x4xf32>
  %e = tt.trans %d {order = array<i32: 1, 0>} : tensor<1x4xf32> -> tensor<4x1xf32>
  %f = tt.broadcast %x : tensor<4x1xf32> -> tensor<4x1xf32>
  %g = tt.broadcast %f : tensor<4x1xf32> -> tensor<4x16xf32>
  tt.return %c, %e, %g : tensor<8x4xf32>, tensor<4x1xf32>, tensor<4x16xf32>
}

// -----
// A range from 0 is never negative; a range that a bound cuts is compared.

// CHECK-LABEL: tt.func @ranges
tt.func @ranges() -> (tensor<8xi1>, tensor<8xi1>) {
  // CHECK-NEXT: %[[C:.*]] = arith.constant dense<4> : tensor<8xi32>
  // CHECK-NEXT: %[[T:.*]] = arith.constant dense<true> : tensor<8xi1>
  // CHECK-NEXT: %[[R:.*]] = tt.make_range
  // CHECK-NEXT: %[[M:.*]] = arith.cmpi slt, %[[R]], %[[C]]
  // CHECK-NEXT: tt.return %[[T]], %[[M]]
  %r = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
  %z = arith.constant dense<0> : tensor<8xi32>
  %f = arith.constant dense<4> : tensor<8xi32>
  %a = arith.cmpi sge, %r, %z : tensor<8xi32>
  %b = arith.cmpi slt, %r, %f : tensor<8xi32>
  tt.return %a, %b : tensor<8xi1>, tensor<8xi1>
}

// -----
// A sum of products is a product of matrices, where each factor is repeated along one dimension alone.

// CHECK-LABEL: tt.func @sum_of_products
tt.func @sum_of_products(%a: tensor<16x8xf32>, %b: tensor<8x4xf32>) -> tensor<16x4xf32> {
  // CHECK: %[[Z:.*]] = arith.constant dense<0.000000e+00> : tensor<16x4xf32>
  // CHECK-NEXT: %[[D:.*]] = tt.dot %a, %b, %[[Z]] : tensor<16x8xf32> * tensor<8x4xf32> -> tensor<16x4xf32>
  // CHECK-NEXT: tt.return %[[D]]
  %x = tt.expand_dims %a {axis = 2 : i32} : tensor<16x8xf32> -> tensor<16x8x1xf32>
  %y = tt.expand_dims %b {axis = 0 : i32} : tensor<8x4xf32> -> tensor<1x8x4xf32>
  %u = tt.broadcast %x : tensor<16x8x1xf32> -> tensor<16x8x4xf32>
  %v = tt.broadcast %y : tensor<1x8x4xf32> -> tensor<16x8x4xf32>
  %p = arith.mulf %u, %v : tensor<16x8x4xf32>
  %s = "tt.reduce"(%p) <{axis = 1 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %t = arith.addf %l, %r : f32
    tt.reduce.return %t : f32
  }) : (tensor<16x8x4xf32>) -> tensor<16x4xf32>
  tt.return %s : tensor<16x4xf32>
}

// CHECK-LABEL: tt.func @sum_of_outer_products
tt.func @sum_of_outer_products(%a: tensor<16x1xf32>, %b: tensor<8x4xf32>) -> tensor<16x4xf32> {
  // CHECK-NOT: tt.dot
  %x = tt.expand_dims %a {axis = 2 : i32} : tensor<16x1xf32> -> tensor<16x1x1xf32>
  %y = tt.expand_dims %b {axis = 0 : i32} : tensor<8x4xf32> -> tensor<1x8x4xf32>
  %u = tt.broadcast %x : tensor<16x1x1xf32> -> tensor<16x8x4xf32>
  %v = tt.broadcast %y : tensor<1x8x4xf32> -> tensor<16x8x4xf32>
  %p = arith.mulf %u, %v : tensor<16x8x4xf32>
  %s = "tt.reduce"(%p) <{axis = 1 : i32}> ({
  ^bb0(%l: f32, %r: f32):
    %t = arith.addf %l, %r : f32
    tt.reduce.return %t : f32
  }) : (tensor<16x8x4xf32>) -> tensor<16x4xf32>
  tt.return %s : tensor<16x4xf32>
}
