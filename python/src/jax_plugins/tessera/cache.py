"""JAX's compilation cache (jax_compilation_cache_dir), which lists the platforms that use it by name.

What it keeps of a program of Tessera is the program and its options (plugin/executable.cc); the machine code
is in Tessera's own cache.
"""
import functools


def install():
  """Lets programs of Tessera into the cache, under the conditions of all others."""
  from jax._src import compilation_cache
  of_others = compilation_cache.is_cache_used
  if hasattr(of_others, '__wrapped__'):
    return

  @functools.wraps(of_others)
  def is_cache_used(backend):
    if backend.platform != 'tessera':
      return of_others(backend)
    return compilation_cache.is_persistent_cache_enabled()

  compilation_cache.is_cache_used = is_cache_used
