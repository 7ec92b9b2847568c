"""Lowering rules that JAX keeps for platforms it knows by name, for Tessera.

Of a primitive without a rule for all platforms, the rule for JAX's platform "cpu" is Tessera's too, whoever registered
it: what it emits beside StableHLO are custom calls of LAPACK (lapack_*_ffi), which Tessera's compiler takes, calls of
Python, or of native functions that are registered for "cpu" (ffi.py).

Where JAX has a rule for all platforms, a program for Tessera is StableHLO of that rule, except for the primitives
that CPU_RULES names. Of the others, the rules for "cpu" are not taken:

  cholesky, triangular_solve       ops of StableHLO by the rule for all platforms, which are partitioned as such
  dot_general                      the rule for cpu only refuses what XLA's CPU backend cannot do
  conv_general_dilated             the rule for cpu takes complex ones apart; Tessera computes them
  select_and_scatter_add           the rule for cpu pads, for XLA's CPU backend
  random_gamma                     both rules are the same
  bcsr_dot_general                 calls of functions inside jaxlib
"""
import dataclasses

from jax_plugins.tessera import client
from jax_plugins.tessera import jax_private

# Versions of JAX differ in which of these have a rule for all platforms.
CPU_RULES = frozenset({
    'eig', 'eigh', 'geqp3', 'geqrf', 'hessenberg', 'householder_product', 'lu', 'ormqr', 'schur', 'svd', 'tridiagonal',
    'tridiagonal_solve',
    # The error that a check is not functionalized, or a call of Python.
    'check',
    # A loop over rounds: a million normal numbers take 7 ms, with the rounds written out 12.
    'threefry2x32'})


class _Rules(dict):
  """The rules registered for Tessera; behind them those for cpu that are taken. JAX registers its rules
  as its modules are imported, early or late: so they are looked up when they are asked for. It asks for each op of a
  program, so that the first question is the first use of Tessera."""

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
  """A program that was exported for the CPU is one for Tessera."""
  if 'tessera' not in exported.platforms and 'cpu' in exported.platforms:
    platforms = tuple('tessera' if platform == 'cpu' else platform for platform in exported.platforms)
    exported = dataclasses.replace(exported, platforms=platforms)
  return jax_private.get('call_exported_lowering')(ctx, *args, exported=exported)


def _with_tessera(platforms):
  """Of lax.platform_dependent: Tessera's devices are the host's CPU, where a program does not say what they are."""
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
  """Makes the rules known to JAX. Calling it again changes nothing."""
  rules = jax_private.get('platform_rules')
  known = rules.get('tessera', {})
  if isinstance(known, _Rules):
    return
  rules['tessera'] = _Rules(known, rules['cpu'])
  jax_private.get('platforms_with_donation').append('tessera')
  register = jax_private.get('register_lowering')
  for primitive, rule in (('call_exported_p', _call_exported), ('platform_index_p', _platform_index), ('cond_p', _cond)):
    register(jax_private.get(primitive), rule, platform='tessera')
