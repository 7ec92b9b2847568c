// The residues are keys, which are computed once and sorted by their digits. Of a difference nothing is a key and no order is known, so the
// second array is sorted by loops that compare two elements at a time.
// OPTIONS --passes merge_sorts
func.func public @main(%x: tensor<9xi32>, %y: tensor<4xi32>) -> (tensor<9xi32>, tensor<4xi32>) {
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.remainder %a, %c : tensor<i32>
    %2 = stablehlo.remainder %b, %c : tensor<i32>
    %3 = stablehlo.compare GT, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %3 : tensor<i1>
  }) : (tensor<9xi32>) -> tensor<9xi32>
  %4 = "stablehlo.sort"(%y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %c = stablehlo.constant dense<0> : tensor<i32>
    %5 = stablehlo.subtract %a, %b : tensor<i32>
    %6 = stablehlo.compare LT, %5, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %6 : tensor<i1>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return %0, %4 : tensor<9xi32>, tensor<4xi32>
}
// PRINTS
module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<9xi32>, %arg1: tensor<4xi32>) -> (tensor<9xi32>, tensor<4xi32>) {
    %0 = stablehlo.constant dense<5> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<9xi32>
    %2 = stablehlo.remainder %arg0, %1 : tensor<9xi32>
    %3:2 = "stablehlo.sort"(%2, %arg0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<i32>, %arg4: tensor<i32>, %arg5: tensor<i32>):
      %4 = stablehlo.compare GT, %arg2, %arg3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<9xi32>, tensor<9xi32>) -> (tensor<9xi32>, tensor<9xi32>)
    %5 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.pad %arg1, %5, low = [0], high = [61], interior = [0] : (tensor<4xi32>, tensor<i32>) -> tensor<65xi32>
    %7:2 = stablehlo.while(%arg6 = %6, %arg7 = %5) : tensor<65xi32>, tensor<i32> cond {
      %8 = stablehlo.constant dense<4> : tensor<i32>
      %9 = stablehlo.compare LT, %arg7, %8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    } do {
      %10 = stablehlo.constant dense<2> : tensor<i32>
      %11 = stablehlo.compare GE, %arg7, %10, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %12 = stablehlo.constant dense<0> : tensor<i32>
      %13 = stablehlo.select %11, %10, %12 : tensor<i1>, tensor<i32>
      %14 = stablehlo.subtract %arg7, %13 : tensor<i32>
      %15 = stablehlo.constant dense<7> : tensor<i32>
      %16 = stablehlo.remainder %14, %15 : tensor<i32>
      %17 = stablehlo.subtract %arg7, %16 : tensor<i32>
      %18 = stablehlo.dynamic_slice %arg6, %arg7, sizes = [1] : (tensor<65xi32>, tensor<i32>) -> tensor<1xi32>
      %19 = stablehlo.reshape %18 : (tensor<1xi32>) -> tensor<i32>
      %20 = stablehlo.dynamic_slice %arg6, %17, sizes = [1] : (tensor<65xi32>, tensor<i32>) -> tensor<1xi32>
      %21 = stablehlo.reshape %20 : (tensor<1xi32>) -> tensor<i32>
      %22 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<i32>) -> tensor<i32>
      %23 = stablehlo.subtract %19, %21 : tensor<i32>
      %24 = stablehlo.compare LT, %23, %22, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %25:5 = stablehlo.while(%arg8 = %arg6, %arg9 = %arg7, %arg10 = %19, %arg11 = %24, %arg12 = %17) : tensor<65xi32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32> cond {
        %26 = stablehlo.constant dense<-1> : tensor<i32>
        %27 = stablehlo.add %arg9, %26 : tensor<i32>
        %28 = stablehlo.dynamic_slice %arg8, %27, sizes = [1] : (tensor<65xi32>, tensor<i32>) -> tensor<1xi32>
        %29 = stablehlo.reshape %28 : (tensor<1xi32>) -> tensor<i32>
        %30 = stablehlo.constant dense<0> : tensor<i32>
        %31 = stablehlo.broadcast_in_dim %30, dims = [] : (tensor<i32>) -> tensor<i32>
        %32 = stablehlo.subtract %arg10, %29 : tensor<i32>
        %33 = stablehlo.compare LT, %32, %31, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %34 = stablehlo.or %arg11, %33 : tensor<i1>
        %35 = stablehlo.compare GT, %arg9, %arg12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        %36 = stablehlo.and %35, %34 : tensor<i1>
        stablehlo.return %36 : tensor<i1>
      } do {
        %37 = stablehlo.constant dense<-1> : tensor<i32>
        %38 = stablehlo.add %arg9, %37 : tensor<i32>
        %39 = stablehlo.dynamic_slice %arg8, %38, sizes = [1] : (tensor<65xi32>, tensor<i32>) -> tensor<1xi32>
        %40 = stablehlo.reshape %39 : (tensor<1xi32>) -> tensor<i32>
        %41 = stablehlo.reshape %40 : (tensor<i32>) -> tensor<1xi32>
        %42 = stablehlo.dynamic_update_slice %arg8, %41, %arg9 : (tensor<65xi32>, tensor<1xi32>, tensor<i32>) -> tensor<65xi32>
        stablehlo.return %42, %38, %arg10, %arg11, %arg12 : tensor<65xi32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>
      }
      %43 = stablehlo.reshape %19 : (tensor<i32>) -> tensor<1xi32>
      %44 = stablehlo.dynamic_update_slice %25#0, %43, %25#1 : (tensor<65xi32>, tensor<1xi32>, tensor<i32>) -> tensor<65xi32>
      %45 = stablehlo.constant dense<1> : tensor<i32>
      %46 = stablehlo.add %arg7, %45 : tensor<i32>
      stablehlo.return %44, %46 : tensor<65xi32>, tensor<i32>
    }
    %47 = stablehlo.constant dense<2> : tensor<i32>
    %48:5 = stablehlo.while(%arg13 = %7#0, %arg14 = %5, %arg15 = %47, %arg16 = %5, %arg17 = %7#0) : tensor<65xi32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<65xi32> cond {
      %49 = stablehlo.constant dense<4> : tensor<i32>
      %50 = stablehlo.compare LT, %arg16, %49, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %50 : tensor<i1>
    } do {
      %51 = stablehlo.constant dense<4> : tensor<i32>
      %52 = stablehlo.compare LT, %arg15, %51, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %53 = stablehlo.constant dense<2> : tensor<i32>
      %54 = stablehlo.compare LT, %arg14, %53, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %55 = stablehlo.dynamic_slice %arg17, %arg15, sizes = [1] : (tensor<65xi32>, tensor<i32>) -> tensor<1xi32>
      %56 = stablehlo.reshape %55 : (tensor<1xi32>) -> tensor<i32>
      %57 = stablehlo.dynamic_slice %arg17, %arg14, sizes = [1] : (tensor<65xi32>, tensor<i32>) -> tensor<1xi32>
      %58 = stablehlo.reshape %57 : (tensor<1xi32>) -> tensor<i32>
      %59 = stablehlo.constant dense<0> : tensor<i32>
      %60 = stablehlo.broadcast_in_dim %59, dims = [] : (tensor<i32>) -> tensor<i32>
      %61 = stablehlo.subtract %56, %58 : tensor<i32>
      %62 = stablehlo.compare LT, %61, %60, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %63 = stablehlo.not %54 : tensor<i1>
      %64 = stablehlo.or %63, %62 : tensor<i1>
      %65 = stablehlo.and %52, %64 : tensor<i1>
      %66 = stablehlo.select %65, %56, %58 : tensor<i1>, tensor<i32>
      %67 = stablehlo.reshape %66 : (tensor<i32>) -> tensor<1xi32>
      %68 = stablehlo.dynamic_update_slice %arg13, %67, %arg16 : (tensor<65xi32>, tensor<1xi32>, tensor<i32>) -> tensor<65xi32>
      %69 = stablehlo.convert %65 : (tensor<i1>) -> tensor<i32>
      %70 = stablehlo.constant dense<1> : tensor<i32>
      %71 = stablehlo.add %arg14, %70 : tensor<i32>
      %72 = stablehlo.subtract %71, %69 : tensor<i32>
      %73 = stablehlo.add %arg15, %69 : tensor<i32>
      %74 = stablehlo.add %arg16, %70 : tensor<i32>
      stablehlo.return %68, %72, %73, %74, %arg17 : tensor<65xi32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<65xi32>
    }
    %75 = stablehlo.slice %48#0 [0:4] : (tensor<65xi32>) -> tensor<4xi32>
    return %3#1, %75 : tensor<9xi32>, tensor<4xi32>
  }
}
