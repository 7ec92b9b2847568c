"""Evaluates a jaxpr in NumPy: floats in float64, complex numbers in complex128, integers in their own types.

Every value is a list of arrays, one for each lane. There is one lane outside of a `shard_map`, and one for each device inside it. All lanes
take a step before the next is taken; the lanes that take a branch evaluate it, and the lanes that continue a loop evaluate its body.

A `Noise` rounds each result to its type and, except with seed 0, moves it by as much as backends may differ there. Where several noisy
evaluations disagree, the program does not determine the result.
"""
import functools
import itertools

import jax
import jax.extend.core as jex
import ml_dtypes  # noqa: F401  (names of bfloat16 and others for NumPy)
import numpy as np

import reference_ops
import reference_random

ULPS = {'exp': 4, 'exp2': 4, 'log': 4, 'log2': 4, 'one_minus_square': 4, 'polynomial': 16, 'log1p': 4, 'expm1': 4,
        'sin': 4, 'cos': 4, 'tan': 8, 'tanh': 8, 'logistic': 4, 'pow': 16, 'lgamma': 64, 'digamma': 64, 'erf': 8,
        'erfc': 32, 'erf_inv': 32, 'cbrt': 4, 'atan2': 4, 'atan': 4, 'asin': 8, 'acos': 8, 'sinh': 8, 'cosh': 8,
        'asinh': 8, 'acosh': 8, 'atanh': 8, 'rsqrt': 4, 'sqrt': 2, 'integer_pow': 4, 'bessel_i0e': 64, 'bessel_i1e':
        64, 'cumlogsumexp': 16, 'cumprod': 8, 'reduce_prod': 8, 'reduce_window': 8, 'igamma': 128, 'igammac': 128,
        'cholesky': 64, 'triangular_solve': 64, 'lu': 64, 'eigh': 256, 'logsumexp': 8, 'random_gamma': 64}
MOVES = frozenset(['slice', 'reshape', 'transpose', 'broadcast_in_dim', 'select_n', 'gather', 'concatenate', 'pad',
                   'dynamic_slice', 'rev',
                   'dynamic_update_slice', 'squeeze', 'expand_dims', 'copy', 'copy_p', 'max', 'min', 'neg', 'abs',
                   'sign', 'floor', 'ceil',
                   'round', 'reduce_max', 'reduce_min', 'cummax', 'cummin', 'sort', 'top_k', 'clamp', 'real', 'imag',
                   'conj', 'complex',
                   'split', 'stack', 'unstack', 'scatter', 'reduce_window_max', 'reduce_window_min', 'stop_gradient',
                   'optimization_barrier', 'device_put', 'rem',
                   'iota', 'bitcast_convert_type', 'nextafter', 'all_gather', 'ppermute', 'all_to_all', 'pmax', 'pmin',
                   'reduce_precision',
                   'sharding_constraint', 'reshard', 'pvary', 'scatter-min', 'scatter-max', 'tile', 'pure_callback',
                   'select_and_gather_add',
                   'all_gather_invariant', 'pcast', 'is_finite', 'clz', 'population_count', 'psum_invariant_pvary'])


class Unsupported(Exception):
  """The reference does not support an operation."""


def narrow(dtype):
  """Returns (unit of rounding, least normal number) of a floating-point or complex dtype."""
  dtype = np.dtype(dtype)
  if dtype.kind == 'c':
    dtype = np.dtype('float32' if dtype.itemsize == 8 else 'float64')
  info = ml_dtypes.finfo(dtype)
  return float(info.eps), float(info.tiny)


# Operations whose results in 16 bits a backend may leave in float32 for the operations that are fused with them.
WIDE = frozenset(['add', 'add_any', 'sub', 'mul', 'div', 'neg', 'abs', 'square', 'integer_pow', 'select_n', 'max', 'min', 'clamp',
                  'reshape', 'transpose', 'broadcast_in_dim', 'squeeze', 'copy', 'convert_element_type',
                  *(ULPS.keys() - {'cholesky', 'triangular_solve', 'lu', 'eigh', 'random_gamma', 'cumprod', 'cumlogsumexp',
                                   'reduce_prod', 'reduce_window'})])


