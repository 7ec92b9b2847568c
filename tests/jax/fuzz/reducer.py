"""A greedy search for the shortest program with the same verdict."""
import dataclasses
import re
import time

from program import VALUE, Statement, rename, rename_statement

CONSTANT = re.compile(r'jnp\.ones\(\(.*\), "\w+"\)$')


def measure(program):
  """Returns the size that the search minimizes: statements weigh most, constants least."""
  def count(block):
    return sum((10 if CONSTANT.match(s.text) else 1000 + len(s.text)) + 300 * len(s.blocks) + sum(count(b) for b in s.blocks)
               for s in block.body)
  inputs = sum(200 + len(i.maker) + 50 * i.donated + 50 * sum(p is not None for p in i.spec) for i in program.inputs)
  return count(program.main) + inputs + 20 * len(VALUE.findall(program.main.returns)) + 100 * sum(program.mesh)


def pruned(block):
  """Returns the block without statements with unused results."""
  used, body = set(VALUE.findall(block.returns)), []
  for s in reversed(block.body):
    if used.intersection(s.defined):
      s = dataclasses.replace(s, blocks=tuple(pruned(b) for b in s.blocks))
      used.update(s.uses())
      body.append(s)
  return dataclasses.replace(block, body=tuple(reversed(body)))


def replaced(block, i, statements, names):
  """Returns the block with statement i replaced by others, and its results by other values."""
  rest = tuple(rename_statement(s, names) for s in block.body[i + 1:])
  return dataclasses.replace(block, body=(*block.body[:i], *statements, *rest), returns=rename(block.returns, names))


def constant(name, t):
  return Statement(name, f'jnp.ones({t.shape}, "{t.dtype}")')


def variants(block, types, scope):
  """Yields simpler blocks, those that omit more first."""
  scope = [*scope, *(v for p in block.params for v in VALUE.findall(p))]
  for i in reversed(range(len(block.body))):
    s = block.body[i]
    at = scope + [v for t in block.body[:i] for v in t.defined]
    if CONSTANT.match(s.text):
      continue
    others = [next((v for v in reversed(at) if types[v] == types[d]), None) for d in s.defined]
    if None not in others:
      yield replaced(block, i, (), dict(zip(s.defined, others)))
    operands = [next((v for v in s.uses() if types[v] == types[d]), None) for d in s.defined]
    if None not in operands and operands != others:
      yield replaced(block, i, (), dict(zip(s.defined, operands)))
    yield replaced(block, i, tuple(constant(d, types[d]) for d in s.defined), {})
    for b in s.blocks:
      yield from hoisted(block, i, b, types)
    for j, b in enumerate(s.blocks):
      for smaller in variants(b, types, at):
        inner = dataclasses.replace(s, blocks=(*s.blocks[:j], smaller, *s.blocks[j + 1:]))
        yield replaced(block, i, (inner,), {})


def hoisted(block, i, inner, types):
  """Yields the block with the body of an inner block in place of statement i. The inner block's parameters become operands of the
  statement with the same type, or arrays of ones."""
  s = block.body[i]
  params = [v for p in inner.params for v in VALUE.findall(p)]
  values = params + [v for t in inner.body for v in t.defined]
  results = [next((v for v in reversed(values) if types[v] == types[d]), None) for d in s.defined]
  given = list(inner.body)
  names = {}
  for d, r in zip(s.defined, results):
    if r is None:
      given.append(constant(d, types[d]))
    else:
      names[d] = r
  if names:
    operands = [v for v in VALUE.findall(s.text) if v not in s.defined]
    passed = {p: next((v for v in operands if types.get(v) == types[p]), None) for p in params}
    ones = tuple(constant(p, types[p]) for p in params if passed[p] is None)
    renamed = {p: v for p, v in passed.items() if v is not None}
    body = tuple(rename_statement(t, renamed) for t in given)
    yield replaced(block, i, (*ones, *body), {d: renamed.get(r, r) for d, r in names.items()})


def opened(main, i, inner, types):
  """Yields the function up to statement i, followed by the body of an inner block on operands or ones, for each value of that body as
  the result."""
  operands = [v for v in VALUE.findall(main.body[i].text) if v in types]
  renamed, ones = {}, []
  for p in (v for q in inner.params for v in VALUE.findall(q)):
    same = next((v for v in operands if types[v] == types[p]), None)
    if same is None:
      ones.append(constant(p, types[p]))
    else:
      renamed[p] = same
  body = (*main.body[:i], *ones, *(rename_statement(t, renamed) for t in inner.body))
  for value in reversed([v for t in inner.body for v in t.defined]):
    yield dataclasses.replace(main, body=body, returns=f'({value},)')


def programs(program):
  """Yields simpler programs."""
  main = program.main
  results = VALUE.findall(main.returns)
  if len(results) > 1:
    for r in results:
      yield dataclasses.replace(program, main=dataclasses.replace(main, returns=f'({r},)'))
  for value in reversed([v for s in main.body for v in s.defined]):
    if [value] != results:
      yield dataclasses.replace(program, main=dataclasses.replace(main, returns=f'({value},)'))
  for i, s in enumerate(main.body):
    for b in s.blocks:
      yield from (dataclasses.replace(program, main=m) for m in opened(main, i, b, program.types))
  for smaller in variants(main, program.types, []):
    yield dataclasses.replace(program, main=smaller)
  for i, x in enumerate(program.inputs):
    t = program.types[x.name]
    simple = [f'np.ones({t.shape}, "{t.dtype}")']
    if t.dtype != 'bool':
      simple.append(f'np.arange({t.size}).reshape({t.shape}).astype("{t.dtype}")')
    changes = [{'maker': m} for m in simple if len(m) < len(x.maker)] + [{'donated': False}] * x.donated
    changes += [{'spec': x.spec[:d] + (None,) + x.spec[d + 1:]} for d, p in enumerate(x.spec) if p is not None]
    for change in changes:
      inputs = (*program.inputs[:i], dataclasses.replace(x, **change), *program.inputs[i + 1:])
      yield dataclasses.replace(program, inputs=inputs)
  if program.mesh and 'MESH' not in program.source():
    yield dataclasses.replace(program, mesh=(), inputs=tuple(dataclasses.replace(i, spec=()) for i in program.inputs))
  elif any(n > 2 for n in program.mesh):
    yield dataclasses.replace(program, mesh=tuple(min(n, 2) for n in program.mesh))


def cleaned(program):
  """Returns the program without statements and arguments that are not used."""
  main = pruned(program.main)
  used = set(main.returns and VALUE.findall(main.returns)) | {v for s in main.body for v in s.uses()}
  inputs = tuple(i for i in program.inputs if i.name in used) or program.inputs[:1]
  return dataclasses.replace(program, inputs=inputs,
                             main=dataclasses.replace(main, params=tuple(i.name for i in inputs)))


def reduce(program, interesting, seconds=60, report=lambda text: None):
  """Returns the shortest program found that is still interesting, after at most `seconds` of CPU time."""
  end, tried, progress = time.process_time() + seconds, 0, True
  seen = set()
  while progress and time.process_time() < end:
    progress = False
    for candidate in programs(program):
      candidate = cleaned(candidate)
      key = (candidate.source(), candidate.inputs, candidate.mesh)
      if key in seen or measure(candidate) >= measure(program):
        continue
      seen.add(key)
      tried += 1
      if time.process_time() > end:
        break
      if interesting(candidate):
        program, progress = candidate, True
        report(f'{tried} tried, {len(program.source().splitlines())} lines')
        break
  return program
