#!/usr/bin/env python3
"""Times the programs that users of JAX report as slow (complaint_programs.py) on Tessera and on XLA's CPU backend of several JAX.

  benchmarks/peers/complaints.py --tessera PYTHON --xla PYTHON... [--plugin libtessera_pjrt.so] [--rounds 5] [--out FILE] [NAME...]

With `--programs network_programs` they are networks with random weights.
PYTHON is that of a virtual environment with JAX. Each program and engine is a process of its own, which compiles once and then
waits; the engines run in turn, in as many rounds. A row is the medians, in milliseconds, and each one's peak memory; results
are compared before a time counts. The table is Markdown.
"""
import argparse
import importlib
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = {'float64': 1e-6, 'float32': 2e-3}


def peak_megabytes():
  """Of this process, without what its parent had before exec, which getrusage() counts."""
  status = pathlib.Path('/proc/self/status').read_text()
  return int(status.split('VmHWM:')[1].split()[0]) / 1024


def programs_of(options):
  """The programs that the module named by --programs has, by name."""
  sys.path.insert(0, str(HERE))
  return importlib.import_module(options.programs).PROGRAMS


def serve(options):
  """In the process of one engine: compiles, writes results to the path that it reads, then times a run for each line."""
  import jax
  import numpy as np

  jax.config.update('jax_enable_x64', True)
  numpy = options.numpy
  f, arguments, of_numpy = programs_of(options)[options.serve]()
  if numpy:
    f = of_numpy
  else:
    f = jax.jit(f)
    arguments = jax.device_put(arguments)
  begin = time.perf_counter()
  out = jax.block_until_ready(f(*arguments)) if not numpy else f(*arguments)
  first = time.perf_counter() - begin
  np.savez(sys.stdin.readline().strip(), *[np.asarray(x) for x in jax.tree.leaves(out)])
  del out
  print(json.dumps({'first': first, 'version': np.__version__ if numpy else jax.__version__}), flush=True)
  for line in sys.stdin:
    times, until = [], time.perf_counter() + float(line)
    while len(times) < 3 or time.perf_counter() < until:
      begin = time.perf_counter()
      f(*arguments) if numpy else jax.block_until_ready(f(*arguments))
      times.append(time.perf_counter() - begin)
    print(json.dumps({'seconds': statistics.median(times), 'peak': peak_megabytes()}), flush=True)


