// RUN: -p tt-uniform-carries

// The pointers are not carried: only by how much they have moved is, in i64.

// CHECK-LABEL: tt.func @pointers
tt.func @pointers(%p: tensor<16x!tt.ptr<f32>>, %s: i32, %n: i32) {
  // CHECK: %[[R:.*]] = scf.for %{{.*}} iter_args(%[[T:.*]] = %{{.*}}) -> (i64) : i32 {
  // CHECK-NEXT: %[[S:.*]] = tt.splat %[[T]] : i64 -> tensor<16xi64>
  // CHECK-NEXT: %[[Q:.*]] = tt.addptr %p, %[[S]]
  // CHECK-NEXT: tt.load %[[Q]]
  // CHECK: arith.extsi
  // CHECK-NEXT: arith.addi
  // CHECK-NEXT: scf.yield %{{.*}} : i64
  // CHECK: %[[E:.*]] = tt.splat %[[R]]
  // CHECK: %[[F:.*]] = tt.addptr %p, %[[E]]
  // CHECK: tt.store %[[F]]
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c = arith.constant dense<1.0> : tensor<16xf32>
  %r = scf.for %i = %zero to %n step %one iter_args(%q = %p) -> (tensor<16x!tt.ptr<f32>>) : i32 {
    %v = tt.load %q {isVolatile = true} : tensor<16x!tt.ptr<f32>>
    %m = arith.muli %i, %s : i32
    %u = tt.splat %m : i32 -> tensor<16xi32>
    %t = tt.addptr %q, %u : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    scf.yield %t : tensor<16x!tt.ptr<f32>>
  }
  tt.store %r, %c : tensor<16x!tt.ptr<f32>>
  tt.return
}

// -----
// Steps that are known and few stay in i32.

// CHECK-LABEL: tt.func @short
tt.func @short(%p: tensor<16x!tt.ptr<f32>>) -> tensor<16x!tt.ptr<f32>> {
  // CHECK: scf.for {{.*}} -> (i32) : i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %n = arith.constant 100 : i32
  %u = arith.constant dense<16> : tensor<16xi32>
  %r = scf.for %i = %zero to %n step %one iter_args(%q = %p) -> (tensor<16x!tt.ptr<f32>>) : i32 {
    %t = tt.addptr %q, %u : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    scf.yield %t : tensor<16x!tt.ptr<f32>>
  }
  tt.return %r : tensor<16x!tt.ptr<f32>>
}

// -----
// A step that is a tile is counted.

// CHECK-LABEL: tt.func @counted
tt.func @counted(%x: tensor<16xi32>, %u: tensor<16xi32>, %n: i32) -> tensor<16xi32> {
  // CHECK: %[[R:.*]] = scf.for {{.*}} -> (i32) : i32 {
  // CHECK-NEXT: arith.constant 1
  // CHECK-NEXT: arith.addi
  // CHECK-NEXT: scf.yield
  // CHECK: %[[S:.*]] = tt.splat %[[R]]
  // CHECK-NEXT: %[[M:.*]] = arith.muli %[[S]], %u
  // CHECK-NEXT: arith.addi %x, %[[M]]
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%y = %x) -> (tensor<16xi32>) : i32 {
    %z = arith.addi %u, %y : tensor<16xi32>
    scf.yield %z : tensor<16xi32>
  }
  tt.return %r : tensor<16xi32>
}

// -----
// Under a condition, and in a while loop.

// CHECK-LABEL: tt.func @conditional
tt.func @conditional(%x: tensor<16xi32>, %n: i32) -> tensor<16xi32> {
  // CHECK: scf.while (%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}) : (i32, i32) -> (i32, i32) {
  // CHECK: scf.if %{{.*}} -> (i32) {
  // CHECK-NOT: scf.yield {{.*}} : tensor
  // CHECK: tt.return
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %u = arith.constant dense<16> : tensor<16xi32>
  %r:2 = scf.while (%a = %x, %i = %zero) : (tensor<16xi32>, i32) -> (tensor<16xi32>, i32) {
    %c = arith.cmpi slt, %i, %n : i32
    scf.condition(%c) %a, %i : tensor<16xi32>, i32
  } do {
  ^bb0(%a: tensor<16xi32>, %i: i32):
    %d = arith.cmpi sgt, %i, %one : i32
    %b = scf.if %d -> (tensor<16xi32>) {
      %e = arith.addi %a, %u : tensor<16xi32>
      scf.yield %e : tensor<16xi32>
    } else {
      scf.yield %a : tensor<16xi32>
    }
    %j = arith.addi %i, %one : i32
    scf.yield %b, %j : tensor<16xi32>, i32
  }
  tt.return %r#0 : tensor<16xi32>
}

// -----
// A step that depends on the tile, another op, or a tile of the turn: as it was.

// CHECK-LABEL: tt.func @not_uniform
tt.func @not_uniform(%x: tensor<16xi32>, %n: i32) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>) {
  // CHECK: scf.for {{.*}} -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>) : i32 {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %c = arith.constant dense<3> : tensor<16xi32>
  %r:3 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %x, %d = %x) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>) : i32 {
    %e = arith.addi %a, %a : tensor<16xi32>
    %f = arith.muli %b, %c : tensor<16xi32>
    %s = tt.splat %i : i32 -> tensor<16xi32>
    %g = arith.muli %s, %a : tensor<16xi32>
    %h = arith.addi %d, %g : tensor<16xi32>
    scf.yield %e, %f, %h : tensor<16xi32>, tensor<16xi32>, tensor<16xi32>
  }
  tt.return %r#0, %r#1, %r#2 : tensor<16xi32>, tensor<16xi32>, tensor<16xi32>
}
