// RUN: -p tt-rewrite-descriptors,dce,tt-combine

// Without a boundary check there is no mask; a stride of 1 costs nothing.

// CHECK-LABEL: tt.func public @unchecked
tt.func public @unchecked(%p: !tt.ptr<f16>, %m: i64, %n: i64, %i: i32) -> tensor<4x8xf16> {
  // CHECK-NOT: arith.cmpi
  // CHECK: tt.load %{{.*}} cacheModifier = cg : tensor<4x8x!tt.ptr<f16>>
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i32
  %b = tt.make_tensor_ptr %p, [%m, %n], [%n, %one], [%i, %zero] {order = array<i32: 1, 0>} : <tensor<4x8xf16>>
  %v = tt.load %b cacheModifier = cg : !tt.ptr<tensor<4x8xf16>>
  tt.return %v : tensor<4x8xf16>
}

// -----
// Of the two dimensions one is checked, from above only, since it starts at 0.

// CHECK-LABEL: tt.func public @checked
tt.func public @checked(%p: !tt.ptr<f16>, %m: i64, %n: i64, %v: tensor<4x8xf16>) {
  // CHECK-COUNT-1: arith.cmpi slt
  // CHECK-NOT: arith.cmpi
  // CHECK: tt.store %{{.*}}, %v, %{{.*}} : tensor<4x8x!tt.ptr<f16>>
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i32
  %b = tt.make_tensor_ptr %p, [%m, %n], [%n, %one], [%zero, %zero] {order = array<i32: 1, 0>} : <tensor<4x8xf16>>
  tt.store %b, %v {boundaryCheck = array<i32: 1>} : !tt.ptr<tensor<4x8xf16>>
  tt.return
}

// -----
// A loop carries the offsets of its block pointers, and nothing else of them.

// CHECK-LABEL: tt.func public @loop
tt.func public @loop(%p: !tt.ptr<f16>, %m: i64, %n: i64, %k: i32) -> tensor<4x8xf16> {
  // CHECK: scf.for
  // CHECK-NOT: tensor_ptr
  // CHECK-NOT: !tt.ptr<tensor
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i32
  %step = arith.constant 8 : i32
  %z = arith.constant dense<0.0> : tensor<4x8xf16>
  %b = tt.make_tensor_ptr %p, [%m, %n], [%n, %one], [%zero, %zero] {order = array<i32: 1, 0>} : <tensor<4x8xf16>>
  %r:2 = scf.for %i = %zero to %k step %step iter_args(%q = %b, %acc = %z) -> (!tt.ptr<tensor<4x8xf16>>, tensor<4x8xf16>) : i32 {
    %v = tt.load %q {boundaryCheck = array<i32: 0, 1>, padding = 1 : i32} : !tt.ptr<tensor<4x8xf16>>
    %s = arith.addf %acc, %v : tensor<4x8xf16>
    %t = tt.advance %q, [%zero, %step] : <tensor<4x8xf16>>
    scf.yield %t, %s : !tt.ptr<tensor<4x8xf16>>, tensor<4x8xf16>
  }
  tt.return %r#1 : tensor<4x8xf16>
}

// -----
// A kernel's descriptor becomes its pointer: the shape and the strides follow it already.

// CHECK-LABEL: tt.func public @argument
// CHECK-SAME: (%d: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %m: i32, %n: i32, %s: i64 {tt.divisibility = 4 : i32}, %t: i64) -> tensor<4x8xf32>
tt.func public @argument(%d: !tt.tensordesc<tensor<4x8xf32>>, %m: i32, %n: i32, %s: i64, %t: i64) -> tensor<4x8xf32> {
  // CHECK-NOT: tt.descriptor
  // CHECK: tt.load
  %zero = arith.constant 0 : i32
  %v = tt.descriptor_load %d[%zero, %zero] : !tt.tensordesc<tensor<4x8xf32>> -> tensor<4x8xf32>
  tt.return %v : tensor<4x8xf32>
}

// -----
// Where they do not follow, they are added; the argument's attribute says how it pads.

// CHECK-LABEL: tt.func public @alone
// CHECK-SAME: (%d: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %{{.*}}: i32, %{{.*}}: i64, %x: i32)
tt.func public @alone(%d: !tt.tensordesc<tensor<8xf32>> {tt.padding = 2 : i32}, %x: i32) -> tensor<8xf32> {
  // CHECK: arith.constant dense<0x7FC00000> : tensor<8xf32>
  %v = tt.descriptor_load %d[%x] : !tt.tensordesc<tensor<8xf32>> -> tensor<8xf32>
  tt.return %v : tensor<8xf32>
}

// -----
// What a descriptor's maker has checked is written down: rows start at multiples of 16 bytes. Of the length of a row the
// argument's own attribute says so.

// CHECK-LABEL: tt.func public @aligned
// CHECK-SAME: %n: i32 {tt.divisibility = 8 : i32}, %s: i64 {tt.divisibility = 8 : i32}
tt.func public @aligned(%d: !tt.tensordesc<tensor<4x8xf16>> {tt.divisibility = 16 : i32}, %m: i32, %n: i32, %s: i64, %t: i64, %x: i32) -> tensor<4x8xf16> {
  // CHECK: tt.addptr %d, %{{.*}} {tt.divisibility = dense<16> : tensor<1xi32>}
  // CHECK: arith.muli %{{.*}} {tt.divisibility = dense<8> : tensor<1xi32>} : tensor<4xi64>
  %v = tt.descriptor_load %d[%x, %x] : !tt.tensordesc<tensor<4x8xf16>> -> tensor<4x8xf16>
  tt.return %v : tensor<4x8xf16>
}

// -----
// Of one that is made in the kernel, too, whatever its base.

// CHECK-LABEL: tt.func public @made
tt.func public @made(%p: !tt.ptr<f16>, %i: i32, %m: i32, %n: i32, %s: i64) -> tensor<4x8xf16> {
  // CHECK: %[[BASE:.*]] = tt.addptr %p, %i
  // CHECK: tt.addptr %[[BASE]], %{{.*}} {tt.divisibility = dense<16> : tensor<1xi32>}
  %one = arith.constant 1 : i64
  %zero = arith.constant 0 : i32
  %q = tt.addptr %p, %i : !tt.ptr<f16>, i32
  %d = tt.make_tensor_descriptor %q, [%m, %n], [%s, %one] : <f16>, <tensor<4x8xf16>>
  %v = tt.descriptor_load %d[%zero, %zero] : !tt.tensordesc<tensor<4x8xf16>> -> tensor<4x8xf16>
  tt.return %v : tensor<4x8xf16>
}