class Noise:
  """Changes results: not at all without a seed; with a seed it rounds them to their types and, except with seed 0, moves them at random. With every
  second seed, results of 16 bits are rounded to float32 until an operation that is not fused reads them. The sign of a NaN is not determined."""

  def __init__(self, seed=None):
    self.random = None if seed is None else np.random.default_rng(seed)
    self.wide = seed is not None and seed % 2 == 1
    self.moves = bool(seed) and seed != 1

  def operands(self, eqn, args):
    """The values that an operation reads, rounded to their types unless it is fused with those that made them."""
    if not self.wide or eqn.primitive.name in WIDE:
      return args
    return [a.astype(v.aval.dtype).astype(a.dtype) if half(v.aval.dtype) else a for a, v in zip(args, eqn.invars, strict=True)]

  def cancelled(self, eqn, outs, args):
    """The results, some differences that rounding alone may have made set to zero, since other roundings of the terms make them zero."""
    if not self.moves or eqn.primitive.name not in ('add', 'add_any', 'sub') or not inexact(eqn.outvars[0].aval.dtype):
      return outs
    dtype = eqn.outvars[0].aval.dtype
    eps = narrow('float32' if self.wide and half(dtype) else dtype)[0]
    small = np.abs(outs[0]) <= 8 * eps * np.maximum(*map(np.abs, args))
    return (np.where(small & (self.random.random(small.shape) < 0.5), 0, outs[0]),)

  def __call__(self, value, aval, name, magnitude):
    dtype = np.dtype(aval.dtype)
    if not inexact(dtype):
      return np.asarray(value).astype(dtype)
    wide = np.complex128 if dtype.kind == 'c' else np.float64
    value = np.asarray(value, wide)
    if self.random is None or value.size == 0:
      return value
    if self.wide and half(dtype) and name in WIDE:
      dtype = np.dtype('float32')
    if self.moves and name not in MOVES and dtype.kind != 'c':
      value = np.where(np.isnan(value), np.copysign(value, self.random.choice([-1.0, 1.0], value.shape)), value)
    rounded = value.astype(dtype).astype(wide)
    if name in MOVES or not self.moves:
      return rounded
    eps, tiny = narrow(dtype)
    exact = (rounded == value) & (value == np.round(value.real)) if dtype == wide else rounded == value
    size = np.abs(value) if magnitude is None else np.abs(magnitude())
    error = np.where(exact & (magnitude is None), 0,
                     ULPS.get(name, 1) * eps * size + tiny * ((size < 4 * tiny) & (size > 0)))
    error = np.where(np.isfinite(error), error, 0)
    moved = rounded + error * self.random.uniform(-1, 1, value.shape)
    if dtype.kind == 'c':
      moved = moved + 1j * error * self.random.uniform(-1, 1, value.shape)
    moved = np.where(np.isfinite(rounded), moved, rounded)
    return np.asarray(moved).astype(dtype).astype(wide)


def half(dtype):
  return dtype in (ml_dtypes.bfloat16, np.float16)


def inexact(dtype):
  return jax.dtypes.issubdtype(dtype, np.inexact)


