"""matrix_factorization.json: jax_privacy 2.0.0's matrix_factorization in float64 (PYTHON: with
jax_privacy==2.0.0 and dp-accounting==0.6.0; twenty minutes).

Matrices are lists of rows. "toeplitz", "sensitivity", "dense", "banded", "blt": inputs beside what
comes of them. Infinities and NaNs are null. Optima are losses: those of strategies that are not
unique, or not found to all digits, agree where the strategies themselves need not. "amplification":
the noise multiplier of each number of bands, and what comes of them.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax_privacy.matrix_factorization import banded
from jax_privacy.matrix_factorization import buffered_toeplitz
from jax_privacy.matrix_factorization import dense
from jax_privacy.matrix_factorization import sensitivity
from jax_privacy.matrix_factorization import streaming_matrix
from jax_privacy.matrix_factorization import toeplitz

import golden

golden.setup(x64=True)
REDUCTIONS = {'mean': jnp.mean, 'max': jnp.max}


def plain(value):
  return np.asarray(value, np.float64).tolist()


def toeplitz_cases():
  c, w = jnp.array([1, 0.5, 0.25, 0.125]), jnp.array([1.0, 2, 0.5])
  rhs = jnp.sin(jnp.arange(9.0))
  minsep = []
  for n, min_sep, k in [(64, 4, None), (64, 4, 3), (64, 3, None), (10, 1, None), (10, 1, 2),
                        (10, 20, None), (3, 1, None), (65, 7, 4)]:
    coef = toeplitz.optimal_max_error_strategy_coefs(n)
    minsep.append({
        'n': n,
        'min_sep': min_sep,
        'max_participations': k,
        'short': float(toeplitz.minsep_sensitivity_squared(c, min_sep, k, n)),
        'full': float(toeplitz.minsep_sensitivity_squared(coef, min_sep, k, n))
    })
  optima = []
  for n, bands, reduction in [(16, 1, 'mean'), (64, 4, 'mean'), (64, 4, 'max'), (64, 64, 'mean'),
                              (256, 16, 'mean')]:
    coef = toeplitz.optimize_banded_toeplitz(n, bands, reduction_fn=REDUCTIONS[reduction])
    loss = float(toeplitz.loss(coef, n, REDUCTIONS[reduction]))
    optima.append({'n': n, 'bands': bands, 'reduction': reduction, 'loss': loss})
  return {
      'coef': plain(c),
      'workload': plain(w),
      'rhs': plain(rhs),
      'strategy_coefs': plain(toeplitz.optimal_max_error_strategy_coefs(12)),
      'noising_coefs': plain(toeplitz.optimal_max_error_noising_coefs(12)),
      'solve': plain(toeplitz.solve_banded(c, rhs)),
      'product': plain(toeplitz.multiply(c, w, 7)),
      'inverse': plain(toeplitz.inverse_coef(c, 7)),
      'error': plain(toeplitz.per_query_error(strategy_coef=c, n=7)),
      'error_workload': plain(toeplitz.per_query_error(strategy_coef=c, n=7, workload_coef=w)),
      'error_noising': plain(toeplitz.per_query_error(noising_coef=c, n=7)),
      'error_noising_workload': plain(
          toeplitz.per_query_error(noising_coef=c, n=7, workload_coef=w)),
      'minsep': minsep,
      'optima': optima,
  }


def lower(n, seed, bands=None):
  C = np.tril(np.random.default_rng(seed).normal(size=(n, n))) + 2 * np.eye(n)
  return jnp.array(C if bands is None else C * (np.tri(n) - np.tri(n, k=-bands)))


def sensitivity_cases():
  C, B = lower(12, 1), lower(12, 2, 3)
  x = jnp.array(np.random.default_rng(3).normal(size=15))
  cases = []
  for min_sep, k in [(1, None), (3, None), (3, 2), (4, 1), (5, 3), (12, None)]:
    cases.append({
        'min_sep': min_sep,
        'max_participations': k,
        'linear': float(sensitivity.max_participation_for_linear_fn(x, min_sep, k)),
        'bound': float(sensitivity.get_min_sep_sensitivity_upper_bound(C, min_sep, k)),
        'banded': float(sensitivity.get_sensitivity_banded(B, min_sep, k)) if min_sep >= 3 else None,
    })
  return {
      'C': plain(C),
      'B': plain(B),
      'x': plain(x),
      'single': float(sensitivity.single_participation_sensitivity(C)),
      'cases': cases,
      'fixed_epoch': [[k, sensitivity.fixed_epoch_sensitivity(C, k)] for k in (1, 2, 3, 12)],
      'lower_mask': plain(sensitivity.banded_lower_triangular_mask(5, 2)),
      'symmetric_mask': plain(sensitivity.banded_symmetric_mask(5, 2)),
  }


def dense_cases():
  C, A = lower(6, 4), lower(6, 5)
  optima = []
  for n, epochs, bands, equal_norm in [(16, 1, None, False), (16, 4, None, False),
                                       (16, 1, 4, True), (16, 2, 3, True)]:
    best = dense.optimize(n, epochs=epochs, bands=bands, equal_norm=equal_norm,
                          callback=lambda step: bool(jnp.abs(step.grad).max() <= 1e-7),
                          max_optimizer_steps=2000)
    optima.append({
        'n': n,
        'epochs': epochs,
        'bands': bands,
        'equal_norm': equal_norm,
        'loss': float(jnp.mean(dense.per_query_error(strategy_matrix=best)))
    })
  return {
      'C': plain(C),
      'A': plain(A),
      'error': plain(dense.per_query_error(strategy_matrix=C)),
      'error_workload': plain(dense.per_query_error(strategy_matrix=C, workload_matrix=A)),
      'error_noising': plain(dense.per_query_error(noising_matrix=C[:, :4], workload_matrix=A)),
      'mask': plain(dense.get_orthogonal_mask(6, 3)),
      'from_X': plain(dense.strategy_from_X(C.T @ C)),
      'optima': optima,
  }


def banded_cases():
  C = banded.ColumnNormalizedBanded.default(8, 3)
  momentum = streaming_matrix.momentum_sgd_matrix(0.9)
  optima = []
  for n, bands, reduction in [(16, 3, 'mean'), (16, 3, 'max'), (20, 20, 'mean')]:
    best = banded.optimize(n, bands=bands, reduction_fn=REDUCTIONS[reduction],
                           max_optimizer_steps=200)
    loss = float(REDUCTIONS[reduction](banded.per_query_error(best)))
    optima.append({'n': n, 'bands': bands, 'reduction': reduction, 'loss': loss})
  return {
      'params': plain(C.params),
      'matrix': plain(C.materialize()),
      'error': plain(banded.per_query_error(C)),
      'workload': plain(momentum.materialize(8)),
      'error_workload': plain(banded.per_query_error(C, momentum)),
      'optima': optima,
  }


def patient(steps):
  """Stops once as many steps made the loss no smaller."""
  seen = []

  def callback(step):
    seen.append(float(step.loss))
    return len(seen) > steps and min(seen[-steps:]) >= min(seen[:-steps]) * (1 - 1e-13)

  return callback


def blt_cases():
  approximations, optima = [], []
  for m, limits in [(1, {}), (2, {}), (3, {}), (5, {}),
                    (4, {'max_buf_decay': 0.99, 'max_pillutla_score': 0.9})]:
    blt = buffered_toeplitz.BufferedToeplitz.from_rational_approx_to_sqrt_x(m, **limits)
    inverse = blt.inverse()
    loss = buffered_toeplitz.LossFn.build_min_sep(n=40, min_sep=7, max_participations=3)
    single = buffered_toeplitz.LossFn.build_closed_form_single_participation(n=40)
    approximations.append({
        'num_buffers': m,
        'limits': limits,
        'buf_decay': plain(blt.buf_decay),
        'output_scale': plain(blt.output_scale),
        'inverse_buf_decay': plain(inverse.buf_decay),
        'inverse_output_scale': plain(inverse.output_scale),
        'coefs': plain(blt.toeplitz_coefs(10)),
        'pillutla_score': float(blt.pillutla_score()),
        'sensitivity_squared': {
            str(n): float(buffered_toeplitz.sensitivity_squared(blt, n)) for n in (1, 2, 40, 1000)
        },
        'max_error': {
            str(n): float(buffered_toeplitz.max_error(inverse, n)) for n in (1, 2, 40, 1000)
        },
        'limit_max_loss': float(buffered_toeplitz.limit_max_loss(blt)),
        'minsep_loss': float(loss.loss(blt)),
        'penalties': [float(v) for v in single.compute_penalties(blt, inverse).values()],
        'penalized_loss': float(loss.penalized_loss(blt, inverse)),
        'penalized_closed_form': float(single.penalized_loss(blt, inverse)),
    })
  for m, n, error, min_sep, k in [(1, 100, 'max', 1, 1), (2, 100, 'max', 1, 1),
                                  (2, 200, 'max', 20, 5), (2, 200, 'mean', 1, 1)]:
    loss_fn = (
        buffered_toeplitz.LossFn.build_closed_form_single_participation(n) if error == 'max' and
        k == 1 else buffered_toeplitz.LossFn.build_min_sep(n, error, min_sep, k))
    _, loss = buffered_toeplitz.optimize_loss(loss_fn, m, callback=patient(20))
    optima.append({
        'num_buffers': m,
        'n': n,
        'error': error,
        'min_sep': min_sep,
        'max_participations': k,
        'loss': float(loss)
    })
  return {'approximations': approximations, 'optima': optima}


def amplification_cases():
  helper = toeplitz._AmplifiedBandMFHelper(64, 1000, 100, 2.0, 1e-5, jnp.mean)
  results = helper.compute_loss_for_bands(max_workers=1)
  best = min(results, key=lambda r: float(r['loss']))
  return {
      'n': 64,
      'dataset_size': 1000,
      'expected_batch_size': 100,
      'bands': [r['bands'] for r in results],
      'noise_multipliers': [float(helper.total_noise_multiplier(r['bands'])) for r in results],
      'losses': [float(r['loss']) for r in results],
      'best': best['bands'],
      'stddev': float(helper.required_stddev(best['coef'])),
  }


def without_infinities(value):
  if isinstance(value, dict):
    return {k: without_infinities(v) for k, v in value.items()}
  if isinstance(value, list):
    return [without_infinities(v) for v in value]
  return None if isinstance(value, float) and not np.isfinite(value) else value


def main():
  golden.Topic('matrix_factorization').write(without_infinities({
      'toeplitz': toeplitz_cases(),
      'sensitivity': sensitivity_cases(),
      'dense': dense_cases(),
      'banded': banded_cases(),
      'amplification': amplification_cases(),
      'blt': blt_cases(),
  }))


main()
