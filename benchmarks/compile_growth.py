#!/usr/bin/env python3
"""Measures the time and memory of compiling large programs with XLA's CPU backend and with the plugin.

  benchmarks/compile_growth.py [--out FILE] [--rounds N] [SUBSTRING...]   measures; a Python that has jax
  benchmarks/compile_growth.py --report FILE...                           the table of what was measured

Each program is compiled at half its size and at its full size, each time in a separate process, and called once. JAX traces and
lowers it beforehand; this counts for neither side. The seconds are CPU time of all threads together, which other programs on the
machine hardly change. The memory is the peak of the process while it compiles, minus its memory before. No kernels are read from the
disk cache. The least values of several rounds count. The plugin is that of build/release, unless TESSERA_PJRT names one.
"""
import argparse
import itertools
import json
import math
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLATFORMS = ['cpu', 'tessera']
MEASURES = ['seconds', 'elapsed', 'mebibytes']


# ---- the programs: each returns, for a size, an iterable of jitted functions and their arguments ----

def array(*shape):
  import jax.numpy as jnp
  import numpy as np
  return jnp.asarray(np.random.default_rng(sum(shape)).normal(size=shape) / 8, jnp.float32)


def ops_in_a_row(count):
  """Yields a program of ops in a row: absolute values, products with constants, and four functions in turn (13 ops in four turns)."""
  import jax
  import jax.numpy as jnp
  functions = [jnp.sin, jnp.tanh, jnp.log1p, lambda x: jnp.power(x + 1, 1.3)]

  def program(x):
    for k in range(4 * count // 13):
      x = functions[k % 4](jnp.abs(x) * (1 + k * 1e-4))
    return x
  yield jax.jit(program), (array(64),)


def ops_of_layers(count):
  """Yields a program of layers of ten ops: a norm, a product, a bias, an activation and a residual."""
  import jax
  import jax.numpy as jnp

  def program(x, w, b):
    for k in range(count // 10):
      y = x * jax.lax.rsqrt((x * x).sum(1, keepdims=True) + 1)
      x = x + jnp.tanh(y @ w[k % 4] + b)
    return x
  yield jax.jit(program), (array(8, 16), array(4, 16, 16), array(16))


def leaves(count):
  """Yields a step of Adam with `count` parameters."""
  import jax
  import jax.numpy as jnp

  def adam(w, g, m, v):
    m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
    return w - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v

  def program(*state):
    out = [adam(*one) for one in zip(*state)]
    return tuple(zip(*out))
  ones = [array(8, 8)] * count
  yield jax.jit(program), (ones, ones, ones, [x * x for x in ones])


def unrolled_layers(count):
  import jax
  import jax.numpy as jnp

  def loss(params, x):
    for w, b in params:
      x = jnp.tanh(x @ w + b) + x
    return (x * x).mean()
  yield jax.jit(jax.grad(loss)), ([(array(32, 32), array(32))] * count, array(16, 32))


def random_layers(count):
  """Yields a program of layers that each add random numbers of a constant key of their own."""
  import jax
  import jax.numpy as jnp

  def program(x):
    for k in range(count):
      x = jnp.tanh(x) + 0.01 * jax.random.normal(jax.random.key(k), x.shape)
    return x
  yield jax.jit(program), (array(64, 128),)


def nested_scans(depth):
  import jax
  import jax.numpy as jnp

  def scans(x, depth):
    if depth == 0:
      return jnp.sin(x)
    return jax.lax.scan(lambda c, _: (scans(c * 0.5, depth - 1), None), x, None, length=2)[0]
  yield jax.jit(jax.grad(lambda x: scans(x, depth).sum())), (array(8),)


def nested_vmaps(depth):
  import jax
  import jax.numpy as jnp
  f = lambda x, w: jax.nn.softmax(jnp.sin(x) @ w)
  for _ in range(depth):
    f = jax.vmap(f, (0, None))
  yield jax.jit(f), (array(*[2] * depth, 8), array(8, 8))


def constants(mebibytes):
  import jax
  import numpy as np
  rows = mebibytes * 256 // 4
  values = [np.random.default_rng(k).random((rows, 1024), np.float32) for k in range(4)]
  yield jax.jit(lambda x: [(v @ x).sum() for v in values]), (array(1024),)


def shapes(count):
  import jax
  f = jax.jit(lambda x, w: jax.nn.softmax(x @ w).sum(0))
  for k in range(count):
    yield f, (array(k + 1, 8), array(8, 8))


def shardings(count):
  import jax
  import jax.numpy as jnp
  from jax.sharding import NamedSharding, PartitionSpec as P
  mesh = jax.make_mesh((2, 2, 2), ('a', 'b', 'c'), axis_types=(jax.sharding.AxisType.Auto,) * 3)

  def loss(params, x):
    return (jnp.tanh(x @ params[0]) @ params[1]).var()

  def step(params, x):
    return jax.tree.map(lambda w, g: w - 0.1 * g, params, jax.grad(loss)(params, x))
  specs = [P(*spec) for spec in itertools.product([None, 'a', 'b', 'c', ('a', 'b')], repeat=2)
           if 'a' not in spec or ('a', 'b') not in spec]
  specs = [spec for spec in specs if not ('b' in spec and ('a', 'b') in spec) and (spec[0] is None or spec[0] != spec[1])]
  for first, second, x in itertools.islice(itertools.product(specs, repeat=3), 0, count * 7, 7):
    on = lambda value, spec: jax.device_put(value, NamedSharding(mesh, spec))
    yield jax.jit(step), ((on(array(32, 64), first), on(array(64, 32), second)), on(array(64, 32), x))


PROGRAMS = {'ops in a row': (ops_in_a_row, 5000), 'ops in a row, many': (ops_in_a_row, 20000),
            'ops of layers': (ops_of_layers, 20000), 'leaves': (leaves, 2000), 'layers under grad': (unrolled_layers, 500),
            'layers with random numbers': (random_layers, 100),
            'scans under grad, deep': (nested_scans, 6), 'vmaps, deep': (nested_vmaps, 8), 'MiB of constants': (constants, 1024),
            'shapes of one function': (shapes, 1000), 'shardings of one step': (shardings, 200)}


# ---- one program in one process ----

def status(field):
  for line in pathlib.Path('/proc/self/status').read_text(encoding='ascii').splitlines():
    if line.startswith(field + ':'):
      return int(line.split()[1]) / 1024
  raise ValueError(f'/proc/self/status has no {field}')


def processor_seconds():
  times = os.times()
  return times.user + times.system + times.children_user + times.children_system


def one(name, size):
  import jax
  jax.devices()
  totals = dict.fromkeys(MEASURES + ['first_call'], 0)
  for function, args in PROGRAMS[name][0](size):
    jax.block_until_ready(args)
    lowered = function.lower(*args)
    pathlib.Path('/proc/self/clear_refs').write_text('5', encoding='ascii')  # resets the peak
    before, began, used = status('VmRSS'), time.perf_counter(), processor_seconds()
    compiled = lowered.compile()
    totals['elapsed'] += time.perf_counter() - began
    totals['seconds'] += processor_seconds() - used
    totals['mebibytes'] = max(totals['mebibytes'], status('VmHWM') - before)
    began = time.perf_counter()
    jax.block_until_ready(compiled(*args))
    totals['first_call'] += time.perf_counter() - began
    del lowered, compiled
  print(json.dumps(totals))


# ---- the parent process ----

def measured(name, size, platform, limit):
  """Returns the measures of one process, or {'error': text}."""
  env = {k: v for k, v in os.environ.items() if not k.startswith(('JAX_', 'XLA_', 'TESSERA_', 'OPENBLAS_'))}
  env |= {'JAX_PLATFORMS': platform, 'TESSERA_DEVICES': 'cpu:8', 'TESSERA_CACHE_DIR': 'off',
          'XLA_FLAGS': '--xla_force_host_platform_device_count=8', 'PYTHONPATH': str(ROOT / 'python' / 'src'),
          'TESSERA_PJRT': os.environ.get('TESSERA_PJRT', str(ROOT / 'build/release/plugin/libtessera_pjrt.so'))}
  try:
    done = subprocess.run([sys.executable, __file__, '--one', name, str(size)], env=env, timeout=limit, check=False,
                          capture_output=True, text=True)
  except subprocess.TimeoutExpired:
    return {'error': f'takes more than {limit:.0f} s'}
  if done.returncode:
    last = done.stderr.strip().splitlines()[-1:] or ['']
    return {'error': f'ended with {done.returncode}: {last[0][:200]}'}
  return json.loads(done.stdout)


def measure(args):
  with open(args.out or os.devnull, 'a', encoding='utf-8') as out:
    for name, (_, full) in PROGRAMS.items():
      if args.words and not any(word in name for word in args.words):
        continue
      for _, size, platform in itertools.product(range(args.rounds), (full // 2, full), PLATFORMS):
        line = {'name': name, 'size': size, 'platform': platform} | measured(name, size, platform, args.limit)
        out.write(json.dumps(line) + '\n')
        out.flush()
        print(' '.join(f'{k}={v:.3g}' if isinstance(v, float) else f'{k}={v}' for k, v in line.items()), flush=True)


def best_of(paths):
  """Returns the least value of each measure, or the error, by name, size and platform."""
  best = {}
  for path in paths:
    for text in path.read_text(encoding='utf-8').splitlines():
      line = json.loads(text)
      old = best.setdefault((line['name'], line['size'], line['platform']), {})
      if 'error' in line:
        old.setdefault('error', line['error'])
      for measure_name in MEASURES:
        if measure_name in line:
          old.pop('error', None)
          old[measure_name] = min(line[measure_name], old.get(measure_name, math.inf))
  return best


def report(args):
  best = best_of(args.report)
  print('| program | seconds: XLA, Tessera | ratio | twice the size: XLA, Tessera | MiB: XLA, Tessera | ratio |')
  print('|---|---:|---:|---:|---:|---:|')
  for name, (_, full) in PROGRAMS.items():
    whole, half = ([best.get((name, size, p), {'error': 'not measured'}) for p in PLATFORMS] for size in (full, full // 2))
    if all('error' in one and one['error'] == 'not measured' for one in whole):
      continue
    value = lambda m, key: m['error'] if 'error' in m else f'{m[key]:.3g}'
    pair = lambda key: ', '.join(value(m, key) for m in whole)
    ratio = lambda key: '' if any('error' in m for m in whole) else f"{whole[1][key] / max(whole[0][key], 1e-3):.2f}"
    growth = ', '.join('' if 'error' in a or 'error' in b else f"{b['seconds'] / max(a['seconds'], 1e-3):.1f}"
                       for a, b in zip(half, whole))
    print(f"| {full:,} {name} | {pair('seconds')} | {ratio('seconds')} | {growth} | {pair('mebibytes')} | {ratio('mebibytes')} |")


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('words', nargs='*', metavar='SUBSTRING', help='of the names of programs')
  parser.add_argument('--out', type=pathlib.Path, help='lines of JSON, which --report reads')
  parser.add_argument('--rounds', type=int, default=2, help='processes for each program, size and platform (2)')
  parser.add_argument('--limit', type=float, default=300, help='seconds that a process may take (300)')
  parser.add_argument('--report', type=pathlib.Path, nargs='+', metavar='FILE')
  parser.add_argument('--one', nargs=2, help=argparse.SUPPRESS)
  args = parser.parse_args()
  if args.one:
    return one(args.one[0], int(args.one[1]))
  return report(args) if args.report else measure(args)


if __name__ == '__main__':
  sys.exit(main())
