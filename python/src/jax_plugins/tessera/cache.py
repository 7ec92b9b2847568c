"""Makes JAX's compilation cache (jax_compilation_cache_dir), which has a list of platforms, accept Tessera.

For a program of Tessera it keeps the program and its options (plugin/executable.cc). The machine code is in
Tessera's own cache.
"""
import functools

from jax_plugins.tessera import jax_private


def install():
  """Lets JAX cache programs of Tessera, under the same conditions as those of other platforms."""
  of_others = jax_private.get('is_cache_used')
  if hasattr(of_others, '__wrapped__'):
    return
  is_enabled = jax_private.get('is_persistent_cache_enabled')

  @functools.wraps(of_others)
  def is_cache_used(backend):
    return is_enabled() if backend.platform == 'tessera' else of_others(backend)

  jax_private.replace('is_cache_used', is_cache_used)
