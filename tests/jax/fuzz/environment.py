"""Sets what both backends in one process need before JAX is imported."""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]


def prepare():
  """Sets the plugin, eight devices each of Tessera and of XLA's CPU backend, and 64-bit types."""
  sys.path.insert(0, str(ROOT / 'tests' / 'jax'))
  import conftest  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
  os.environ['JAX_PLATFORMS'] = 'tessera,cpu'
  os.environ['JAX_ENABLE_X64'] = '1'
  os.environ['XLA_FLAGS'] = (os.environ.get('XLA_FLAGS', '') + ' --xla_force_host_platform_device_count=8').strip()
  os.environ['PYTHONPATH'] = os.pathsep.join(filter(None, [str(ROOT / 'python' / 'src'), os.environ.get('PYTHONPATH')]))
