// Two elements of an array that nobody else reads are written in its memory.
// OPTIONS --passes fuse
func.func public @main(%x: tensor<1000xf32>, %y: tensor<2xf32>, %at: tensor<i32>) -> tensor<1000xf32> {
  %0 = stablehlo.dynamic_update_slice %x, %y, %at : (tensor<1000xf32>, tensor<2xf32>, tensor<i32>) -> tensor<1000xf32>
  return %0 : tensor<1000xf32>
}
// PRINTS
schedule on AbstractMesh()
  %0: float32(1000,) over {} input 0
  %1: float32(2,) over {} input 1
  %2: int32() over {} input 2
  %3: float32(1000,) over {} output 0
  %3 = update(%0, %1) at (%2) over {}
  return %3
