// RUN: -p tt-inline

// A body with two calls is copied, one with one call is moved; neither function is left.

// CHECK-LABEL: tt.func public @kernel
// CHECK-NEXT: arith.muli %x, %x
// CHECK-NEXT: arith.muli
// CHECK-NEXT: arith.addi
// CHECK-NEXT: tt.return
// CHECK-NOT: tt.func
tt.func public @kernel(%x: i32) -> i32 {
  %y = tt.call @square(%x) : (i32) -> i32
  %z = tt.call @outer(%y) : (i32) -> i32
  tt.return %z : i32
}
tt.func private @outer(%x: i32) -> i32 {
  %y = tt.call @square(%x) : (i32) -> i32
  %z = arith.addi %y, %x : i32
  tt.return %z : i32
}
tt.func private @square(%x: i32) -> i32 {
  %y = arith.muli %x, %x : i32
  tt.return %y : i32
}

// -----
// In loops, branches and reductions too; results in another order, and arguments passed through.

// CHECK-LABEL: tt.func public @nested
// CHECK: scf.for
// CHECK-NEXT: arith.subi
// CHECK-NEXT: scf.yield
// CHECK: "tt.reduce"
// CHECK: arith.addf
// CHECK-NOT: tt.call
tt.func public @nested(%n: i32, %t: tensor<4xf32>) -> (i32, i32, f32) {
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %zero, %b = %one) -> (i32, i32) : i32 {
    %s:2 = tt.call @swap(%a, %b) : (i32, i32) -> (i32, i32)
    scf.yield %s#0, %s#1 : i32, i32
  }
  %f = "tt.reduce"(%t) <{axis = 0 : i32}> ({
  ^bb0(%x: f32, %y: f32):
    %z = tt.call @add(%x, %y) : (f32, f32) -> f32
    tt.reduce.return %z : f32
  }) : (tensor<4xf32>) -> f32
  tt.return %r#0, %r#1, %f : i32, i32, f32
}
tt.func private @swap(%a: i32, %b: i32) -> (i32, i32) {
  %c = arith.subi %b, %a : i32
  tt.return %c, %a : i32, i32
}
tt.func private @add(%a: f32, %b: f32) -> f32 {
  %c = arith.addf %a, %b : f32
  tt.return %c : f32
}

// -----
// What is marked noinline stays a call.

// CHECK-LABEL: tt.func public @kept
// CHECK: tt.call @far
// CHECK: tt.func private @far
tt.func public @kept(%x: i32) -> i32 {
  %y = tt.call @far(%x) : (i32) -> i32
  tt.return %y : i32
}
tt.func private @far(%x: i32) -> i32 attributes {noinline = true} {
  tt.return %x : i32
}
