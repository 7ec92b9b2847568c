#!/usr/bin/env python3
"""Compares XLA's CPU backend and the plugin on functions of jax.numpy, lax, scipy and nn, at several sizes and dtypes.

  benchmarks/sweep.py [--sizes N,N] [--dtypes D,D] [--out FILE] [SUBSTRING...]    measures; needs a Python that has jax
  benchmarks/sweep.py --report FILE...                                            prints the tables of the measurements
  benchmarks/sweep.py --report FILE... --write                                    writes them to docs/performance.md
  benchmarks/sweep.py --unlisted                                                  prints public functions without an entry

Each platform has a separate process. Both compile an entry (benchmarks/sweep_functions.py) and their results are compared; then
they take turns, and the best time of each is kept. Entries that FILE already has are not measured again, except with --again; of
several measurements of an entry, each platform's best counts. An entry that takes longer than --limit seconds on a platform is
stopped and reported. The plugin is that of build/release, unless TESSERA_PJRT names one.
"""
import argparse
import json
import os
import pathlib
import re
import selectors
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLATFORMS = ['cpu', 'tessera']
DTYPES = ['float32', 'float64', 'bfloat16', 'int32', 'bool']
OTHER_DTYPES = ['float16', 'complex64', 'complex128', 'int8', 'uint8', 'int16', 'uint32', 'int64']  # only if named
X64 = {'float64', 'complex128', 'int64'}
# The largest difference of results that is allowed, relative to the largest magnitude; for all others 2e-4.
TOLERANCE = {'float64': 1e-9, 'complex128': 1e-9, 'bfloat16': 0.04, 'float16': 0.01}


# ---- one platform's process ----

def saved(results, path):
  """Writes the results as arrays by number and dtype, bfloat16 as float32, for another process to read."""
  import jax
  import numpy as np
  arrays = {}
  for k, leaf in enumerate(jax.tree.leaves(results)):
    value = np.asarray(leaf)
    name = value.dtype.name
    arrays[f'{k}_{name}'] = value.astype(np.float32) if name == 'bfloat16' else value
  # A process that is stopped while it writes leaves no file of this name.
  np.savez(f'{path}.part.npz', **arrays)
  os.replace(f'{path}.part.npz', path)


def serve():
  """Answers lines of JSON until the end of input: {"compile": [name, n, dtype], "to": path}
  and {"seconds": budget, "processor": whether its time counts instead of the clock}."""
  import jax
  sys.path.insert(0, str(ROOT / 'benchmarks'))
  import sweep_functions
  entries = {entry.name: entry for entry in sweep_functions.all_entries()}
  call, args = None, ()
  for line in sys.stdin:
    asked = json.loads(line)
    try:
      if 'compile' in asked:
        name, n, dtype = asked['compile']
        call, args = sweep_functions.program_of(entries[name], n, dtype)
        saved(jax.block_until_ready(call(*args)), asked['to'])
        answer = {}
      else:
        time_of = best_processor_time if asked['processor'] else best_time
        answer = {'best': time_of(lambda: jax.block_until_ready(call(*args)), asked['seconds'])}
    except Exception as error:  # pylint: disable=broad-except
      answer = {'error': f'{type(error).__name__}: {error}'.splitlines()[0][:200]}
    print(json.dumps(answer), flush=True)


def best_time(run, budget):
  best, began, calls = float('inf'), time.perf_counter(), 0
  while calls < 3 or time.perf_counter() - began < budget:
    start = time.perf_counter()
    run()
    best = min(best, time.perf_counter() - start)
    calls += 1
    if time.perf_counter() - began > 4 * budget:
      break
  return best


def best_processor_time(run, budget):
  """Returns the seconds that all threads together compute for a call, in the best of several runs. Other programs do not count."""
  best, began = float('inf'), time.perf_counter()
  while best == float('inf') or time.perf_counter() - began < budget:
    start, until, calls = time.process_time(), time.perf_counter() + budget / 8, 0
    while calls < 2 or time.perf_counter() < until:
      run()
      calls += 1
    best = min(best, (time.process_time() - start) / calls)
  return best


