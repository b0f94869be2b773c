// RUN: -p dce

// A read without use goes; a volatile one, a write and an assertion stay.

// CHECK-LABEL: tt.func @effects
tt.func @effects(%p: !tt.ptr<f32>, %c: i1) {
  // CHECK-NEXT: tt.load {{.*}}isVolatile
  // CHECK-NEXT: tt.assert
  // CHECK-NEXT: tt.elementwise_inline_asm "keep"
  // CHECK-NEXT: tt.return
  %a = tt.load %p : !tt.ptr<f32>
  %b = tt.load %p {isVolatile = true} : !tt.ptr<f32>
  tt.assert %c, "no" : i1
  %d = tt.elementwise_inline_asm "keep" {constraints = "=r,r", packed_element = 1 : i32, pure = false} %c : i1 -> i1
  %e = tt.elementwise_inline_asm "drop" {constraints = "=r,r", packed_element = 1 : i32, pure = true} %c : i1 -> i1
  tt.return
}

// -----
// What only feeds itself goes, and the rest of the loop stays.

// CHECK-LABEL: tt.func @carries
tt.func @carries(%n: i32, %x: i32) -> i32 {
  // CHECK: %[[R:.*]] = scf.for %{{.*}} iter_args(%{{.*}} = %x) -> (i32) : i32 {
  // CHECK-NEXT: arith.addi
  // CHECK-NEXT: scf.yield %{{.*}} : i32
  // CHECK: tt.return %[[R]]
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %zero, %b = %x) -> (i32, i32) : i32 {
    %c = arith.muli %a, %n : i32
    %d = arith.addi %b, %i : i32
    scf.yield %c, %d : i32, i32
  }
  tt.return %r#1 : i32
}

// -----
// A while loop carries one list and gives another.

// CHECK-LABEL: tt.func @while
tt.func @while(%n: i32) -> i32 {
  // CHECK: %[[R:.*]] = scf.while (%{{.*}} = %{{.*}}) : (i32) -> i32 {
  // CHECK: tt.return %[[R]]
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r:2 = scf.while (%a = %zero, %b = %n) : (i32, i32) -> (i32, i32) {
    %c = arith.cmpi slt, %a, %n : i32
    %u = arith.muli %b, %n : i32
    scf.condition(%c) %u, %a : i32, i32
  } do {
  ^bb0(%b: i32, %a: i32):
    %d = arith.addi %a, %one : i32
    scf.yield %d, %b : i32, i32
  }
  tt.return %r#1 : i32
}

// -----
// CHECK-LABEL: tt.func @branches
tt.func @branches(%c: i1, %p: !tt.ptr<i32>) -> i32 {
  // CHECK: %[[R:.*]] = scf.if %c -> (i32) {
  // CHECK-NOT: arith.muli
  // CHECK: tt.store
  // CHECK: tt.return %[[R]]
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %r:2 = scf.if %c -> (i32, i32) {
    %m = arith.muli %two, %two : i32
    scf.yield %m, %one : i32, i32
  } else {
    tt.store %p, %two : !tt.ptr<i32>
    scf.yield %one, %two : i32, i32
  }
  scf.if %c {
    %v = tt.load %p : !tt.ptr<i32>
  }
  tt.return %r#1 : i32
}

// -----
// CHECK-LABEL: tt.func @reductions
tt.func @reductions(%t: tensor<4xf32>) -> f32 {
  // CHECK: "tt.reduce"
  // CHECK: arith.addf
  // CHECK-NOT: "tt.reduce"
  %a = "tt.reduce"(%t) <{axis = 0 : i32}> ({
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    tt.reduce.return %s : f32
  }) : (tensor<4xf32>) -> f32
  %b = "tt.reduce"(%t) <{axis = 0 : i32}> ({
  ^bb0(%x: f32, %y: f32):
    %s = arith.mulf %x, %y : f32
    tt.reduce.return %s : f32
  }) : (tensor<4xf32>) -> f32
  tt.return %a : f32
}
