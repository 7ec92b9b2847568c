"""Programs of StableHLO's own tests, made into programs that return what they would check.

StableHLO's interpreter has a dialect `check`: ops that compare two values, or a value with a constant, and fail.
A program here returns these values instead, and the caller compares.
"""
import dataclasses
import re

# A number's, a string's or a list's text between the brackets of dense<>.
DENSE = r'dense(?:_resource)?<(?:"[^"]*"|[^">])*>'
VALUE = r'%[\w$.-]+(?:#\d+)?'
CHECK = re.compile(
    rf'(?:(?:"check\.(?P<generic>expect_\w+)"|check\.(?P<op>expect_\w+))|'
    rf'stablehlo\.custom_call\s+@check\.(?P<call>expect_\w+))\s*\(?\s*(?P<lhs>{VALUE})\s*'
    rf'(?:,\s*(?P<rhs>{VALUE}|{DENSE}))?')
FUNCTION = re.compile(r'func\.func\s+(?:(?P<visibility>public|private)\s+)?@(?P<name>[\w$.-]+|"[^"]*")\s*\(')
PARALLEL = re.compile(rf'(?P<results>{VALUE}(?::\d+)?(?:\s*,\s*{VALUE}(?::\d+)?)*)?\s*=?\s*'
                      r'"interpreter\.run_parallel"\s*\((?P<operands>[^)]*)\)')


@dataclasses.dataclass
class Comparison:
  kind: str  # eq, almost_eq, close
  type: str  # the tensor's, as text
  tolerance: float = 1e-4
  ulps: int = 1


@dataclasses.dataclass
class Program:
  text: str
  comparisons: list  # results 2k and 2k + 1 are what comparison k compares
  devices: int = 1


class Unsupported(Exception):
  """What the interpreter has beyond StableHLO, or tests of its own workings."""


def split(text):
  """The programs of a file: those of -split-input-file."""
  return [part for part in re.split(r'^// -----.*$', text, flags=re.M) if 'func.func' in part]


def without_comments(text):
  return re.sub(r'(?m)(^|\s)//.*$', '', text)


def closing(text, at):
  """Where the bracket that opens at `at` closes."""
  pairs = {'(': ')', '{': '}', '[': ']', '<': '>'}
  stack, i = [], at
  while i < len(text):
    c = text[i]
    if c == '"':
      i = text.index('"', i + 1)
    elif text.startswith('->', i):
      i += 1
    elif c in pairs:
      stack.append(pairs[c])
    elif stack and c == stack[-1]:
      stack.pop()
      if not stack:
        return i
    i += 1
  raise ValueError('a bracket that does not close')


def read_type(text, at):
  """The type at that place."""
  at = re.compile(r'\s*').match(text, at).end()
  if text[at] == '!':
    return re.compile(r'![\w.]+').match(text, at).group()
  opening = text.index('<', at)
  return text[at:closing(text, opening) + 1]


def type_list(text):
  """'(tensor<..>, tensor<..>)', or one type: as a list."""
  out, at = [], 0
  while (found := re.compile(r'tensor<|tuple<|!stablehlo\.token').search(text, at)):
    out.append(found.group() if found.group().startswith('!') else read_type(text, found.start()))
    at = found.start() + len(out[-1])
  return out


def functions(text):
  """(match, where its arguments end, where its body opens, where it closes) of each function."""
  for found in FUNCTION.finditer(text):
    arguments = closing(text, found.end() - 1)
    at = arguments + 1
    results = re.compile(r'\s*->\s*').match(text, at)
    if results:
      at = results.end()
      at = (closing(text, at) if text[at] == '(' else at + len(read_type(text, at)) - 1) + 1
    attributes = re.compile(r'\s*attributes\s*').match(text, at)
    if attributes:
      at = closing(text, attributes.end()) + 1
    body = text.index('{', at)
    yield found, arguments, body, closing(text, body)


def opening(text, at):
  """Where the brace opens that `at` stands in."""
  depth = 0
  while True:
    at -= 1
    depth += {'}': 1, '{': -1}.get(text[at], 0)
    if depth < 0:
      return at


