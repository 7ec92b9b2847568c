#!/usr/bin/env python3
"""Compares programs in several processes with one process, with plain MPI and with JAX with gloo, in one run, in turns.

  benchmarks/cluster.py [--jax VENV/bin/python] [--rounds N] [--seconds S] [SUBSTRING...]

For each side it takes the median over rounds of a workload's median. `least` compares the shortest runs, which are more reliable if
other programs use the machine. Exits with 1 if a ratio of medians misses its target. Each process has one thread (two processes of
one thread are compared with one process of two threads). XLA has no setting for this: each of its processes gets one core (taskset) if
the machine has enough cores. Rows of the plugin are JAX's programs on Tessera's plugin (`ucx`: over UCX; `plugin-mpi`: under mpirun).
"""
import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRAINING = ['train/mlp', 'train/transformer_B32']
MPI = {'psum_4MiB': 'allreduce_4MiB', 'all_gather_4MiB': 'allgather_4MiB', 'all_to_all_4MiB': 'alltoall_4MiB',
       'ppermute_4MiB': 'sendrecv_4MiB', 'psum_4B': 'allreduce_4B'}


def comparisons():
  """Yields the row name, (side, workload) of the numerator and of the denominator, and the target: ('at most' or 'at least', ratio)."""
  for name in TRAINING:
    yield f'{name}: 2 processes / 1 of 2 threads', ('2x1', name), ('1x2', name), ('at most', 1.15)
  for name, peer in MPI.items():
    asked = ('at most', 1.1) if name == 'psum_4MiB' else None
    yield f'{name}: 2 processes / MPI', ('2x1', f'collective/{name}'), ('mpi', f'mpi/{peer}'), asked
  for name in MPI:
    asked = ('at least', 3) if name != 'psum_4B' else None
    yield f'{name}: JAX / Tessera', ('jax', f'collective/{name}'), ('2x1', f'collective/{name}'), asked
  for name in MPI:
    asked = ('at most', 1.2) if name == 'psum_4MiB' else None
    yield f'{name}: plugin over UCX / over MPI', ('ucx', f'collective/{name}'), ('plugin-mpi', f'collective/{name}'), asked
  for name in MPI:
    asked = ('at least', 3) if name == 'psum_4MiB' else None
    yield f'{name}: JAX / plugin over UCX', ('jax', f'collective/{name}'), ('ucx', f'collective/{name}'), asked
  for name in TRAINING:
    asked = ('at least', 2) if name == 'train/mlp' else None
    yield f'{name}: JAX / Tessera', ('jax', name), ('2x1', name), asked
  for name in MPI:
    name = f'collective/{name}'
    yield f'{name}: 2 processes of 4 devices / 1 of 8', ('2x4', name), ('1x8', name), None
  for name in [*(f'collective/{name}' for name in MPI), *TRAINING]:
    yield f'{name}: 4 processes / 2 processes', ('4x1', name), ('2x1', name), None


def lines_of(processes):
  out = ''
  for number, process in enumerate(processes):
    text, error = process.communicate(timeout=900)
    if process.returncode:
      raise SystemExit(f'cluster: {" ".join(process.args)} ended with {process.returncode}:\n{error}')
    out += text if number == 0 else ''
  return {row['name']: (row['med_us'], row['min_us']) for row in map(json.loads, filter(lambda l: l.startswith('{'), out.splitlines()))}


def start(command, **environment):
  return subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=os.environ | environment)


def mpirun(count, *command, **environment):
  bound = 'core' if count <= len(os.sched_getaffinity(0)) else 'none'  # like mpirun's default for two processes
  environment |= {'TESSERA_NUM_THREADS': '1'}
  return start(['mpirun', '-n', count, '--oversubscribe', '--bind-to', bound, *command],
               OMPI_ALLOW_RUN_AS_ROOT='1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM='1', **environment)


def run_jax(side, args, words):
  with socket.socket() as free:
    free.bind(('127.0.0.1', 0))
    address = f'127.0.0.1:{free.getsockname()[1]}'
  command = lambda index: [args.jax, ROOT / 'benchmarks/jax_cluster.py', address, 2, index, 1, args.seconds, *words]
  plugin = {'JAX_PLATFORMS': 'tessera', 'TESSERA_NUM_THREADS': '1', 'TESSERA_PJRT': str(args.build / 'plugin/libtessera_pjrt.so'),
            'PYTHONPATH': str(ROOT / 'python/src')}
  if side == 'plugin-mpi':
    return lines_of([mpirun(2, *command('rank'), **plugin)])
  cores = sorted(os.sched_getaffinity(0))
  pinned = lambda p: ['taskset', '-c', cores[p]] if len(cores) >= 2 else []
  return lines_of([start([*pinned(p), *command(p)], **(plugin if side == 'ucx' else {})) for p in range(2)])


def run_side(side, args, words):
  bench = [args.build / 'benchmarks/tessera-cluster-bench', '--budget', args.seconds]
  if side == 'mpi':
    return lines_of([mpirun(2, args.build / 'benchmarks/mpi-bench', args.seconds)])
  if side in ('jax', 'ucx', 'plugin-mpi'):
    return run_jax(side, args, words)
  processes, devices = map(int, side.split('x'))
  if processes == 1:
    return lines_of([start([*bench, '--alone', '--devices', devices, *words], TESSERA_NUM_THREADS='2')])
  return lines_of([mpirun(processes, *bench, '--devices', devices, *words)])


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--jax', metavar='PYTHON', help='a Python that has jax; without one, JAX is left out')
  parser.add_argument('--build', type=pathlib.Path, default=ROOT / 'build/release', metavar='FOLDER')
  parser.add_argument('--rounds', type=int, default=3)
  parser.add_argument('--seconds', type=float, default=1, help='of a workload in a round')
  parser.add_argument('--no-verdict', action='store_true', help='end with 0 whatever the ratios are')
  parser.add_argument('words', nargs='*', metavar='SUBSTRING', help='of rows')
  args = parser.parse_args()
  rows = [row for row in comparisons() if (not args.words or any(word in row[0] for word in args.words)) and
          (args.jax or not any(side[0] == 'jax' for side in row[1:3]))]
  wanted = {}
  for row in rows:
    for side, name in row[1:3]:
      wanted.setdefault(side, []).append(name)
  found = {}
  for number in range(args.rounds):
    for side, names in wanted.items():
      print(f'round {number + 1} of {args.rounds}: {side}', file=sys.stderr, flush=True)
      for name, times in run_side(side, args, names).items():
        found.setdefault((side, name), []).append(times)
  print('| workload | us | us | ratio | least | asked |\n|---|---:|---:|---:|---:|---|')
  missed = []
  for name, *sides, asked in rows:
    a, b = (statistics.median(median for median, _ in found[side]) for side in sides)
    least = [min(shortest for _, shortest in found[side]) for side in sides]
    if asked and (a / b > asked[1] if asked[0] == 'at most' else a / b < asked[1]):
      missed.append(name)
    print(f'| {name} | {a:.1f} | {b:.1f} | {a / b:.2f} | {least[0] / least[1]:.2f} | {f"{asked[0]} {asked[1]}" if asked else ""} |')
  if missed:
    print('missed: ' + '; '.join(missed))
  return 1 if missed and not args.no_verdict else 0


if __name__ == '__main__':
  sys.exit(main())
