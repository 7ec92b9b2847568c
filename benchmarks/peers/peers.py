#!/usr/bin/env python3
"""Times networks and ocean models on Tessera and on the programs that users would take instead of it.

  benchmarks/peers/peers.py --out FILE [--environments FOLDER] [--plugin libtessera_pjrt.so] [--tool tessera] [--rows REGEX]
                            [--engines REGEX] [--rounds 5] [--seconds 0.5] [--starts] [--beside COMMAND]

benchmarks/peers/setup makes the environments. Each row is a program (programs.py). The engines are those of engines.py and `tessera run`.
Each engine is a separate process, stopped while others run. The engines run in turn, in the given number of rounds. Their results are
compared with Tessera's before a time counts. For each row a line of JSON is appended to FILE, which report.py reads. If an engine is
not installed or refuses a program, the row contains the reason. --starts measures, instead of the steady time, the first call with
empty and with full caches, and the threads that are busy while an engine is idle. COMMAND, such as one that keeps the machine quiet, is
started for each round and each first call, which begin after its first line of output.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import programs  # noqa: E402

JAX = 'jax-0.10.2'  # the JAX that loads Tessera and exports programs

# By the engine's name in a row: its environment, its name in engines.py, and the kinds of programs that it runs.
ENGINES = {
    'Tessera': (JAX, 'tessera', ('inference', 'training', 'ocean')),
    'Tessera, constants': (JAX, 'tessera-constants', ('inference',)),
    'tessera run': (None, 'arguments', ('inference',)),
    'tessera run, constants': (None, 'constants', ('inference',)),
    'XLA 0.10.2': (JAX, 'xla', ('inference', 'training', 'ocean')),
    'XLA 0.10.2, constants': (JAX, 'xla-constants', ('inference',)),
    'XLA 0.12.0.1': ('jax-0.12.0.1', 'xla', ('inference', 'training', 'ocean')),
    'PyTorch, eager': ('torch', 'torch-eager', ('inference', 'training', 'ocean')),
    'PyTorch, compile': ('torch', 'torch-compile', ('inference', 'training', 'ocean')),
    'PyTorch, max-autotune': ('torch', 'torch-max-autotune', ('inference', 'ocean')),
    'ONNX Runtime': ('onnxruntime', 'onnxruntime', ('inference',)),
    'OpenVINO': ('openvino', 'openvino', ('inference',)),
    'IREE': ('iree', 'iree', ('inference',)),
    'IREE, constants': ('iree', 'iree-constants', ('inference',)),
    'NumPy': ('numba', 'numpy', ('ocean',)),
    'numba': ('numba', 'numba', ('ocean',)),
    # Those of models.py.
    'XLA': ('models', 'xla', ('model',)),
}

# By engine, the export that it reads: its name, the environment that writes it, and one of its files.
NEEDS = {
    'onnxruntime': ('onnx', 'torch', 'onnx.npz'),
    'openvino': ('onnx', 'torch', 'onnx.npz'),
    'iree': ('stablehlo', JAX, 'arguments.bytecode'),
    'iree-constants': ('stablehlo-constants', JAX, 'constants.bytecode'),
    'arguments': ('stablehlo', JAX, 'arguments.bytecode'),
    'constants': ('stablehlo-constants', JAX, 'constants.bytecode'),
}

TOLERANCE = {'float64': 1e-9, 'float32': 2e-3}  # relative to the largest element of an array
# For gradients. If a value at a relu or a maximum changes sides, they differ by much more than the last digits. On XLA, gradients of the
# U-Net in float32 differ by up to 4e-3 from those in float64.
TRAINING_TOLERANCE = {'float32': 3e-2}


class Refused(Exception):
  """An engine is not available or does not run the program; the text is the reason."""


def plain_environment():
  """The environment without settings of OpenBLAS, which may choose kernels for an older processor."""
  return {name: value for name, value in os.environ.items() if not name.startswith('OPENBLAS_')}


def python_of(environment, options):
  path = options.environments / environment / 'bin' / 'python'
  if not path.exists():
    raise Refused('not installed')
  return str(path)


def export_path(folder, key, end):
  return folder / f'{key.replace("/", "_")}.{end}'


def last_line(text):
  lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
  errors = [line for line in lines if re.match(r'[\w.]*(Error|Exception|Unsupported)\b(?! code)', line) or ' error: ' in line]
  return (errors or lines or ['no output'])[-1][:200]


def export(engine, key, options):
  what, environment, end = NEEDS[engine]
  if export_path(options.exports, key, end).exists():
    return
  words = [python_of(environment, options), str(HERE / 'engines.py'), what, key, '--exports', str(options.exports), '--export']
  done = subprocess.run(words, env={**os.environ, 'JAX_PLATFORMS': 'cpu'}, capture_output=True, text=True)
  if done.returncode:
    raise Refused(f'not exported: {last_line(done.stderr)}')


class Server:
  """The process of an engine."""

  def __init__(self, label, key, folder, caches, options):
    environment, engine, _ = ENGINES[label]
    self.label, self.times, self.peak, self.plugin = label, [], 0, None
    words = [python_of(environment, options), str(HERE / 'engines.py'), engine, key, '--exports', str(options.exports)]
    if engine in NEEDS:
      export(engine, key, options)
      words += ['--compile-anew'] if options.starts and not caches.exists() else []
    caches.mkdir(exist_ok=True)
    surroundings = {**plain_environment(), 'JAX_PLATFORMS': 'cpu', 'OMP_NUM_THREADS': str(os.cpu_count()), 'TESSERA_CACHE_DIR': str(caches),
                    'TORCHINDUCTOR_CACHE_DIR': str(caches)}
    if engine.startswith('tessera'):
      surroundings |= {'JAX_PLATFORMS': 'tessera', 'TESSERA_DEVICES': 'cpu:1'}
      self.plugin = options.plugin
      if options.plugin:
        surroundings |= {'TESSERA_PJRT': str(options.plugin), 'PYTHONPATH': str(HERE.parent.parent / 'python' / 'src')}
    self.errors = open(folder / f'{label}.err', 'w+')
    self.process = subprocess.Popen(words, env=surroundings, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
    self.results = folder / f'{label}.npz'
    try:
      answer = self.ask(self.results)
    except Refused:
      self.end()
      raise
    self.first, self.version = answer['first'], answer['version']
    self.pause()

  def pause(self):
    self.process.send_signal(signal.SIGSTOP)

  def ask(self, line):
    try:
      self.process.stdin.write(f'{line}\n')
      self.process.stdin.flush()
      answer = self.process.stdout.readline()
      while answer and not answer.startswith('{'):  # skips what a library prints
        answer = self.process.stdout.readline()
    except BrokenPipeError:
      answer = ''
    if not answer:
      code = self.process.wait()
      self.errors.seek(0)
      raise Refused(f'ended with {code}: {last_line(self.errors.read())}')
    return json.loads(answer)

  def time(self, seconds):
    self.process.send_signal(signal.SIGCONT)
    answer = self.ask(seconds)
    self.pause()
    self.times.append(answer['seconds'])
    self.peak = answer['peak']

  def idle(self):
    """Returns the number of threads that are busy while nothing runs, and the size of what is installed for the engine."""
    self.process.send_signal(signal.SIGCONT)
    answer = self.ask('idle')
    self.pause()
    if self.plugin:
      answer['installed_mb'] += self.plugin.stat().st_size / 2**20
    return answer

  def end(self):
    self.process.send_signal(signal.SIGCONT)
    self.process.stdin.close()
    self.process.wait()
    self.errors.close()


class Tool:
  """`tessera run`, a new process in each round."""

  def __init__(self, label, key, folder, caches, options):
    if not options.tool:
      raise Refused('not installed')
    self.label, self.times, self.peak = label, [], 0
    engine = ENGINES[label][1]
    export(engine, key, options)
    caches.mkdir(exist_ok=True)
    self.surroundings = {**plain_environment(), 'TESSERA_CACHE_DIR': str(caches)}
    self.results = folder / f'{label}.npz'
    self.words = [str(options.tool), 'run', str(export_path(options.exports, key, f'{engine}.mlir')), '--devices', 'cpu:1', '--inputs',
                  str(export_path(options.exports, key, f'{engine}.npz')), '--outputs', str(self.results), '--repeat']
    answer = self.run(3)
    self.first, self.steady, self.version = answer[0], answer[1], 'Tessera'

  def run(self, count):
    with subprocess.Popen([*self.words, str(count)], env=self.surroundings, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
      text = process.stdout.read()
      _, status, usage = os.wait4(process.pid, 0)
      process.returncode = os.waitstatus_to_exitcode(status)
    found = re.search(r'first ([\d.,]+) ms.*median ([\d.,]+) ms', text)
    if process.returncode or not found:
      raise Refused(last_line(text))
    self.peak = usage.ru_maxrss / 1024
    return [float(x.replace(',', '')) / 1e3 for x in found.groups()]

  def time(self, seconds):
    # Not fewer than ten: in the first runs of a process weights are packed, which are kept from then on.
    steady = self.run(1 + max(10, min(1000, round(seconds / self.steady))))[1]
    self.times.append(steady)
    self.steady = min(self.steady, steady)

  def idle(self):
    """Returns the size of what is installed: the program and the library of Tessera that it loads."""
    loaded = subprocess.run(['ldd', self.words[0]], capture_output=True, text=True, check=True, env=self.surroundings).stdout
    files = [self.words[0], *re.findall(r'=> (\S*libtessera\S*)', loaded)]
    return {'installed_mb': sum(os.stat(file).st_size for file in files) / 2**20}

  def end(self):
    pass


def difference(left, right, tolerance=None):
  """Returns the largest difference of two engines' results relative to the largest element of an array, and whether it is too large."""
  worst, wrong, tolerance = 0.0, False, tolerance or TOLERANCE
  with np.load(left) as a, np.load(right) as b:
    if sorted(a.files) != sorted(b.files):  # They lie in the order of their names or of their numbers.
      return float('inf'), True
    for name in a.files:
      x, y = a[name], b[name]
      if x.shape != y.shape or not np.all(np.isfinite(x)) or not np.all(np.isfinite(y)):
        return float('inf'), True
      here = float(np.max(np.abs(x.astype(np.float64) - y.astype(np.float64)), initial=0) / max(float(np.max(np.abs(y), initial=0)), 1e-300))
      worst, wrong = max(worst, here), wrong or not here <= tolerance[str(y.dtype)]
  return worst, wrong