class Engine:
  """A process that runs one program."""

  def __init__(self, label, python, environment, programs, program, folder):
    self.label = label
    self.results = folder / f'{label.replace(" ", "_")}.npz'
    words = [python, __file__, '--serve', program, '--programs', programs] + (['--numpy'] if label == 'NumPy' else [])
    # A setting of OpenBLAS may choose kernels for an older processor.
    plain = {name: value for name, value in os.environ.items() if not name.startswith('OPENBLAS_')}
    self.process = subprocess.Popen(words, env=plain | environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    self.times = []
    self.peak = 0
    answer = self.ask(self.results)
    self.first, self.version = answer['first'], answer['version']

  def ask(self, line):
    self.process.stdin.write(f'{line}\n')
    self.process.stdin.flush()
    answer = self.process.stdout.readline()
    if not answer:
      raise RuntimeError(f'{self.label} ended with {self.process.wait()}')
    return json.loads(answer)

  def time(self, seconds):
    answer = self.ask(seconds)
    self.times.append(answer['seconds'])
    self.peak = answer['peak']

  def end(self):
    self.process.stdin.close()
    self.process.wait()


def difference(left, right):
  """The largest difference of two engines' results relative to the size of an array, and whether it is too large."""
  import numpy as np

  worst, wrong = 0.0, False
  with np.load(left) as a, np.load(right) as b:
    for name in a.files:
      if np.issubdtype(a[name].dtype, np.floating) and not np.all(np.isfinite(a[name])):
        raise RuntimeError(f'{left.name}: expected finite results, got some that are not')
    if a.files != b.files:
      return float('inf'), True
    for name in a.files:
      x, y = a[name], b[name]
      if x.shape != y.shape:
        return float('inf'), True
      if not np.issubdtype(x.dtype, np.floating):
        wrong = wrong or not np.array_equal(x, y)
        continue
      scale = max(float(np.max(np.abs(y), initial=0)), 1e-300)
      here = float(np.max(np.abs(x.astype(np.float64) - y.astype(np.float64)), initial=0)) / scale
      worst = max(worst, here)
      wrong = wrong or not here <= TOLERANCE.get(str(x.dtype), 2e-3)
  return worst, wrong


def measured(program, options, folder):
  plugin = {'JAX_PLATFORMS': 'tessera', 'TESSERA_DEVICES': 'cpu:1'}
  if options.plugin:
    plugin['TESSERA_PJRT'] = options.plugin
    plugin['PYTHONPATH'] = str(HERE.parent.parent / 'python' / 'src')
  engines = [Engine('Tessera', options.tessera, plugin, options.programs, program, folder)]
  for i, python in enumerate(options.xla):
    engines.append(Engine(f'XLA {i}', python, {'JAX_PLATFORMS': 'cpu'}, options.programs, program, folder))
  for _ in range(options.rounds):
    for engine in engines:
      engine.time(options.seconds)
  row = {'program': program, 'engines': []}
  for engine in engines:
    apart, wrong = difference(engine.results, engines[0].results)
    row['engines'].append({
        'name': 'Tessera' if engine is engines[0] else f'XLA of JAX {engine.version}',
        'ms': 1e3 * statistics.median(engine.times), 'first_ms': 1e3 * engine.first, 'peak_mb': engine.peak,
        'difference': apart, 'differs': wrong,
    })
    engine.end()
  return row


def with_numpy(program, options, folder, row):
  engine = Engine('NumPy', options.xla[0], {'JAX_PLATFORMS': 'cpu'}, options.programs, program, folder)
  for _ in range(options.rounds):
    engine.time(options.seconds)
  apart, wrong = difference(engine.results, folder / 'Tessera.npz')
  row['engines'].append({'name': 'NumPy', 'ms': 1e3 * statistics.median(engine.times), 'first_ms': 1e3 * engine.first,
                         'peak_mb': engine.peak, 'difference': apart, 'differs': wrong})
  engine.end()


def cell(engine):
  if engine['differs']:
    return f'differs by {engine["difference"]:.1e}'
  return f'{engine["ms"]:.3g} ms, {engine["peak_mb"]:.0f} MB'


def table(rows):
  names = list(dict.fromkeys(e['name'] for row in rows for e in row['engines']))
  print(f'| program | {" | ".join(names)} | Tessera / best other |')
  print('|---|' + '---|' * (len(names) + 1))
  for row in rows:
    by_name = {e['name']: e for e in row['engines']}
    others = [e['ms'] for e in row['engines'][1:] if not e['differs']]
    ratio = f'{row["engines"][0]["ms"] / min(others):.2f}' if others else ''
    print(f'| {row["program"]} | {" | ".join(cell(by_name[n]) if n in by_name else "" for n in names)} | {ratio} |')


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--serve', help=argparse.SUPPRESS)
  parser.add_argument('--numpy', action='store_true', help=argparse.SUPPRESS)
  parser.add_argument('--tessera', metavar='PYTHON')
  parser.add_argument('--xla', metavar='PYTHON', nargs='+')
  parser.add_argument('--plugin', help='the library of the plugin, where the wheel is not installed')
  parser.add_argument('--programs', default='complaint_programs', choices=['complaint_programs', 'network_programs'],
                      help='the module of this folder that has the programs')
  parser.add_argument('--rounds', type=int, default=5)
  parser.add_argument('--seconds', type=float, default=0.2, help='how long each engine runs in a round')
  parser.add_argument('--out', type=pathlib.Path, help='JSON lines of all figures')
  parser.add_argument('names', nargs='*')
  options = parser.parse_intermixed_args()
  if options.serve:
    return serve(options)
  if not options.tessera or not options.xla:
    parser.error('expected --tessera and --xla, got none; give the Pythons of environments with JAX')
  if importlib.util.find_spec('jax') is None:  # The programs are written in it.
    os.execv(options.tessera, [options.tessera, *sys.argv])
  programs = programs_of(options)
  wanted = options.names or list(programs)
  for name in wanted:
    if name not in programs:
      parser.error(f'expected one of {", ".join(programs)}, got {name}')
  rows = []
  for name in wanted:
    with tempfile.TemporaryDirectory() as folder:
      folder = pathlib.Path(folder)
      row = measured(name, options, folder)
      if programs[name]()[2]:
        with_numpy(name, options, folder, row)
    rows.append(row)
    print(f'{len(rows)} of {len(wanted)}: {name}', file=sys.stderr)
    if options.out:
      with open(options.out, 'a') as out:
        print(json.dumps(row), file=out)
  table(rows)


if __name__ == '__main__':
  main()
