"""Statements with functions inside: loops, branches, derivatives, vmap, shard_map, constraints and collectives.

The methods are a `Generator`'s (generator.py); each returns whether it added a statement.
"""
import re

import numpy as np

import operations
from program import Block, Statement, Type, kind


class Constructs:
  """The statements that a generator makes in addition to single operations."""

  def apart(self, maker, depth):
    """Makes a loop or a branch without collectives, because the devices of a shard_map may take different branches."""
    together, self.together = self.together, False
    try:
      return maker(depth)
    finally:
      self.together = together

  def scan(self, depth):
    carry = self.some(most=2)
    xs = self.some(lambda t: t.shape and 0 < t.shape[0] <= 17, most=1)
    if xs:
      size = self.types[xs[0]].shape[0]
      xs = [x for x in self.some(lambda t: t.shape[:1] == (size,), most=2)] or xs
    size = self.types[xs[0]].shape[0] if xs else self.random.randrange(1, 5)
    c, x = self.new_names(carry), self.new_names(xs)
    types = [self.types[v] for v in carry]
    count = self.random.randrange(1, 3)
    slices = [Type(self.types[v].shape[1:], self.types[v].dtype) for v in xs]
    patterns = [self.group(c), self.group(x) if x else self.fresh()]
    if not x:
      slices = [Type((), 'int32')]
      xs_text = f'jnp.arange({size}, dtype="int32")'
    else:
      xs_text = self.group(xs)
    block, values = self.block(patterns, types + slices, self.length() + 1, depth, types)
    ys = [self.random.choice([*values, *[v for s in block.body for v in s.defined]]) for _ in range(count)]
    block = Block(block.name, block.params, block.body, f'{self.group(values)}, {self.group(ys)}')
    options = self.random.choice(['', '', ', reverse=True', ', unroll=2'])
    results = f'{self.group(self.new_names(carry))}, {self.group(self.new_names(ys))}'
    return self.add(Statement(results, f'lax.scan({block.name}, {self.group(carry)}, {xs_text}{options})', (block,)))

  def while_loop(self, depth):
    carry = self.some(most=2)
    types = [Type((), 'int32'), *(self.types[v] for v in carry)]
    names = self.new_names(types)
    block, values = self.block([self.group(names)], types, self.length(), depth, types[1:])
    block = Block(block.name, block.params, block.body, self.group([f'{names[0]} + 1', *values]))
    at = self.new_names(types)
    self.types.update(zip(at, types))
    test = f'{at[0]} < {self.random.randrange(0, 6)}'
    if kind(types[1]) in 'fi' and self.chance(0.4):
      test = f'({test}) & (jnp.sum({at[1]}) < 20)'
    condition = Block(self.fresh('f'), (self.group(at),), (), test)
    results = self.group(self.new_names(types))
    return self.add(Statement(results,
                              f'lax.while_loop({condition.name}, {block.name}, (jnp.int32(0), {", ".join(carry)}))',
                              (condition, block)))

  def fori_loop(self, depth):
    carry = self.some(most=2)
    types = [self.types[v] for v in carry]
    index, names = self.fresh(), self.new_names(carry)
    block, values = self.block([index, self.group(names)], [Type((), 'int32'), *types], self.length(), depth, types)
    block = Block(block.name, block.params, block.body, self.group(values))
    bound = self.pick(lambda t: kind(t) == 'i' and not t.shape)
    stop = f'jnp.clip({bound}, 0, 4).astype("int32")' if bound and self.chance(0.5) else f'jnp.int32({self.random.randrange(0, 5)})'
    return self.add(Statement(self.group(self.new_names(carry)),
                              f'lax.fori_loop(jnp.int32(0), {stop}, {block.name}, {self.group(carry)})', (block,)))

  def predicate(self):
    value = self.pick(lambda t: not t.shape) or self.pick(lambda t: kind(t) != 'c' and t.size > 0)
    if value is None:
      return 'jnp.bool_(True)'
    t = self.types[value]
    text = f'jnp.real({value})' if kind(t) == 'c' else value
    return f'(jnp.sum({text}) > 0)' if t.shape else f'({text} > 0)' if kind(t) != 'b' else value

  def branches(self, depth, count):
    operands = self.some(most=3)
    types = [self.types[v] for v in operands]
    first = self.new_names(operands)
    block, values = self.block(first, types, self.length(), depth, self.random.randrange(1, 3), self.group)
    results = [self.types[v] for v in values]
    blocks = [block] + [self.block(self.new_names(operands), types, self.length(), depth, results,
                                   self.group)[0] for _ in range(count - 1)]
    self.random.shuffle(blocks)
    return operands, blocks, self.group(self.new_names(values))

  def cond(self, depth):
    operands, blocks, results = self.branches(depth, 2)
    return self.add(Statement(results,
                              f'lax.cond({self.predicate()}, {blocks[0].name}, {blocks[1].name}, {", ".join(operands)})', tuple(blocks)))

  def switch(self, depth):
    operands, blocks, results = self.branches(depth, 3)
    index = self.pick(lambda t: kind(t) == 'i' and not t.shape)
    index = f'{index}.astype("int32") % 3' if index else f'{self.predicate()}.astype("int32") + 1'
    names = ', '.join(b.name for b in blocks)
    return self.add(Statement(results, f'lax.switch({index}, [{names}], {", ".join(operands)})', tuple(blocks)))

  def map(self, depth):
    x = self.pick(lambda t: t.shape and 0 < t.shape[0] <= 17)
    if x is None:
      return False
    t = self.types[x]
    block, _ = self.block([self.fresh()], [Type(t.shape[1:], t.dtype)], self.length(), depth, 1)
    return self.line_of('lax.map({}, {}%s)' % self.random.choice(['', ', batch_size=2']), block, [x])

  def line_of(self, text, block, operands):
    return self.add(Statement(self.fresh(), text.format(block.name, ', '.join(operands)), (block,)))

  # Transforms.

  def vmap(self, depth):
    first = self.pick(lambda t: t.shape and t.shape[0] > 0)
    if first is None:
      return False
    size = self.types[first].shape[0]
    operands, axes, types = [first], [0], [Type(self.types[first].shape[1:], self.types[first].dtype)]
    for v in self.some(most=3):
      t = self.types[v]
      fitting = [d for d, n in enumerate(t.shape) if n == size]
      axis = self.random.choice(fitting) if fitting and self.chance(0.7) else None
      operands.append(v)
      axes.append(axis)
      types.append(t if axis is None else Type(t.shape[:axis] + t.shape[axis + 1:], t.dtype))
    block, _ = self.block(self.new_names(operands), types, self.length(), depth, 1)
    return self.line_of('jax.vmap({}, in_axes=%s, out_axes=%d)({})' % (tuple(axes), self.random.choice([0, 0, -1])),
                        block, operands)

  def scalar_block(self, depth, operands):
    """Returns a block with a float as its result: the sum of the sines of its values."""
    types = [self.types[v] for v in operands]
    block, values = self.block(self.new_names(operands), types, self.length(), depth, 2)
    floats = [v for v in values if kind(self.types[v]) == 'f'] or [v for v in re.findall(r'\bv\d+\b',
                                                                                         ' '.join(block.params))]
    text = ' + '.join(f'jnp.sum(jnp.sin({v}.astype("float32")))' for v in dict.fromkeys(floats))
    return Block(block.name, block.params, block.body, text)

  def float_operands(self, most=2):
    return self.some(lambda t: kind(t) == 'f', most)

  def grad(self, depth):
    operands = self.float_operands()
    if not operands:
      return False
    block = self.scalar_block(depth, operands)
    argnums = tuple(sorted(self.random.sample(range(len(operands)), self.random.randrange(1, len(operands) + 1))))
    if self.chance(0.3):
      results = f'{self.fresh()}, {self.group(self.new_names(argnums))}'
      return self.add(Statement(results, f'jax.value_and_grad({block.name}, argnums={argnums})({", ".join(operands)})',
                                (block,)))
    return self.add(Statement(self.group(self.new_names(argnums)),
                              f'jax.grad({block.name}, argnums={argnums})({", ".join(operands)})', (block,)))

  def float_block(self, depth):
    operands = self.float_operands()
    if not operands:
      return None, None
    types = [self.types[v] for v in operands]
    block, values = self.block(self.new_names(operands), types, self.length(), depth, 1)
    if kind(self.types[values[0]]) != 'f':
      block = Block(block.name, block.params, block.body, f'{re.findall(r"v[0-9]+", block.params[0])[0]} * 2')
    return operands, block

  def tangents(self, operands):
    return ', '.join(f'jnp.cos({v})' for v in operands) + ','

  def jvp(self, depth):
    operands, block = self.float_block(depth)
    if block is None:
      return False
    text = f'jax.jvp({block.name}, ({", ".join(operands)},), ({self.tangents(operands)}))'
    return self.add(Statement(f'{self.fresh()}, {self.fresh()}', text, (block,)))

  def linearize(self, depth):
    operands, block = self.float_block(depth)
    if block is None:
      return False
    return self.add(Statement(self.fresh(),
                              f'jax.linearize({block.name}, {", ".join(operands)})[1]({self.tangents(operands)})',
                              (block,)))

  def vjp(self, depth):
    operands, block = self.float_block(depth)
    if block is None:
      return False
    text = f'(lambda out, pull: pull(jnp.cos(out)))(*jax.vjp({block.name}, {", ".join(operands)}))'
    return self.add(Statement(self.group(self.new_names(operands)), text, (block,)))

  def jacobian(self, depth):
    operand = self.pick(lambda t: kind(t) == 'f' and len(t.shape) <= 1 and t.size <= 8)
    if operand is None:
      return False
    block, _ = self.block([self.fresh()], [self.types[operand]], self.length(), depth, 1)
    return self.line_of('jax.%s({})({})' % self.random.choice(['jacfwd', 'jacrev']), block, [operand])

  def checkpoint(self, depth):
    operands = self.float_operands()
    if not operands:
      return False
    block = self.scalar_block(depth, operands)
    text = f'jax.grad(jax.checkpoint({block.name}), argnums={tuple(range(len(operands)))})({", ".join(operands)})'
    return self.add(Statement(self.group(self.new_names(operands)), text, (block,)))

  def jit(self, depth):
    operands = self.some()
    types = [self.types[v] for v in operands]
    block, values = self.block(self.new_names(operands), types, self.length(), depth, 2, self.group)
    return self.add(Statement(self.group(self.new_names(values)), f'jax.jit({block.name})({", ".join(operands)})',
                              (block,)))

  def custom_jvp(self, depth):
    operand = self.pick(lambda t: kind(t) == 'f')
    if operand is None:
      return False
    t = self.types[operand]
    block, _ = self.block([self.fresh()], [t], self.length(), depth, [t], closed=False)
    a, b = self.new_names([0, 0])
    self.types.update({a: t, b: t})
    rule = Block(self.fresh('f'), (f'({a},)', f'({b},)'), (), f'{block.name}({a}), {b} * jnp.tanh({a})')
    text = (f'(lambda g: (g.defjvp({rule.name}), jax.grad(lambda y: jnp.sum(g(y).astype("float32")))({operand}))[1])'
            f'(jax.custom_jvp({block.name}))')
    return self.add(Statement(self.fresh(), text, (block, rule)))

  # Sharding.

  def random_spec(self, shape):
    """Returns, for each dimension, mesh axes that divide it."""
    free, parts = list(self.axes), []
    self.random.shuffle(free)
    for n in shape:
      taken = []
      while free and self.chance(0.5) and n and n % int(np.prod([self.axes[a] for a in [*taken, free[-1]]])) == 0:
        taken.append(free.pop())
      parts.append(tuple(taken) if len(taken) > 1 else taken[0] if taken else None)
    return tuple(parts)

  def constraint(self):
    value = self.pick(lambda t: t.shape)
    if value is None:
      return False
    parts = self.random_spec(self.types[value].shape)
    return self.line(f'lax.with_sharding_constraint({value}, NamedSharding(MESH, P{self.text_of(parts)}))')

  @staticmethod
  def text_of(parts):
    return f'({", ".join(repr(p) for p in parts)})'

  def local(self, shape, parts):
    sizes = [int(np.prod([self.axes[a] for a in ((p,) if isinstance(p, str) else p or ())])) for p in parts]
    return tuple(n // s for n, s in zip(shape, sizes))

  def shard_map(self, depth):
    operands = self.some(lambda t: t.shape and t.size, most=3)
    if not operands:
      return False
    specs = [self.random_spec(self.types[v].shape) for v in operands]
    types = [Type(self.local(self.types[v].shape, s), self.types[v].dtype) for v, s in zip(operands, specs)]
    self.manual = True
    try:
      block, values = self.block(self.new_names(operands), types, self.length() + 2, depth, 2, closed=False)
    finally:
      self.manual = False
    everywhere = tuple(self.axes)
    returns, outs = [], []
    for v in values:
      t = self.types[v]
      if kind(t) in 'fi' and self.chance(0.3):
        returns.append(f'lax.psum({v}, {everywhere})')
        outs.append('P()')
      else:
        returns.append(v if t.shape else f'{v}[None]')
        outs.append(f'P({everywhere})')
    block = Block(block.name, block.params, block.body, self.group(returns))
    check = self.chance(0.5)
    for checked in ([True, False] if check else [False]):
      text = (f'jax.shard_map({block.name}, mesh=MESH, in_specs=({", ".join("P" + self.text_of(s) for s in specs)},), '
              f'out_specs=({", ".join(outs)},), check_vma={checked})({", ".join(operands)})')
      if self.add(Statement(self.group(self.new_names(values)), text, (block,))):
        return True
    return False

  def collective(self):
    value = self.pick(lambda t: kind(t) in 'fi')
    if value is None:
      return False
    t = self.types[value]
    text, result = self.random.choice(operations.COLLECTIVES)
    axis = self.random.choice(list(self.axes))
    n, d = self.axes[axis], self.random.randrange(max(1, len(t.shape)))
    if 'pmean' in text and kind(t) != 'f':
      return False
    if result != 'same':
      if not t.shape or (result in ('scattered', 'exchanged') and t.shape[d] % n):
        return False
    shape = list(t.shape)
    if result in ('gathered', 'scattered'):
      shape[d] = shape[d] * n if result == 'gathered' else shape[d] // n
    text = re.sub(r'\b[NR]\b', lambda m: str(n if m.group() == 'N' else d), text.replace('"A"', f'"{axis}"'))
    return self.line(text.format(value), [Type(tuple(shape), t.dtype)])
