"""Tessera as a backend of JAX: what JAX finds under `jax_plugins` and calls `initialize` of.

Environment: TESSERA_DEVICES says which devices there are (`cpu:8`, `tpu_v4:2x2x1`; `cpu:1` without it),
TESSERA_PJRT which library is loaded (without it the one of this package).
"""
import os
import pathlib


def library_path():
  """The plugin's shared library."""
  return os.environ.get('TESSERA_PJRT') or str(
      pathlib.Path(__file__).resolve().parent / 'libtessera_pjrt.so')


def initialize():
  from jax._src import xla_bridge
  xla_bridge.register_plugin('tessera', priority=500, library_path=library_path(), options=None)
