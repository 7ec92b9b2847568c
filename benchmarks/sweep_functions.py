"""The functions that benchmarks/sweep.py measures, with their arguments and dtypes.

An entry has a name, a callable, a function of Arguments that makes the callable's arguments, the kinds of dtypes that it
supports (f: floats, i: int32, b: bool), and whether its gradient is an entry too. Arguments of n elements depend only on the
size and the dtype, so that all processes have the same.
"""
import dataclasses
import math
from typing import Callable

import jax
from jax import lax
import jax.numpy as jnp
import jax.scipy as jsp
import numpy as np


@dataclasses.dataclass
class Entry:
  name: str
  call: Callable
  make: Callable
  kinds: str = 'f'
  gradient: bool = False


def kind_of(dtype):
  return {'i': 'i', 'u': 'i', 'b': 'b'}.get(dtype.kind, 'f')


class Arguments:
  """Arrays of about n elements of one dtype. Floats are uniform between low and high, integers from 1 to 99."""

  def __init__(self, n, dtype):
    self.n, self.dtype = n, jnp.dtype(dtype)
    self.side = max(8, math.isqrt(n) // 8 * 8)
    self.random = np.random.default_rng(n)
    self.kind = kind_of(self.dtype)

  def array(self, *shape, low=-2.0, high=2.0):
    if self.kind == 'b':
      return jnp.asarray(self.random.random(shape) < 0.5)
    if self.kind == 'i':
      return jnp.asarray(self.random.integers(1, 100, shape), self.dtype)
    if self.dtype.kind == 'c':
      real, imaginary = self.random.uniform(low, high, (2, *shape))
      return jnp.asarray(real + 1j * imaginary, self.dtype)
    return jnp.asarray(self.random.uniform(low, high, shape), self.dtype)

  def vector(self, low=-2.0, high=2.0):
    return self.array(self.n, low=low, high=high)

  def matrix(self, low=-2.0, high=2.0):
    return self.array(self.side, self.side, low=low, high=high)

  def rows(self, width=128):
    return self.array(max(1, self.n // width), width)

  def batch(self, *shape):
    return self.array(max(1, self.n // math.prod(shape)), *shape)

  def positive_definite(self, k, count=None):
    x = self.array(count or max(1, self.n // (k * k)), k, k).astype(self.dtype)
    return x @ x.mT / k + jnp.eye(k, dtype=self.dtype)

  def image(self, channels=8):
    side = max(8, math.isqrt(self.n // channels) // 4 * 4)
    return self.array(1, side, side, channels)

  def indices(self, count, high):
    return jnp.asarray(self.random.integers(0, high, count), jnp.int32)

  def key(self):
    return jax.random.key(0)


def resolved(name):
  """Returns the callable with a dotted name that begins with jnp, lax, jsp, nn or random."""
  roots = {'jnp': jnp, 'lax': lax, 'jsp': jsp, 'nn': jax.nn, 'random': jax.random}
  first, *rest = name.split('.')
  found = roots[first]
  for part in rest:
    found = getattr(found, part)
  return found


def elementwise():
  anywhere = '''jnp.abs jnp.sin jnp.cos jnp.exp jnp.exp2 jnp.expm1 jnp.tanh jnp.sinh jnp.cosh jnp.arctan jnp.arcsinh jnp.cbrt
    jnp.sinc jnp.square jnp.tan jnp.i0 lax.erf lax.erfc lax.logistic lax.bessel_i0e lax.bessel_i1e
    jsp.special.ndtr jsp.special.log_ndtr jsp.special.i0e jsp.special.i1 jsp.special.dawsn jsp.special.erfcx
    nn.relu nn.relu6 nn.sigmoid nn.softplus nn.sparse_plus nn.sparse_sigmoid nn.soft_sign nn.silu nn.log_sigmoid
    nn.leaky_relu nn.hard_sigmoid nn.hard_silu nn.hard_tanh nn.elu nn.celu nn.selu nn.gelu nn.squareplus nn.mish'''
  positive = '''jnp.log jnp.log2 jnp.log10 jnp.log1p jnp.sqrt jnp.reciprocal lax.rsqrt lax.digamma lax.lgamma
    jsp.special.entr jsp.special.exp1 jsp.special.gamma jsp.special.spence nn.log1mexp'''
  unit = '''jnp.arcsin jnp.arccos jnp.arctanh lax.erf_inv jsp.special.logit jsp.special.ndtri'''
  for name in anywhere.split():
    yield Entry(name, resolved(name), lambda a: (a.vector(),), gradient=True)
  for name in positive.split():
    yield Entry(name, resolved(name), lambda a: (a.vector(0.1, 3),), gradient=True)
  for name in unit.split():
    yield Entry(name, resolved(name), lambda a: (a.vector(0.05, 0.95),), gradient=True)
  yield Entry('jnp.arccosh', jnp.arccosh, lambda a: (a.vector(1.1, 3),), gradient=True)
  whole = 'jnp.ceil jnp.floor jnp.trunc jnp.rint jnp.isnan jnp.isfinite jnp.signbit jnp.nan_to_num jnp.modf jnp.frexp'
  for name in whole.split():
    yield Entry(name, resolved(name), lambda a: (a.vector(),))
  for name in 'jnp.negative jnp.sign jnp.square'.split():
    yield Entry(name + '.any', resolved(name), lambda a: (a.vector(),), 'i')
  for name in 'lax.clz lax.population_count jnp.invert'.split():
    yield Entry(name, resolved(name), lambda a: (a.vector(),), 'i')
  two = '''jnp.add jnp.subtract jnp.multiply jnp.divide jnp.maximum jnp.minimum jnp.arctan2 jnp.hypot jnp.logaddexp
    jnp.logaddexp2 jnp.copysign'''
  for name in two.split():
    yield Entry(name, resolved(name), lambda a: (a.vector(), a.vector()), 'f', True)
  for name in 'jnp.add jnp.multiply jnp.maximum jnp.floor_divide jnp.remainder jnp.power jnp.gcd jnp.bitwise_and'.split():
    yield Entry(name + '.int', resolved(name), lambda a: (a.vector(), a.vector() // 8 + 1), 'i')
  for name in 'jnp.floor_divide jnp.remainder jnp.fmod jnp.nextafter jnp.heaviside'.split():
    yield Entry(name, resolved(name), lambda a: (a.vector(), a.vector()))
  for name in 'jnp.equal jnp.less jnp.logical_and jnp.logical_xor jnp.isclose'.split():
    yield Entry(name, resolved(name), lambda a: (a.vector(), a.vector()), 'fib')
  yield Entry('jnp.power', jnp.power, lambda a: (a.vector(0.1, 3), a.vector()), gradient=True)
  yield Entry('jnp.float_power', jnp.float_power, lambda a: (a.vector(0.1, 3), a.vector()))
  yield Entry('jnp.ldexp', jnp.ldexp, lambda a: (a.vector(), a.indices(a.n, 8)), gradient=True)
  yield Entry('lax.integer_pow', lambda x: lax.integer_pow(x, 5), lambda a: (a.vector(),), 'fi', True)
  yield Entry('jnp.where', lambda x, y: jnp.where(x > 0, x, y), lambda a: (a.vector(), a.vector()), 'fi', True)
  yield Entry('jnp.clip', lambda x: jnp.clip(x, -1, 1), lambda a: (a.vector(),), 'fi', True)
  yield Entry('jnp.left_shift', lambda x: x << 3, lambda a: (a.vector(),), 'i')
  yield Entry('complex.abs', lambda x, y: jnp.abs(lax.complex(x, y)), lambda a: (a.vector(), a.vector()), 'c')
  yield Entry('convert.int', lambda x: x.astype(jnp.int32), lambda a: (a.vector(),), 'fb')
  yield Entry('convert.bf16', lambda x: x.astype(jnp.bfloat16), lambda a: (a.vector(),), 'fi', True)
  yield Entry('bitcast', lambda x: lax.bitcast_convert_type(x, jnp.uint8), lambda a: (a.vector(),), 'fi')
  for name in 'lax.igamma lax.igammac jsp.special.betaln'.split():
    yield Entry(name, resolved(name), lambda a: (a.vector(0.5, 3), a.vector(0.5, 3)))
  yield Entry('lax.betainc', lax.betainc, lambda a: (a.vector(0.5, 3), a.vector(0.5, 3), a.vector(0.1, 0.9)))
  yield Entry('lax.zeta', lax.zeta, lambda a: (a.vector(1.5, 4), a.vector(0.5, 3)))
  yield Entry('jsp.special.xlogy', jsp.special.xlogy, lambda a: (a.vector(0.1, 2), a.vector(0.1, 2)), gradient=True)


def reductions():
  for name in 'sum mean max min prod std var argmax argmin any all count_nonzero'.split():
    call = getattr(jnp, name)
    kinds = {'sum': 'fib', 'max': 'fib', 'min': 'fi', 'any': 'b', 'all': 'b', 'count_nonzero': 'fib'}.get(name, 'f')
    kinds += 'i' if name.startswith('arg') else ''
    gradient = name in 'sum mean max prod std var'.split()
    narrow = dict(low=0.9, high=1.1) if name == 'prod' else {}
    for axis in (None, 0, 1):
      yield Entry(f'jnp.{name}' + (f'.axis{axis}' if axis is not None else ''),
                  lambda x, call=call, axis=axis: call(x, axis=axis),
                  (lambda a, narrow=narrow: (a.vector(**narrow) if a.kind == 'f' else a.vector(),)) if axis is None else
                  (lambda a, narrow=narrow: (a.matrix(**narrow),)), kinds, gradient)
  for name in 'nansum nanmean nanmax nanstd ptp'.split():
    yield Entry(f'jnp.{name}', getattr(jnp, name), lambda a: (a.vector(),))
  for axis in (0, 1):
    for name in ('softmax', 'log_softmax', 'logsumexp', 'standardize'):
      yield Entry(f'nn.{name}.axis{axis}', lambda x, f=getattr(jax.nn, name), axis=axis: f(x, axis=axis),
                  lambda a: (a.matrix(),), gradient=True)
  yield Entry('jnp.linalg.norm', jnp.linalg.norm, lambda a: (a.vector(),), gradient=True)
  yield Entry('jnp.average', jnp.average, lambda a: (a.vector(),))
  yield Entry('jnp.cov', jnp.cov, lambda a: (a.array(16, a.n // 16),))
  yield Entry('jnp.sum.rows', lambda x: x.sum(1), lambda a: (a.rows(),), 'fi', True)
  yield Entry('jnp.sum.columns', lambda x: x.sum(0), lambda a: (a.rows(),), 'fi', True)
  for k in (5, 8, 12):
    yield Entry(f'jnp.sum.rows{k}', lambda x: x.sum(1), lambda a, k=k: (a.batch(k),), 'fib', k == 8)
    yield Entry(f'jnp.max.rows{k}', lambda x: x.max(1), lambda a, k=k: (a.batch(k),), 'fib', k == 8)
  yield Entry('jnp.sum.middle', lambda x: x.sum(1), lambda a: (a.batch(32, 32),), 'fi', True)
  yield Entry('batchnorm', lambda x: (x - x.mean(0)) * lax.rsqrt(x.var(0) + 1e-5), lambda a: (a.rows(64),), gradient=True)
  yield Entry('layernorm', lambda x: (x - x.mean(1, keepdims=True)) * lax.rsqrt(x.var(1, keepdims=True) + 1e-5),
              lambda a: (a.rows(),), gradient=True)


def scans_and_windows():
  for name in 'cumsum cumprod cummax cumlogsumexp'.split():
    narrow = dict(low=0.99, high=1.01) if name == 'cumprod' else {}
    kinds = 'f' if name in ('cumprod', 'cumlogsumexp') else 'fi'
    call = getattr(lax, name)
    yield Entry(f'lax.{name}', call, lambda a, narrow=narrow: (a.vector(**narrow),), kinds, True)
    for axis in (0, 1):
      yield Entry(f'lax.{name}.axis{axis}', lambda x, call=call, axis=axis: call(x, axis=axis),
                  lambda a, narrow=narrow: (a.matrix(**narrow),), kinds, True)
  yield Entry('lax.associative_scan', lambda x, y: lax.associative_scan(
      lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1]), (x, y)), lambda a: (a.vector(0.5, 0.9), a.vector()), gradient=True)
  yield Entry('lax.associative_scan.matrices', lambda x: lax.associative_scan(jnp.matmul, x),
              lambda a: (a.batch(2, 2) / 3,), gradient=True)
  yield Entry('lax.scan', lambda x: lax.scan(lambda c, r: (0.5 * c + r, c), jnp.zeros_like(x[0]), x),
              lambda a: (a.rows(),), gradient=True)
  yield Entry('lax.map', lambda x: lax.map(jnp.sin, x), lambda a: (a.rows(),), gradient=True)

  def pool(init, fold, size, stride, padding='VALID'):
    return lambda x: lax.reduce_window(x, np.array(init(x), x.dtype)[()], fold, (1, size, size, 1),
                                       (1, stride, stride, 1), padding)
  lowest = lambda x: -np.inf if jnp.issubdtype(x.dtype, jnp.floating) else np.iinfo(x.dtype).min
  zero = lambda x: 0
  for size, stride in ((2, 2), (3, 1), (3, 2)):
    yield Entry(f'maxpool{size}s{stride}', pool(lowest, lax.max, size, stride), lambda a: (a.image(),), 'fi', True)
    yield Entry(f'avgpool{size}s{stride}', pool(zero, lax.add, size, stride, 'SAME'), lambda a: (a.image(),), 'fi', True)
  yield Entry('maxpool3s1.one_channel', pool(lowest, lax.max, 3, 1), lambda a: (a.image(1),), 'f', True)
  yield Entry('avgpool3s1.64_channels', pool(zero, lax.add, 3, 1), lambda a: (a.image(64),), 'f', True)
  yield Entry('moving_sum100', lambda x: lax.reduce_window(x, np.array(0, x.dtype)[()], lax.add, (100,), (1,), 'VALID'),
              lambda a: (a.vector(),), 'fi', True)
  yield Entry('moving_max100', lambda x: lax.reduce_window(x, np.array(lowest(x), x.dtype)[()], lax.max, (100,), (1,), 'VALID'),
              lambda a: (a.vector(),), 'fi')


def shapes():
  yield Entry('jnp.transpose', lambda x: x.T + 0, lambda a: (a.matrix(),), 'fib', True)
  yield Entry('jnp.transpose.batch', lambda x: x.transpose(0, 2, 1), lambda a: (a.batch(32, 32),), 'fi')
  yield Entry('jnp.transpose.heads', lambda x: x.transpose(1, 0, 2), lambda a: (a.batch(8, 64),), 'f')
  for name, kinds in (('flip', 'fib'), ('flipud', 'f'), ('fliplr', 'fi'), ('rot90', 'f'), ('tril', 'f'), ('triu', 'f')):
    yield Entry(f'jnp.{name}', getattr(jnp, name), lambda a: (a.matrix(),), kinds, name == 'flip')
  yield Entry('jnp.flip.vector', jnp.flip, lambda a: (a.vector(),), 'fi')
  for axis in (0, 1):
    yield Entry(f'jnp.roll.axis{axis}', lambda x, axis=axis: jnp.roll(x, 3, axis), lambda a: (a.matrix(),), 'fib', True)
    yield Entry(f'jnp.concatenate.axis{axis}', lambda x, y, axis=axis: jnp.concatenate([x, y], axis),
                lambda a: (a.matrix(), a.matrix()), 'fib', True)
    yield Entry(f'jnp.stack.axis{axis}', lambda x, y, axis=axis: jnp.stack([x, y], axis),
                lambda a: (a.matrix(), a.matrix()), 'fi', True)
    yield Entry(f'jnp.repeat.axis{axis}', lambda x, axis=axis: jnp.repeat(x, 3, axis), lambda a: (a.matrix(),), 'fi', True)
    yield Entry(f'jnp.diff.axis{axis}', lambda x, axis=axis: jnp.diff(x, axis=axis), lambda a: (a.matrix(),), 'fi', True)
  yield Entry('jnp.roll', lambda x: jnp.roll(x, 100), lambda a: (a.vector(),), 'fi', True)
  yield Entry('jnp.tile', lambda x: jnp.tile(x, (2, 2)), lambda a: (a.matrix(),), 'fi', True)
  for mode in 'constant edge reflect symmetric wrap'.split():
    yield Entry(f'jnp.pad.{mode}', lambda x, mode=mode: jnp.pad(x, 5, mode), lambda a: (a.matrix(),), 'fi', True)
  yield Entry('lax.pad.interior', lambda x: lax.pad(x, np.array(0, x.dtype)[()], ((1, 1, 1), (2, 2, 1))),
              lambda a: (a.matrix(),), 'fi', True)
  yield Entry('jnp.slice', lambda x: x[3:-3, 5:-2] + x[:-6, 7:], lambda a: (a.matrix(),), 'fi', True)
  yield Entry('jnp.slice.strided', lambda x: x[::2, ::3], lambda a: (a.matrix(),), 'fi', True)
  yield Entry('jnp.broadcast_to', lambda x: jnp.broadcast_to(x, (16, *x.shape)), lambda a: (a.array(a.n // 16),), 'fib', True)
  yield Entry('jnp.meshgrid', jnp.meshgrid, lambda a: (a.array(a.side), a.array(a.side)), 'fi')
  yield Entry('lax.dynamic_slice', lambda x: lax.dynamic_slice(x, (jnp.int32(3), jnp.int32(5)), (x.shape[0] // 2, x.shape[1] // 2)),
              lambda a: (a.matrix(),), 'fi', True)
  yield Entry('lax.dynamic_update_slice', lambda x, y: lax.dynamic_update_slice(x, y, (jnp.int32(3), jnp.int32(5))),
              lambda a: (a.matrix(), a.array(a.side // 2, a.side // 2)), 'fi', True)
  yield Entry('jnp.diag', jnp.diag, lambda a: (a.array(a.side),), 'fi', True)
  yield Entry('jnp.diagonal', jnp.diagonal, lambda a: (a.matrix(),), 'fi', True)
  yield Entry('jnp.trace', jnp.trace, lambda a: (a.matrix(),), 'fi', True)
  yield Entry('jnp.vander', lambda x: jnp.vander(x, 8), lambda a: (a.array(a.n // 8),), 'f')
  yield Entry('jnp.arange', lambda x: jnp.arange(x.shape[0]) * x[0], lambda a: (a.vector(),), 'fi')
  yield Entry('jnp.linspace', lambda x: jnp.linspace(x[0], x[1], x.shape[0]), lambda a: (a.vector(),), 'f')
  yield Entry('jnp.packbits', jnp.packbits, lambda a: (a.vector(),), 'b')
  yield Entry('jnp.unpackbits', lambda x: jnp.unpackbits(x.astype(jnp.uint8)), lambda a: (a.array(a.n // 8),), 'i')
  yield Entry('jnp.gradient', jnp.gradient, lambda a: (a.matrix(),), gradient=True)
  yield Entry('jnp.trapezoid', jnp.trapezoid, lambda a: (a.vector(),), gradient=True)
  yield Entry('jnp.unwrap', jnp.unwrap, lambda a: (a.vector(),))
  yield Entry('nn.one_hot', lambda i: jax.nn.one_hot(i, 64), lambda a: (a.indices(a.n // 64, 64),), 'i')
  yield Entry('nn.glu', jax.nn.glu, lambda a: (a.matrix(),), gradient=True)


def indexing():
  yield Entry('jnp.take', lambda x, i: x[i], lambda a: (a.vector(), a.indices(a.n, a.n)), 'fib', True)
  yield Entry('jnp.take.rows', lambda x, i: x[i], lambda a: (a.rows(), a.indices(a.n // 128, max(1, a.n // 128))), 'fi', True)
  yield Entry('jnp.take.columns', lambda x, i: x[:, i], lambda a: (a.rows(), a.indices(128, 128)), 'fi', True)
  yield Entry('jnp.take_along_axis', lambda x, i: jnp.take_along_axis(x, i, 1),
              lambda a: (a.rows(), a.indices((a.n // 128, 128), 128)), 'fi', True)
  yield Entry('lax.gather.2d', lambda x, i, j: x[i, j], lambda a: (a.matrix(), a.indices(a.n, a.side), a.indices(a.n, a.side)),
              'fi', True)
  yield Entry('at.add', lambda x, i, y: x.at[i].add(y), lambda a: (a.vector(), a.indices(a.n, a.n), a.vector()), 'fi', True)
  yield Entry('at.set.sorted', lambda x, y: x.at[jnp.arange(0, x.shape[0], 2)].set(y, unique_indices=True),
              lambda a: (a.vector(), a.array((a.n + 1) // 2)), 'fi', True)
  yield Entry('at.max', lambda x, i, y: x.at[i].max(y), lambda a: (a.vector(), a.indices(a.n, a.n), a.vector()), 'fi')
  yield Entry('at.add.rows', lambda x, i, y: x.at[i].add(y),
              lambda a: (a.rows(), a.indices(a.n // 128, max(1, a.n // 128)), a.rows()), 'fi')
  yield Entry('segment_sum', lambda x, i: jax.ops.segment_sum(x, i, 1000), lambda a: (a.vector(), a.indices(a.n, 1000)), 'fi', True)
  yield Entry('jnp.bincount', lambda i: jnp.bincount(i, length=1000), lambda a: (a.indices(a.n, 1000),), 'i')
  yield Entry('jnp.histogram', lambda x: jnp.histogram(x, 100), lambda a: (a.vector(),))
  yield Entry('jnp.searchsorted', lambda x, y: jnp.searchsorted(jnp.sort(x), y), lambda a: (a.array(1000), a.vector()), 'fi')
  yield Entry('jnp.interp', lambda x, y: jnp.interp(x, jnp.linspace(-2, 2, 1000).astype(x.dtype), y),
              lambda a: (a.vector(), a.array(1000)))
  yield Entry('jnp.digitize', lambda x: jnp.digitize(x, jnp.linspace(-2, 2, 64)), lambda a: (a.vector(),))
  yield Entry('jnp.nonzero', lambda x: jnp.nonzero(x > 1, size=x.shape[0] // 4), lambda a: (a.vector(),))
  yield Entry('map_coordinates', lambda x, i, j: jsp.ndimage.map_coordinates(x, [i, j], 1),
              lambda a: (a.matrix(), a.vector(1, a.side - 2), a.vector(1, a.side - 2)))
  for name in 'sort argsort median'.split():
    yield Entry(f'jnp.{name}', getattr(jnp, name), lambda a: (a.vector(),), 'f' if name == 'median' else 'fi', name == 'sort')
    for axis in (0, 1):
      yield Entry(f'jnp.{name}.axis{axis}', lambda x, f=getattr(jnp, name), axis=axis: f(x, axis=axis),
                  lambda a: (a.matrix(),), 'f')
  yield Entry('jnp.unique', lambda x: jnp.unique(x, size=100), lambda a: (a.vector(),), 'i')
  yield Entry('jnp.lexsort', lambda x, y: jnp.lexsort((x, y)), lambda a: (a.vector(), a.vector()), 'fi')
  yield Entry('jnp.quantile', lambda x: jnp.quantile(x, 0.3), lambda a: (a.vector(),))
  yield Entry('lax.top_k', lambda x: lax.top_k(x, 10), lambda a: (a.vector(),), 'fi')
  yield Entry('lax.top_k.rows', lambda x: lax.top_k(x, 10), lambda a: (a.matrix(),), 'fi', True)


def products():
  yield Entry('jnp.matmul', jnp.matmul, lambda a: (a.matrix(), a.matrix()), 'fi', True)
  yield Entry('jnp.matmul.transposed', lambda x, y: x.T @ y, lambda a: (a.matrix(), a.matrix()), 'fi')
  yield Entry('jnp.matmul.tall', jnp.matmul, lambda a: (a.rows(64), a.array(64, 64)), 'fi', True)
  yield Entry('jnp.matmul.vector', jnp.matmul, lambda a: (a.matrix(), a.array(a.side)), 'fi', True)
  yield Entry('jnp.matmul.row', jnp.matmul, lambda a: (a.array(a.side), a.matrix()), 'fi', True)
  yield Entry('jnp.matmul.batch4', jnp.matmul, lambda a: (a.batch(4, 4), a.batch(4, 4)), 'fi', True)
  yield Entry('jnp.matmul.batch32', jnp.matmul, lambda a: (a.batch(32, 32), a.batch(32, 32)), 'fi', True)
  yield Entry('jnp.dot', jnp.dot, lambda a: (a.vector(), a.vector()), 'fi', True)
  yield Entry('jnp.vecdot', jnp.vecdot, lambda a: (a.rows(), a.rows()), 'fi', True)
  yield Entry('jnp.outer', jnp.outer, lambda a: (a.array(a.side), a.array(a.side)), 'fi', True)
  yield Entry('jnp.outer.batch', lambda x, y: x[:, :, None] * y[:, None, :], lambda a: (a.batch(32), a.batch(32)), 'f')
  yield Entry('jnp.cross', jnp.cross, lambda a: (a.batch(3), a.batch(3)), 'fi', True)
  yield Entry('jnp.kron', jnp.kron, lambda a: (a.array(a.side // 8, a.side // 8), a.array(8, 8)), 'fi', True)
  yield Entry('jnp.einsum.bij,bjk', lambda x, y: jnp.einsum('bij,bjk->bik', x, y), lambda a: (a.batch(16, 16), a.batch(16, 16)), 'f')
  yield Entry('jnp.einsum.bhqd,bhkd', lambda x, y: jnp.einsum('bqhd,bkhd->bhqk', x, y),
              lambda a: (a.batch(32, 4, 32), a.batch(32, 4, 32)), 'f', True)
  yield Entry('jnp.tensordot', lambda x, y: jnp.tensordot(x, y, ((1,), (0,))), lambda a: (a.batch(32, 4), a.array(32, 8)), 'fi')
  for name in ('convolve', 'correlate'):
    yield Entry(f'jnp.{name}', getattr(jnp, name), lambda a: (a.vector(), a.array(9)), 'fi', True)
    yield Entry(f'jnp.{name}.long', getattr(jnp, name), lambda a: (a.vector(), a.array(100)), 'f')
  yield Entry('jsp.signal.convolve2d', lambda x, y: jsp.signal.convolve2d(x, y, 'same'),
              lambda a: (a.matrix(), a.array(3, 3)), 'f', True)
  yield Entry('jsp.signal.fftconvolve', lambda x, y: jsp.signal.fftconvolve(x, y, 'same'), lambda a: (a.vector(), a.array(100)), 's')
  conv2d = lambda x, w, **kw: lax.conv_general_dilated(x, w, (1, 1), 'SAME', dimension_numbers=('NHWC', 'HWIO', 'NHWC'), **kw)
  yield Entry('conv2d', conv2d, lambda a: (a.image(), a.array(3, 3, 8, 8)), 'f', True)
  yield Entry('conv2d.depthwise', lambda x, w: conv2d(x, w, feature_group_count=8), lambda a: (a.image(), a.array(3, 3, 1, 8)), 'f', True)
  yield Entry('conv1d', lambda x, w: lax.conv_general_dilated(x, w, (1,), 'SAME', dimension_numbers=('NWC', 'WIO', 'NWC')),
              lambda a: (a.array(1, a.n // 16, 16), a.array(3, 16, 16)), 'f', True)
  yield Entry('nn.dot_product_attention', jax.nn.dot_product_attention,
              lambda a: tuple(a.array(1, max(8, a.n // 256), 4, 64) if a.n < 70_000 else a.array(a.n // 65_536, 256, 4, 64)
                              for _ in range(3)), 'f', True)
  yield Entry('jnp.polyval', jnp.polyval, lambda a: (a.array(8), a.vector()), 'fi', True)
  yield Entry('jsp.cluster.vq', lambda x, y: jsp.cluster.vq.vq(x, y), lambda a: (a.rows(16), a.array(16, 16)), 's')


def linear_algebra():
  square = lambda a: a.positive_definite(min(a.side, 256), 1)[0]
  yield Entry('jnp.linalg.solve', jnp.linalg.solve, lambda a: (square(a), a.array(min(a.side, 256))), 's', True)
  yield Entry('jnp.linalg.inv', jnp.linalg.inv, lambda a: (square(a),), 's', True)
  yield Entry('jnp.linalg.det', jnp.linalg.det, lambda a: (square(a) / 2,), 's')
  yield Entry('jnp.linalg.cholesky', jnp.linalg.cholesky, lambda a: (square(a),), 's', True)
  yield Entry('jnp.linalg.eigvalsh', jnp.linalg.eigvalsh, lambda a: (square(a),), 's')
  yield Entry('jnp.linalg.svdvals', jnp.linalg.svdvals, lambda a: (square(a),), 's')
  yield Entry('jnp.linalg.qr', lambda x: jnp.abs(jnp.linalg.qr(x)[1]), lambda a: (square(a),), 's')
  yield Entry('jnp.linalg.matrix_power', lambda x: jnp.linalg.matrix_power(x, 5), lambda a: (square(a) / 4,), 's')
  yield Entry('jsp.linalg.expm', jsp.linalg.expm, lambda a: (square(a) / 4,), 's')
  for k in (3, 4, 8, 32):
    batch = lambda a, k=k: (a.positive_definite(k),)
    yield Entry(f'batched_inv{k}', jnp.linalg.inv, batch, 's', k == 4)
    yield Entry(f'batched_det{k}', jnp.linalg.det, batch, 's', k == 3)
    yield Entry(f'batched_cholesky{k}', jnp.linalg.cholesky, batch, 's', k == 8)
    yield Entry(f'batched_solve{k}', lambda x, y: jnp.linalg.solve(x, y[..., None]),
                lambda a, k=k: (a.positive_definite(k), a.batch(k * k)[:, :k]), 's', k == 8)
    yield Entry(f'batched_triangular_solve{k}',
                lambda x, y: lax.linalg.triangular_solve(x, y[..., None], left_side=True, lower=True),
                lambda a, k=k: (jnp.tril(a.positive_definite(k)), a.batch(k * k)[:, :k]), 's')
    yield Entry(f'batched_qr{k}', lambda x: jnp.abs(jnp.linalg.qr(x)[1]), batch, 's')
    yield Entry(f'batched_eigvalsh{k}', jnp.linalg.eigvalsh, batch, 's')
  for name in 'fft ifft rfft'.split():
    yield Entry(f'jnp.fft.{name}', getattr(jnp.fft, name), lambda a: (a.vector(),), 's', name == 'rfft')
    yield Entry(f'jnp.fft.{name}.rows', getattr(jnp.fft, name), lambda a: (a.rows(),), 's')
  yield Entry('jnp.fft.fft.axis0', lambda x: jnp.fft.fft(x, axis=0), lambda a: (a.matrix(),), 's')
  yield Entry('jnp.fft.fft2', jnp.fft.fft2, lambda a: (a.matrix(),), 's')
  yield Entry('jnp.fft.irfft', jnp.fft.irfft, lambda a: (a.vector(),), 's')
  yield Entry('jsp.fft.dct', jsp.fft.dct, lambda a: (a.rows(),), 's')


def random():
  draws = '''uniform normal exponential gumbel laplace logistic cauchy rayleigh:2 weibull_min:1,2 pareto:2 truncated_normal:-1,1
    beta:2,3 gamma:2 chisquare:3 t:3'''
  for item in draws.split():
    name, _, params = item.partition(':')
    numbers = [float(p) for p in params.split(',') if p]
    yield Entry(f'random.{name}', lambda x, f=getattr(jax.random, name), numbers=numbers: f(
        jax.random.key(0), *numbers, shape=x.shape, dtype=x.dtype), lambda a: (a.vector(),), 'f')
  shaped = lambda call: lambda x: call(jax.random.key(0), x.shape)
  yield Entry('random.bits', shaped(jax.random.bits), lambda a: (a.vector(),), 'i')
  yield Entry('random.bernoulli', lambda x: jax.random.bernoulli(jax.random.key(0), 0.3, x.shape), lambda a: (a.vector(),), 'i')
  yield Entry('random.randint', lambda x: jax.random.randint(jax.random.key(0), x.shape, 0, 100), lambda a: (a.vector(),), 'i')
  yield Entry('random.poisson', lambda x: jax.random.poisson(jax.random.key(0), 3.0, x.shape), lambda a: (a.vector(),), 'i')
  yield Entry('random.rademacher', shaped(jax.random.rademacher), lambda a: (a.vector(),), 'i')
  yield Entry('random.permutation', lambda x: jax.random.permutation(jax.random.key(0), x), lambda a: (a.vector(),), 'i')
  yield Entry('random.categorical', lambda x: jax.random.categorical(jax.random.key(0), x, axis=1), lambda a: (a.rows(),), 'f')
  yield Entry('random.split', lambda x: jax.random.key_data(jax.random.split(jax.random.key(0), x.shape[0])),
              lambda a: (a.vector(),), 'i')


def short_rows():
  """Arrays of many rows of a few elements: channels of pixels, classes, coordinates."""
  for k in (3, 10, 16):
    rows = lambda a, k=k: (a.rows(k),)
    two = lambda a, k=k: (a.rows(k), a.rows(k))
    image = lambda a, k=k: (a.array(max(1, a.side // 4), max(1, 4 * a.n // (a.side * k)), k),)
    for name in 'sum max mean var prod argmax any'.split():
      kinds = {'any': 'b', 'argmax': 'fi', 'sum': 'fi', 'max': 'fi'}.get(name, 'f')
      yield Entry(f'short{k}.{name}', lambda x, f=getattr(jnp, name): f(x, -1), rows, kinds, name in 'max var prod')
    for name in 'softmax log_softmax logsumexp standardize'.split():
      yield Entry(f'short{k}.{name}', lambda x, f=getattr(jax.nn, name): f(x, axis=-1), rows, gradient=True)
    yield Entry(f'short{k}.softmax.image', lambda x: jax.nn.softmax(x, -1), image, gradient=True)
    yield Entry(f'short{k}.layernorm', lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5), rows,
                gradient=True)
    yield Entry(f'short{k}.normalize', lambda x: x / jnp.linalg.norm(x, axis=-1, keepdims=True), rows, gradient=True)
    yield Entry(f'short{k}.cross_entropy', lambda x, i: -jnp.take_along_axis(jax.nn.log_softmax(x), i[:, None], 1).mean(),
                lambda a, k=k: (a.rows(k), a.indices(max(1, a.n // k), k)), gradient=True)
    yield Entry(f'short{k}.cumsum', lambda x: jnp.cumsum(x, -1), rows, 'fi', True)
    yield Entry(f'short{k}.sort', lambda x: jnp.sort(x, -1), rows, 'fi', True)
    yield Entry(f'short{k}.argsort', lambda x: jnp.argsort(x, -1), rows, 'fi')
    yield Entry(f'short{k}.top_k', lambda x: lax.top_k(x, 2), rows, 'fi')
    yield Entry(f'short{k}.median', lambda x: jnp.median(x, -1), rows)
    yield Entry(f'short{k}.reverse', lambda x: x[:, ::-1], rows, 'fib')
    yield Entry(f'short{k}.reverse.image', lambda x: x[..., ::-1], image, 'fi')
    yield Entry(f'short{k}.times_reverse', lambda x: x * x[:, ::-1], rows, 'fi', True)
    yield Entry(f'short{k}.roll', lambda x: jnp.roll(x, 1, -1), rows, 'fi', True)
    yield Entry(f'short{k}.stack', lambda x, k=k: jnp.stack([x[:, (3 * i + 1) % k] + x[:, i] for i in range(k)], -1), rows, 'fi', True)
    yield Entry(f'short{k}.unstack', lambda x, k=k: [x[:, i] * 2 for i in range(k)], rows, 'fi', True)
    yield Entry(f'short{k}.concatenate', lambda x, y: jnp.concatenate([x, y], -1), two, 'fib', True)
    yield Entry(f'short{k}.pad', lambda x: jnp.pad(x, ((0, 0), (1, 1))), rows, 'fi', True)
    yield Entry(f'short{k}.transpose', lambda x: x.T + 0, rows, 'fi')
    yield Entry(f'short{k}.to_front', lambda x: jnp.moveaxis(x, -1, 0) * 1, image, 'fi')
    yield Entry(f'short{k}.one_hot', lambda i, k=k: jax.nn.one_hot(i, k), lambda a, k=k: (a.indices(max(1, a.n // k), k),), 'i')
    yield Entry(f'short{k}.take', lambda x, i: x[i], lambda a, k=k: (a.rows(k), a.indices(max(1, a.n // k), max(1, a.n // k))), 'fi', True)
    yield Entry(f'short{k}.take_columns', lambda x, k=k: x[:, np.array([k - 1, 0, 1])], rows, 'fi', True)
    yield Entry(f'short{k}.repeat', lambda x: jnp.repeat(x, 3, -1), rows, 'fi', True)
    yield Entry(f'short{k}.vecdot', lambda x, y: jnp.vecdot(x, y), two, 'fi', True)
    yield Entry(f'short{k}.matmul', lambda x, y: x @ y, lambda a, k=k: (a.rows(k), a.array(k, k)), 'fi', True)
    yield Entry(f'short{k}.columns.sum', lambda x: x.sum(0), rows, 'fi', True)
    yield Entry(f'short{k}.columns.standardize', lambda x: (x - x.mean(0)) / x.std(0), rows, gradient=True)
    yield Entry(f'short{k}.bias', lambda x, y: jax.nn.relu(x + y), lambda a, k=k: (a.rows(k), a.array(k)), 'fi', True)
  yield Entry('short3.cross', jnp.cross, lambda a: (a.rows(3), a.rows(3)), gradient=True)
  yield Entry('short3.distances', lambda x, y: jnp.linalg.norm(x[:, None] - y[None], axis=-1),
              lambda a: (a.array(a.side, 3), a.array(a.side, 3)), gradient=True)
  yield Entry('short3.gray', lambda x: (x.astype(jnp.float32) @ jnp.array([0.3, 0.59, 0.11])).astype(x.dtype), lambda a: (a.rows(3),), 'fi')
  yield Entry('short3.normalize_pixels', lambda x: (x.astype(jnp.float32) / 255 - jnp.array([0.48, 0.45, 0.4])) / jnp.array([0.22, 0.21, 0.2]),
              lambda a: (a.rows(3),), 'i')


def all_entries():
  """Yields all entries; an entry with a gradient is followed by the gradient's entry (NAME.grad)."""
  for family in (elementwise, reductions, scans_and_windows, shapes, indexing, products, linear_algebra, random, short_rows):
    for entry in family():
      yield entry
      if entry.gradient:
        yield Entry(f'{entry.name}.grad', entry.call, entry.make, entry.kinds.replace('i', '').replace('b', ''))


def fits(entry, dtype):
  """Returns whether the entry supports the dtype. Kinds s and c: the floats of linear algebra, without bfloat16."""
  dtype = jnp.dtype(dtype)
  kind = kind_of(dtype)
  return kind in entry.kinds or (kind == 'f' and dtype.itemsize > 2 and bool(set(entry.kinds) & set('sc')))


def program_of(entry, n, dtype):
  """Returns a jitted function and its arguments. A gradient is with respect to all floats; its cotangent is an argument."""
  arguments = Arguments(n, dtype)
  args = entry.make(arguments)
  if not entry.name.endswith('.grad'):
    return jax.jit(entry.call), args
  floats = [k for k, arg in enumerate(args) if jnp.issubdtype(arg.dtype, jnp.inexact)]

  def of_floats(args, chosen):
    full = list(args)
    for k, value in zip(floats, chosen):
      full[k] = value
    leaves = jax.tree.leaves(entry.call(*full))
    return [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.inexact)]

  def gradient(cotangents, *args):
    _, pull = jax.vjp(lambda *chosen: of_floats(args, chosen), *[args[k] for k in floats])
    return pull(cotangents)
  results = jax.eval_shape(lambda *args: of_floats(args, [args[k] for k in floats]), *args)
  cotangents = [jnp.asarray(arguments.random.uniform(-1, 1, r.shape), r.dtype) for r in results]
  return jax.jit(gradient), (cotangents, *args)
