"""Finds libtessera_pjrt.so and loads it.

Errors are RuntimeErrors of the form `[tessera] expected, got, remedy`.
"""
import ctypes
import os
import pathlib

# The version of the functions that this package calls in addition to PJRT's C API. tessera_interface() of
# plugin/about.h returns the version of a library.
INTERFACE = 3

_PACKAGED = str(pathlib.Path(__file__).resolve().parent / 'libtessera_pjrt.so')


def library_path():
  """Returns the path of the plugin's shared library."""
  return os.environ.get('TESSERA_PJRT') or _PACKAGED


def _remedy(path, said=''):
  """Returns what to do if the library `path` cannot be used; `said` is the error of the loader."""
  if 'GLIBC' in said:
    return ('it needs glibc 2.36 or later, as Debian 12 and Ubuntu 24.04 have it: use a newer system, or build the target '
            'tessera_pjrt on this one (docs/jax.md)')
  if path == _PACKAGED:
    return 'pip install --force-reinstall jax-tessera, or set TESSERA_PJRT to the library of a build (docs/jax.md)'
  return 'build the target tessera_pjrt of this version (docs/jax.md), or unset TESSERA_PJRT'


def open_library(path):
  """Returns the loaded library `path`. Raises RuntimeError if it is not a plugin of this version."""
  if not os.path.exists(path):
    raise RuntimeError(f'[tessera] expected the library of the plugin, got no file {path}; {_remedy(path)}')
  try:
    library = ctypes.CDLL(path)
    library.GetPjrtApi  # pylint: disable=pointless-statement
  except (OSError, AttributeError) as error:
    raise RuntimeError(f'[tessera] expected a plugin that can be loaded, got {path}: {error}; '
                       f'{_remedy(path, str(error))}') from error
  found = library.tessera_interface() if hasattr(library, 'tessera_interface') else 'none'
  if found != INTERFACE:
    raise RuntimeError(f'[tessera] expected a library with interface {INTERFACE} of this package, got {path} with '
                       f'{found}; {_remedy(path)}')
  return library
