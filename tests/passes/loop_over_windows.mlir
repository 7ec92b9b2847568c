// The body has two ops, so the updates are folded by a loop over the windows, which updates the array in place.
// OPTIONS --passes loop_over_windows
func.func public @main(%x: tensor<100xf32>, %i: tensor<20x1xi32>, %u: tensor<20xf32>) -> tensor<100xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%old: tensor<f32>, %new: tensor<f32>):
    %1 = stablehlo.add %old, %old : tensor<f32>
    %2 = stablehlo.subtract %1, %new : tensor<f32>
    stablehlo.return %2 : tensor<f32>
  }) : (tensor<100xf32>, tensor<20x1xi32>, tensor<20xf32>) -> tensor<100xf32>
  return %0 : tensor<100xf32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<100xf32>, %arg1: tensor<20x1xi32>, %arg2: tensor<20xf32>) -> (tensor<100xf32>) {
    %0 = stablehlo.reshape %arg2 : (tensor<20xf32>) -> tensor<20x1xf32>
    %1 = stablehlo.custom_call @tessera.scan(%arg0, %arg1, %0) {api_version = 4 : i32, backend_config = {body = @main_0, length = 20 : i64, num_consts = 0 : i64, num_carry = 1 : i64, reverse = false}} : (tensor<100xf32>, tensor<20x1xi32>, tensor<20x1xf32>) -> tensor<100xf32>
    return %1 : tensor<100xf32>
  }
  func.func private @main_0(%arg0: tensor<100xf32>, %arg1: tensor<1xi32>, %arg2: tensor<1xf32>) -> (tensor<100xf32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<1xi32>) -> tensor<i32>
    %1 = stablehlo.constant dense<99> : tensor<i32>
    %2 = stablehlo.compare LE, %0, %1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %3 = stablehlo.constant dense<0> : tensor<i32>
    %4 = stablehlo.compare GE, %0, %3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.and %4, %2 : tensor<i1>
    %6 = stablehlo.dynamic_slice %arg0, %0, sizes = [1] : (tensor<100xf32>, tensor<i32>) -> tensor<1xf32>
    %7 = stablehlo.add %6, %6 : tensor<1xf32>
    %8 = stablehlo.subtract %7, %arg2 : tensor<1xf32>
    %9 = stablehlo.select %5, %8, %6 : tensor<i1>, tensor<1xf32>
    %10 = stablehlo.dynamic_update_slice %arg0, %9, %0 : (tensor<100xf32>, tensor<1xf32>, tensor<i32>) -> tensor<100xf32>
    return %10 : tensor<100xf32>
  }
}
