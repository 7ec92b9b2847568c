#dims = array<i64: 1, 0>
!t = tensor<2x3xf32>
module @m {
  sdy.mesh @a = <["x"=4, "y"=2]> {tessera.abstract}
  func.func public @main(%arg0: !t {sdy.sharding = #sdy.sharding<@a, [{"x":(1)2, "y"}, {?}], replicated={"x":(2)2}>, tessera.weak}) -> (tensor<3x2xf32>, tensor<2xcomplex<f32>>) {
    %0 = "stablehlo.transpose"(%arg0) <{permutation = #dims}> : (!t) -> tensor<3x2xf32> loc("here"("there"))
    %1 = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@a, [{"y"}]>]>} dense<[(1.0,-2.5e-1), (0x7F800000,0.0)]> : tensor<2xcomplex<f32>>
    %2 = stablehlo.constant dense<"0x0000803F000000C0"> : tensor<2xf32>
    %3 = stablehlo.constant dense<[[true, false]]> : tensor<1x2xi1>
    %4 = stablehlo.custom_call @tessera.axis_index() {api_version = 4 : i32, backend_config = {mesh = @a, axes = ["x"]}} : () -> tensor<i32>
    return %0, %1 : tensor<3x2xf32>, tensor<2xcomplex<f32>>
  }
}
