"""Compares the results of two backends and the reference for a program: if one of the three differs, it is wrong."""
import dataclasses
import traceback

import jax
import numpy as np

import reference
import runner

EQUAL, REFUSED, REFERENCE, UNKNOWN = 'equal', 'refused', 'reference', 'unknown'
OURS, XLA, BOTH = 'tessera', 'xla', 'both'


@dataclasses.dataclass
class Verdict:
  """The side that is wrong, the kind of difference (`value` or the first words of an error), and a description."""
  who: str
  kind: str = ''
  text: str = ''


def wide(x):
  """Returns the array in the dtype in which the reference computes."""
  if not reference.inexact(x.dtype):
    return x
  return x.astype(np.complex128 if x.dtype.kind == 'c' else np.float64)


class Expected:
  """The reference's results, and how far a backend's results may be from them."""

  def __init__(self, program, jaxpr=None):
    self.args = runner.arguments(program)
    self.jaxpr = jaxpr or jax.make_jaxpr(runner.function(program, 'cpu')[0])(*self.args)
    self.exact = reference.evaluate(self.jaxpr, self.args)
    self.dtypes = [np.dtype(a.dtype) for a in self.jaxpr.out_avals]
    self.noisy = []

  def wrong(self, values, noisy=0):
    """Returns {index: description} of the results that are further away than `noisy` noisy evaluations of the reference explain."""
    while len(self.noisy) < noisy:
      self.noisy.append(reference.evaluate(self.jaxpr, self.args, len(self.noisy)))
    out = {}
    for k, (value, exact, dtype) in enumerate(zip(values, self.exact, self.dtypes, strict=True)):
      if value.shape != exact.shape or value.dtype != dtype:
        out[k] = f'result {k}: expected {dtype}{list(exact.shape)}, got {value.dtype}{list(value.shape)}'
        continue
      bad = outside(wide(value), exact, dtype, [n[k] for n in self.noisy[:noisy]])
      if bad.any():
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        out[k] = f'result {k}: {bad.sum()} of {bad.size} elements; at {list(at)} expected {exact[at]!s}, got {value[at]!s}'
    return out


def outside(value, exact, dtype, noisy):
  """Returns a mask of the elements that are further from the exact ones than noise explains."""
  with np.errstate(all='ignore'):
    accepted = equal(value, exact)
    if not reference.inexact(dtype):
      for n in noisy:
        accepted |= n != exact
      return ~accepted
    eps, tiny = reference.narrow(dtype)
    allowed = 8 * eps * np.abs(exact) + 8 * tiny
    for n in noisy:
      # An element that overflows only with noise, or in the narrow type, may have any value.
      accepted |= ~equal(n, exact) & ~(np.isfinite(n) & np.isfinite(exact))
      allowed = np.maximum(allowed, 6 * np.nan_to_num(np.abs(n - exact)))
    return ~(accepted | (np.isfinite(value) & np.isfinite(exact) & (np.abs(value - exact) <= allowed)))


def equal(a, b):
  """Returns a mask of the elements that are equal in two arrays; NaN equals NaN."""
  return (a == b) | ((a != a) & (b != b))  # pylint: disable=comparison-with-itself


def agree(ours, theirs):
  """Returns whether two backends have about the same results."""
  return all(np.allclose(wide(a), wide(b), 1e-2, 1e-3, equal_nan=True) for a, b in zip(ours.values, theirs.values))


def compare(program, ours, run_xla, lazy=False):
  """Returns the verdict on a program run by Tessera and XLA. If `lazy`, XLA runs it only if Tessera and the reference disagree."""
  expected, unsupported = None, ''
  if not ours.error:
    try:
      expected = Expected(program, ours.jaxpr)
    except reference.Unsupported as e:
      unsupported = f'the reference has no {e}'
    except Exception as e:  # pylint: disable=broad-except
      return Verdict(REFERENCE, 'error',
                     f'{type(e).__name__}: {e}\n' + ''.join(traceback.format_tb(e.__traceback__)[-2:]))
  if lazy and expected and not (expected.wrong(ours.values) and expected.wrong(ours.values, 4)):
    return Verdict(EQUAL)
  theirs = run_xla()
  if ours.error and theirs.error:
    return Verdict(REFUSED, text=f'{ours.error}\n{theirs.error}')
  if ours.error or theirs.error:
    error = ours.error or theirs.error
    return Verdict(OURS if ours.error else XLA, ' '.join(error.split()[:6]), error)
  if unsupported:
    return Verdict(EQUAL, unsupported) if agree(ours, theirs) else Verdict(UNKNOWN, unsupported, 'the backends differ')
  wrong = {}
  for noisy in (0, 4, 24):
    wrong = {OURS: expected.wrong(ours.values, noisy), XLA: expected.wrong(theirs.values, noisy)}
    if not wrong[OURS] and not wrong[XLA]:
      return Verdict(EQUAL)
  text = '\n'.join(f'{who}: {t}' for who, ts in wrong.items() for t in ts.values())
  if not wrong[OURS] or not wrong[XLA]:
    return Verdict(OURS if wrong[OURS] else XLA, 'value', text)
  return Verdict(REFERENCE if agree(ours, theirs) else BOTH, 'value', text)
