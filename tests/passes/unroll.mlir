// RUN: -p unroll

// A number of turns that the factor divides needs no second loop.

// CHECK-LABEL: tt.func @even
tt.func @even(%x: i32) -> i32 {
  // CHECK: %[[STEP:.*]] = arith.constant 2 : i32
  // CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %[[STEP]]
  // CHECK-NEXT: arith.muli %{{.*}}, %[[I]]
  // CHECK-NEXT: %[[J:.*]] = arith.addi %[[I]]
  // CHECK-NEXT: arith.muli %{{.*}}, %[[J]]
  // CHECK-NEXT: scf.yield
  // CHECK-NEXT: }
  // CHECK-NOT: scf.for
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %eight = arith.constant 8 : i32
  %r = scf.for %i = %zero to %eight step %one iter_args(%a = %x) -> (i32) : i32 {
    %b = arith.muli %a, %i : i32
    scf.yield %b : i32
  } {tt.loop_unroll_factor = 2 : i32}
  tt.return %r : i32
}

// -----
// Else the rest is done by a loop that is not pipelined, from where the first ends.

// CHECK-LABEL: tt.func @rest
tt.func @rest(%x: i32, %n: i32) -> i32 {
  // CHECK: %[[R:.*]] = scf.for %{{.*}} = %{{.*}} to %[[END:.*]] step
  // CHECK-COUNT-4: arith.muli
  // CHECK: } {tt.num_stages = 3 : i32}
  // CHECK: scf.for %{{.*}} = %[[END]] to %n {{.*}} iter_args(%{{.*}} = %[[R]])
  // CHECK-NEXT: arith.muli
  // CHECK: } {tt.num_stages = 1 : i32}
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (i32) : i32 {
    %b = arith.muli %a, %i : i32
    scf.yield %b : i32
  } {tt.loop_unroll_factor = 4 : i32, tt.num_stages = 3 : i32}
  tt.return %r : i32
}

// -----
// CHECK-LABEL: tt.func @not_asked
tt.func @not_asked(%x: i32, %n: i32) -> i32 {
  // CHECK-COUNT-1: arith.muli
  // CHECK-NOT: arith.muli
  // CHECK-NOT: tt.loop_unroll_factor
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%a = %x) -> (i32) : i32 {
    %b = arith.muli %a, %i : i32
    scf.yield %b : i32
  } {tt.loop_unroll_factor = 1 : i32}
  tt.return %r : i32
}
