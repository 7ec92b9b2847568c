#!/usr/bin/env python3
"""How long programs take to start: one of C++ that jits a function, and JAX on the plugin and on XLA's CPU backend, in turns.

  benchmarks/start.py [--rounds N]      the table; with a Python that has jax

Each measurement is a process of its own, and the median over the rounds counts. "seconds" are those of the clock, "CPU" the time that
the process and its threads computed, which other programs on the machine disturb less. "No kernels" means that the folder for
kernels is empty, as at the first start of all. The plugin is that of build/release, unless TESSERA_PJRT names one.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = '''
import json, time
def now(): return time.perf_counter(), time.process_time()
times = [now()]
import jax, jax.numpy as jnp
times.append(now())
jax.devices()
times.append(now())
assert float(jax.jit(lambda x: jnp.sin(x) * x + 1)(jnp.zeros(1000))[0]) == 1
times.append(now())
print(json.dumps([[b[i] - a[i] for i in (0, 1)] for a, b in zip(times, times[1:])]))
'''
STEPS = ['import jax', 'jax.devices()', 'first jitted call']


def ran(command, environment):
  """What the program printed, its seconds and its CPU seconds."""
  before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
  out = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
  seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
  if out.returncode:
    sys.exit(f'start: expected {command[0]} to succeed, got exit code {out.returncode}: {out.stderr[-500:]}')
  return out.stdout, (seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--rounds', type=int, default=5)
  args = parser.parse_args()
  program = ROOT / 'build' / 'release' / 'benchmarks' / 'tessera-start'
  if not program.exists():
    sys.exit(f'start: expected {program}, got none; build the target tessera-start')
  clean = {k: v for k, v in os.environ.items() if not k.startswith(('JAX_', 'XLA_')) and k != 'TESSERA_DEVICES'}
  clean.setdefault('TESSERA_PJRT', str(ROOT / 'build' / 'release' / 'plugin' / 'libtessera_pjrt.so'))
  found = {}  # rows by what was started
  for _ in range(args.rounds):
    for kernels in ('', ', no kernels'):
      with tempfile.TemporaryDirectory() as folder:
        environment = clean | ({'TESSERA_CACHE_DIR': f'{folder}/kernels'} if kernels else {})
        _, times = ran([str(program)], environment)
        found.setdefault('C++' + kernels, []).append([times])
        for platform in ('cpu', 'tessera') if not kernels else ('tessera',):
          on = environment | {'JAX_PLATFORMS': platform}
          if platform == 'tessera':
            on['PYTHONPATH'] = str(ROOT / 'python' / 'src')
          printed, whole = ran([sys.executable, '-c', PROGRAM], on)
          found.setdefault(f'JAX, {platform}{kernels}', []).append([*map(tuple, json.loads(printed)), whole])
  print(f'Medians of {args.rounds} rounds: seconds (CPU), in ms.\n\n| | {" | ".join(STEPS)} | whole process |\n|---|---:|---:|---:|---:|')
  for name, rounds in found.items():
    cells = [f'{1e3 * statistics.median(r[i][0] for r in rounds):.0f} ({1e3 * statistics.median(r[i][1] for r in rounds):.0f})'
             for i in range(len(rounds[0]))]
    print('|', ' | '.join([name, *[''] * (len(STEPS) + 1 - len(cells)), *cells]), '|')


if __name__ == '__main__':
  main()
