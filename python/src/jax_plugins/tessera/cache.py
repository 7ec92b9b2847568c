"""JAX's compilation cache (jax_compilation_cache_dir), which lists the platforms that use it by name.

What it keeps of a program of Tessera is the program and its options (plugin/executable.cc); the machine code
is in Tessera's own cache.
"""
import functools

from jax_plugins.tessera import jax_private


class _Listed:
  """What the cache asks of a backend, under the name of a platform that it lists."""
  platform = 'cpu'

  def __init__(self, backend):
    self.supports_executable_serialization = getattr(backend, 'supports_executable_serialization', True)


def install():
  """Lets programs of Tessera into the cache, under the conditions of all others. JAX decides once for a process, and counts that; without
  a folder and a cache that was set it is not asked, since it would compute a key of each program in vain."""
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