class Interpreter:
  """Evaluates jaxprs; `noise` is given each result."""

  def __init__(self, noise):
    self.noise = noise
    self.steps = 0
    self.sizes = {}

  def closed(self, jaxpr, args, lanes):
    return self.jaxpr(jaxpr.jaxpr, [[self.start(c)] * len(lanes) for c in jaxpr.consts], args, lanes)

  @staticmethod
  def start(value):
    value = value if hasattr(value, 'dtype') else np.asarray(value)
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
      value = jax.random.key_data(value)
    value = np.asarray(value)
    if not inexact(value.dtype):
      return value
    return value.astype(np.complex128 if value.dtype.kind == 'c' else np.float64)

  def jaxpr(self, jaxpr, consts, args, lanes):
    env = {}

    def read(atom):
      return [self.start(atom.val)] * len(lanes) if isinstance(atom, jex.Literal) else env[atom]

    for var, value in zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *args], strict=True):
      env[var] = value
    for eqn in jaxpr.eqns:
      self.steps += 1
      if self.steps > 200_000:
        raise Unsupported('too many steps')
      for var, value in zip(eqn.outvars, self.equation(eqn, [read(a) for a in eqn.invars], lanes), strict=True):
        env[var] = value
    return [read(a) for a in jaxpr.outvars]

  def equation(self, eqn, args, lanes):
    name = eqn.primitive.name
    control = getattr(self, 'eval_' + name.replace('-', '_'), None)
    if control:
      return control(eqn.params, args, lanes)
    inner = eqn.params.get('jaxpr', eqn.params.get('call_jaxpr', eqn.params.get('fun_jaxpr')))
    if inner is not None and name in ('jit', 'pjit', 'remat2', 'checkpoint', 'custom_jvp_call', 'custom_vjp_call',
                                      'closed_call', 'eval_jaxpr',
                                      'custom_vjp_call_jaxpr', 'core_call', 'remat'):
      return self.closed(inner, args, lanes) if hasattr(inner, 'consts') else self.jaxpr(inner, [], args, lanes)
    if name in COLLECTIVES:
      return self.collective(eqn, args, lanes)
    implementation = reference_ops.OPS.get(name) or reference_random.OPS.get(name)
    if implementation is None:
      raise Unsupported(name)
    return self.transposed([self.one(eqn, implementation, [a[i] for a in args]) for i in range(len(lanes))],
                           len(eqn.outvars))

  @staticmethod
  def transposed(rows, count):
    return [[row[k] for row in rows] for k in range(count)]

  def one(self, eqn, implementation, args):
    args = self.noise.operands(eqn, args)
    outs = implementation(eqn, *args)
    outs = outs if isinstance(outs, (tuple, list)) else (outs,)
    outs = self.noise.cancelled(eqn, outs, args)
    magnitude = None
    if eqn.primitive.name in reference_ops.SUMS:
      magnitude = lambda: summed_magnitude(eqn, implementation, args)  # noqa: E731
    return [self.finish(o, v.aval, eqn.primitive.name, magnitude) for o, v in zip(outs, eqn.outvars, strict=True)]

  def finish(self, value, aval, name, magnitude=None):
    value = np.asarray(value)
    if jax.dtypes.issubdtype(aval.dtype, jax.dtypes.prng_key):
      return value.astype(np.uint32)
    if value.shape != tuple(aval.shape):
      raise AssertionError(f'[reference] expected {name} of shape {aval.shape}, got {value.shape}')
    return self.noise(value, aval, name, magnitude)

  def eval_scan(self, p, args, lanes):
    num_consts, num_carry = scan_counts(p)
    consts, carry, xs = args[:num_consts], args[num_consts:num_consts + num_carry], args[num_consts + num_carry:]
    order = range(p['length'])
    ys = [None] * p['length']
    for i in reversed(order) if p['reverse'] else order:
      outs = self.closed(p['jaxpr'], [*consts, *carry, *([a[i] for a in x] for x in xs)], lanes)
      carry, ys[i] = outs[:num_carry], outs[num_carry:]
    stacked = []
    for k, aval in enumerate(p['jaxpr'].out_avals[num_carry:]):
      empty = np.zeros((0, *aval.shape), self.noise(np.zeros(()), aval, 'copy', None).dtype)
      stacked.append([np.stack([y[k][lane] for y in ys]) if ys else empty for lane in range(len(lanes))])
    return [*carry, *stacked]

  def eval_while(self, p, args, lanes):
    a, b = p['cond_nconsts'], p['cond_nconsts'] + p['body_nconsts']
    carry = [list(c) for c in args[b:]]
    active = list(range(len(lanes)))
    while True:
      pick = lambda values: [[v[i] for i in active] for v in values]  # noqa: E731
      at = [lanes[i] for i in active]
      [on] = self.closed(p['cond_jaxpr'], pick([*args[:a], *carry]), at)
      on = {i: c for i, c in zip(active, on) if np.any(c)}
      active = list(on)
      if not active:
        return carry
      at = [lanes[i] for i in active]
      outs = self.closed(p['body_jaxpr'], pick([*args[a:b], *carry]), at)
      for c, out in zip(carry, outs):
        for i, value in zip(active, out):
          # Under vmap the condition has the examples' dimensions; an example whose loop has ended keeps its values.
          goes_on = on[i].reshape(on[i].shape + (1,) * (value.ndim - on[i].ndim)) if value.ndim >= on[i].ndim else on[i].any()
          c[i] = np.where(goes_on, value, c[i])

  def eval_cond(self, p, args, lanes):
    index = [int(np.clip(int(i), 0, len(p['branches']) - 1)) for i in args[0]]
    outs = [[None] * len(lanes) for _ in p['branches'][0].out_avals]
    for branch in sorted(set(index)):
      active = [i for i, k in enumerate(index) if k == branch]
      values = self.closed(p['branches'][branch], [[a[i] for i in active] for a in args[1:]],
                           [lanes[i] for i in active])
      for out, value in zip(outs, values):
        for i, v in zip(active, value):
          out[i] = v
    return outs

  def eval_custom_linear_solve(self, p, args, lanes):
    counts = p['const_lengths']
    skipped = counts.matvec + counts.vecmat
    consts = args[skipped:skipped + counts.solve]
    return self.closed(p['jaxprs'].solve, [*consts, *args[sum(counts):]], lanes)

  def eval_call_hi_primitive(self, p, args, lanes):
    # The operation as JAX compiles it, in terms of other operations.
    primitive = p['_prim']
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in primitive.in_avals_flat]
    jaxpr = jax.make_jaxpr(lambda *flat: primitive.expand(*jax.tree.unflatten(primitive.in_tree, flat)))(*shapes)
    return self.closed(jaxpr, args, lanes)

  def eval_shard_map(self, p, args, lanes):
    if len(lanes) > 1:
      raise Unsupported('a shard_map inside a shard_map')
    sizes = dict(p['mesh'].shape)
    self.sizes = sizes
    inner = [dict(zip(sizes, at)) for at in itertools.product(*(range(n) for n in sizes.values()))]
    shards = [[part(a[0], s, at, sizes) for at in inner] for a, s in zip(args, p['in_specs'], strict=True)]
    outs = self.jaxpr(p['jaxpr'], [], shards, inner)
    return [[joined(o, s, inner, sizes)] for o, s in zip(outs, p['out_specs'], strict=True)]

  def eval_axis_index(self, p, args, lanes):
    del args
    names = p['axis_name'] if isinstance(p['axis_name'], (tuple, list)) else (p['axis_name'],)
    out = []
    for at in lanes:
      index = 0
      for n in names:
        index = index * self.sizes[n] + at[n]
      out.append(np.int32(index))
    return [out]

  def collective(self, eqn, args, lanes):
    p, name = eqn.params, eqn.primitive.name
    axes = p.get('axes', p.get('axis_name'))
    axes = axes if isinstance(axes, (tuple, list)) else (axes,)
    groups = {}
    for i, at in enumerate(lanes):
      groups.setdefault(tuple(v for k, v in at.items() if k not in axes), []).append(i)
    outs = [[None] * len(lanes) for _ in eqn.outvars]
    for group in groups.values():
      group.sort(key=lambda i: tuple(lanes[i][a] for a in axes))
      for k, value in enumerate(args):
        together = [value[i] for i in group]
        magnitude = None
        if name in SUMMING:
          magnitude = COLLECTIVES[name](p, [np.abs(v) * (1 + len(group) / 2) for v in together])
        for j, (i, out) in enumerate(zip(group, COLLECTIVES[name](p, together), strict=True)):
          size = None if magnitude is None else (lambda j=j: magnitude[j])
          outs[k][i] = self.finish(out, eqn.outvars[k].aval, name, size)
    return outs


