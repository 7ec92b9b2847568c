#!/usr/bin/env python3
"""Times calls of an empty handler of XLA's FFI on XLA's CPU backend and on the plugin, in turns (docs/ffi.md).

  benchmarks/jax_ffi.py [--rounds N]     needs a Python that has jax, and g++. The plugin is that of build/release, unless
                                         TESSERA_PJRT names one
  benchmarks/jax_ffi.py --one LIBRARY    times one process under JAX_PLATFORMS, and prints a JSON line

The handler is `nothing` of tests/jax/ffi_handlers.cc. It compares the least of all rounds for a program of one call, for one of a
hundred calls, and for one of an addition. It exits with 1 if a call takes more than 1.2 times XLA's time.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLATFORMS = ['cpu', 'tessera']
ASKED = 1.2


def one(library):
  import ctypes
  import jax
  import numpy as np
  handler = ctypes.CDLL(library).nothing
  jax.ffi.register_ffi_target('nothing', jax.ffi.pycapsule(handler), platform=os.environ['JAX_PLATFORMS'])
  call = lambda x: jax.ffi.ffi_call('nothing', jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

  def hundred(x):
    for _ in range(100):
      x = call(x)
    return x
  x = jax.device_put(np.arange(8, dtype=np.float32))
  found = {}
  for name, function, repeats in (('one call', call, 5000), ('a hundred calls', hundred, 500), ('an addition', lambda x: x + 1, 5000)):
    f = jax.jit(function)
    f(x).block_until_ready()
    times = []
    for _ in range(5):
      began = time.perf_counter()
      for _ in range(repeats):
        result = f(x)
      result.block_until_ready()
      times.append((time.perf_counter() - began) / repeats)
    found[name] = 1e6 * min(times)
  print(json.dumps(found))


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--rounds', type=int, default=5)
  parser.add_argument('--one', metavar='LIBRARY')
  args = parser.parse_args()
  if args.one:
    return one(args.one)
  include = subprocess.run([sys.executable, '-c', 'import jax; print(jax.ffi.include_dir())'], check=True, capture_output=True,
                           text=True).stdout.strip()
  best = {}
  with tempfile.TemporaryDirectory() as folder:
    library = f'{folder}/handlers.so'
    subprocess.run(['g++', '-std=c++17', '-O2', '-w', '-shared', '-fPIC', f'-I{include}', ROOT / 'tests/jax/ffi_handlers.cc', '-o',
                    library], check=True)
    for _ in range(args.rounds):
      for platform in PLATFORMS:
        env = os.environ | {'JAX_PLATFORMS': platform, 'TESSERA_DEVICES': 'cpu:1', 'PYTHONPATH': str(ROOT / 'python/src')}
        env.setdefault('TESSERA_PJRT', str(ROOT / 'build/release/plugin/libtessera_pjrt.so'))
        out = subprocess.run([sys.executable, __file__, '--one', library], check=True, capture_output=True, text=True, env=env)
        for name, us in json.loads(out.stdout).items():
          best.setdefault(name, {}).setdefault(platform, []).append(us)
  print('| program | cpu, us | tessera, us | tessera / cpu |\n|---|---:|---:|---:|')
  least = {name: [min(times[platform]) for platform in PLATFORMS] for name, times in best.items()}
  for name, (cpu, tessera) in least.items():
    print(f'| {name} | {cpu:.2f} | {tessera:.2f} | {tessera / cpu:.2f} |')
  cpu, tessera = least['one call']
  return 1 if tessera > ASKED * cpu else 0


if __name__ == '__main__':
  sys.exit(main())