def flat_groups(text, replicas, partitions):
  """Groups of replicas, or of partitions, as groups of all processes: r * partitions + p."""
  pattern = re.compile(r'(replica_groups|source_target_pairs)\s*=\s*dense<([^>]*)>\s*:\s*tensor<([^>]*)>')
  at = 0
  while (found := pattern.search(text, at)):
    begin = opening(text, found.start())
    end = closing(text, begin)
    attributes = text[begin:end]
    handle = re.search(r'handle\s*=\s*(\d+)', attributes)
    has_channel = bool(handle) and int(handle.group(1)) > 0
    reduces = re.findall(r'stablehlo\.(\w+)"?\s*\(', text[:begin])
    reduces = [op for op in reduces if op in ('all_reduce', 'all_gather', 'reduce_scatter', 'all_to_all',
                                              'collective_permute', 'collective_broadcast', 'collective_reduce')]
    rows = re.findall(r'\[([^\[\]]*)\]', found.group(2))
    groups = [[int(x) for x in row.split(',') if x.strip()] for row in rows]
    if reduces and reduces[-1] in ('all_reduce', 'all_gather', 'reduce_scatter', 'collective_reduce'):
      mode = 'flat' if 'use_global_device_ids' in attributes else 'both' if has_channel else 'replica'
    else:
      mode = 'partition' if has_channel else 'replica'
    def flat(group):
      ids = [i for i in group if i >= 0]
      if mode == 'replica':
        return [[r * partitions + p for r in ids] for p in range(partitions)]
      if mode == 'partition':
        return [[r * partitions + p for p in ids] for r in range(replicas)]
      return [[r * partitions + p for p in range(partitions) for r in ids]] if mode == 'both' else [ids]
    groups = [ids for group in groups for ids in flat(group)]
    width = max([len(g) for g in groups], default=0)
    groups = [g + [-1] * (width - len(g)) for g in groups]
    new = f'{found.group(1)} = dense<{groups}> : tensor<{len(groups)}x{width}xi64>' if groups else found.group()
    attributes = re.sub(r',?\s*channel_(handle|id)\s*=\s*(#stablehlo\.channel_handle<[^>]*>|\d+(\s*:\s*i64)?)', '', attributes)
    attributes = pattern.sub(lambda m: new, attributes)
    attributes = re.sub(r'^\{\s*,', '{', attributes)
    attributes += ', channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>'
    text = text[:begin] + attributes + text[end:]
    at = begin + len(attributes)
  number = re.compile(rf'({VALUE})\s*=\s*"?stablehlo\.(replica|partition)_id"?(\(\))?\s*:\s*(\(\)\s*->\s*)?tensor<ui32>')
  def one_number(m):
    value, kind = m.group(1), m.group(2)
    of, by = ('divide', partitions) if kind == 'replica' else ('remainder', partitions)
    name = value[1:]
    return (f'%flat_{name} = stablehlo.partition_id : tensor<ui32>\n'
            f'%count_{name} = stablehlo.constant dense<{by}> : tensor<ui32>\n'
            f'{value} = stablehlo.{of} %flat_{name}, %count_{name} : tensor<ui32>')
  return number.sub(one_number, text)


