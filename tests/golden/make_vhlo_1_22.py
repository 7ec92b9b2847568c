"""Portable artifacts of VHLO 1.22.0, the version of jaxlib 0.12.0.1, beside their text: what has another form there
than in the 1.17.0 of bytecode_forms.json (custom_call_v2, collective_broadcast_v2, collective_reduce_v1), and groups as
axes of a mesh, which JAX writes since 0.11.

    pip install jax==0.12.0.1 && python make_vhlo_1_22.py

vhlo_1_22.json: {"jaxlib": version, "programs": [{"name", "text", "files": {version of VHLO: hex}}]}.
"""
import json
import pathlib

from jax._src.interpreters import mlir as jax_mlir
import jaxlib.version
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

VERSION = '1.22.0'
FOLDER = pathlib.Path(__file__).resolve().parent
GROUPS = ('replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, '
          'channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>')
SUM = '''({
          ^bb0(%c: tensor<f32>, %d: tensor<f32>):
            %s = stablehlo.add %c, %d : tensor<f32>
            stablehlo.return %s : tensor<f32>
          })'''
AXIS = 'replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>'


def manual(op):
  return f'''
      sdy.mesh @mesh = <["x"=2, "y"=2]>
      func.func public @main(%x: tensor<4x2xf32>, %roots: tensor<1xi32>) -> tensor<4x2xf32> {{
        %0 = sdy.manual_computation(%x, %roots) in_shardings=[<@mesh, [{{"x", "y"}}, {{}}]>, <@mesh, [{{}}]>] out_shardings=[<@mesh, [{{"x", "y"}}, {{}}]>] manual_axes={{"x", "y"}} (%a: tensor<1x2xf32>, %root: tensor<1xi32>) {{
          %1 = {op} -> tensor<1x2xf32>
          sdy.return %1 : tensor<1x2xf32>
        }} : (tensor<4x2xf32>, tensor<1xi32>) -> tensor<4x2xf32>
        return %0 : tensor<4x2xf32>
      }}'''


PROGRAMS = {
    'broadcast': manual(f'"stablehlo.collective_broadcast"(%a) {{{GROUPS}}} : (tensor<1x2xf32>)'),
    'broadcast_from_root': manual(f'"stablehlo.collective_broadcast"(%a, %root) {{{GROUPS}, has_dynamic_root}} : '
                                  '(tensor<1x2xf32>, tensor<1xi32>)'),
    'reduce': manual(f'"stablehlo.collective_reduce"(%a) {SUM} {{{GROUPS}}} : (tensor<1x2xf32>)'),
    'reduce_to_root': manual(f'"stablehlo.collective_reduce"(%a, %root) {SUM} {{{GROUPS}, has_dynamic_root, '
                             'use_global_device_ids} : (tensor<1x2xf32>, tensor<1xi32>)'),
    'axes_all_reduce': manual(f'"stablehlo.all_reduce"(%a) {SUM} {{{AXIS}, channel_handle = '
                              '#stablehlo.channel_handle<handle = 1, type = 1>} : (tensor<1x2xf32>)'),
    'custom_call': '''
      func.func public @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
        %0 = stablehlo.custom_call @tessera.pure_callback(%x) {api_version = 4 : i32, backend_config = {
            function = 7 : i64, dtypes = ["f32"], shapes = [array<i64: 2, 3>]}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
        return %0 : tensor<2x3xf32>
      }''',
}


def main():
  out = []
  with jax_mlir.make_ir_context():
    for name, body in PROGRAMS.items():
      module = ir.Module.parse(f'module @{name} {{{body}\n}}')
      text = module.operation.get_asm(enable_debug_info=False)
      out.append({'name': name, 'text': text,
                  'files': {VERSION: stablehlo.serialize_portable_artifact(module, VERSION, True).hex()}})
  (FOLDER / 'vhlo_1_22.json').write_text(
      json.dumps({'jaxlib': jaxlib.version.__version__, 'programs': out}, indent=1) + '\n')


if __name__ == '__main__':
  main()
