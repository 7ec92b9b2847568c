"""Random programs: `generate(seed)` always returns the same program for a seed.

A generator keeps the names that are in scope and lets JAX compute the type of each new statement; a statement that JAX refuses is dropped.
"""
import functools
import random
import re

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import numpy as np

import constructs
import operations
from program import FLOATS, Block, Input, Program, Statement, Type, kind

MESHES = ((), (), (), (2,), (4,), (8,), (2, 2), (4, 2), (2, 4), (1, 2), (2, 2, 2))
MAX_SIZE = 4096  # of elements of a value


def namespace(mesh, platform):
  """Returns the names that a program's source uses, for the devices of a platform."""
  names = {'jax': jax, 'jnp': jnp, 'lax': lax, 'np': np, 'functools': functools, 'P': PartitionSpec,
           'NamedSharding': NamedSharding,
           'Mesh': Mesh}
  if mesh:
    devices = jax.devices(platform)[:int(np.prod(mesh))]
    names['MESH'] = Mesh(np.array(devices).reshape(mesh), tuple('xyz'[:len(mesh)]))
  return names


def of_kind(t, wanted):
  return wanted == 'a' or kind(t) == wanted or (wanted == 'n' and kind(t) in 'fi')


class Generator(constructs.Constructs):
  """Makes one program."""

  def __init__(self, seed):
    self.random = random.Random(seed)
    self.mesh = self.random.choice(MESHES)
    self.axes = dict(zip('xyz', self.mesh))
    self.manual = False  # inside a shard_map
    self.together = True  # all devices take the same steps
    self.types = {}
    self.scope = []
    self.body = []
    self.count = 0
    self.names = namespace(self.mesh, 'cpu')
    pool = [1, 2, 3, 4, 5, 7] if not self.mesh else [4, 8, 8, 16, 3]
    if self.random.random() < 0.15:
      pool += [17, 33, 64]
    if self.random.random() < 0.03:
      pool += [0]
    self.sizes = self.random.sample(pool, min(3, len(pool)))
    self.dtypes = [self.random.choice(operations.FLOATS) for _ in range(2)] + [self.random.choice(operations.INTEGERS),
                                                                               'float32', 'bool']
    if self.random.random() < 0.2:
      self.dtypes.append(self.random.choice(operations.COMPLEX))

  def fresh(self, letter='v'):
    self.count += 1
    return f'{letter}{self.count}'

  def chance(self, p):
    return self.random.random() < p

  def new_type(self, dtype=None, rank=None):
    rank = self.random.choice([0, 1, 1, 2, 2, 2, 3]) if rank is None else rank
    shape = tuple(self.random.choice(self.sizes) for _ in range(rank))
    while np.prod(shape) > MAX_SIZE:
      shape = shape[1:]
    return Type(shape, dtype or self.random.choice(self.dtypes))

  # Statements.

  def type_of(self, statement):
    """Returns the types of the statement's results, computed by JAX."""
    used = statement.uses()
    functions = '\n'.join(line for b in statement.blocks for line in b.lines('  '))
    source = (f'def typed({", ".join(used)}):\n{functions}\n  {statement.results} = {statement.text}\n'
              f'  return {", ".join(statement.defined)},\n')
    scope = dict(self.names)
    exec(source, scope)  # pylint: disable=exec-used
    typed = scope['typed']
    if self.manual:
      typed = jax.shard_map(typed, mesh=self.names['MESH'], in_specs=PartitionSpec(), out_specs=PartitionSpec(),
                            check_vma=False)
    args = [jax.ShapeDtypeStruct(self.types[u].shape, jnp.dtype(self.types[u].dtype)) for u in used]
    return [Type(tuple(o.shape), str(o.dtype)) for o in jax.eval_shape(typed, *args)]

  def add(self, statement, types=None):
    """Adds the statement if JAX accepts it, and returns whether it does."""
    if types is None:
      try:
        types = self.type_of(statement)
      except Exception:  # pylint: disable=broad-except
        return False
    if any(t.size > MAX_SIZE or len(t.shape) > 4 or (t.dtype not in FLOATS and np.dtype(t.dtype).kind not in 'biuc') for t in types):
      return False
    self.types.update(zip(statement.defined, types, strict=True))
    self.body.append(statement)
    self.scope += statement.defined
    return True

  def line(self, text, types=None):
    """Adds a statement with this text, and returns the name of its value; None if JAX refuses it."""
    name = self.fresh()
    return name if self.add(Statement(name, text), types) else None

  def pick(self, test=lambda t: True):
    """Returns a value in scope with a type that passes the test, preferring recent values; None if there is none."""
    fitting = [v for v in self.scope if test(self.types[v])]
    if not fitting:
      return None
    return fitting[-1 - min(int(self.random.expovariate(0.3)), len(fitting) - 1)]

  def step(self, depth):
    """Tries to add one statement."""
    makers = [(self.elementwise, 10), (functools.partial(self.shaped, operations.REDUCTIONS), 5),
              (functools.partial(self.shaped, operations.SHAPES), 7)]
    if depth < 2:
      makers += [(functools.partial(m, depth + 1), 1) for m in (
          self.scan, self.vmap, self.grad, self.jvp, self.linearize, self.vjp,
          self.checkpoint, self.jit, self.map, self.jacobian, self.custom_jvp)]
      makers += [(functools.partial(self.apart, m, depth + 1), 1) for m in (self.while_loop, self.fori_loop, self.cond,
                                                                            self.switch)]
    if self.mesh and not self.manual:
      makers += [(self.constraint, 3), (functools.partial(self.shard_map, depth + 1), 4 if depth == 0 else 0)]
    if self.manual and self.together:
      makers += [(self.collective, 8)]
    maker = self.random.choices([m for m, _ in makers], [w for _, w in makers])[0]
    saved = len(self.body), len(self.scope)
    if not maker():
      del self.body[saved[0]:], self.scope[saved[1]:]

  def elementwise(self):
    first = self.pick()
    letter = self.random.choice([k for k in 'fnibc' if of_kind(self.types[first], k)])
    table = operations.ELEMENTWISE[self.random.choice([1, 2])][letter]
    text = self.random.choice(table)
    if '{1}' not in text:
      return self.line(text.format(first))
    shape = self.types[first].shape
    second = self.pick(lambda t: t.dtype == self.types[first].dtype and (t.shape == shape or t.shape == shape[len(shape) - len(t.shape):]))
    return self.line(text.format(*([first, second] if self.chance(0.7) else [second, first])))

  def shaped(self, table):
    needs, texts = self.random.choice(table)
    operands = []
    for need in needs.split():
      rank, more = int(need[1]), need.endswith('+')
      operands.append(self.pick(lambda t, k=need[0], r=rank,
                                m=more: of_kind(t, k) and (len(t.shape) == r or m and len(t.shape) > r)))
    if None in operands or len({self.types[o].dtype for o in operands}) > 1:
      return False
    shape = self.types[operands[0]].shape
    text = self.filled(self.random.choice(texts).format(*operands), shape)
    return self.line(text)

  def filled(self, text, shape):
    """Returns the text with numbers in place of its upper-case names; operands are lower case, so they are not replaced."""
    rank = max(len(shape), 1)
    values = {'S': lambda: repr(shape), 'R': lambda d=self.random.randrange(rank): str(d),
              'K': lambda: str(self.random.randrange(-1, 4)),
              'E': lambda: str(self.random.randrange(1, 99))}
    return re.sub(r'(?<![\w.])[SRKE](?![\w])', lambda m: values[m.group()](), text)

  # Blocks.

  def block(self, patterns, types, length, depth, results, returns=None, closed=True):
    """Returns a function and its values. `results` are the types of the values, or a number of values of any type; `returns` prints them."""
    names = re.findall(r'\bv\d+\b', ' '.join(patterns))
    self.types.update(zip(names, types, strict=True))
    saved = self.body, self.scope
    outer = [v for v in self.scope if self.chance(0.2)] if closed else []
    self.body, self.scope = [], outer + names
    for _ in range(length):
      self.step(depth)
    if isinstance(results, int):
      inside = [v for v in self.scope if v not in outer] or self.scope
      values = [inside[-1 - min(i, len(inside) - 1)] for i in range(results)]
    else:
      values = [self.fit(t) for t in results]
    body = tuple(self.body)
    self.body, self.scope = saved
    returns = returns or (lambda vs: ', '.join(vs) if len(vs) == 1 else f'({", ".join(vs)})')
    return Block(self.fresh('f'), tuple(patterns), body, returns(values)), values

  def fit(self, wanted):
    """Returns a value of the type, computed from another value in scope if none has this type."""
    same = self.pick(lambda t: t == wanted)
    if same and self.chance(0.8):
      return same
    source = self.pick(lambda t: t.shape == wanted.shape and t.size) or self.pick(lambda t: t.size > 0)
    if source is None or not np.prod(wanted.shape):
      return self.line(f'jnp.zeros({wanted.shape}, "{wanted.dtype}")', [wanted])
    text, t = source, self.types[source]
    if kind(t) == 'c' and kind(wanted) != 'c':
      text = f'jnp.real({text})'
    if kind(wanted) == 'f' and kind(t) in 'fc':
      text = f'jnp.tanh({text})'
    if kind(wanted) == 'i' and kind(t) in 'fc':
      text = f'jnp.nan_to_num(jnp.clip({text}, 0, 9))'
    if t.shape != wanted.shape:
      text = f'jnp.resize({text}, {wanted.shape})'
    return (self.line(f'{text}.astype("{wanted.dtype}")', [wanted]) or
            self.line(f'jnp.zeros({wanted.shape}, "{wanted.dtype}")', [wanted]))

  def new_names(self, values):
    return [self.fresh() for _ in values]

  def some(self, test=lambda t: True, most=3):
    """Returns some values in scope: at least one, unless none fits."""
    first = self.pick(test)
    more = [self.pick(test) for _ in range(self.random.randrange(most))]
    return [] if first is None else list(dict.fromkeys([first, *more]))

  def length(self):
    return self.random.randrange(1, 5)

  def group(self, names):
    return f'({", ".join(names)},)'

  # The program.

  def maker(self, t):
    """Returns a NumPy expression that makes an array of the type."""
    seed = self.random.randrange(1000)
    rng, dtype = f'np.random.default_rng({seed})', f'"{t.dtype}"'
    k = kind(t)
    if k == 'f':
      if self.chance(0.06):
        return f'{rng}.choice([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.5, -0.5], {t.shape}).astype({dtype})'
      return f'{rng}.normal(size={t.shape}).astype({dtype})'
    if k == 'c':
      return f'({rng}.normal(size={t.shape}) + 1j * {rng}.uniform(size={t.shape})).astype({dtype})'
    if k == 'b':
      return f'{rng}.integers(0, 2, {t.shape}).astype(bool)'
    low = 0 if t.dtype.startswith('u') else -9
    return f'{rng}.integers({low}, 10, {t.shape}).astype({dtype})'

  def program(self):
    inputs = []
    for i in range(self.random.randrange(1, 5)):
      t = self.new_type(rank=None if i else self.random.choice([1, 2]), dtype=self.dtypes[0] if i < 2 else None)
      name = self.fresh()
      self.types[name] = t
      self.scope.append(name)
      parts = self.random_spec(t.shape) if self.mesh and self.chance(0.7) else ()
      # np.asarray, because a NumPy scalar has no buffer that can be donated or sharded.
      inputs.append(Input(name, f'np.asarray({self.maker(t)})', parts, self.chance(0.15)))
    return self.of_inputs(inputs, self.random.randrange(3, 11), 0.1)

  def of_inputs(self, inputs, steps, returned):
    """Returns a program of so many steps. Values that nothing uses are results, and the others with the probability `returned`."""
    for _ in range(steps):
      self.step(0)
    made = [v for s in self.body for v in s.defined]
    used = {v for s in self.body for v in s.uses()}
    results = [v for v in made if v not in used or self.chance(returned)] or [inputs[0].name]
    block = Block('f', tuple(i.name for i in inputs), tuple(self.body), f'({", ".join(results)},)')
    return Program(self.mesh, tuple(inputs), block, self.types)


def generate(seed):
  return Generator(seed).program()