def started(label, key, folder, caches, options):
  maker = Tool if ENGINES[label][0] is None else Server
  return maker(label, key, folder, caches, options)


def labels_for(key, options):
  return [label for label, (_, _, kinds) in ENGINES.items() if programs.kind_of(key) in kinds and re.search(options.engines, label)]


class Beside:
  """The command that runs while a row is timed."""

  def __init__(self, command):
    self.process = None
    if command:
      self.process = subprocess.Popen(command, shell=True, stdout=subprocess.PIPE, text=True, start_new_session=True)
      if not self.process.stdout.readline():
        raise SystemExit(f'expected a line of {command}, got its end')

  def end(self):
    if self.process:
      if self.process.poll() is None:
        os.killpg(self.process.pid, signal.SIGTERM)
      self.process.wait()


def timed_in_rounds(engines, options):
  for _ in range(options.rounds):
    beside = Beside(options.beside)
    try:
      for engine in engines:
        engine.time(options.seconds)
    finally:
      beside.end()


def steady_row(key, options, folder):
  engines, entries = [], {}
  for label in labels_for(key, options):
    try:
      engines.append(started(label, key, folder, options.caches / 'steady', options))
      print(f'  {label}: first {engines[-1].first:.3g} s', file=sys.stderr)
    except Refused as reason:
      entries[label] = {'refused': str(reason)}
      print(f'  {label}: {reason}', file=sys.stderr)
  for engine in engines.copy():
    apart, wrong = difference(engine.results, engines[0].results, TRAINING_TOLERANCE if programs.kind_of(key) == 'training' else None)
    entries[engine.label] = {'version': engine.version, 'difference': apart, 'differs': wrong}
    if wrong:
      print(f'  {engine.label} differs from {engines[0].label} by {apart:.2e}', file=sys.stderr)
      engines.remove(engine)
      engine.end()
  timed_in_rounds(engines, options)
  for engine in engines:
    entries[engine.label] |= {'ms': 1e3 * statistics.median(engine.times), 'least_ms': 1e3 * min(engine.times), 'peak_mb': engine.peak,
                              'rounds': len(engine.times)}
    engine.end()
  return entries


