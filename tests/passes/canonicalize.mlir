// RUN: -p canonicalize

// CHECK-LABEL: tt.func @fold_tensors
tt.func @fold_tensors() -> (tensor<4xi32>, tensor<4xf32>, tensor<4xi1>) {
  // CHECK-DAG: arith.constant dense<5> : tensor<4xi32>
  // CHECK-DAG: arith.constant dense<0xFF800000> : tensor<4xf32>
  // CHECK-DAG: arith.constant dense<true> : tensor<4xi1>
  // CHECK: tt.return
  %a = arith.constant dense<2> : tensor<4xi32>
  %b = arith.constant dense<3> : tensor<4xi32>
  %c = arith.addi %a, %b : tensor<4xi32>
  %x = arith.constant -1.0 : f32
  %z = arith.constant 0.0 : f32
  %q = arith.divf %x, %z : f32
  %t = tt.splat %q : f32 -> tensor<4xf32>
  %m = arith.cmpi slt, %a, %b : tensor<4xi32>
  tt.return %c, %t, %m : tensor<4xi32>, tensor<4xf32>, tensor<4xi1>
}

// -----
// A division by zero has no value to fold to.

// CHECK-LABEL: tt.func @undefined
tt.func @undefined() -> (i32, i32) {
  // CHECK: arith.divsi
  // CHECK: arith.remui
  %a = arith.constant -2147483648 : i32
  %b = arith.constant -1 : i32
  %z = arith.constant 0 : i32
  %c = arith.divsi %a, %b : i32
  %d = arith.remui %a, %z : i32
  tt.return %c, %d : i32, i32
}

// -----
// CHECK-LABEL: tt.func @identities
tt.func @identities(%x: i32, %f: f32, %t: tensor<4xi32>) -> (i32, i32, f32, f32, tensor<4xi32>) {
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
  // CHECK-NEXT: %[[SEVEN:.*]] = arith.constant 7 : i32
  // CHECK-NEXT: %[[SUM:.*]] = arith.addi %x, %[[SEVEN]]
  // CHECK-NEXT: %[[F:.*]] = arith.addf %f, %[[ZERO]]
  // CHECK-NEXT: tt.return %x, %[[SUM]], %f, %[[F]], %t
  %one = arith.constant 1 : i32
  %three = arith.constant 3 : i32
  %four = arith.constant 4 : i32
  %zero = arith.constant dense<0> : tensor<4xi32>
  %minus_zero = arith.constant -0.0 : f32
  %plus_zero = arith.constant 0.0 : f32
  %a = arith.muli %one, %x : i32
  %b = arith.addi %x, %three : i32
  %c = arith.addi %four, %b : i32
  %d = arith.addf %f, %minus_zero : f32
  %e = arith.addf %f, %plus_zero : f32
  %g = arith.addi %zero, %t : tensor<4xi32>
  tt.return %a, %c, %d, %e, %g : i32, i32, f32, f32, tensor<4xi32>
}

// -----
// CHECK-LABEL: tt.func @casts
tt.func @casts(%x: i8, %y: i32) -> (i8, i64, i16) {
  // CHECK-NEXT: %[[A:.*]] = arith.extsi %x : i8 to i64
  // CHECK-NEXT: %[[B:.*]] = arith.trunci %y : i32 to i16
  // CHECK-NEXT: tt.return %x, %[[A]], %[[B]]
  %a = arith.extsi %x : i8 to i32
  %b = arith.trunci %a : i32 to i8
  %c = arith.extsi %a : i32 to i64
  %d = arith.extui %y : i32 to i64
  %e = arith.trunci %d : i64 to i16
  tt.return %b, %c, %e : i8, i64, i16
}

// -----
// CHECK-LABEL: tt.func @comparisons
tt.func @comparisons(%x: i32, %y: i32) -> (i1, i1, i1) {
  // CHECK: %[[T:.*]] = arith.constant true
  // CHECK-NEXT: %[[A:.*]] = arith.cmpi sgt, %x, %{{.*}} : i32
  // CHECK-NEXT: %[[B:.*]] = arith.cmpi sge, %x, %y : i32
  // CHECK-NEXT: tt.return %[[A]], %[[B]], %[[T]]
  %c = arith.constant 3 : i32
  %true = arith.constant true
  %a = arith.cmpi slt, %c, %x : i32
  %b = arith.cmpi slt, %x, %y : i32
  %d = arith.xori %b, %true : i1
  %e = arith.cmpi ule, %x, %x : i32
  tt.return %a, %d, %e : i1, i1, i1
}

// -----
// Constants are gathered at the start of the function, once each; those of a reduction stay in its region.

// CHECK-LABEL: tt.func @constants
tt.func @constants(%n: i32, %t: tensor<4xf32>) -> (i32, f32) {
  // CHECK-NEXT: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK-NEXT: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-NOT: arith.constant 1 : i32
  // CHECK: "tt.reduce"
  // CHECK-NEXT: ^
  // CHECK-NEXT: arith.constant 2.0
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %zero) -> (i32) : i32 {
    %again = arith.constant 1 : i32
    %b = arith.addi %a, %again : i32
    scf.yield %b : i32
  }
  %s = "tt.reduce"(%t) <{axis = 0 : i32}> ({
  ^bb0(%x: f32, %y: f32):
    %two = arith.constant 2.0 : f32
    %u = arith.mulf %y, %two : f32
    %v = arith.addf %x, %u : f32
    tt.reduce.return %v : f32
  }) : (tensor<4xf32>) -> f32
  tt.return %r, %s : i32, f32
}

// -----
// CHECK-LABEL: tt.func @control
tt.func @control(%x: i32, %y: i32, %p: !tt.ptr<i32>) -> (i32, i32, i32) {
  // CHECK-NOT: scf.
  // CHECK: %[[S:.*]] = arith.addi %x, %y
  // CHECK-NOT: scf.
  // CHECK: tt.return %[[S]], %y, %x
  %true = arith.constant true
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = scf.if %true -> (i32) {
    %s = arith.addi %x, %y : i32
    scf.yield %s : i32
  } else {
    scf.yield %x : i32
  }
  %b = scf.for %i = %one to %zero step %one iter_args(%c = %y) -> (i32) : i32 {
    %d = arith.addi %c, %x : i32
    scf.yield %d : i32
  }
  %e = scf.for %i = %zero to %one step %one iter_args(%c = %x) -> (i32) : i32 {
    %d = arith.addi %c, %i : i32
    scf.yield %d : i32
  }
  tt.return %a, %b, %e : i32, i32, i32
}

// -----
// CHECK-LABEL: tt.func @float_factors
tt.func @float_factors(%x: f32) -> (f32, f32, f32) {
  // CHECK: %[[HALF:.*]] = arith.mulf %x, %{{.*}} : f32
  // CHECK-NEXT: tt.return %x, %[[HALF]], %x
  %one = arith.constant 1.0 : f32
  %half = arith.constant 0.5 : f32
  %a = arith.mulf %one, %x : f32
  %b = arith.mulf %x, %half : f32
  %c = arith.negf %x : f32
  %d = arith.negf %c : f32
  tt.return %a, %b, %d : f32, f32, f32
}
