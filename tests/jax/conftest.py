"""Makes the tests of this folder run JAX on Tessera, on eight devices.

  python -m pytest tests/jax       with jax 0.8 or later. It uses the library that TESSERA_PJRT names, with the Python files of this
                                   checkout; else the wheel jax-tessera if it is installed; else the library of build/release
"""
import importlib.metadata
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WHEEL = not os.environ.get('TESSERA_PJRT') and any(
    entry.name == 'tessera' for entry in importlib.metadata.entry_points(group='jax_plugins'))
if not WHEEL:
  sys.path.insert(0, str(ROOT / 'python' / 'src'))
  os.environ.setdefault('TESSERA_PJRT', str(ROOT / 'build' / 'release' / 'plugin' / 'libtessera_pjrt.so'))
os.environ['JAX_PLATFORMS'] = 'tessera'
os.environ['TESSERA_DEVICES'] = 'cpu:8'
os.environ['TESSERA_COSTS'] = ''  # no costs that were measured on this machine


@pytest.fixture(name='environment')
def _environment():
  """Returns the environment of a separate Python process, in which JAX finds this plugin. It has no variable that sets the devices."""
  env = {k: v for k, v in os.environ.items() if k not in ('TESSERA_DEVICES', 'XLA_FLAGS')}
  if not WHEEL:
    env['PYTHONPATH'] = str(ROOT / 'python' / 'src')
  return env
