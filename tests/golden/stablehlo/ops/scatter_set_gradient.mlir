module @jit_scatter_set_gradient attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5x4xf32>, %arg1: tensor<5x4xf32>, %arg2: tensor<5xi32>) -> (tensor<5x4xf32> {jax.result_info = "result[0]"}, tensor<5x4xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %1 = stablehlo.compare LT, %arg2, %0, SIGNED : (tensor<5xi32>, tensor<5xi32>) -> tensor<5xi1>
    %c_0 = stablehlo.constant dense<5> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<5xi32>
    %3 = stablehlo.add %arg2, %2 : tensor<5xi32>
    %4 = stablehlo.select %1, %3, %arg2 : tensor<5xi1>, tensor<5xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<5xi32>) -> tensor<5x1xi32>
    %6 = stablehlo.iota dim = 0 : tensor<5xui32>
    %7 = stablehlo.reshape %6 : (tensor<5xui32>) -> tensor<5x1xui32>
    %c_1 = stablehlo.constant dense<1> : tensor<ui32>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui32>) -> tensor<5x4xui32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<5x1xui32>) -> tensor<5x4xui32>
    %10 = stablehlo.add %9, %8 : tensor<5x4xui32>
    %c_2 = stablehlo.constant dense<0> : tensor<ui32>
    %11 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui32>) -> tensor<5x4xui32>
    %12 = "stablehlo.scatter"(%11, %5, %10) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<ui32>, %arg4: tensor<ui32>):
      stablehlo.return %arg4 : tensor<ui32>
    }) : (tensor<5x4xui32>, tensor<5x1xi32>, tensor<5x4xui32>) -> tensor<5x4xui32>
    %13 = "stablehlo.gather"(%12, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<5x4xui32>, tensor<5x1xi32>) -> tensor<5x4xui32>
    %c_3 = stablehlo.constant dense<0> : tensor<ui32>
    %14 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<ui32>) -> tensor<5x4xui32>
    %15 = stablehlo.compare EQ, %12, %14, UNSIGNED : (tensor<5x4xui32>, tensor<5x4xui32>) -> tensor<5x4xi1>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %17 = stablehlo.select %15, %arg0, %16 : tensor<5x4xi1>, tensor<5x4xf32>
    %18 = stablehlo.compare EQ, %10, %13, UNSIGNED : (tensor<5x4xui32>, tensor<5x4xui32>) -> tensor<5x4xi1>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %20 = stablehlo.select %18, %arg1, %19 : tensor<5x4xi1>, tensor<5x4xf32>
    %c_5 = stablehlo.constant dense<0> : tensor<ui32>
    %21 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<ui32>) -> tensor<5x4xui32>
    %22 = stablehlo.compare EQ, %12, %21, UNSIGNED : (tensor<5x4xui32>, tensor<5x4xui32>) -> tensor<5x4xi1>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %24 = stablehlo.compare EQ, %10, %13, UNSIGNED : (tensor<5x4xui32>, tensor<5x4xui32>) -> tensor<5x4xi1>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %26 = "stablehlo.scatter"(%17, %5, %20) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %48 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %48 : tensor<f32>
    }) : (tensor<5x4xf32>, tensor<5x1xi32>, tensor<5x4xf32>) -> tensor<5x4xf32>
    %27 = stablehlo.multiply %26, %arg0 : tensor<5x4xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %28 = stablehlo.reduce(%27 init: %cst_8) applies stablehlo.add across dimensions = [0, 1] : (tensor<5x4xf32>, tensor<f32>) -> tensor<f32>
    %cst_9 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %30 = stablehlo.multiply %26, %29 : tensor<5x4xf32>
    %31 = stablehlo.multiply %29, %arg0 : tensor<5x4xf32>
    %c_10 = stablehlo.constant dense<4> : tensor<1xi32>
    %c_11 = stablehlo.constant dense<0> : tensor<i32>
    %32 = stablehlo.broadcast_in_dim %c_11, dims = [] : (tensor<i32>) -> tensor<5x1xi32>
    %33 = stablehlo.compare GE, %5, %32, SIGNED : (tensor<5x1xi32>, tensor<5x1xi32>) -> tensor<5x1xi1>
    %34 = stablehlo.broadcast_in_dim %c_10, dims = [1] : (tensor<1xi32>) -> tensor<1x1xi32>
    %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<5x1xi32>
    %36 = stablehlo.compare LE, %5, %35, SIGNED : (tensor<5x1xi32>, tensor<5x1xi32>) -> tensor<5x1xi1>
    %37 = stablehlo.and %33, %36 : tensor<5x1xi1>
    %c_12 = stablehlo.constant dense<true> : tensor<i1>
    %38 = stablehlo.reduce(%37 init: %c_12) applies stablehlo.and across dimensions = [1] : (tensor<5x1xi1>, tensor<i1>) -> tensor<5xi1>
    %39 = "stablehlo.gather"(%31, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<5x4xf32>, tensor<5x1xi32>) -> tensor<5x4xf32>
    %40 = stablehlo.broadcast_in_dim %38, dims = [0] : (tensor<5xi1>) -> tensor<5x4xi1>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %42 = stablehlo.select %40, %39, %41 : tensor<5x4xi1>, tensor<5x4xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %44 = stablehlo.select %24, %42, %43 : tensor<5x4xi1>, tensor<5x4xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %45 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<5x4xf32>
    %46 = stablehlo.select %22, %31, %45 : tensor<5x4xi1>, tensor<5x4xf32>
    %47 = stablehlo.add %30, %46 : tensor<5x4xf32>
    return %47, %44 : tensor<5x4xf32>, tensor<5x4xf32>
  }
}
