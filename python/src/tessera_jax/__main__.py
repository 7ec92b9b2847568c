"""python -m tessera_jax: prints the versions, devices, libraries and the CPU, for bug reports."""
import ctypes
import importlib.metadata
import json
import os
import pathlib
import platform
import sys

from jax_plugins.tessera import client
from jax_plugins.tessera import jax_private
from jax_plugins.tessera import shared_library


def _version(package):
  try:
    return importlib.metadata.version(package)
  except importlib.metadata.PackageNotFoundError:
    return 'not installed'


def _library():
  """Returns the facts about the library (plugin/about.h)."""
  library = shared_library.open_library(shared_library.library_path())
  library.tessera_about.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
  library.tessera_free.argtypes = [ctypes.c_void_p]
  library.tessera_free.restype = None
  out = ctypes.c_void_p()
  failed = library.tessera_about(ctypes.byref(out))
  text = ctypes.string_at(out).decode() if out else '[tessera] expected memory, got none left'
  library.tessera_free(out)
  if failed:
    raise RuntimeError(text)
  return json.loads(text)


def _processor():
  for line in pathlib.Path('/proc/cpuinfo').read_text('utf-8').splitlines():
    if line.startswith('model name'):
      return line.partition(':')[2].strip()
  return platform.machine()


def _library_lines():
  about = _library()
  level = 'NEON' if platform.machine() == 'aarch64' else 'AVX-512' if about['vector_bytes'] == 64 else 'AVX2'
  path = shared_library.library_path()
  yield 'library', f"{path} ({os.path.getsize(path) / 1e6:.0f} MB), Tessera {about['tessera']}"
  yield 'reads', f"PJRT API {about['pjrt_api']}, StableHLO {about['stablehlo'][0]} to {about['stablehlo'][1]}"
  yield 'made of', f"LLVM {about['llvm']}, oneDNN {about['onednn']}, {about['openblas']}"
  yield 'CPU', f"{_processor()}, {os.cpu_count()} threads; code for {about['cpu']} with {level}"


def _jax_lines():
  yield 'JAX', f"{_version('jax')}, jaxlib {_version('jaxlib')}, numpy {_version('numpy')}"
  yield 'tested with', 'JAX ' + ', '.join(jax_private.TESTED)
  client.check_jax()
  for problem in (*jax_private.problems(client.jax_version()), *client.other_copies()):
    yield 'note', problem


def _device_lines():
  import jax
  devices = jax.devices('tessera')
  yield 'devices', f"{len(devices)}: {devices[0]}{', ...' if len(devices) > 1 else ''} (TESSERA_DEVICES=cpu:8 makes 8)"
  yield 'backends', f"{jax.default_backend()} is the default; JAX_PLATFORMS={os.environ.get('JAX_PLATFORMS', '')}"


def main():
  """Prints the lines. Returns how many parts of them failed."""
  print(f"{'jax-tessera':12} {_version('jax-tessera')}")
  print(f"{'system':12} {platform.platform()}, {' '.join(platform.libc_ver())}, Python {platform.python_version()}")
  failed = 0
  for lines in (_jax_lines, _library_lines, _device_lines):
    try:
      for name, text in lines():
        print(f'{name:12} {text}')
    except Exception as error:  # pylint: disable=broad-except
      print(f"{'error':12} {error}")
      failed += 1
  return failed


if __name__ == '__main__':
  sys.exit(min(1, main()))
