"""A JAX program as data: statements that are lines of Python, from which the source and the reproducer are printed.

Every value has a unique name such as `v7`, and every function one such as `f3`. A statement uses the values that its text names, so a
use is replaced by replacing a name in the text.
"""
import dataclasses
import re

import numpy as np

VALUE = re.compile(r'\bv\d+\b')
NAME = re.compile(r'\b[vf]\d+\b')


FLOATS = frozenset(['float16', 'bfloat16', 'float32', 'float64'])


@dataclasses.dataclass(frozen=True)
class Type:
  """The shape and the dtype of a value."""
  shape: tuple
  dtype: str

  @property
  def size(self):
    return int(np.prod(self.shape))


def kind(t):
  """Returns the kind of a type: f float, i integer, b boolean, c complex."""
  return 'f' if t.dtype in FLOATS else {'b': 'b', 'i': 'i', 'u': 'i', 'c': 'c'}[np.dtype(t.dtype).kind]


@dataclasses.dataclass(frozen=True)
class Statement:
  """A statement `results = text`; `blocks` are the functions that its text names, which are defined before it."""
  results: str
  text: str
  blocks: tuple = ()

  @property
  def defined(self):
    return VALUE.findall(self.results)

  def uses(self):
    """Returns the names of values that are used and not defined in it, in order."""
    used = dict.fromkeys(VALUE.findall(self.text))
    for block in self.blocks:
      used.update(dict.fromkeys(block.uses()))
    return list(used)

  def lines(self, indent):
    out = []
    for block in self.blocks:
      out += block.lines(indent)
    return out + [f'{indent}{self.results} = {self.text}']


@dataclasses.dataclass(frozen=True)
class Block:
  """A function: `params` are patterns such as `v1` and `(v1, v2)`, `returns` an expression of its values."""
  name: str
  params: tuple
  body: tuple
  returns: str

  def defined(self):
    return [v for s in self.body for v in s.defined] + [v for p in self.params for v in VALUE.findall(p)]

  def uses(self):
    used = dict.fromkeys(v for s in self.body for v in s.uses())
    used.update(dict.fromkeys(VALUE.findall(self.returns)))
    inside = set(self.defined())
    return [v for v in used if v not in inside]

  def lines(self, indent):
    heads, unpack = [], []
    for i, p in enumerate(self.params):
      heads.append(p if VALUE.fullmatch(p) else f'c{i}')
      if heads[-1] != p:
        unpack.append(f'{indent}  {p} = c{i}')
    out = [f'{indent}def {self.name}({", ".join(heads)}):', *unpack]
    for statement in self.body:
      out += statement.lines(indent + '  ')
    return out + [f'{indent}  return {self.returns}']


@dataclasses.dataclass(frozen=True)
class Input:
  """An argument of the program: how it is sharded, whether it is donated, and the expression of NumPy that makes it."""
  name: str
  maker: str
  spec: tuple = ()
  donated: bool = False


@dataclasses.dataclass(frozen=True)
class Program:
  """`mesh` has the sizes of the axes x, y and z, and is empty on one device. `types` has the type of every value."""
  mesh: tuple
  inputs: tuple
  main: Block
  types: dict = dataclasses.field(compare=False)

  def source(self):
    return '\n'.join(self.main.lines('')) + '\n'

  def size(self):
    return len(self.source()) + sum(len(i.maker) + 20 * i.donated + 5 * len(i.spec) for i in self.inputs)

  def reproducer(self):
    """Returns a Python program that prints the results on the platform that JAX_PLATFORMS names."""
    donated = tuple(i for i, x in enumerate(self.inputs) if x.donated)
    head = ['import functools', 'import jax, jax.numpy as jnp, numpy as np', 'from jax import lax',
            'from jax.sharding import Mesh, NamedSharding, PartitionSpec as P', '',
            "jax.config.update('jax_enable_x64', True)"]
    place = '{}'
    if self.mesh:
      axes = 'xyz'[:len(self.mesh)]
      head.append(f'MESH = Mesh(np.array(jax.devices()[:{int(np.prod(self.mesh))}]).reshape({self.mesh}), {tuple(axes)})')
      place = 'jax.device_put({}, NamedSharding(MESH, {}))'
    args = ',\n    '.join(place.format(i.maker, spec(i.spec)) for i in self.inputs)
    options = f', donate_argnums={donated}' if donated else ''
    return '\n'.join([*head, '', self.source(), f'out = jax.jit({self.main.name}{options})(\n    {args})',
                      'for x in jax.tree.leaves(out):', '  print(x.dtype, x.shape, np.asarray(x).tolist())', ''])


def spec(parts):
  """Returns the text of a PartitionSpec."""
  return f'P({", ".join(repr(p) for p in parts)})'


def rename(text, names):
  """Returns the text with every name that is in `names` replaced."""
  return NAME.sub(lambda m: names.get(m.group(), m.group()), text)


def rename_block(block, names):
  """Returns the block with the values that it uses replaced."""
  return dataclasses.replace(block, returns=rename(block.returns, names),
                             body=tuple(rename_statement(s, names) for s in block.body))


def rename_statement(statement, names):
  return dataclasses.replace(statement, text=rename(statement.text, names),
                             blocks=tuple(rename_block(b, names) for b in statement.blocks))
