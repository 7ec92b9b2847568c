"""Runs a program on a platform of JAX."""
import dataclasses

import jax
import ml_dtypes  # noqa: F401  (names of dtypes for NumPy)
import numpy as np

from generator import namespace


@dataclasses.dataclass
class Outcome:
  """The results as NumPy arrays, or the exception's text, and the jaxpr that was compiled."""
  values: list = None
  error: str = None
  jaxpr: object = None


def arguments(program):
  return [np.asarray(eval(i.maker, {'np': np})) for i in program.inputs]  # pylint: disable=eval-used


def function(program, platform, overrides=None):
  """Returns the program's function and the names that it uses; `overrides` replace some of these."""
  names = namespace(program.mesh, platform) | (overrides or {})
  exec(program.source(), names)  # pylint: disable=exec-used
  return names[program.main.name], names


def run(program, platform, overrides=None, again=False):
  """Runs the program and returns the outcome. With `again` it runs twice, and both runs must have the same bits."""
  try:
    f, names = function(program, platform, overrides)
    jitted = jax.jit(f, donate_argnums=tuple(i for i, x in enumerate(program.inputs) if x.donated))
    values = once(program, platform, jitted, names)
    if again:
      second = once(program, platform, jitted, names)
      if any(a.tobytes() != b.tobytes() for a, b in zip(values, second)):
        raise AssertionError('two runs differ in bits')
    # JAX has cached this trace in the run.
    with jax.default_device(jax.devices(platform)[0]):
      jaxpr = None if overrides else jitted.trace(*place(program, platform, names)).jaxpr
    return Outcome(values, jaxpr=jaxpr)
  except Exception as e:  # pylint: disable=broad-except
    return Outcome(error=f'{type(e).__name__}: {str(e).strip()[:2000]}')


def place(program, platform, names):
  """Returns the program's arguments on the platform's devices."""
  device, placed = jax.devices(platform)[0], []
  for value, i in zip(arguments(program), program.inputs):
    where = jax.sharding.NamedSharding(names['MESH'], jax.sharding.PartitionSpec(*i.spec)) if program.mesh else device
    placed.append(jax.device_put(value, where, may_alias=False))
  return placed


def once(program, platform, jitted, names):
  placed = place(program, platform, names)
  with jax.default_device(jax.devices(platform)[0]):
    out = [np.asarray(x) for x in jitted(*placed)]
  for value, array, i in zip(arguments(program), placed, program.inputs):
    if not i.donated and np.asarray(array).tobytes() != value.tobytes():
      raise AssertionError(f'argument {i.name} is changed')
  return out
