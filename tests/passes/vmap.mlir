// A product of a matrix with a vector, over a batch of vectors and one matrix: one product of matrices.
// OPTIONS --passes vmap --in-axes None 0 --size 5
func.func public @main(%a: tensor<3x4xf32>, %x: tensor<4xf32>) -> tensor<3xf32> {
  %0 = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<5x4xf32>) -> (tensor<5x3xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [1] : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
    %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
    return %1 : tensor<5x3xf32>
  }
}
