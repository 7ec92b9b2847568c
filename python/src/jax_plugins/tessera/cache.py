"""Makes JAX's compilation cache (jax_compilation_cache_dir), which has a list of platforms, accept Tessera.

For a program of Tessera it keeps the program and its options (plugin/executable.cc). The machine code is in
Tessera's own cache.
"""
import functools

from jax_plugins.tessera import jax_private


class _Listed:
  """What the cache asks of a backend, under the name of a platform that it lists."""
  platform = 'cpu'

  def __init__(self, backend):
    self.supports_executable_serialization = getattr(backend, 'supports_executable_serialization', True)


def install():
  """Lets JAX cache programs of Tessera, under the same conditions as those of other platforms. JAX decides once for a process, and counts that.
  It is not asked if there is neither a folder nor a cache that was set, because it would compute a key for each program in vain."""
  of_others = jax_private.get('is_cache_used')
  if hasattr(of_others, '__wrapped__'):
    return
  has_folder, module = jax_private.get('is_persistent_cache_enabled'), jax_private.get('compilation_cache')

  @functools.wraps(of_others)
  def is_cache_used(backend):
    if backend.platform != 'tessera':
      return of_others(backend)
    return (has_folder() or getattr(module, '_cache', None) is not None) and of_others(_Listed(backend))

  jax_private.replace('is_cache_used', is_cache_used)
