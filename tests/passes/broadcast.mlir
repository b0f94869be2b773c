// RUN: -p tt-reorder-broadcast,cse

// CHECK-LABEL: tt.func @splats
tt.func @splats(%a: i32, %b: i32) -> tensor<64x64xi1> {
  // CHECK-NEXT: %[[S:.*]] = arith.muli %a, %b : i32
  // CHECK-NEXT: %[[C:.*]] = arith.constant 3 : i32
  // CHECK-NEXT: %[[M:.*]] = arith.cmpi slt, %[[S]], %[[C]] : i32
  // CHECK-NEXT: %[[T:.*]] = tt.splat %[[M]] : i1 -> tensor<64x64xi1>
  // CHECK-NEXT: tt.return %[[T]]
  %x = tt.splat %a : i32 -> tensor<64x64xi32>
  %y = tt.splat %b : i32 -> tensor<64x64xi32>
  %c = arith.constant dense<3> : tensor<64x64xi32>
  %z = arith.muli %x, %y : tensor<64x64xi32>
  %m = arith.cmpi slt, %z, %c : tensor<64x64xi32>
  tt.return %m : tensor<64x64xi1>
}

// -----
// CHECK-LABEL: tt.func @rows
tt.func @rows(%a: tensor<64xi32>, %s: i32) -> tensor<64x32xi32> {
  // CHECK-NEXT: %[[S:.*]] = tt.splat %s : i32 -> tensor<64xi32>
  // CHECK-NEXT: %[[M:.*]] = arith.muli %a, %[[S]] : tensor<64xi32>
  // CHECK-NEXT: %[[E:.*]] = tt.expand_dims %[[M]] {axis = 1 : i32}
  // CHECK-NEXT: %[[B:.*]] = tt.broadcast %[[E]]
  // CHECK-NEXT: tt.return %[[B]]
  %e = tt.expand_dims %a {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %b = tt.broadcast %e : tensor<64x1xi32> -> tensor<64x32xi32>
  %x = tt.splat %s : i32 -> tensor<64x32xi32>
  %y = arith.muli %b, %x : tensor<64x32xi32>
  tt.return %y : tensor<64x32xi32>
}

// -----
// A row and a column meet in a tile: nothing smaller holds their sum.

// CHECK-LABEL: tt.func @row_and_column
tt.func @row_and_column(%a: tensor<4x1xi32>, %b: tensor<1x8xi32>) -> tensor<4x8xi32> {
  // CHECK: arith.addi {{.*}} : tensor<4x8xi32>
  %x = tt.broadcast %a : tensor<4x1xi32> -> tensor<4x8xi32>
  %y = tt.broadcast %b : tensor<1x8xi32> -> tensor<4x8xi32>
  %z = arith.addi %x, %y : tensor<4x8xi32>
  tt.return %z : tensor<4x8xi32>
}
