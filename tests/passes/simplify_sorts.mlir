// Three elements of a sorted row are read, so that a selection is enough.
// OPTIONS --passes simplify
func.func public @main(%x: tensor<1000xi32>) -> tensor<3xi32> {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<1000xi32>) -> tensor<1000xi32>
  %1 = stablehlo.slice %0 [0:3] : (tensor<1000xi32>) -> tensor<3xi32>
  return %1 : tensor<3xi32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1000xi32>) -> (tensor<3xi32>) {
    %0 = stablehlo.custom_call @tessera.first_sorted(%arg0) {api_version = 4 : i32, backend_config = {dimension = 0 : i64, count = 3 : i64, num_keys = 1 : i64, descending = false, total_order = false, index = false, index_dtype = i32}} : (tensor<1000xi32>) -> tensor<3xi32>
    return %0 : tensor<3xi32>
  }
}
