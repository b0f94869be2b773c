// RUN: -p licm

// A division may trap and a read may not be allowed, so both stay; a product and a tile of pointers go.

// CHECK-LABEL: tt.func @for_loop
tt.func @for_loop(%p: !tt.ptr<f32>, %a: i32, %n: i32) -> i32 {
  // CHECK: arith.muli
  // CHECK-NEXT: tt.addptr
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: arith.divsi
  // CHECK-NEXT: tt.load
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %zero) -> (i32) : i32 {
    %m = arith.muli %a, %a : i32
    %d = arith.divsi %a, %n : i32
    %q = tt.addptr %p, %m : !tt.ptr<f32>, i32
    %v = tt.load %q : !tt.ptr<f32>
    %w = arith.fptosi %v : f32 to i32
    %s = arith.addi %x, %d : i32
    %t = arith.addi %s, %w : i32
    scf.yield %t : i32
  }
  tt.return %r : i32
}

// -----
// A loop that runs and writes nothing lets its reads go.

// CHECK-LABEL: tt.func @sure_loop
tt.func @sure_loop(%p: !tt.ptr<f32>) -> f32 {
  // CHECK: tt.load
  // CHECK: scf.for
  // CHECK-NOT: tt.load
  // CHECK: tt.return
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32
  %f = arith.constant 0.0 : f32
  %r = scf.for %i = %zero to %ten step %one iter_args(%x = %f) -> (f32) : i32 {
    %v = tt.load %p : !tt.ptr<f32>
    %s = arith.addf %x, %v : f32
    scf.yield %s : f32
  }
  tt.return %r : f32
}

// -----
// It stays where the loop writes, under a condition, and where it is volatile.

// CHECK-LABEL: tt.func @writing_loop
tt.func @writing_loop(%p: !tt.ptr<f32>, %q: !tt.ptr<f32>, %c: i1) {
  // CHECK: scf.for
  // CHECK-NEXT: tt.load
  // CHECK-NEXT: tt.store
  // CHECK: scf.for
  // CHECK-NEXT: scf.if
  // CHECK-NEXT: tt.load
  // CHECK: tt.load {{.*}}isVolatile
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %ten = arith.constant 10 : i32
  scf.for %i = %zero to %ten step %one : i32 {
    %v = tt.load %p : !tt.ptr<f32>
    tt.store %q, %v : !tt.ptr<f32>
  }
  %f = arith.constant 0.0 : f32
  %r = scf.for %i = %zero to %ten step %one iter_args(%x = %f) -> (f32) : i32 {
    %y = scf.if %c -> (f32) {
      %v = tt.load %p : !tt.ptr<f32>
      scf.yield %v : f32
    } else {
      scf.yield %x : f32
    }
    %u = tt.load %q {isVolatile = true} : !tt.ptr<f32>
    %s = arith.addf %y, %u : f32
    scf.yield %s : f32
  }
  tt.store %q, %r : !tt.ptr<f32>
  tt.return
}

// -----
// Out of both loops, and out of a while.

// CHECK-LABEL: tt.func @nested
tt.func @nested(%a: i32, %n: i32) -> i32 {
  // CHECK: arith.muli
  // CHECK: scf.while
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.while (%x = %zero) : (i32) -> i32 {
    %c = arith.cmpi slt, %x, %n : i32
    scf.condition(%c) %x : i32
  } do {
  ^bb0(%y: i32):
    %t = scf.for %i = %zero to %n step %one iter_args(%z = %y) -> (i32) : i32 {
      %m = arith.muli %a, %n : i32
      %u = arith.addi %z, %m : i32
      scf.yield %u : i32
    }
    scf.yield %t : i32
  }
  tt.return %r : i32
}

// -----
// A loop that says so is left alone.

// CHECK-LABEL: tt.func @disabled
tt.func @disabled(%a: i32, %n: i32) -> i32 {
  // CHECK: scf.for
  // CHECK-NEXT: arith.muli
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = scf.for %i = %zero to %n step %one iter_args(%x = %zero) -> (i32) : i32 {
    %m = arith.muli %a, %a : i32
    %s = arith.addi %x, %m : i32
    scf.yield %s : i32
  } {llvm.loop_annotation = #llvm.loop_annotation<licm = <disable = true>>}
  tt.return %r : i32
}