def scan_counts(p):
  """Returns the numbers of constants and carries of a scan; in JAX 0.12 the constants, carries and rows are trees."""
  if 'ft_in' in p:
    return [len(tree) for tree in p['ft_in'].unpack()][:2]
  return p['num_consts'], p['num_carry']


def summed_magnitude(eqn, implementation, args):
  """Returns the sum of the terms' magnitudes, times a factor for the error that grows with their number."""
  if eqn.primitive.name == 'one_minus_square':
    return 1 + np.abs(args[0])**2
  sizes = [np.abs(a) if np.asarray(a).dtype.kind in 'fc' else a for a in args]
  out = implementation(eqn, *sizes)
  out = out[0] if isinstance(out, (tuple, list)) else out
  terms = max(1, sum(np.size(a) for a in args) / max(1, np.size(out)))
  return np.abs(out) * (2 + np.sqrt(terms))


def shards_of(spec, rank, at, sizes):
  """Returns (index, count) of a device's part in each dimension."""
  for d in range(rank):
    names = spec[d] if d < len(spec) else None
    names = () if names is None else names if isinstance(names, tuple) else (names,)
    index, count = 0, 1
    for n in names:
      index, count = index * sizes[n] + at[n], count * sizes[n]
    yield index, count


def part(value, spec, at, sizes):
  index = []
  for n, (i, count) in zip(value.shape, shards_of(spec, value.ndim, at, sizes)):
    index.append(slice(i * n // count, (i + 1) * n // count))
  return value[tuple(index)]


def joined(parts, spec, lanes, sizes):
  first = parts[0]
  counts = [c for _, c in shards_of(spec, first.ndim, lanes[0], sizes)]
  out = np.zeros([n * c for n, c in zip(first.shape, counts)], first.dtype)
  for value, at in reversed(list(zip(parts, lanes))):
    where = [slice(i * n, (i + 1) * n) for n, (i, _) in zip(first.shape, shards_of(spec, first.ndim, at, sizes))]
    out[tuple(where)] = value
  return out


def _same(function):
  return lambda p, xs: [function(xs)] * len(xs)


def _all_gather(p, xs):
  d = p['all_gather_dimension']
  return [np.concatenate(xs, d) if p['tiled'] else np.stack(xs, d)] * len(xs)


def _sum(xs):
  return functools.reduce(np.add, xs)  # Python's own sum begins with +0, which makes +0 of -0


def _reduce_scatter(p, xs):
  total, d = _sum(xs), p['scatter_dimension']
  parts = np.split(total, len(xs), d)
  return parts if p['tiled'] else [np.squeeze(x, d) for x in parts]


def _ppermute(p, xs):
  outs = [np.zeros_like(x) for x in xs]
  for source, target in p['perm']:
    outs[target] = xs[source]
  return outs


def _all_to_all(p, xs):
  s, c = p['split_axis'], p['concat_axis']
  parts = [np.split(x, len(xs), s) for x in xs]
  if p['tiled']:
    return [np.concatenate([row[i] for row in parts], c) for i in range(len(xs))]
  return [np.stack([np.squeeze(row[i], s) for row in parts], c) for i in range(len(xs))]


COLLECTIVES = {'psum': _same(_sum), 'psum_invariant': _same(_sum), 'pmax': _same(np.maximum.reduce),
               'pmin': _same(np.minimum.reduce),
               'all_gather': _all_gather, 'all_gather_invariant': _all_gather, 'reduce_scatter': _reduce_scatter,
               'ppermute': _ppermute, 'all_to_all': _all_to_all, 'pvary': lambda p, xs: xs, 'pcast': lambda p, xs: xs,
               'pbroadcast': lambda p, xs: xs}
SUMMING = frozenset(['psum', 'psum_invariant', 'reduce_scatter'])


def evaluate(closed_jaxpr, args, seed=None):
  """Returns the results of a jaxpr, floats in float64; with a seed, with noise."""
  interpreter = Interpreter(Noise(seed))
  with np.errstate(all='ignore'):
    outs = interpreter.closed(closed_jaxpr, [[Interpreter.start(a)] for a in args], [{}])
  return [o[0] for o in outs]
