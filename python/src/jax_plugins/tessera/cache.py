"""JAX's compilation cache (jax_compilation_cache_dir), which lists the platforms that use it by name.

What it keeps of a program of Tessera is the program and its options (plugin/executable.cc); the machine code
is in Tessera's own cache.
"""
import functools

from jax_plugins.tessera import jax_private


def install():
  """Lets programs of Tessera into the cache, under the conditions of all others."""
  of_others = jax_private.get('is_cache_used')
  if hasattr(of_others, '__wrapped__'):
    return
  is_enabled = jax_private.get('is_persistent_cache_enabled')

  @functools.wraps(of_others)
  def is_cache_used(backend):
    return is_enabled() if backend.platform == 'tessera' else of_others(backend)

  jax_private.replace('is_cache_used', is_cache_used)
