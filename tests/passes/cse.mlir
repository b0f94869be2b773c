// RUN: -p cse

// CHECK-LABEL: tt.func @reads_and_writes
tt.func @reads_and_writes(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>) -> f32 {
  // CHECK-NEXT: %[[A:.*]] = tt.load %p
  // CHECK-NEXT: %[[S:.*]] = arith.addf %[[A]], %[[A]]
  // CHECK-NEXT: tt.store %q, %[[S]]
  // CHECK-NEXT: %[[B:.*]] = tt.load %p
  // CHECK-NEXT: %[[T:.*]] = arith.addf %[[S]], %[[B]]
  // CHECK-NEXT: tt.return %[[T]]
  %a = tt.load %p : !tt.ptr<f32>
  %b = tt.load %p : !tt.ptr<f32>
  %s = arith.addf %a, %b : f32
  tt.store %q, %s : !tt.ptr<f32>
  %c = tt.load %p : !tt.ptr<f32>
  %t = arith.addf %s, %c : f32
  tt.return %t : f32
}

// -----
// Volatile reads, and 0.0 and -0.0, are not alike.

// CHECK-LABEL: tt.func @not_alike
tt.func @not_alike(%p: !tt.ptr<f32>, %n: i32) -> (f32, f32, f32, f32) {
  // CHECK-COUNT-2: arith.constant
  // CHECK-COUNT-2: tt.load
  %a = arith.constant 0.0 : f32
  %b = arith.constant -0.0 : f32
  %c = tt.load %p {isVolatile = true} : !tt.ptr<f32>
  %d = tt.load %p {isVolatile = true} : !tt.ptr<f32>
  tt.return %a, %b, %c, %d : f32, f32, f32, f32
}

// -----
// A write later in a loop's body comes before a read in the next turn.

// CHECK-LABEL: tt.func @loop
tt.func @loop(%p: !tt.ptr<f32>, %n: i32, %c: i1) -> f32 {
  // CHECK: tt.load
  // CHECK: scf.for
  // CHECK-NEXT: tt.load
  // CHECK: tt.return
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = tt.load %p : !tt.ptr<f32>
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %a) -> (f32) : i32 {
    %b = tt.load %p : !tt.ptr<f32>
    %s = arith.addf %x, %b : f32
    tt.store %p, %s : !tt.ptr<f32>
    scf.yield %s : f32
  }
  tt.return %r : f32
}

// -----
// What one branch computes is not there in the other, nor after it; what stood before is.

// CHECK-LABEL: tt.func @branches
tt.func @branches(%x: i32, %c: i1) -> (i32, i32) {
  // CHECK: %[[M:.*]] = arith.muli %x, %x
  // CHECK: scf.if
  // CHECK-NEXT: arith.addi
  // CHECK-NEXT: scf.yield
  // CHECK-NEXT: } else {
  // CHECK-NEXT: arith.addi
  %m = arith.muli %x, %x : i32
  %r = scf.if %c -> (i32) {
    %a = arith.addi %x, %m : i32
    scf.yield %a : i32
  } else {
    %m2 = arith.muli %x, %x : i32
    %a = arith.addi %x, %m2 : i32
    scf.yield %a : i32
  }
  %d = arith.addi %x, %m : i32
  tt.return %r, %d : i32, i32
}

// -----
// Reductions are equal if they combine alike.

// CHECK-LABEL: tt.func @reductions
tt.func @reductions(%t: tensor<4xf32>) -> (f32, f32, f32) {
  // CHECK: %[[A:.*]] = "tt.reduce"
  // CHECK: %[[B:.*]] = "tt.reduce"
  // CHECK: arith.maxnumf
  // CHECK-NOT: "tt.reduce"
  // CHECK: tt.return %[[A]], %[[A]], %[[B]]
  %a = "tt.reduce"(%t) <{axis = 0 : i32}> ({
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    tt.reduce.return %s : f32
  }) : (tensor<4xf32>) -> f32
  %b = "tt.reduce"(%t) <{axis = 0 : i32}> ({
  ^bb0(%x: f32, %y: f32):
    %s = arith.addf %x, %y : f32
    tt.reduce.return %s : f32
  }) : (tensor<4xf32>) -> f32
  %c = "tt.reduce"(%t) <{axis = 0 : i32}> ({
  ^bb0(%x: f32, %y: f32):
    %s = arith.maxnumf %x, %y : f32
    tt.reduce.return %s : f32
  }) : (tensor<4xf32>) -> f32
  tt.return %a, %b, %c : f32, f32, f32
}