# ---- the parent process ----

class Worker:
  """A platform's process. It is started again after it was stopped."""

  def __init__(self, platform, x64):
    self.platform, self.x64, self.process = platform, x64, None

  def start(self):
    env = {k: v for k, v in os.environ.items() if not k.startswith(('JAX_', 'XLA_', 'TESSERA_', 'OPENBLAS_'))}
    env |= {'JAX_PLATFORMS': self.platform, 'JAX_ENABLE_X64': str(int(self.x64)), 'TESSERA_DEVICES': 'cpu:1',
            'PYTHONPATH': str(ROOT / 'python' / 'src'),
            'TESSERA_PJRT': os.environ.get('TESSERA_PJRT', str(ROOT / 'build/release/plugin/libtessera_pjrt.so'))}
    self.process = subprocess.Popen([sys.executable, __file__, '--serve'], env=env, stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

  def ask(self, question, limit):
    """Returns the answer, or an error if the process ends or does not answer in time."""
    if self.process is None:
      self.start()
      limit += 60  # JAX is imported first
    self.process.stdin.write((json.dumps(question) + '\n').encode())
    self.process.stdin.flush()
    with selectors.DefaultSelector() as selector:
      selector.register(self.process.stdout, selectors.EVENT_READ)
      ready = selector.select(limit)
    line = self.process.stdout.readline() if ready else b''
    if line:
      return json.loads(line)
    ended = f'ended with {self.process.wait()}' if ready else f'takes more than {limit:.0f} s'
    self.end()
    return {'error': ended}

  def end(self):
    if self.process is not None:
      self.process.kill()
      self.process.wait()
      self.process = None


def difference(paths, dtype):
  """Returns a description of how the results of two files differ, or None if they agree within the dtype's tolerance."""
  import numpy as np
  with np.load(paths[0]) as expected, np.load(paths[1]) as got:
    if sorted(expected) != sorted(got):
      return f'{sorted(expected)} against {sorted(got)}'
    for name in expected.files:
      x, y = expected[name], got[name]
      if x.shape != y.shape or x.dtype != y.dtype:
        return f'{x.dtype}{x.shape} against {y.dtype}{y.shape}'
      if x.dtype.kind in 'biu':
        wrong = np.mean(x != y) if x.size else 0
        # Floats that are rounded differently may be truncated to different integers.
        if wrong > (0 if dtype == 'bool' or 'int' in dtype else 1e-3):
          return f'{100 * wrong:.2g} % of the integers differ'
      elif x.size:
        finite = np.isfinite(x)
        if (finite != np.isfinite(y)).any():
          return 'infinities or NaN in other places'
        scale = np.max(np.abs(x[finite]), initial=0)
        apart = np.max(np.abs(x[finite] - y[finite]), initial=0)
        rounded = TOLERANCE['bfloat16'] if name.endswith('bfloat16') else 0
        if apart > max(TOLERANCE.get(dtype, 2e-4), rounded) * max(scale, 1e-30):
          return f'differs by {apart / max(scale, 1e-30):.2g} of the largest'
  return None


def measured(workers, entry, args):
  """Returns one line of the results: {name, n, dtype, cpu: seconds or error, tessera: seconds or error, wrong: None or a description}."""
  name, n, dtype = entry
  line = {'name': name, 'n': n, 'dtype': dtype, 'wrong': None}
  with tempfile.TemporaryDirectory() as folder:
    paths = [f'{folder}/{platform}.npz' for platform in PLATFORMS]
    for worker, path in zip(workers, paths):
      answer = worker.ask({'compile': entry, 'to': path}, args.limit)
      if 'error' in answer:
        line[worker.platform] = answer['error']
    if all(os.path.exists(path) for path in paths):
      line['wrong'] = difference(paths, dtype)
  times = {platform: [] for platform in PLATFORMS}
  for _ in range(args.turns):
    for worker in workers:
      if worker.platform not in line:
        answer = worker.ask({'seconds': args.seconds, 'processor': args.processor}, args.limit)
        if 'error' in answer:
          line[worker.platform] = answer['error']
        else:
          times[worker.platform].append(answer['best'])
  return {p: min(t) for p, t in times.items() if t} | line


def selected(args):
  sys.path.insert(0, str(ROOT / 'benchmarks'))
  os.environ['JAX_PLATFORMS'] = 'cpu'
  import sweep_functions
  for dtype in args.dtypes:
    for n in args.sizes:
      for entry in sweep_functions.all_entries():
        if sweep_functions.fits(entry, dtype) and (not args.words or any(re.search(w, entry.name) for w in args.words)):
          yield entry.name, n, dtype


def measure(args):
  done = set()
  if args.out and args.out.exists() and not args.again:
    done = {(line['name'], line['n'], line['dtype']) for line in lines_of([args.out])}
  todo = [entry for entry in selected(args) if entry not in done]
  workers, x64 = [], None
  with open(args.out or os.devnull, 'a', encoding='utf-8') as out:
    for entry in todo:
      if (entry[2] in X64) != x64:
        for worker in workers:
          worker.end()
        x64 = entry[2] in X64
        workers = [Worker(platform, x64) for platform in PLATFORMS]
      line = measured(workers, entry, args)
      out.write(json.dumps(line) + '\n')
      out.flush()
      print(f"{line['name']} {line['n']} {line['dtype']}: {cell(line)}" + (f" WRONG: {line['wrong']}" if line['wrong'] else ''),
            flush=True)
  for worker in workers:
    worker.end()


# ---- tables ----

def lines_of(paths):
  """Returns the lines of all files, one for each entry: each platform's best time, and the other values of the latest line."""
  found = {}
  for path in paths:
    for text in path.read_text(encoding='utf-8').splitlines():
      line = json.loads(text)
      key = line['name'], line['n'], line['dtype']
      old = found.get(key, {})
      for platform in PLATFORMS:
        if isinstance(line[platform], float) and isinstance(old.get(platform), float):
          line[platform] = min(line[platform], old[platform])
      found[key] = line
  return list(found.values())


def ratio_of(line):
  cpu, tessera = (line[p] for p in PLATFORMS)
  return tessera / cpu if isinstance(cpu, float) and isinstance(tessera, float) else None


def cell(line):
  texts = [f'{1e3 * line[p]:.3g}' if isinstance(line[p], float) else line[p] for p in PLATFORMS]
  ratio = ratio_of(line)
  return ' / '.join(texts) + (f' ({ratio:.2f})' if ratio else '')


def summary(lines, above):
  """Returns the lines of a table: for each size and dtype the number of programs, the median ratio, and how many are above."""
  sizes = sorted({line['n'] for line in lines})
  dtypes = [d for d in DTYPES + OTHER_DTYPES if any(line['dtype'] == d for line in lines)]
  rows = ['| elements | ' + ' | '.join(dtypes) + ' |', '|---:|' + '---|' * len(dtypes)]
  for n in sizes:
    cells = []
    for dtype in dtypes:
      ratios = [r for r in map(ratio_of, (l for l in lines if (l['n'], l['dtype']) == (n, dtype))) if r]
      slower = sum(r > above for r in ratios)
      cells.append(f'{statistics.median(ratios):.2f}, {slower} of {len(ratios)}' if ratios else '')
    rows.append(f'| {n:,} | ' + ' | '.join(cells) + ' |')
  return rows


def slower_programs(lines, above):
  """Returns the lines of a table of the programs that are above, those with the largest ratio first."""
  slower = {}
  for line in lines:
    if (ratio_of(line) or 0) > above:
      slower.setdefault(line['name'], []).append(line)
  rows = ['| program | milliseconds of XLA / of Tessera (ratio) |', '|---|---|']
  for name, found in sorted(slower.items(), key=lambda item: -max(map(ratio_of, item[1]))):
    cells = [f"{l['dtype']}, {l['n']:,}: {cell(l)}" for l in sorted(found, key=lambda l: -ratio_of(l))]
    rows.append(f"| {name} | {'; '.join(cells)} |")
  return rows


def report(args):
  lines = lines_of(args.report)
  tables = '\n'.join(summary(lines, args.above) + [''] + slower_programs(lines, args.above))
  if args.write:
    page = ROOT / 'docs/performance.md'
    text = page.read_text(encoding='utf-8')
    begin, end = '<!-- functions -->\n', '<!-- end of functions -->'
    before, rest = text.split(begin)
    part = page.with_suffix('.part')
    part.write_text(before + begin + tables + '\n' + end + rest.split(end)[1], encoding='utf-8')
    os.replace(part, page)
  else:
    print(tables)
  failed = [l for l in lines if isinstance(l['tessera'], str) or (isinstance(l['cpu'], str) and l['cpu'] != l['tessera'])]
  for title, chosen, text in (('Wrong', [l for l in lines if l['wrong']], lambda l: l['wrong']), ('Not measured', failed, cell)):
    if chosen:
      print(f'\n{title}:\n')
    for line in chosen:
      print(f"- {line['name']}, {line['n']:,} {line['dtype']}: {text(line)}")


def unlisted():
  """Prints the public functions of the modules that no entry names."""
  os.environ['JAX_PLATFORMS'] = 'cpu'
  sys.path.insert(0, str(ROOT / 'benchmarks'))
  import importlib
  import inspect
  text = (ROOT / 'benchmarks/sweep_functions.py').read_text(encoding='utf-8')
  for module in ('numpy', 'numpy.linalg', 'numpy.fft', 'lax', 'nn', 'scipy.special', 'scipy.linalg', 'scipy.signal',
                 'scipy.ndimage', 'scipy.fft', 'random'):
    found = importlib.import_module(f'jax.{module}')
    names = [n for n in dir(found) if not n.startswith('_') and inspect.isroutine(getattr(found, n))]
    print(f'jax.{module}: ' + ' '.join(n for n in names if not re.search(rf'\b{n}\b', text)))


def listed(kind):
  return lambda text: [kind(item) for item in text.split(',')]


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('words', nargs='*', metavar='SUBSTRING', help='regular expressions of names')
  parser.add_argument('--sizes', type=listed(int), default=[1000, 65536, 1000000], help='1000,65536,1000000; also 16000000')
  parser.add_argument('--dtypes', type=listed(str), default=DTYPES, help=f"{','.join(DTYPES)}; also {','.join(OTHER_DTYPES)}")
  parser.add_argument('--out', type=pathlib.Path, help='lines of JSON, which --report reads')
  parser.add_argument('--again', action='store_true', help='measure also what FILE has')
  parser.add_argument('--turns', type=int, default=3, help='of each platform (3)')
  parser.add_argument('--seconds', type=float, default=0.1, help='of a turn (0.1)')
  parser.add_argument('--processor', action='store_true', help="the processor's time of all threads instead of the clock")
  parser.add_argument('--limit', type=float, default=20, help='seconds that an entry may take on a platform (20)')
  parser.add_argument('--report', type=pathlib.Path, nargs='+', metavar='FILE')
  parser.add_argument('--write', action='store_true', help='with --report')
  parser.add_argument('--above', type=float, default=1.1, help='ratios that the tables show (1.1)')
  parser.add_argument('--unlisted', action='store_true')
  parser.add_argument('--serve', action='store_true', help=argparse.SUPPRESS)
  args = parser.parse_args()
  if args.serve:
    return serve()
  if args.report:
    return report(args)
  if args.unlisted:
    return unlisted()
  unknown = set(args.dtypes) - {*DTYPES, *OTHER_DTYPES}
  if unknown:
    parser.error(f"expected dtypes of {', '.join(DTYPES + OTHER_DTYPES)}, got {', '.join(sorted(unknown))}")
  return measure(args)


if __name__ == '__main__':
  sys.exit(main())