def start_row(key, options, folder):
  """Measures first calls with empty and then with full caches, and the threads that are busy while nothing runs."""
  entries = {}
  for label in labels_for(key, options):
    caches = folder / 'caches'
    shutil.rmtree(caches, ignore_errors=True)
    try:
      entry = {}
      for state in ('empty', 'full'):
        beside = Beside(options.beside)
        try:
          engine = started(label, key, folder, caches, options)
        finally:
          beside.end()
        entry |= {'version': engine.version, f'{state}_s': engine.first}
        if state == 'full':
          entry |= engine.idle()
        engine.end()
      entries[label] = entry
      print(f'  {label}: {entry}', file=sys.stderr)
    except Refused as reason:
      entries[label] = {'refused': str(reason)}
      print(f'  {label}: {reason}', file=sys.stderr)
  return entries


def machine():
  model = re.search(r'model name\s*:\s*(.*)', pathlib.Path('/proc/cpuinfo').read_text())
  return f'{model.group(1) if model else "unknown"}, {os.cpu_count()} threads'


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  home = pathlib.Path.home() / '.cache' / 'tessera' / 'peers'
  parser.add_argument('--environments', type=pathlib.Path, default=home)
  parser.add_argument('--exports', type=pathlib.Path, default=home / 'exports', help='where programs are exported to')
  parser.add_argument('--caches', type=pathlib.Path, default=home / 'caches', help='compiled programs of Tessera and Inductor')
  parser.add_argument('--plugin', type=pathlib.Path, help='the library of the plugin, where the wheel is not installed')
  parser.add_argument('--tool', type=pathlib.Path, help='the program tessera')
  parser.add_argument('--rows', default='', help='a regular expression for the keys of programs')
  parser.add_argument('--engines', default='', help='a regular expression for engines')
  parser.add_argument('--rounds', type=int, default=5)
  parser.add_argument('--seconds', type=float, default=0.5, help='how long each engine runs in a round')
  parser.add_argument('--starts', action='store_true')
  parser.add_argument('--beside')
  parser.add_argument('--out', type=pathlib.Path, required=True)
  options = parser.parse_args()
  pathlib.Path('/proc/self/comm').write_text('peers')  # as the engines do, so that COMMAND can recognize them
  wanted = [key for key in programs.keys() if re.search(options.rows, key)]
  if not wanted:
    parser.error(f'expected --rows to match one of {", ".join(programs.keys())}, got {options.rows}')
  for folder in (options.exports, options.caches):
    folder.mkdir(parents=True, exist_ok=True)
  for key in wanted:
    print(key, file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
      row = (start_row if options.starts else steady_row)(key, options, pathlib.Path(folder))
    line = {'key': key, 'what': 'starts' if options.starts else 'steady', 'date': time.strftime('%Y-%m-%d'), 'machine': machine(), 'engines': row}
    with open(options.out, 'a') as out:
      print(json.dumps(line), file=out)
    for label, entry in row.items():
      print(f'  {label}: {entry.get("refused") or entry.get("ms") or entry}', file=sys.stderr)


if __name__ == '__main__':
  main()
