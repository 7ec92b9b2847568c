"""tests/jax/examples runs the examples of a checkout on both platforms and compares what they print."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

if not os.environ.get('TESSERA_PJRT'):
  pytest.skip('examples are tested with the library of a build, not with that of the wheel', allow_module_level=True)

SCRIPT = pathlib.Path(__file__).resolve().parent / 'examples'
TRAINS = '''import time, jax, jax.numpy as jnp, numpy as np
x, began = np.random.normal(size=8), time.time()
for step in range(3):
  x = x - 0.1 * jax.jit(jax.grad(lambda x: jnp.sum(x ** 2)))(x)
  print(f'step {step}, loss: {jnp.sum(x ** 2)}, Computation time: {time.time() - began}')
'''
DIFFERS = "import jax\nprint('loss:', 1.5 if jax.devices()[0].platform == 'cpu' else 1.6)\n"
FAILS = "import jax\nif jax.devices()[0].platform != 'cpu': raise ValueError('only here')\nprint(1)\n"


def run(tmp_path, *arguments, **cells):
  folder = tmp_path / 'equinox/docs/examples'
  folder.mkdir(parents=True, exist_ok=True)
  for name, source in cells.items():
    notebook = {'cells': [{'cell_type': 'markdown', 'source': ['text']}, {'cell_type': 'code', 'source': ['%matplotlib inline\n', source]}]}
    (folder / f'{name}.ipynb').write_text(json.dumps(notebook), encoding='utf-8')
  return subprocess.run([sys.executable, SCRIPT, str(tmp_path), *arguments], capture_output=True, text=True, check=False)


def test_losses_are_compared_and_times_are_not(tmp_path):
  done = run(tmp_path, train_rnn=TRAINS)
  assert done.returncode == 0, done.stdout + done.stderr
  cells = done.stdout.strip().split(' | ')
  assert cells[0].endswith('train_rnn') and cells[1] == cells[2] != '' and cells[3] == '6' and cells[-1] == 'agrees'


def test_other_losses_and_failures_are_named(tmp_path):
  done = run(tmp_path, stateful=DIFFERS, parallelism=FAILS)
  assert done.returncode == 1
  assert 'a number differs by 0.063 of it' in done.stdout and 'fails on Tessera: ValueError: only here' in done.stdout


def test_wrong_arguments(tmp_path):
  assert 'expected checkouts of flax, equinox, diffrax' in run(tmp_path).stderr
  assert 'expected names among' in run(tmp_path, 'no_example').stderr
  assert 'expected the plugin, got no /nowhere' in run(tmp_path, '--plugin', '/nowhere').stderr
