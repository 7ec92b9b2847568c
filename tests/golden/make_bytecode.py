"""Programs as MLIR bytecode: what jax.export serialises, StableHLO's portable artifacts of several
versions of VHLO, and bytecode of the dialects themselves, beside the text of the same module.

bytecode.json: {"programs": [{"name", "text", "files": [{"kind", "begin", "end"}]}]}, where text is
the module as MLIR prints it and kind "native", "export" or the version of VHLO; begin and end are
offsets in bytecode.bin, in which all files stand one after the other.
`golden` files: {"golden": [{"text", "begin", "end"}]}, portable artifacts of some of stablehlo/.

It needs flatbuffers, which jax.export serialises with.
"""
import io
import json
import pathlib

import golden

golden.setup(x64=True)

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax
from jax.sharding import NamedSharding, PartitionSpec as P
from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

VERSIONS = ['0.9.0', '1.17.0']
GOLDEN = ['ops', 'control_flow', 'shard_map', '']
f32 = np.float32


def shape(dims, dtype=f32):
  return jax.ShapeDtypeStruct(dims, dtype)


def programs():
  mesh = jax.make_mesh((4, 2), ('x', 'y'), axis_types=(jax.sharding.AxisType.Auto,) * 2)
  xy = NamedSharding(mesh, P('x', 'y'))

  def manual(f, i, o):
    return jax.shard_map(f, mesh=mesh, in_specs=i, out_specs=o)

  for dtype in golden.DTYPES:
    constant = np.arange(6).reshape(2, 3) % 2
    yield f'constant_{dtype}', lambda x, c=constant, d=dtype: (jnp.asarray(c, d), jnp.ones(3, d), x), [
        shape((2,), dtype)]
  yield 'loop', lambda x: lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, c[1] * 2), (0, x)), [
      shape((4,))]
  yield 'scan', jax.grad(lambda x: lax.scan(lambda c, y: (jnp.sin(c) + y, c * y), jnp.zeros(3, f32), x)[0].sum()), [
      shape((5, 3))]
  yield 'branches', lambda i, x: lax.switch(i, [lambda x: x, lambda x: x * 2, jnp.sin], x), [
      shape((), np.int32), shape((4,))]
  yield 'cond', lambda p, x: lax.cond(p, lambda x: x * 2, lambda x: x + 1, x), [shape((), np.bool_), shape((4,))]
  yield 'gather', lambda x, i: x[i], [shape((6, 4)), shape((3,), np.int32)]
  yield 'scatter', lambda x, i, u: x.at[i].add(u), [shape((6, 4)), shape((3,), np.int32), shape((3, 4))]
  yield 'convolution', jax.grad(lambda w, x: lax.conv_general_dilated(
      x, w, (2, 1), 'SAME', rhs_dilation=(1, 2), dimension_numbers=('NHWC', 'HWIO', 'NHWC')).sum()), [
          shape((3, 3, 3, 4)), shape((2, 8, 8, 3))]
  yield 'pool', lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'VALID'), [
      shape((2, 8, 8, 3))]
  yield 'sort', lambda x: (lax.sort(x, dimension=0), jnp.argmax(x, 1)), [shape((6, 4))]
  yield 'top_k', lambda x: lax.top_k(x, 2), [shape((6,))]
  yield 'dot', lambda x, y: jnp.einsum('bij,bjk->bik', x, y, precision='highest'), [
      shape((2, 6, 4)), shape((2, 4, 5))]
  yield 'random', lambda k: jax.random.normal(k, (4,)), [shape((2,), np.uint32)]
  yield 'calls', lambda x: jax.jit(lambda y: jax.jit(jnp.tanh)(y) + jax.jit(jnp.sin)(y))(x) + jax.jit(jnp.sin)(x), [
      shape((4,))]
  yield 'reduce', lambda x: (x.sum(0), x.prod(), (x > 0).any(), lax.reduce(x, f32(0), lambda a, b: a * 2 + b, (0,))), [
      shape((4, 4))]
  yield 'special', lambda x: (jnp.arcsinh(x), jax.nn.gelu(x), jnp.expm1(x), x % 3, lax.erf_inv(x)), [shape((4,))]
  yield 'constraint', jax.jit(lambda x: lax.with_sharding_constraint(x * 2, NamedSharding(mesh, P('y', None))),
                              in_shardings=xy, out_shardings=NamedSharding(mesh, P(('x', 'y')))), [shape((8, 8))]
  yield 'psum', jax.jit(manual(lambda a: lax.psum(a, 'x'), P('x', 'y'), P(None, 'y')), in_shardings=xy), [
      shape((8, 8))]
  yield 'all_gather', manual(lambda a: lax.all_gather(a, 'x', tiled=True), P('x', 'y'), P('x', 'y')), [shape((8, 8))]
  yield 'all_to_all', manual(lambda a: lax.all_to_all(a, 'x', 1, 0, tiled=True), P('x', 'y'), P('x', 'y')), [
      shape((8, 8))]
  yield 'permute', manual(lambda a: lax.ppermute(a, 'x', [(i, (i + 1) % 4) for i in range(4)]), P('x', 'y'),
                          P('x', 'y')), [shape((8, 8))]
  yield 'partial', jax.jit(lambda x: jax.shard_map(lambda a: lax.psum(a, 'x'), mesh=mesh, in_specs=P('x'),
                                                   out_specs=P(), axis_names={'x'})(x)), [shape((8, 8))]


