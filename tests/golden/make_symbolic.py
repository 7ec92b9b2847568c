"""Programs that jax.export makes of functions of symbolic shapes, and what they compute for concrete
ones.

symbolic.json: {"programs": [{"name", "text", "bytecode": hex, "cases": [{"inputs", "outputs"}],
"refused": [extents]}]}. The texts are stablehlo/symbolic/<name>.mlir. Arguments of rank 1 and the
extents of a list that is refused break what the program assumes.
"""
import golden

golden.setup()

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax

jax.config.update('jax_traceback_in_locations_limit', 0)  # no paths of this machine
SIZES = [{'b': 5, 'n': 3}, {'b': 4, 'n': 8}]


def scan(x):
  return lax.scan(lambda c, r: (c + r, c * jnp.where(r > 0, r, 0.)), jnp.zeros(4), x)


def loop(x):
  return lax.while_loop(lambda c: c[0] < x.shape[0], lambda c: (c[0] + 1, c[1] * 2 + x[c[0]]),
                        (0, jnp.zeros(4)))


def assembled(x):
  return jnp.concatenate([x.reshape(-1), jnp.arange(x.shape[0], dtype=x.dtype)])


# Of each function: its arguments' dtypes and shapes, and what it assumes of the sizes.
FLOAT, INT, KEY = 'float32', 'int32', 'uint32'
PROGRAMS = {
    'sum': (lambda x: jnp.sin(x) + x.sum(0), [(FLOAT, 'b, 4')]),
    'mlp': (lambda x, w: jax.nn.softmax(jax.nn.relu(x @ w)), [(FLOAT, 'b, 4'), (FLOAT, '4, 8')]),
    'assembled': (assembled, [(FLOAT, 'b, 4')]),
    'scan': (scan, [(FLOAT, 'b, 4')]),
    'while': (loop, [(FLOAT, 'b, 4')]),
    'cond': (lambda x: lax.cond(x.sum() > 0, lambda x: x * x.shape[0], lambda x: x - 1, x),
             [(FLOAT, 'b, 4')]),
    'dot': (lambda x, y: jnp.einsum('bij,bjk->bik', x, y) / x.shape[0],
            [(FLOAT, 'b, n, 3'), (FLOAT, 'b, 3, n')]),
    'grad': (jax.grad(lambda x: jnp.mean(jnp.tanh(x)**2)), [(FLOAT, 'b, n')]),
    'take': (lambda x, i: jnp.take(x, i, axis=0), [(FLOAT, 'b, 4'), (INT, 'n')]),
    'add_at': (lambda x, i: x.at[i].add(1.0), [(FLOAT, 'b, 4'), (INT, 'n')]),
    'sort': (lambda x: jnp.sort(x)[::-1], [(FLOAT, 'b')]),
    'conv': (lambda x, w: lax.conv_general_dilated(x, w, (1, 1), 'SAME'),
             [(FLOAT, 'b, 2, 4, n'), (FLOAT, '3, 2, 3, 3')]),
    'pool': (lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2), (1, 2, 2), 'SAME'),
             [(FLOAT, 'b, 6, n')]),
    'half': (lambda x: jnp.pad(x, ((0, x.shape[0]), (1, 1)))[:x.shape[0] // 2 + 1],
             [(FLOAT, 'b, 4')]),
    'cumsum': (lambda x: jnp.cumsum(x, axis=0), [(FLOAT, 'b, 4')]),
    'normal': (lambda k, x: jax.random.normal(jax.random.wrap_key_data(k), x.shape) + x,
               [(KEY, '2'), (FLOAT, 'b, 2')]),
    'top_k': (lambda x: lax.top_k(x, 3), [(FLOAT, 'b, 8')]),
    'eye': (lambda x: x @ jnp.eye(x.shape[1], x.shape[0]), [(FLOAT, 'b, n')]),
    'window': (lambda x, i: lax.dynamic_slice(x, (i[0], i[1]), (x.shape[0] // 2, 2)),
               [(FLOAT, 'b, 4'), (INT, '2')]),
    'halves': (lambda x: x.reshape(2, -1).sum(0), [(FLOAT, '2*n')], [[5], [0]]),
    'larger': (lambda x, y: x[:y.shape[0]] * y, [(FLOAT, 'b'), (FLOAT, 'n')],
               [[2, 3]], ['b >= n']),
}


def concrete(avals, sizes, rng):
  for aval in avals:
    shape = tuple(int(eval(str(d), {}, sizes)) for d in aval.shape)
    if aval.dtype.kind == 'f':
      yield rng.standard_normal(shape).astype(aval.dtype)
    else:
      yield rng.integers(0, 3, shape).astype(aval.dtype)


def main():
  topic, texts, programs = golden.Topic('symbolic'), {}, []
  for name, (function, arguments, *rest) in PROGRAMS.items():
    refused, constraints = (rest + [[], []])[:2] if rest else ([], [])
    scope = export.SymbolicScope(constraints)
    specs = [jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype)
             for dtype, shape in arguments]
    function = (lambda f: lambda *a: f(*a))(function)
    function.__name__ = name
    exported = export.export(jax.jit(function))(*specs)
    texts[f'{name}.mlir'] = exported.mlir_module()
    rng = np.random.default_rng(0)
    cases = []
    for i, sizes in enumerate(SIZES):
      if name == 'larger' and sizes['b'] < sizes['n']:
        sizes = {'b': 9, 'n': 8}
      inputs = list(concrete(exported.in_avals, sizes, rng))
      outputs = jax.tree.leaves(exported.call(*inputs))
      cases.append({
          'inputs': [topic.array(f'{name}.{i}.in{k}', x) for k, x in enumerate(inputs)],
          'outputs': [topic.array(f'{name}.{i}.out{k}', x) for k, x in enumerate(outputs)]})
    programs.append({'name': name, 'text': f'symbolic/{name}.mlir',
                     'bytecode': exported.mlir_module_serialized.hex(), 'cases': cases,
                     'refused': refused})
  golden.write_texts('symbolic', texts)
  topic.write({'programs': programs})


if __name__ == '__main__':
  main()
