// RUN: not -p tt-inline

// CHECK: error: @a calls itself: @a -> @b -> @a
tt.func private @a(%x: i32) -> i32 {
  %y = tt.call @b(%x) : (i32) -> i32
  tt.return %y : i32
}
tt.func private @b(%x: i32) -> i32 {
  %y = tt.call @a(%x) : (i32) -> i32
  tt.return %y : i32
}
