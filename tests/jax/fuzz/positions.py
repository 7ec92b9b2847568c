"""Random programs of operations that read or write elements by their position, on extents near the number of devices.

A shard of such an extent has one element, no element, or another number than its neighbour, and windows reach over several shards. Values
are sharded over all meshes, by constraints also unevenly. Each operation stands alone, or in a function under grad, jvp, vmap, in a loop or
in a shard_map.
"""
import functools

import numpy as np

import generator
from program import Input, kind

MESHES = ((8,), (8,), (2, 4), (4, 2), (2, 2, 2), (4,), (2,))
EXTENTS = (1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 12, 15, 16, 16, 17)
MAX_SIZE = 2500


class Positions(generator.Generator):
  """Makes one program."""

  def __init__(self, seed):
    super().__init__(seed)
    self.divides = True  # axes of the mesh divide the dimensions that they shard
    self.mesh = self.random.choice(MESHES)
    self.axes = dict(zip('xyz', self.mesh))
    self.names = generator.namespace(self.mesh, 'cpu')
    self.sizes = self.random.sample(EXTENTS, 3)
    self.dtypes = ['float32', 'float32', 'float32', 'int32', self.random.choice(['float64', 'bfloat16', 'int8', 'bool', 'complex64'])]
    self.table = [self.slice, self.pad, self.rev, self.concatenate, self.dynamic_slice, self.dynamic_update, self.gather,
                  self.gather, self.scatter, self.scatter, self.scatter, self.reduce_window, self.reduce_window,
                  self.cumulative, self.sort, self.select, self.convolution, self.convolution, self.reshape, self.reduce,
                  self.indexed, self.product, self.roll]

  def step(self, depth):
    makers = [(self.position, 12)]
    if depth < 2:
      makers += [(m, w) for m, w in ((self.grad, 2), (self.jvp, 1), (self.vjp, 2), (self.vmap, 3), (self.scan, 1),
                                     (functools.partial(self.apart, self.fori_loop), 1))]
    if not self.manual:
      makers += [(self.constraint, 6), (self.shard_map, 2 if depth == 0 else 0)]
    if self.manual and self.together:
      makers += [(self.collective, 6)]
    maker = self.random.choices([m for m, _ in makers], [w for _, w in makers])[0]
    saved = len(self.body), len(self.scope)
    if not (maker() if maker in (self.position, self.constraint, self.collective) else maker(depth + 1)):
      del self.body[saved[0]:], self.scope[saved[1]:]

  def position(self):
    value = self.pick(lambda t: t.shape and t.size)
    if value is None:
      return False
    value = self.placed(value, 0.4)
    result = self.random.choice(self.table)(value, self.types[value].shape)
    if result:
      self.placed(result, 0.3)
    return bool(result)

  def placed(self, value, p):
    """Returns the value, or with the probability p a constraint of it."""
    if self.manual or not self.types[value].shape or not self.chance(p):
      return value
    self.divides = self.chance(0.4)
    parts = self.random_spec(self.types[value].shape)
    self.divides = True
    return self.line(f'lax.with_sharding_constraint({value}, NamedSharding(MESH, P{self.text_of(parts)}))') or value

  def length(self):
    return self.random.choice([1, 1, 2, 3])

  # Random numbers.

  def below(self, n):
    return self.random.randrange(n)

  def extent(self, n):
    """Returns the extent of a window in a dimension of n elements: often 1 or all of it."""
    return self.random.choice([1, 1, n, n, self.random.randrange(1, n + 1)])

  def start(self, n, k):
    """Returns where a window of k elements starts, sometimes out of bounds."""
    return self.random.choice([0, n - k, self.random.randrange(0, n - k + 1), self.random.randrange(-2, n + 2)])

  def constant(self, shape, dtype='float32'):
    return f'jnp.asarray(np.random.default_rng({self.below(999)}).integers(-5, 6, {tuple(shape)})).astype("{dtype}")'

  def random_spec(self, shape):
    """Returns mesh axes for each dimension. Those of a constraint need not divide it."""
    if self.divides:
      return super().random_spec(shape)
    free, parts = list(self.axes), []
    self.random.shuffle(free)
    for _ in shape:
      taken = []
      while free and self.chance(0.5):
        taken.append(free.pop())
      parts.append(tuple(taken) if len(taken) > 1 else taken[0] if taken else None)
    return tuple(parts)

  def constraint(self):
    value = self.pick(lambda t: t.shape)
    return value is not None and self.placed(value, 1) != value

  # Operations.

  def slice(self, v, shape):
    starts = [self.below(n) if self.chance(0.5) else 0 for n in shape]
    limits = [self.random.randrange(a + 1, n + 1) if self.chance(0.5) else n for a, n in zip(starts, shape)]
    return self.line(f'lax.slice({v}, {starts}, {limits}, {[self.random.choice([1, 1, 1, 2, 3, 7]) for _ in shape]})')

  def pad(self, v, shape):
    config = [(0, 0, 0) if self.chance(0.3) else
              (self.random.randrange(-n, 9), self.random.randrange(-2, 9), self.random.choice([0, 0, 1, 2, 7])) for n in shape]
    return self.line(f'lax.pad({v}, jnp.zeros((), {v}.dtype) + {self.below(2)}, {config})')

  def rev(self, v, shape):
    return self.line(f'lax.rev({v}, {[d for d in range(len(shape)) if self.chance(0.7)]})')

  def roll(self, v, shape):
    d = self.below(len(shape))
    return self.line(f'jnp.roll({v}, {self.random.randrange(-9, 9)}, {d})')

  def concatenate(self, v, shape):
    d = self.below(len(shape))
    t = self.types[v]
    fits = lambda o: o.dtype == t.dtype and len(o.shape) == len(shape) and all(  # noqa: E731
        a == b for i, (a, b) in enumerate(zip(o.shape, shape)) if i != d)
    parts = [v, self.pick(fits)] + ([f'lax.slice_in_dim({v}, {self.below(shape[d])}, {shape[d]}, axis={d})'] if self.chance(0.4) else [])
    self.random.shuffle(parts)
    return self.line(f'lax.concatenate([{", ".join(parts)}], {d})')

  def starts(self, shape, sizes):
    """Returns the texts of starts: constants, or computed from a value so that the compiler does not know them."""
    number = self.pick(lambda t: kind(t) == 'i' and t.size)
    texts = []
    for n, k in zip(shape, sizes):
      start = self.start(n, k)
      computed = f'({number}.ravel()[0].astype("int32") * 0 + {start})' if number else None
      texts.append(computed if computed and self.chance(0.5) else str(start) if start >= 0 else f'jnp.int32({start})')
    return f'({", ".join(f"jnp.int32({t})" if t.isdigit() else t for t in texts)},)'

  def dynamic_slice(self, v, shape):
    sizes = [self.extent(n) for n in shape]
    return self.line(f'lax.dynamic_slice({v}, {self.starts(shape, sizes)}, {tuple(sizes)})')

  def dynamic_update(self, v, shape):
    sizes = [self.extent(n) for n in shape]
    t = self.types[v]
    same = self.pick(lambda o: o.dtype == t.dtype and len(o.shape) == len(shape) and all(a <= b for a, b in zip(o.shape, shape)))
    update, sizes = (same, self.types[same].shape) if self.chance(0.6) else (self.constant(sizes, t.dtype), sizes)
    return self.line(f'lax.dynamic_update_slice({v}, {update}, {self.starts(shape, sizes)})')

  def windows(self, shape):
    """Returns (extents, dimensions with an extent of 1 that are dropped, dimensions with indices, shape of the positions, indices)."""
    rank = len(shape)
    sizes = [self.extent(n) for n in shape]
    indexed = [d for d in range(rank) if self.chance(0.6)]
    self.random.shuffle(indexed)
    dropped = [d for d in range(rank) if sizes[d] == 1 and self.chance(0.6)]
    batch = [self.random.choice(self.sizes + [1, 2]) for _ in range(self.random.choice([0, 1, 1, 1, 2]))]
    rng = f'np.random.default_rng({self.below(999)})'
    high = [shape[d] - sizes[d] + 1 for d in indexed]
    spread = 2 if self.chance(0.3) else 0
    text = f'jnp.asarray({rng}.integers({[-spread] * len(high)}, {[h + spread for h in high]}, {(*batch, len(indexed))})).astype("int32")'
    integer = self.pick(lambda t: t.dtype == 'int32' and t.shape and t.size)
    if integer and self.chance(0.4):
      text = f'(jnp.resize({integer}, {(*batch, len(indexed))}) % {max([1, *high])})'
    elif self.chance(0.4):
      text = self.fixed(text)
    return sizes, dropped, indexed, batch, text

  def fixed(self, text):
    """Returns a new value for the text, so that it can be sharded."""
    return self.line(text) or text

  def batching(self, shape, sizes, dropped, indexed, batch):
    """Returns pairs of dimensions of the operand and of the positions that go together."""
    pairs = []
    for d, n in enumerate(shape):
      for k, b in enumerate(batch):
        if n == b and d not in indexed and k not in [q for _, q in pairs] and d not in [q for q, _ in pairs] and self.chance(0.5):
          pairs.append((d, k))
          sizes[d] = 1
          if d in dropped:
            dropped.remove(d)
    return [d for d, _ in pairs], [k for _, k in pairs]

  def gather(self, v, shape):
    sizes, dropped, indexed, batch, indices = self.windows(shape)
    operand_batch, index_batch = self.batching(shape, sizes, dropped, indexed, batch)
    kept = len(shape) - len(dropped) - len(operand_batch)
    offset = sorted(self.random.sample(range(kept + len(batch)), kept))
    numbers = (f'lax.GatherDimensionNumbers({tuple(offset)}, {tuple(dropped)}, {tuple(indexed)}, {tuple(operand_batch)}, '
               f'{tuple(index_batch)})')
    mode = self.random.choice(['clip', 'fill', 'clip'])
    return self.line(f'lax.gather({v}, {indices}, {numbers}, {tuple(sizes)}, mode="{mode}")')

  def scatter(self, v, shape):
    sizes, dropped, indexed, batch, indices = self.windows(shape)
    operand_batch, index_batch = self.batching(shape, sizes, dropped, indexed, batch)
    kept = [n for d, n in enumerate(sizes) if d not in dropped and d not in operand_batch]
    window = sorted(self.random.sample(range(len(kept) + len(batch)), len(kept)))
    rest, inside = iter(batch), iter(kept)
    updates = [next(inside) if d in window else next(rest) for d in range(len(kept) + len(batch))]
    t = self.types[v]
    same = self.pick(lambda o: o.dtype == t.dtype and o.shape == tuple(updates))
    # Updates of equal values, since several may meet at an element.
    how = self.random.choice(['_add', '_add', '_max', '_min', '_mul', ''])
    if how == '':
      text = f'jnp.full({tuple(updates)}, 3, {v}.dtype)'
    else:
      text = same or self.constant(updates, t.dtype)
      text = self.fixed(text) if not same and self.chance(0.5) else text
    numbers = (f'lax.ScatterDimensionNumbers({tuple(window)}, {tuple(dropped)}, {tuple(indexed)}, {tuple(operand_batch)}, '
               f'{tuple(index_batch)})')
    mode = self.random.choice(['clip', 'drop', 'drop'])
    return self.line(f'lax.scatter{how}({v}, {indices}, {text}, {numbers}, mode="{mode}")')

  def reduce_window(self, v, shape):
    if kind(self.types[v]) not in 'fi':
      return None
    sizes = [self.extent(n) for n in shape]
    strides = [self.random.choice([1, 1, 2, 3, k]) for k in sizes]
    dilation = [self.random.choice([1, 1, 1, 2]) for _ in sizes] if self.chance(0.5) else [1] * len(sizes)
    base = [self.random.choice([1, 1, 2]) for _ in sizes] if self.chance(0.3) else [1] * len(sizes)
    padding = self.random.choice(['"SAME"', '"VALID"', repr([(self.below(3), self.below(k)) for k in sizes])])
    op, start = self.random.choice([('add', '0'), ('max', '-np.inf'), ('min', 'np.inf'), ('add', '0'), ('max', '-np.inf')])
    if kind(self.types[v]) == 'i' and op != 'add':
      start = f'np.iinfo({v}.dtype).{"min" if op == "max" else "max"}'
    return self.line(f'lax.reduce_window({v}, np.array({start}, {v}.dtype), lax.{op}, {tuple(sizes)}, {tuple(strides)}, {padding}, '
                     f'{tuple(base)}, {tuple(dilation)})')

  def cumulative(self, v, shape):
    op = self.random.choice(['cumsum', 'cummax', 'cummin', 'cumsum', 'cumprod'])
    operand = f'jnp.sign({v})' if op == 'cumprod' else v
    return self.line(f'lax.{op}({operand}, axis={self.below(len(shape))}, reverse={self.chance(0.4)})')

  def sort(self, v, shape):
    d = self.below(len(shape))
    other = self.pick(lambda t: t.shape == shape)
    k = self.random.randrange(1, shape[-1] + 1)
    return self.line(self.random.choice([
        f'lax.sort({v}, dimension={d})', f'lax.sort(({v}, {other}), dimension={d}, num_keys=1)[1]',
        f'lax.sort(({v}, lax.broadcasted_iota("int32", {shape}, {d})), dimension={d}, num_keys=2)[1]',
        f'jnp.argsort({v}, axis={d}, descending=True)', f'lax.top_k({v}, {k})[0]', f'lax.top_k({v}, {k})[1]',
        f'jnp.argmax({v}, axis={d})', f'jnp.argmin({v}, axis={d})']))

  def select(self, v, shape):
    d = self.below(len(shape))
    return self.line(self.random.choice([
        f'jnp.where(lax.broadcasted_iota("int32", {shape}, {d}) < {self.below(shape[d] + 1)}, {v}, {v} * 2)',
        f'jnp.where(lax.broadcasted_iota("int32", {shape}, {d}) % 3 == {self.below(3)}, {v}, jnp.flip({v}, {d}))',
        f'lax.select(jnp.abs(jnp.flip({v}, {d})) > 1, {v}, jnp.flip({v}, {d}))']))

  def convolution(self, v, shape):
    """A convolution of a value with another, or with constants."""
    if kind(self.types[v]) != 'f' or len(shape) > 4:
      return None
    lift = '[None]' * max(0, self.random.choice([2, 3, 3]) - len(shape))
    lhs = (1,) * lift.count('None') + shape
    batch, features, space = lhs[0], lhs[1], lhs[2:]
    groups = self.random.choice([1, 1, features, features])
    batches = self.random.choice([1, 1, 1, batch]) if groups == 1 else 1
    out = self.random.choice([1, 2, 3, 8]) * groups * batches
    window = [self.random.choice([1, 2, 3, n]) for n in space]
    rhs = (out, features // groups, *window)
    if np.prod(rhs) > 1200:
      return None
    padding = self.random.choice(['"SAME"', '"VALID"', repr([(self.random.randrange(-1, 4), self.below(4)) for _ in space])])
    if padding == '"SAME"' or self.chance(0.6):
      dilated = [1] * len(space)
    else:
      dilated = [self.random.choice([1, 2, 3]) for _ in space]
    kernel = self.constant(rhs, self.types[v].dtype)
    same = self.pick(lambda t: t.dtype == self.types[v].dtype and t.size)
    # Without infinities, since the products of weights and padding may be left out (docs/jax_differences.md).
    kernel = f'jnp.resize(jnp.clip({same}, -9, 9), {rhs})' if self.chance(0.4) else self.fixed(kernel) if self.chance(0.5) else kernel
    strides, spread = ([self.random.choice(c) for _ in space] for c in ([1, 1, 2, 3], [1, 1, 2]))
    return self.line(f'lax.conv_general_dilated({v}{lift}, {kernel}, {strides}, {padding}, {dilated}, {spread}, '
                     f'feature_group_count={groups}, batch_group_count={batches})')

  def reshape(self, v, shape):
    size, parts = int(np.prod(shape)), []
    while size > 1 and len(parts) < 3:
      part = self.random.choice([d for d in range(1, size + 1) if size % d == 0])
      parts.append(part)
      size //= part
    parts = [*parts, size] if size > 1 else parts
    self.random.shuffle(parts)
    order = list(range(len(shape)))
    self.random.shuffle(order)
    return self.line(self.random.choice([f'{v}.reshape({parts})', f'lax.transpose({v}, {order})', f'jnp.repeat({v}, 2, {order[0]})',
                                         f'jnp.broadcast_to({v}, ({self.random.choice(self.sizes)}, *{shape}))',
                                         f'jnp.stack([{v}, {v} * 2], {order[0]})', f'jnp.tile({v}, 3)']))

  def reduce(self, v, shape):
    d = self.below(len(shape))
    ops = ['sum', 'max', 'min', 'sum', 'any'] if kind(self.types[v]) in 'fi' else ['sum', 'any', 'all']
    return self.line(f'jnp.{self.random.choice(ops)}({v}, axis={d}, keepdims={self.chance(0.3)})')

  def indexed(self, v, shape):
    n, d = shape[0], self.below(len(shape))
    at = f'jnp.array({[self.random.randrange(-n, n) for _ in range(self.random.choice(self.sizes))]})'
    piece = f'{self.random.choice(["", self.random.randrange(-n, n)])}:{self.random.choice(["", self.below(n + 1)])}'
    return self.line(self.random.choice([
        f'{v}[{at}]', f'jnp.take({v}, {at} % {shape[d]}, axis={d})', f'{v}.at[{at}].add({v}[:1])', f'{v}.at[{at}].max({v}[-1])',
        f'{v}.at[{piece}].set({v}[{self.random.randrange(-n, n)}])', f'{v}.at[::2].add({v}[{self.below(n)}])',
        f'{v}[{piece}]', f'{v}[::-{self.random.randrange(1, 4)}]', f'{v}[..., {self.random.randrange(-shape[-1], shape[-1])}]',
        f'jnp.take_along_axis({v}, jnp.argsort({v}, axis={d}), axis={d})',
        f'jax.ops.segment_sum({v}, jnp.arange({n}) % {self.random.randrange(1, 9)}, {self.random.randrange(1, 9)})',
        f'jnp.triu({v})', f'jnp.diagonal({v})',
        f'jnp.pad({v}, {self.below(4)}, mode="{self.random.choice(["edge", "wrap", "reflect", "symmetric"])}")',
        f'jnp.diff({v}, axis={d})', f'jnp.searchsorted(jnp.sort({v}.ravel()), {v})',
        f'lax.associative_scan(jnp.add, {v}, axis={d})', f'jnp.rot90({v})', f'jnp.split({v}, [{self.below(n)}])[1]']))

  def product(self, v, shape):
    t = self.types[v]
    other = self.pick(lambda o: o.dtype == t.dtype and o.shape and o.shape[0] == shape[0])
    d = self.random.choice([i for i, n in enumerate(shape) if n == self.types[other].shape[0]])
    both = f'(({d},), (0,)), ((), ())' if self.chance(0.6) else f'((), ()), (({d},), (0,))'
    return self.line(f'lax.dot_general({v}, {other}, ({both}))')

  def maker(self, t):
    """Returns distinct numbers with few digits, whose sums are exact."""
    n, k = max(t.size, 1), kind(t)
    order = f'np.random.default_rng({self.below(999)}).permutation({n}).reshape({t.shape})'
    if k == 'b':
      return f'({order} % 2).astype(bool)'
    if k == 'c':
      return f'({order} % 7 - 1j * ({order} % 3)).astype("{t.dtype}")'
    return f'(({order} - {n // 3}) % 101 - 50).astype("{t.dtype}")' if t.dtype == 'int8' else f'({order} - {n // 3}).astype("{t.dtype}")'

  def program(self):
    inputs = []
    for i in range(self.random.choice([1, 2, 2, 3])):
      t = self.new_type(rank=self.random.choice([1, 2, 2, 3]), dtype=self.dtypes[0] if i == 0 else None)
      while t.size > MAX_SIZE // 3:
        t = type(t)(t.shape[1:], t.dtype)
      name = self.fresh()
      self.types[name] = t
      self.scope.append(name)
      inputs.append(Input(name, f'np.asarray({self.maker(t)})', self.random_spec(t.shape) if self.chance(0.8) else (), self.chance(0.1)))
    return self.of_inputs(inputs, self.random.randrange(3, 8), 0.3)


def generate(seed):
  """Returns the program of a seed."""
  return Positions(seed).program()
