// The branch that is almost always taken is a part of the function; what is left of the conditional corrects its results.
// OPTIONS --passes take_expected_branches
func.func public @main(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %i = stablehlo.convert %p : (tensor<i1>) -> tensor<i32>
  %e = "tessera.expect"(%i) <{value = 0 : i64}> : (tensor<i32>) -> tensor<i32>
  %r = "stablehlo.case"(%e) ({
    %0 = stablehlo.sine %x : tensor<4xf32>
    stablehlo.return %0 : tensor<4xf32>
  }, {
    %1 = stablehlo.cosine %x : tensor<4xf32>
    stablehlo.return %1 : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<i1>, %arg1: tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = stablehlo.convert %arg0 : (tensor<i1>) -> tensor<i32>
    %1 = stablehlo.custom_call @tessera.expect(%0) {api_version = 4 : i32, backend_config = {value = 0 : i64}} : (tensor<i32>) -> tensor<i32>
    %2 = stablehlo.sine %arg1 : tensor<4xf32>
    %3 = "stablehlo.case"(%1) ({
      stablehlo.return %2 : tensor<4xf32>
    }, {
      %4 = stablehlo.cosine %arg1 : tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
}
