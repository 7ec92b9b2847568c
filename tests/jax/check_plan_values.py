#!/usr/bin/env python3
"""Checks that the programs of plan_programs.py have the same results on 8 devices of the plugin and on 8 of XLA's CPU backend.

  tests/jax/check_plan_values.py [WORD...]    programs with one of the words in their names; without words all, some 40 s

Run it by hand, like check_plans.py, with a Python that has jax. Inputs are the same random numbers on both. Results may differ by 2e-5 of the
largest element; programs of many steps that amplify rounding (conjugate_gradient) may differ by more. Exits with 1 if a result differs. XLA's
backend may hang if other programs use its cores; it is stopped after ten minutes.
"""
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = {'ops/conjugate_gradient': 1e-1}


def values_of(shape, dtype, random):
  if np.issubdtype(dtype, np.integer):
    return random.integers(0, 16, shape).astype(dtype)
  # Second moments are squares, and square matrices of positive numbers with a large diagonal have roots.
  x = np.abs(random.standard_normal(shape) * 0.3).astype(dtype)
  return x + 8 * np.eye(shape[-1], dtype=dtype) if len(shape) == 3 and shape[-1] == shape[-2] else x


def compute(words, file):
  """Writes the results of the programs on the platform of this process to the file."""
  import jax
  if os.environ['JAX_PLATFORMS'] == 'cpu':
    jax.config.update('jax_num_cpu_devices', 8)
  sys.path.insert(0, str(HERE))
  import plan_programs
  found = {}
  for program in plan_programs.programs():
    name = f'{program.family}/{program.name}'
    if words and not any(word in name for word in words):
      continue
    random = np.random.default_rng(0)
    leaves, tree = jax.tree.flatten(program.arguments)
    arguments = [jax.device_put(values_of(leaf.shape, leaf.dtype, random), leaf.sharding) for leaf in leaves]
    results = jax.jit(program.function)(*jax.tree.unflatten(tree, arguments))
    found[name] = [np.asarray(x) for x in jax.tree.leaves(results)]
  with open(file, 'wb') as out:
    pickle.dump(found, out)


def difference(x, y):
  """Returns the largest difference relative to the largest element; infinite if shapes, dtypes or the places of NaN differ."""
  if x.shape != y.shape or x.dtype != y.dtype:
    return np.inf
  wide = np.complex128 if np.iscomplexobj(x) else np.float64
  x, y = x.astype(wide), y.astype(wide)
  if not np.array_equal(np.isfinite(x), np.isfinite(y)):
    return np.inf
  x, y = x[np.isfinite(x)], y[np.isfinite(y)]
  return np.abs(x - y).max() / max(np.abs(x).max(), 1e-30) if x.size else 0


def main(words):
  library = os.environ.get('TESSERA_PJRT', str(HERE.parent.parent / 'build/release/plugin/libtessera_pjrt.so'))
  sources = str(HERE.parent.parent / 'python' / 'src')
  with tempfile.TemporaryDirectory() as folder:
    results = []
    for platform in ('cpu', 'tessera'):
      file = f'{folder}/{platform}'
      environment = os.environ | {'JAX_PLATFORMS': platform, 'TESSERA_PJRT': library, 'TESSERA_DEVICES': 'cpu:8', 'PYTHONPATH': sources}
      subprocess.run([sys.executable, __file__, '--compute', file, *words], env=environment, check=True, timeout=600)
      with open(file, 'rb') as made:
        results.append(pickle.load(made))
  expected, got = results
  failed = 0
  for name, values in expected.items():
    worst = max((difference(x, y) for x, y in zip(values, got[name], strict=True)), default=0)
    if not worst <= TOLERANCE.get(name, 2e-5):
      failed += 1
      print(f'DIFFERENT {name}: {worst:.1e}')
  print(f'{len(expected)} programs: {len(expected) - failed} equal, {failed} different')
  return failed > 0 or not expected


if __name__ == '__main__':
  if sys.argv[1:2] == ['--compute']:
    compute(sys.argv[3:], sys.argv[2])
  else:
    sys.exit(main(sys.argv[1:]))