def parallel(text, body, found):
  """What runs a function on every process of a grid, as a manual computation over as many devices."""
  at = closing(text, text.index('(', found.start('operands') - 1))
  attributes = re.compile(r'\s*').match(text, at + 1).end()
  end = closing(text, attributes)
  grid = [re.findall(r'@([\w$.-]+)', row)
          for row in re.findall(r'\[([^\[\]]*)\]', re.search(r'programs\s*=\s*(\[.*\])', text[attributes:end], re.S).group(1))]
  if 'infeed' in text[attributes:end]:
    raise Unsupported('infeed')
  names = {name for row in grid for name in row}
  if len(names) != 1:
    raise Unsupported('processes that run different programs')
  name, = names
  signature = re.compile(r'\s*:\s*').match(text, end + 1)
  arrow = text.index('->', closing(text, signature.end()))
  operand_types = type_list(text[signature.end():arrow])
  tail = re.compile(r'->\s*').match(text, arrow).end()
  last = closing(text, tail) if text[tail] == '(' else tail + len(read_type(text, tail)) - 1
  result_types = type_list(text[tail:last + 1])
  count = len(grid) * len(grid[0])
  operands = re.findall(VALUE, found.group('operands'))
  inputs, outputs = len(operands) // count, len(result_types) // count
  results = []
  for one in re.findall(r'(%[\w$.-]+)(?::(\d+))?', found.group('results') or ''):
    results += [one[0]] if not one[1] else [f'{one[0]}#{i}' for i in range(int(one[1]))]

  def stacked(t):
    inner = t[len('tensor<'):-1]
    return f'tensor<{count}x{inner}>', f'tensor<1x{inner}>'

  def axes(t):
    inner = re.sub(r'complex<\w+>', 'c', t[len('tensor<'):-1])
    rank = inner.count('x')
    if re.search(r'f\d+E|index', inner):
      rank = len(re.findall(r'\d+x', inner))
    return '[{"replica", "partition"}' + ', {}' * rank + ']'

  lines, wide = [], []
  for k in range(inputs):
    rows = []
    for p in range(count):
      t = operand_types[p * inputs + k]
      rows.append(f'%row_{k}_{p}')
      lines.append(f'{rows[-1]} = stablehlo.reshape {operands[p * inputs + k]} : ({t}) -> {stacked(t)[1]}')
    t = operand_types[k]
    wide.append(stacked(t)[0])
    lines.append(f'%in_{k} = "stablehlo.concatenate"({", ".join(rows)}) {{dimension = 0 : i64}} : '
                 f'({", ".join(stacked(operand_types[p * inputs + k])[1] for p in range(count))}) -> {wide[-1]}')
  mine = operand_types[:inputs]
  theirs = result_types[:outputs]
  given = ', '.join(f'%arg_{k}: {stacked(t)[1]}' for k, t in enumerate(mine))
  block = [f'%local_{k} = stablehlo.reshape %arg_{k} : ({stacked(t)[1]}) -> {t}' for k, t in enumerate(mine)]
  got = '%got = ' if outputs == 1 else f'%got:{outputs} = ' if outputs else ''
  block.append(f'{got}func.call @{name}({", ".join(f"%local_{k}" for k in range(inputs))}) : '
               f'({", ".join(mine)}) -> ({", ".join(theirs)})')
  for k, t in enumerate(theirs):
    source = '%got' if outputs == 1 else f'%got#{k}'
    block.append(f'%out_{k} = stablehlo.reshape {source} : ({t}) -> {stacked(t)[1]}')
  back = ', '.join(f'%out_{k}' for k in range(outputs))
  block.append(f'sdy.return {back} : {", ".join(stacked(t)[1] for t in theirs)}' if outputs else 'sdy.return')
  shardings = lambda types: ', '.join(f'<@grid, {axes(t)}>' for t in types)
  left = f'%all:{outputs} = ' if outputs > 1 else '%all = ' if outputs else ''
  lines.append(f'{left}sdy.manual_computation({", ".join(f"%in_{k}" for k in range(inputs))}) '
               f'in_shardings=[{shardings(mine)}] out_shardings=[{shardings(theirs)}] '
               f'manual_axes={{"replica", "partition"}} ({given}) {{\n' + '\n'.join(block) + '\n} : '
               f'({", ".join(wide)}) -> ({", ".join(stacked(t)[0] for t in theirs)})')
  rename = {}
  for p in range(count):
    for k in range(outputs):
      t = result_types[p * outputs + k]
      dims = re.findall(r'(\d+)x', re.sub(r'complex<\w+>', 'c', t))
      source = '%all' if outputs == 1 else f'%all#{k}'
      starts = ', '.join([f'{p}:{p + 1}'] + [f'0:{d}' for d in dims])
      lines.append(f'%piece_{k}_{p} = stablehlo.slice {source} [{starts}] : ({stacked(theirs[k])[0]}) -> {stacked(t)[1]}')
      lines.append(f'%result_{k}_{p} = stablehlo.reshape %piece_{k}_{p} : ({stacked(t)[1]}) -> {t}')
      if p * outputs + k < len(results):
        rename[results[p * outputs + k]] = f'%result_{k}_{p}'
  rest = text[last + 1:]
  rest = re.sub(VALUE, lambda m: rename.get(m.group(), m.group()), rest)
  mesh = f'sdy.mesh @grid = <["replica"={len(grid)}, "partition"={len(grid[0])}]>\n'
  before = flat_groups(text[:found.start()], len(grid), len(grid[0]))
  return before + '\n'.join(lines) + rest, mesh, count


