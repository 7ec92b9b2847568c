// Two kernels: an elementwise op that is read by a sum is a part of its loop, and so is what is computed from the sum for each row.
// OPTIONS --passes fuse
func.func public @main(%x: tensor<16x8xf32>) -> tensor<16x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %e = stablehlo.exponential %x : tensor<16x8xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<16xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<16xf32>) -> tensor<16x8xf32>
  %r = stablehlo.divide %e, %b : tensor<16x8xf32>
  return %r : tensor<16x8xf32>
}
// PRINTS
schedule on AbstractMesh()
  %0: float32(16, 8) over {} input 0
  %1: float32(16, 8) over {} output 0
  kernel(%0, scratch, %1) over {}
    kernel parallel (16,) lanes along inner
      b0: input float32[128]
      b1: scratch float32[8]
      b2: output float32[128]
      %0: float32 = 0x00000000
      %1: float32 = load l0 b0[0+8*p0+1*i0]
      %2: float32 = exp %1
      %3: float32 = load l1 b1[0+1*i0]
      %4: float32 = reduced l0 #0
      %5: float32 = div %3, %4
      loop 0 (8,)
        reduce sum float32 %2 init %0
        store b1[0+1*i0] = %2
      loop 1 (8,)
        store b2[0+8*p0+1*i0] = %5
  return %1
