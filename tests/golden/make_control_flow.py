"""control_flow.json, control_flow.npz, stablehlo/control_flow/*.mlir: loops and branches.

"programs": a list of {"name", "inputs", "outputs": array references, "text": the lowered program, a
  file below stablehlo/}.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import golden

golden.setup()
topic = golden.Programs('control_flow')
program = topic.program
x = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
w = np.cos(np.arange(9, dtype=np.float32)).reshape(3, 3)
rows = np.sin(np.arange(20, dtype=np.float32)).reshape(5, 4)


def running(c, row):
  return c + row, c * row


program('fori', lambda x: lax.fori_loop(0, 5, lambda i, c: c * 0.5 + i, x), x)
program('fori_dynamic', lambda n, x: lax.fori_loop(0, n, lambda i, c: c * 0.5 + i, x), np.int32(4), x)
program('while_captures',
        lambda x, limit, step: lax.while_loop(lambda c: jnp.sum(c[1]) < limit, lambda c:
                                              (c[0] + 1, c[1] + step), (0, x)), x, np.float32(20),
        np.float32([1, 2, 3]))
program('while_matrix',
        lambda x, w: lax.while_loop(lambda c: jnp.max(jnp.abs(c)) > 0.01, lambda c: jnp.tanh(c @ w) * 0.5, x),
        x, w)
program('scan', lambda c, xs: lax.scan(running, c, xs), rows[0], rows)
program('scan_reverse', lambda c, xs: lax.scan(running, c, xs, reverse=True), rows[0], rows)
program('scan_captures', lambda c, xs, w: lax.scan(lambda c, x: (jnp.tanh(c @ w + x), c.sum()), c, xs), w[0],
        rows[:, :3], w)
program('scan_nested',
        lambda c, xs: lax.scan(lambda c, row: lax.scan(lambda c, x: (c + x, c * x), c, row), c, xs),
        np.float32(1), rows)
program('scan_gradient', jax.grad(lambda w, xs: lax.scan(lambda c, x: (jnp.tanh(c @ w + x), None), xs[0], xs)[0].sum()),
        w, rows[:, :3])
program('map', lambda xs: lax.map(lambda x: x * x.sum(), xs), rows)
program('associative_scan', lambda xs: lax.associative_scan(jnp.multiply, xs), rows)
for pred in (False, True):
  program(f'cond_{pred}'.lower(),
          lambda p, x, w: lax.cond(p, lambda x: (x @ w, x.sum()), lambda x: (x - 1, w[0, 0]), x),
          np.bool_(pred), x, w)
for index in (-1, 0, 1, 2, 7):
  program(f'switch_{index}'.replace('-', 'minus_'),
          lambda i, x, w: lax.switch(i, [lambda x: x, lambda x: x @ w, lambda x: x * 3 + w[0]], x),
          np.int32(index), x, w)
program('cond_in_scan',
        lambda xs: lax.scan(lambda c, x: (lax.cond(x[0] > 0, lambda c: c + x, lambda c: c * 2, c), c), xs[0], xs), rows)
program('while_in_cond',
        lambda p, x: lax.cond(p, lambda x: lax.while_loop(lambda c: c.sum() < 50, lambda c: c * 2, x), jnp.sin, x),
        np.bool_(True), x)

topic.write()
