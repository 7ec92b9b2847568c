"""Forms of programs that JAX does not write, as MLIR bytecode beside their text: collectives over
axes of a mesh or to some devices, priorities of Shardy, tuples, chlo.scan, which VHLO does not have.

bytecode_forms.json: {"jax": version, "programs": [{"name", "text", "files": {kind: hex}}]}, where text is the
module as MLIR prints it and kind "native" or the version of VHLO.
"""
import io
import json

import golden

golden.setup(x64=True)

import jax
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

VERSION = '1.17.0'
SUM = '''({
          ^bb0(%a: tensor<f32>, %b: tensor<f32>):
            %s = stablehlo.add %a, %b : tensor<f32>
            stablehlo.return %s : tensor<f32>
          })'''
XY = ('#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>,'
      ' #stablehlo.mesh_axis<name = "y", size = 2>]>')


def reduced(axes, mesh='@mesh'):
  return f'''{SUM} {{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = {mesh}, axes = [{axes}]>}}
              : (tensor<2x4xf32>) -> tensor<2x4xf32>'''


def axis(name, part=''):
  return f'#stablehlo.axis_ref<name = "{name}"{part}>'


PROGRAMS = {
    'mesh_axes': f'''
      sdy.mesh @mesh = <["x"=4, "y"=2]>
      func.func private @other() attributes {{stablehlo.mesh = #stablehlo.mesh<axes = [
          #stablehlo.mesh_axis<name = "a", size = 2>, #stablehlo.mesh_axis<name = "b", size = 4>]>}}
      func.func public @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {{
        %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{"x"}}, {{"y"}}]>] out_shardings=[<@mesh, [{{"x"}}, {{"y"}}]>] manual_axes={{"x", "y"}} (%arg1: tensor<2x4xf32>) {{
          %1 = "stablehlo.all_reduce"(%arg1) {reduced(axis('x'))}
          %2 = "stablehlo.all_reduce"(%1) {reduced(axis('x', ', sub_axis_info = (1)2') + ', ' + axis('y'))}
          %3 = "stablehlo.all_reduce"(%2) {reduced(axis('p'), '#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "p", size = 8>]>')}
          sdy.return %3 : tensor<2x4xf32>
        }} : (tensor<8x8xf32>) -> tensor<8x8xf32>
        return %0 : tensor<8x8xf32>
      }}''',
    'inline_mesh': f'''
      func.func public @main(%arg0: tensor<2x4xf32>) -> tensor<2x4xf32> {{
        %0 = "stablehlo.all_reduce"(%arg0) {reduced(axis('x'), XY)}
        return %0 : tensor<2x4xf32>
      }}''',
    'broadcast_to_some': f'''
      sdy.mesh @mesh = <["x"=4]>
      func.func public @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {{
        %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{{"x"}}, {{}}]>] out_shardings=[<@mesh, [{{"x"}}, {{}}]>] manual_axes={{"x"}} (%arg1: tensor<2x4xf32>) {{
          %1 = "stablehlo.collective_broadcast"(%arg1) {{replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}}
              : (tensor<2x4xf32>) -> tensor<2x4xf32>
          sdy.return %1 : tensor<2x4xf32>
        }} : (tensor<8x4xf32>) -> tensor<8x4xf32>
        return %0 : tensor<8x4xf32>
      }}''',
    'priorities': '''
      sdy.mesh @mesh = <["x"=2, "y"=2]>
      func.func public @main(%arg0: tensor<4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}p0, {?}p12]>}) -> tensor<4x2xf32> {
        %0 = sdy.sharding_constraint %arg0 <@mesh, [{?}p3, {"y"}p1]> : tensor<4x2xf32>
        return %0 : tensor<4x2xf32>
      }''',
    'scans': '''
      func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3xf32>) -> (tensor<3x4xf32>, tensor<3xf32>, tensor<3x4xf32>) {
        %0:2 = chlo.scan(%arg0) inits(%arg1) dimension=1 attributes {is_reverse = true} {
        ^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
          %s = stablehlo.add %a, %b : tensor<3xf32>
          stablehlo.return %s, %s : tensor<3xf32>, tensor<3xf32>
        } : (tensor<3x4xf32>, tensor<3xf32>) -> (tensor<3x4xf32>, tensor<3xf32>)
        %1 = chlo.scan(%arg0) inits() dimension=1 {
        ^bb0(%a: tensor<3xf32>):
          %s = stablehlo.negate %a : tensor<3xf32>
          stablehlo.return %s : tensor<3xf32>
        } : (tensor<3x4xf32>) -> tensor<3x4xf32>
        return %0#0, %0#1, %1 : tensor<3x4xf32>, tensor<3xf32>, tensor<3x4xf32>
      }''',
    'tuples': '''
      func.func public @main(%arg0: tensor<2xf32>, %arg1: tuple<tensor<i32>, tuple<tensor<2xf32>>>) -> (tensor<i32>, tuple<tensor<2xf32>, tuple<>>) {
        %0 = stablehlo.get_tuple_element %arg1[1] : (tuple<tensor<i32>, tuple<tensor<2xf32>>>) -> tuple<tensor<2xf32>>
        %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<2xf32>>) -> tensor<2xf32>
        %2 = stablehlo.add %1, %arg0 : tensor<2xf32>
        %3 = stablehlo.tuple %2, %0 : tuple<tensor<2xf32>, tuple<tensor<2xf32>>>
        %4 = func.call @twice(%3) : (tuple<tensor<2xf32>, tuple<tensor<2xf32>>>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>>>
        %5 = stablehlo.get_tuple_element %4[0] : (tuple<tensor<2xf32>, tuple<tensor<2xf32>>>) -> tensor<2xf32>
        %6 = stablehlo.get_tuple_element %arg1[0] : (tuple<tensor<i32>, tuple<tensor<2xf32>>>) -> tensor<i32>
        %7 = stablehlo.tuple : tuple<>
        %8 = stablehlo.tuple %5, %7 : tuple<tensor<2xf32>, tuple<>>
        return %6, %8 : tensor<i32>, tuple<tensor<2xf32>, tuple<>>
      }
      func.func private @twice(%arg0: tuple<tensor<2xf32>, tuple<tensor<2xf32>>>) -> tuple<tensor<2xf32>, tuple<tensor<2xf32>>> {
        %0 = stablehlo.get_tuple_element %arg0[0] : (tuple<tensor<2xf32>, tuple<tensor<2xf32>>>) -> tensor<2xf32>
        %1 = stablehlo.get_tuple_element %arg0[1] : (tuple<tensor<2xf32>, tuple<tensor<2xf32>>>) -> tuple<tensor<2xf32>>
        %2 = stablehlo.add %0, %0 : tensor<2xf32>
        %3 = stablehlo.tuple %2, %1 : tuple<tensor<2xf32>, tuple<tensor<2xf32>>>
        return %3 : tuple<tensor<2xf32>, tuple<tensor<2xf32>>>
      }''',
}


def main():
  out = []
  with jax_mlir.make_ir_context():
    for name, body in PROGRAMS.items():
      module = ir.Module.parse(f'module @{name} {{{body}\n}}')
      native = io.BytesIO()
      module.operation.write_bytecode(native)
      text = module.operation.get_asm(enable_debug_info=False)
      files = {'native': native.getvalue().hex()}
      if 'chlo.scan' not in text:
        files[VERSION] = stablehlo.serialize_portable_artifact(module, VERSION, True).hex()
      out.append({'name': name, 'text': text, 'files': files})
  (golden.FOLDER / 'bytecode_forms.json').write_text(
      json.dumps({'jax': jax.__version__, 'programs': out}, indent=1) + '\n')


if __name__ == '__main__':
  main()
