"""JAX's lowering rules for single platforms, and which of them Tessera uses.

If a primitive has no rule for all platforms, Tessera uses its rule for JAX's platform "cpu", whoever registered it. Such
rules emit StableHLO and custom calls of LAPACK (lapack_*_ffi), which Tessera's compiler supports, and calls of Python or
of native functions that are registered for "cpu" (ffi.py).

If JAX has a rule for all platforms, Tessera uses that one, except for the primitives in CPU_RULES. The rules for "cpu" of
these primitives are not used:

  cholesky, triangular_solve       the rule for all platforms emits ops of StableHLO, which Tessera can partition
  dot_general                      the rule for cpu only refuses products that XLA's CPU backend cannot compute
  conv_general_dilated             the rule for cpu splits complex convolutions; Tessera computes them
  select_and_scatter_add           the rule for cpu pads, for XLA's CPU backend
  random_gamma                     both rules are the same
  bcsr_dot_general                 the rule for cpu calls functions inside jaxlib
"""
import dataclasses

from jax_plugins.tessera import client
from jax_plugins.tessera import jax_private

# Which of these have a rule for all platforms depends on the version of JAX.
CPU_RULES = frozenset({
    'eig', 'eigh', 'geqp3', 'geqrf', 'hessenberg', 'householder_product', 'lu', 'ormqr', 'schur', 'svd', 'tridiagonal',
    'tridiagonal_solve',
    # It raises an error (the check is not functionalized) or emits a call of Python.
    'check',
    # It emits a loop over rounds: a million normal numbers take 7 ms. With the rounds written out they take 12 ms.
    'threefry2x32'})


class _Rules(dict):
  """The rules that are registered for Tessera, and the rules for cpu that it uses. JAX registers rules whenever one of its
  modules is imported, so the rules for cpu are looked up when a program needs them. JAX looks up each op of a program, so
  the first look-up is the first use of Tessera."""

  def __init__(self, known, rules_of_cpu):
    super().__init__(known)
    self._rules_of_cpu = rules_of_cpu

  def __missing__(self, primitive):
    if self._is_taken(primitive):
      return self._rules_of_cpu[primitive]
    raise KeyError(primitive)

  def _is_taken(self, primitive):
    if primitive not in self._rules_of_cpu:
      return False
    return primitive.name in CPU_RULES or primitive not in jax_private.get('rules')

  def __contains__(self, primitive):
    client.warn_of_problems()
    if super().__contains__(primitive):
      return True
    return self._is_taken(primitive)


def _call_exported(ctx, *args, exported):
  """Lowers a call of an exported program. A program that was exported for the CPU also runs on Tessera."""
  if 'tessera' not in exported.platforms and 'cpu' in exported.platforms:
    platforms = tuple('tessera' if platform == 'cpu' else platform for platform in exported.platforms)
    exported = dataclasses.replace(exported, platforms=platforms)
  return jax_private.get('call_exported_lowering')(ctx, *args, exported=exported)


def _with_tessera(platforms):
  """Returns the platforms of lax.platform_dependent, with Tessera wherever "cpu" is, unless the program names Tessera."""
  if any(names and 'tessera' in names for names in platforms):
    return platforms
  return tuple(names + ('tessera',) if names and 'cpu' in names else names for names in platforms)


def _platform_index(ctx, *, platforms):
  return jax_private.get('platform_index_lowering')(ctx, platforms=_with_tessera(platforms))


def _cond(ctx, *args, branches_platforms=None, **params):
  if branches_platforms is not None:
    params['branches_platforms'] = _with_tessera(branches_platforms)
  return jax_private.get('cond_lowering')(ctx, *args, **params)


def install():
  """Registers the rules with JAX. Calling it again changes nothing."""
  rules = jax_private.get('platform_rules')
  known = rules.get('tessera', {})
  if isinstance(known, _Rules):
    return
  rules['tessera'] = _Rules(known, rules['cpu'])
  jax_private.get('platforms_with_donation').append('tessera')
  register = jax_private.get('register_lowering')
  for primitive, rule in (('call_exported_p', _call_exported), ('platform_index_p', _platform_index), ('cond_p', _cond)):
    register(jax_private.get(primitive), rule, platform='tessera')