def native(module):
  out = io.BytesIO()
  module.operation.write_bytecode(out)
  return out.getvalue()


def portable(module, version):
  try:
    return stablehlo.serialize_portable_artifact(module, version, True)
  except Exception:  # that version of VHLO cannot say it
    return None


def main():
  packed = bytearray()

  def place(data):
    packed.extend(data)
    return {'begin': len(packed) - len(data), 'end': len(packed)}

  out = {'programs': [], 'golden': []}
  context = jax_mlir.make_ir_context()
  with context:
    # A constant that stands beside the ops, in a section of its own.
    resources = {'resource': '''
      module @resource { func.func public @main() -> tensor<2x2xf32> {
        %0 = stablehlo.constant dense_resource<values> : tensor<2x2xf32>
        return %0 : tensor<2x2xf32> } }
      {-# dialect_resources: { builtin: { values: "0x040000000000803F000000400000404000008040" } } #-}'''}
    for name, text in resources.items():
      module = ir.Module.parse(text)
      out['programs'].append({
          'name': name,
          'text': text.split('{-#')[0].replace('dense_resource<values>', 'dense<[[1.0, 2.0], [3.0, 4.0]]>'),
          'files': [{'kind': 'native', **place(native(module))}]})
    for name, f, arguments in programs():
      exported = export.export(f if hasattr(f, 'lower') else jax.jit(f))(*arguments)
      module = stablehlo.deserialize_portable_artifact(context, exported.mlir_module_serialized)
      text = module.operation.get_asm(enable_debug_info=False)
      files = [{'kind': 'export', **place(exported.serialize())}]
      module = ir.Module.parse(text)
      files.append({'kind': 'native', **place(native(module))})
      for version in VERSIONS:
        if (data := portable(module, version)) is not None:
          files.append({'kind': version, **place(data)})
      out['programs'].append({'name': name, 'text': text, 'files': files})
    for folder in GOLDEN:
      for path in sorted((golden.FOLDER / 'stablehlo' / folder).glob('*.mlir'))[::16]:
        module = ir.Module.parse(path.read_text())
        out['golden'].append({
            'text': str(path.relative_to(golden.FOLDER / 'stablehlo')),
            **place(portable(module, VERSIONS[-1]))})
  (golden.FOLDER / 'bytecode.bin').write_bytes(packed)
  (golden.FOLDER / 'bytecode.json').write_text(json.dumps(out, indent=1) + '\n')


if __name__ == '__main__':
  main()
