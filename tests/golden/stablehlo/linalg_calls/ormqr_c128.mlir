module @jit_ormqr_c128 attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4x4xcomplex<f64>>, %arg1: tensor<2x4xcomplex<f64>>, %arg2: tensor<2x4x3xcomplex<f64>>) -> (tensor<2x4x3xcomplex<f64>> {jax.result_info = "result"}) {
    %0 = stablehlo.custom_call @lapack_zunmqr_ffi(%arg0, %arg1, %arg2) {backend_config = "", mhlo.backend_config = {left = true, transpose = true}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 2, operand_tuple_indices = []>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, l], [i, m, n])->([i, o, p]) {i=2, j=4, k=4, l=4, m=4, n=3, o=4, p=3}, custom>} : (tensor<2x4x4xcomplex<f64>>, tensor<2x4xcomplex<f64>>, tensor<2x4x3xcomplex<f64>>) -> tensor<2x4x3xcomplex<f64>>
    return %0 : tensor<2x4x3xcomplex<f64>>
  }
}
