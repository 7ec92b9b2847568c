"""The tests of this folder run JAX on Tessera, on eight devices.

  python -m pytest tests/jax       with jax 0.8 or later: the library that TESSERA_PJRT names with the Python of this checkout;
                                   else the wheel jax-tessera, where it is installed; else that of build/release
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
os.environ['TESSERA_COSTS'] = ''  # what this machine measured is its own


@pytest.fixture(name='environment')
def _environment():
  """Of a Python process of its own, in which JAX finds this plugin; nothing says which devices there are."""
  env = {k: v for k, v in os.environ.items() if k not in ('TESSERA_DEVICES', 'XLA_FLAGS')}
  if not WHEEL:
    env['PYTHONPATH'] = str(ROOT / 'python' / 'src')
  return env
