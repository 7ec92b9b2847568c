"""fft.json: jax.numpy.fft, and derivatives of it.

"cases": {"name", "dtype", "shape", "options", "out": {"dtype", "shape"}, "values", "grad"}. The input x is a
formula: element i (row-major) is sin(1 + 7 i mod 11) + cos(2 + 3 i mod 7) / 2, of complex arrays
+ 1j cos(1 + 5 i mod 13); of integers 3 i mod 11. "values" are the real parts of the result, then
the imaginary ones. "grad" is the gradient by x (null where x holds integers) of the sum of
|out|^2 * cos(0, 1, 2, ...). "frequencies": {"name", "n", "d", "values"}. "shifts": {"name",
"shape", "axes", "values"} of 0, 1, 2, ....
"""
import jax
import jax.numpy as jnp
import numpy as np

import golden

golden.setup(x64=True)


def operand(dtype, shape):
  i = np.arange(int(np.prod(shape)))
  if np.dtype(dtype).kind == 'i':
    return (3 * i % 11).reshape(shape).astype(dtype)
  x = np.sin(1 + 7 * i % 11) + np.cos(2 + 3 * i % 7) / 2
  if np.dtype(dtype).kind == 'c':
    x = x + 1j * np.cos(1 + 5 * i % 13)
  return x.reshape(shape).astype(dtype)


def numbers(x):
  x = np.asarray(x).ravel()
  parts = [x.real, x.imag] if np.iscomplexobj(x) else [x]
  return [float(f'{v:.12g}') for v in np.concatenate(parts)]


def case(name, dtype, shape, **options):
  f = lambda v: getattr(jnp.fft, name)(v, **options)
  x = operand(dtype, shape)
  out = f(x)

  def loss(v):
    y = f(v)
    weights = jnp.cos(jnp.arange(y.size, dtype=jnp.float64)).reshape(y.shape)
    return jnp.sum((y.real**2 + y.imag**2 if jnp.iscomplexobj(y) else y**2) * weights)

  grad = None if np.dtype(dtype).kind == 'i' else numbers(jax.grad(loss)(x))
  return {
      'name': name,
      'dtype': dtype,
      'shape': list(shape),
      'options': options,
      'out': {'dtype': out.dtype.name, 'shape': list(out.shape)},
      'values': numbers(out),
      'grad': grad,
  }


def cases():
  for norm in ('backward', 'ortho', 'forward'):
    for name in ('fft', 'ifft', 'irfft', 'hfft'):
      yield case(name, 'complex128', (5,), norm=norm)
    for name in ('rfft', 'ihfft'):
      yield case(name, 'float64', (6,), norm=norm)
    yield case('fftn', 'complex128', (2, 3), norm=norm)
    yield case('irfftn', 'complex128', (2, 3), norm=norm)
  for name in ('fft', 'ifft', 'irfft', 'hfft'):
    yield case(name, 'complex64', (3, 4), n=3)
    yield case(name, 'complex64', (3, 4), n=6, axis=0)
  for name in ('rfft', 'ihfft', 'fft', 'ifft', 'irfft', 'hfft'):
    yield case(name, 'float32', (2, 5), n=4)
    yield case(name, 'float32', (2, 5), n=7)
  for name in ('fft', 'rfft', 'irfft'):
    yield case(name, 'int32', (6,))
  yield case('fft', 'int64', (4,))
  for name in ('fft2', 'ifft2', 'irfft2'):
    yield case(name, 'complex128', (2, 3, 4))
    yield case(name, 'complex128', (2, 3, 4), s=(2, 5), axes=(2, 0))
  for name in ('rfft2', 'rfftn', 'fftn', 'ifftn', 'irfftn'):
    yield case(name, 'float64', (3, 4))
    yield case(name, 'float64', (2, 3, 2), axes=(2, 0))
  for name in ('fftn', 'ifftn', 'irfftn'):
    yield case(name, 'complex128', (2, 2, 3, 2))
    yield case(name, 'complex128', (2, 2, 2, 1, 2), s=(2, 3))
  yield case('rfftn', 'float64', (2, 2, 3, 2))
  for name, dtype in (('fft', 'complex128'), ('rfft', 'float64'), ('irfft', 'complex128')):
    yield case(name, dtype, (17,))
    yield case(name, dtype, (30,))


def frequencies():
  for name in ('fftfreq', 'rfftfreq'):
    for n, d in ((0, 1), (1, 1), (5, 2), (6, 0.25)):
      if n or name == 'fftfreq':
        yield {'name': name, 'n': n, 'd': d, 'values': numbers(getattr(jnp.fft, name)(n, d=d))}


def shifts():
  for name in ('fftshift', 'ifftshift'):
    for shape, axes in (((5,), None), ((4,), 0), ((3, 4), None), ((3, 4), [1]), ((2, 3, 4), [0, 2])):
      x = jnp.arange(np.prod(shape)).reshape(shape)
      yield {
          'name': name,
          'shape': list(shape),
          'axes': axes if axes is None or isinstance(axes, list) else [axes],
          'values': np.asarray(getattr(jnp.fft, name)(x, axes=axes)).ravel().tolist(),
      }


topic = golden.Topic('fft')
topic.write({'cases': list(cases()), 'frequencies': list(frequencies()), 'shifts': list(shifts())})