def convert(text):
  """A program that returns what `text` compares."""
  text = without_comments(text)
  for word in ('interpreter.probe', 'expect_serialized_eq', 'interpreter.print'):
    if word in text:
      raise Unsupported(word)
  mesh, devices = '', 1
  found = PARALLEL.search(text)
  if found:
    text, mesh, devices = parallel(text, None, found)
    if PARALLEL.search(text):
      raise Unsupported('several grids of processes')
  checked = [f for f in functions(text) if CHECK.search(text, f[2], f[3])]
  if len(checked) > 1:
    raise Unsupported('checks in several functions')
  if not checked:
    return Program(text, [], devices)
  head, arguments, body, end = checked[0]
  if '%' in text[head.end():arguments]:
    raise Unsupported('arguments, which a caller gives')
  inside = text[body + 1:end]
  comparisons, values, types = [], [], []
  pieces, at = [], 0
  while (found := CHECK.search(inside, at)):
    pieces.append(inside[at:found.start()])
    op = found.group('generic') or found.group('op') or found.group('call')
    kind = op.removeprefix('expect_').removesuffix('_const')
    after = found.end()
    rhs = found.group('rhs')
    if found.group('call') or found.group('generic'):
      after = inside.index(')', after) + 1
    attributes = re.compile(r'[^:{]*(\{[^}]*\})?[^:]*:\s*').match(inside, after)
    between = inside[after:attributes.end()] if attributes else ''
    if op.endswith('_const') and rhs:
      # The constant's type is the attribute's.
      at_type = re.compile(r'\s*:\s*').match(inside, after).end()
      written = read_type(inside, at_type)
      stop = at_type + len(written)
      more = re.compile(r'\s*,\s*tolerance\s*=\s*([-+\d.eE]+)(\s*:\s*f64)?').match(inside, stop)
      between = more.group() if more else ''
      stop = more.end() if more else stop
      rest = re.compile(r'\s*\{[^}]*\}').match(inside, stop)
      between += rest.group() if rest else ''
      stop = rest.end() if rest else stop
      name = f'%expected_{len(comparisons)}'
      pieces.append(f'{name} = stablehlo.constant {rhs} : {written}')
      rhs = name
    elif found.group('call') or found.group('generic'):
      opening = inside.index('(', after)
      written = read_type(inside, opening + 1)
      stop = re.compile(r'\s*->\s*\(\)').match(inside, closing(inside, opening) + 1).end()
    else:
      colon = attributes.end()
      if inside[colon] == '(':
        colon += 1
      written = read_type(inside, colon)
      stop = colon + len(written)
      pair = re.compile(r'\s*,\s*tensor<').match(inside, stop)
      if pair:
        stop = pair.end() - len('tensor<')
        stop += len(read_type(inside, stop))
      tail = re.compile(r'\s*\)(\s*->\s*\(\))?').match(inside, stop)
      stop = tail.end() if tail else stop
    tolerance = re.search(r'tolerance\s*=\s*([-+\d.eE]+)', between)
    ulps = re.search(r'max_ulp_difference\s*=\s*(\d+)', between)
    comparisons.append(Comparison(kind, written, float(tolerance.group(1)) if tolerance else 1e-4,
                                  int(ulps.group(1)) if ulps else 1))
    values += [found.group('lhs'), rhs]
    types += [written, written]
    at = stop
  rest = inside[at:]
  last = re.compile(r'(?:func\.)?return\b[^\n}]*').search(rest)
  returned = f'return {", ".join(values)} : {", ".join(types)}'
  rest = rest[:last.start()] + returned + rest[last.end():]
  signature = f'func.func public @{head.group("name")}{text[head.end() - 1:arguments + 1]} -> ({", ".join(types)}) {{'
  text = text[:head.start()] + signature + ''.join(pieces) + rest + text[end:]
  # Only what is checked is run.
  main = head.group('name')
  text = FUNCTION.sub(lambda m: m.group() if m.group('name') == main else
                      f'func.func private @{m.group("name")}(', text)
  if mesh:
    module = re.search(r'\bmodule\b[^{]*(?:\{[^{}]*\}\s*)?\{|^', text) if 'module' in text else None
    place = module.end() if module else 0
    text = text[:place] + '\n' + mesh + text[place:]
  return Program(text, comparisons, devices)
