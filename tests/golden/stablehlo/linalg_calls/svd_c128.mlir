module @jit_svd_c128 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x6xcomplex<f64>>) -> (tensor<2x4xf64> {jax.result_info = "result[0]"}, tensor<2x4x4xf64> {jax.result_info = "result[1]"}, tensor<2x4x6xf64> {jax.result_info = "result[2]"}, tensor<2x4x6xcomplex<f64>> {jax.result_info = "result[3]"}, tensor<2x4x4xcomplex<f64>> {jax.result_info = "result[4]"}, tensor<2x6x6xcomplex<f64>> {jax.result_info = "result[5]"}) {
    %0:5 = stablehlo.custom_call @lapack_zgesdd_ffi(%arg0) {backend_config = "", mhlo.backend_config = {mode = 65 : ui8}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i, n], [i, o, p], [i, q, r], [i]) {i=2, j=4, k=6, l=4, m=6, n=4, o=4, p=4, q=6, r=6}, custom>} : (tensor<2x4x6xcomplex<f64>>) -> (tensor<2x4x6xcomplex<f64>>, tensor<2x4xf64>, tensor<2x4x4xcomplex<f64>>, tensor<2x6x6xcomplex<f64>>, tensor<2xi32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %2 = stablehlo.compare EQ, %0#4, %1, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1xi1>
    %cst = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f64>) -> tensor<2x4xf64>
    %5 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xi1>) -> tensor<2x4xi1>
    %6 = stablehlo.select %5, %0#1, %4 : tensor<2x4xi1>, tensor<2x4xf64>
    %7 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %cst_0 = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<complex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x4xi1>
    %10 = stablehlo.select %9, %0#2, %8 : tensor<2x4x4xi1>, tensor<2x4x4xcomplex<f64>>
    %11 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %cst_1 = stablehlo.constant dense<(0x7FF8000000000000,0x7FF8000000000000)> : tensor<complex<f64>>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<complex<f64>>) -> tensor<2x6x6xcomplex<f64>>
    %13 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x6x6xi1>
    %14 = stablehlo.select %13, %0#3, %12 : tensor<2x6x6xi1>, tensor<2x6x6xcomplex<f64>>
    %15 = stablehlo.abs %10 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %16 = stablehlo.slice %14 [0:2, 0:4, 0:6] : (tensor<2x6x6xcomplex<f64>>) -> tensor<2x4x6xcomplex<f64>>
    %17 = stablehlo.abs %16 : (tensor<2x4x6xcomplex<f64>>) -> tensor<2x4x6xf64>
    %18 = stablehlo.broadcast_in_dim %6, dims = [0, 2] : (tensor<2x4xf64>) -> tensor<2x1x4xf64>
    %19 = stablehlo.convert %18 : (tensor<2x1x4xf64>) -> tensor<2x1x4xcomplex<f64>>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2] : (tensor<2x1x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %21 = stablehlo.multiply %10, %20 : tensor<2x4x4xcomplex<f64>>
    %22 = stablehlo.slice %14 [0:2, 0:4, 0:6] : (tensor<2x6x6xcomplex<f64>>) -> tensor<2x4x6xcomplex<f64>>
    %23 = stablehlo.dot_general %21, %22, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x6xcomplex<f64>>) -> tensor<2x4x6xcomplex<f64>>
    %24 = stablehlo.transpose %10, dims = [0, 2, 1] : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %25 = stablehlo.real %24 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %26 = stablehlo.imag %24 : (tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xf64>
    %27 = stablehlo.negate %26 : tensor<2x4x4xf64>
    %28 = stablehlo.complex %25, %27 : tensor<2x4x4xcomplex<f64>>
    %29 = stablehlo.dot_general %10, %28, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x4xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>) -> tensor<2x4x4xcomplex<f64>>
    %30 = stablehlo.transpose %14, dims = [0, 2, 1] : (tensor<2x6x6xcomplex<f64>>) -> tensor<2x6x6xcomplex<f64>>
    %31 = stablehlo.real %30 : (tensor<2x6x6xcomplex<f64>>) -> tensor<2x6x6xf64>
    %32 = stablehlo.imag %30 : (tensor<2x6x6xcomplex<f64>>) -> tensor<2x6x6xf64>
    %33 = stablehlo.negate %32 : tensor<2x6x6xf64>
    %34 = stablehlo.complex %31, %33 : tensor<2x6x6xcomplex<f64>>
    %35 = stablehlo.dot_general %14, %34, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x6x6xcomplex<f64>>, tensor<2x6x6xcomplex<f64>>) -> tensor<2x6x6xcomplex<f64>>
    return %6, %15, %17, %23, %29, %35 : tensor<2x4xf64>, tensor<2x4x4xf64>, tensor<2x4x6xf64>, tensor<2x4x6xcomplex<f64>>, tensor<2x4x4xcomplex<f64>>, tensor<2x6x6xcomplex<f64>>
  }
}
