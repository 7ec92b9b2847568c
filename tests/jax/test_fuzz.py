"""The fuzzer finds what is planted, reduces it, and finds nothing in some programs of fixed seeds."""
import os
import pathlib
import subprocess
import sys

import pytest

FUZZ = pathlib.Path(__file__).resolve().parent / 'fuzz'

# Looks for a program that a fault makes wrong, among those whose source has a word, and prints what it is reduced to.
SEARCH = '''
import sys
sys.path.insert(0, {folder!r})
import environment
environment.prepare()
import itertools, types
import jax, jax.numpy as jnp, numpy as np
from jax import lax
import generator, worker

class Wrong:
  """A module of JAX with one function replaced."""
  def __init__(self, module, **functions):
    self.__dict__.update(vars(module) | functions)

calls = itertools.count()
overrides = {overrides}
for seed in range(500):
  program = generator.generate(seed)
  if {word!r} not in program.source():
    continue
  verdict = worker.verdict_of(program, overrides)
  if verdict.who == 'equal':
    continue
  program = worker.reduced(program, verdict, overrides, seconds={seconds})
  print(verdict.who, verdict.kind)
  print(program.source())
  break
'''


def search(overrides, word, seconds=25):
  code = SEARCH.format(folder=str(FUZZ), overrides=overrides, word=word, seconds=seconds)
  out = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=300, check=False)
  assert out.returncode == 0, out.stderr[-3000:]
  first, _, source = out.stdout.partition('\n')
  return first, source


@pytest.mark.parametrize('overrides, word, verdict', [
    ("{'jnp': Wrong(jnp, cumsum=lambda x, axis: jnp.cumsum(x, axis) * 1.001)}", 'jnp.cumsum(', 'tessera value'),
    ("{'lax': Wrong(lax, psum=lambda x, a: lax.pmax(x, a))}", 'lax.psum(', 'tessera value'),
    ("{'jnp': Wrong(jnp, sort=lambda x, axis: jnp.sort(x, axis)[::-1])}", 'jnp.sort(', 'tessera value'),
    ("{'lax': Wrong(lax, scan=lambda *a, **k: 1 / 0)}", 'lax.scan(', 'tessera ZeroDivisionError: division by zero'),
])
def test_finds_and_reduces_what_is_planted(overrides, word, verdict):
  first, source = search(overrides, word)
  assert first == verdict
  assert word in source
  assert len(source.splitlines()) <= 12, source


def test_a_second_run_with_other_bits_is_found():
  overrides = ("{'jnp': Wrong(jnp, tanh=lambda x: jnp.tanh(x) * jax.pure_callback(lambda: np.float32(next(calls)),"
               " jax.ShapeDtypeStruct((), 'float32')).astype(x.dtype))}")
  first, source = search(overrides, 'jnp.tanh(')
  assert first == 'tessera AssertionError: a second run has other bits'
  assert 'jnp.tanh(' in source


def fuzz(*options):
  return subprocess.run([sys.executable, str(FUZZ), *options], capture_output=True, text=True, check=False, env=dict(os.environ))


def test_programs_of_fixed_seeds():
  out = fuzz('--seeds', '0:100', '--no-reduce', '--lazy')
  assert out.returncode == 0, out.stdout + out.stderr
  assert '100 programs in' in out.stdout


def test_generation_is_deterministic(tmp_path):
  one, two = (fuzz('--show', '7') for _ in range(2))
  assert one.returncode == 0, one.stderr
  assert one.stdout == two.stdout and 'jax.jit(f' in one.stdout
  path = tmp_path / 'reproducer.py'
  path.write_text(one.stdout)
  out = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False,
                       env=os.environ | {'JAX_PLATFORMS': 'cpu', 'XLA_FLAGS': '--xla_force_host_platform_device_count=8'})
  assert out.returncode == 0, out.stderr


@pytest.mark.parametrize('seeds', ['5', 'a:b', '9:3'])
def test_seeds_that_are_none(seeds):
  out = fuzz('--seeds', seeds)
  assert out.returncode == 2
  assert f"--seeds: expected FIRST:LAST, got '{seeds}'" in out.stderr
