"""privacy_head.json: what jax_privacy has at its head (2.3.0.dev0) and 2.0.0 had not.

By a Python with jax 0.10.2, optax, scipy, absl-py and dp-accounting, and with the sources on its
path, as the head is in no package:

    git -C CLONE archive HEAD jax_privacy | tar x -C FOLDER && PYTHONPATH=FOLDER VENV/bin/python FILE

"optimizers": steps of scale_then_privatize without noise (float32): the clipped mean and the
parameters after each. "multi_owner": graphs as owners of each example, what is selected of them.
"banded_inverse", "sensitivities": coefficients and squared sensitivities in float64, and losses of
what was optimised. "rmse": of banded plans. "cyclic_poisson": losses of given outputs. "composed":
deltas of samples of a loss beside an event. "padding": padded batches, -1 for padding.
"""
import jax
import jax.numpy as jnp
import numpy as np
import optax

import golden

golden.setup()
if not hasattr(optax, 'ArrayTree'):  # of optax's own head, for annotations alone
  optax.ArrayTree = optax.Params
import dp_accounting
from jax_privacy import batch_selection
from jax_privacy import clipping
from jax_privacy import execution_plan
from jax_privacy import optimizers
from jax_privacy.experimental.monte_carlo import delta_calculation
from jax_privacy.experimental.monte_carlo import sample_generation
from jax_privacy.matrix_factorization import toeplitz

topic = golden.Topic('privacy_head')


def plain(value):
  return np.asarray(value, np.float64).tolist()


def optimizer_cases():
  """A linear model: x[b][i] = sin(3 b + i + 1), y[b][j] = cos(2 b + j), w[i][j] = (i - j) / 4, 0 bias."""
  b, i, j = np.arange(8), np.arange(3), np.arange(2)
  x = jnp.asarray(np.sin(3 * b[:, None] + i + 1), jnp.float32)
  y = jnp.asarray(np.cos(2 * b[:, None] + j), jnp.float32)
  start = {
      'bias': jnp.zeros(2, jnp.float32),
      'w': jnp.asarray((i[:, None] - j) / 4, jnp.float32)
  }

  def loss(p, x, y):
    return jnp.mean((x @ p['w'] + p['bias'] - y)**2)

  moments = {'bias': jnp.asarray([1.0, 4.0]), 'w': jnp.full((3, 2), 9.0)}
  kinds = {
      'adam': (optax.adam(1e-2), {}),
      'adam_eps': (optax.adam(1e-2), {'eps': 0.1, 'eps_root': 0.01}),
      'adamw': (optax.adamw(1e-2, weight_decay=0.1), {'eps': 1e-3}),
      'rmsprop': (optax.rmsprop(1e-2), {'eps': 1e-3}),
      'adagrad': (optax.adagrad(1e-1), {}),
      'sgd_of_given_moments': (optax.sgd(0.5), {
          'extract_preconditioner_from_state_fn': lambda _: moments
      }),
  }
  out = []
  for name, (base, options) in kinds.items():
    optimizer = optimizers.scale_then_privatize(base, **options)
    params, state, steps = start, optimizer.init(start), []
    for _ in range(4):
      grad = clipping.clipped_grad(loss, l2_clip_norm=1.5, normalize_by=8, batch_argnums=(1, 2),
                                   pre_clipping_transform=optimizer.pre_clipping_transform(state))
      mean = grad(params, x, y)
      updates, state = optimizer.update(mean, state, params)
      params = optax.apply_updates(params, updates)
      steps.append({
          'clipped': {k: plain(v.ravel()) for k, v in mean.items()},
          'params': {k: plain(v.ravel()) for k, v in params.items()}
      })
    out.append({'name': name, 'steps': steps})
  return out


def owners_of(examples, users, most, seed):
  """1 to `most` owners of each example, without one twice."""
  out = []
  for e in range(examples):
    count = 1 + (e * e + seed) % most
    out.append(sorted({(e * 7 + k * k * 3 + seed * 5) % users for k in range(count)}))
  return out


def multi_owner_cases():
  graphs = {
      'small': [[0, 1], [1, 2], [2]],
      'chain': [[0, 1], [1, 2], [2, 3], [3], [0]],
      'sparse': owners_of(40, 90, 3, 1),
      'dense': owners_of(60, 40, 5, 2),
      'private': [[u] for u in range(9)],
  }
  bounds, orders = [], []
  for name, owners in graphs.items():
    graph = batch_selection.MultiOwnerGraph.from_owners_per_example(owners)
    for max_degree in (1, 2, 8):
      selected = batch_selection.greedy_contribution_bound(graph, max_degree=max_degree)
      bounds.append({'graph': name, 'max_degree': max_degree,
                     'selected': sorted(int(e) for e in selected)})
  for name, batch_size, min_sep, ratio in [('chain', 1, 2, 4), ('sparse', 3, 3, 4),
                                           ('sparse', 2, 1, 1.5), ('dense', 2, 2, 2),
                                           ('private', 3, 3, 4), ('private', 2, 1, 1)]:
    graph = batch_selection.MultiOwnerGraph.from_owners_per_example(graphs[name])
    # The longest run for which the head does not relax its caps: it forgets examples where it does.
    for iterations in range(graph.num_examples, 0, -1):
      try:
        sampler = batch_selection.MultiOwnerMinSepSampling(
            graph, batch_size, iterations, min_sep, user_example_ratio=ratio)
      except ValueError:
        continue
      if sampler.user_maxpart == 1:
        break
    batches = [[int(e) for e in batch] for batch in sampler.batch_iterator(graph.num_examples)]
    orders.append({'graph': name, 'batch_size': batch_size, 'iterations': iterations,
                   'min_sep': min_sep, 'user_example_ratio': ratio, 'batches': batches})
  return {'graphs': graphs, 'bounds': bounds, 'orders': orders}


def momentum_workload(n, momentum, decay):
  """Column of SGD with momentum and weight decay: sum over i + j = k of momentum^i decay^j."""
  return np.convolve(momentum**np.arange(n), decay**np.arange(n))[:n]


def banded_inverse_cases():
  roots, sensitivities, optima = [], [], []
  for name, bands, workload in [('prefix', 5, None), ('momentum', 6, (0.9, 1.0)),
                                ('momentum_decay', 4, (0.5, 0.99)), ('scaled', 3, 'scaled')]:
    if workload == 'scaled':
      column = np.array([4.0, 2.0, 1.0, 0.5])
    else:
      column = None if workload is None else momentum_workload(12, *workload)
    coefs = toeplitz.banded_inverse_square_root_noising_coefs(
        bands, None if column is None else jnp.asarray(column))
    roots.append({'name': name, 'bands': bands, 'workload': None if column is None else plain(column),
                  'coefs': plain(coefs)})
  for noising, n, min_sep, k in [([1, -0.5, -0.125], 20, 4, 3), ([1, -0.5, -0.125], 20, 4, None),
                                 ([1, -1.2], 12, 3, 2), ([1, 0.4, -0.3], 15, 5, None),
                                 ([2, -1.5, 0.25], 16, 1, 4), ([1, -0.9, 0.3, 0.2], 11, 4, 2)]:
    squared = [
        float(toeplitz.compute_banded_inverse_sensitivity_squared(
            n, jnp.asarray(noising, jnp.float64), min_sep, k, use_matrix_upper_bound=matrix))
        for matrix in (False, True)]
    sensitivities.append({'noising': noising, 'n': n, 'min_sep': min_sep,
                          'max_participations': k, 'majorant': squared[0], 'matrix': squared[1]})
  for n, min_sep, bands, k, workload, reduction in [
      (60, 12, 3, None, None, 'mean'), (60, 12, 3, 2, None, 'max'),
      (48, 16, 4, None, (0.9, 1.0), 'mean'), (48, 16, 4, None, (0.5, 0.99), 'mean')]:
    column = np.ones(n) if workload is None else momentum_workload(n, *workload)
    reduce = {'mean': jnp.mean, 'max': jnp.max}[reduction]
    best = toeplitz.optimize_banded_inverse_toeplitz(
        n, min_sep, bands, workload_coef=jnp.asarray(column), max_participations=k,
        reduction_fn=reduce)
    error = reduce(toeplitz.per_query_error(noising_coef=best, n=n,
                                            workload_coef=jnp.asarray(column)))
    squared = toeplitz.compute_banded_inverse_sensitivity_squared(n, best, min_sep, k)
    optima.append({'n': n, 'min_sep': min_sep, 'bands': bands, 'max_participations': k,
                   'momentum': None if workload is None else workload[0],
                   'decay': None if workload is None else workload[1], 'reduction': reduction,
                   'loss': float(error * squared)})
  return {'roots': roots, 'sensitivities': sensitivities, 'optima': optima}


def majorant_cases():
  out = []
  for coef, n, min_sep, k in [([1, 2, 0.5], 9, 3, 2), ([0.5, -1, 0.25, 0.75], 12, 2, None),
                              ([1, 0.5, 0.25], 10, 3, None)]:
    out.append({'coef': coef, 'n': n, 'min_sep': min_sep, 'max_participations': k,
                'squared': float(toeplitz.minsep_sensitivity_squared(
                    jnp.asarray(coef, jnp.float64), min_sep, n=n, max_participations=k))})
  return out


def rmse_cases():
  out = []
  for strategy, iterations, participations, noise in [
      ([1.0], 100, 10, 2.0), ([1.0, 0.5, 0.25], 60, 4, 1.5), ([1.0, 0.5, 0.375, 0.3125], 64, 16, 0.7)]:
    config = execution_plan.BandMFConfig(
        iterations=iterations, expected_participations=participations, strategy=np.array(strategy),
        noise_multiplier=noise)
    out.append({'strategy': strategy, 'iterations': iterations, 'noise_multiplier': noise,
                'expected_participations': participations, 'rmse': config.rmse})
  return out


def cyclic_poisson_cases():
  out = []
  for iterations, cycle, p, sigma, column in [(10, 4, 0.3, 1.0, [1.0]), (9, 3, 0.6, 0.8, [1, 0.5, 0.25]),
                                              (7, 1, 0.2, 1.2, [1.0]), (5, 8, 0.9, 2.0, [0.8, 0.6])]:
    sampler = batch_selection.CyclicPoissonSampling(
        sampling_prob=p, iterations=iterations, cycle_length=cycle,
        partition_type=batch_selection.PartitionType.INDEPENDENT)
    output = np.sin(np.arange(iterations) * 1.7) + 0.4
    loss = sample_generation.compute_privacy_loss(sampler, output[:, None], sigma,
                                                  np.array(column, np.float64))
    out.append({'iterations': iterations, 'cycle_length': cycle, 'sampling_prob': p, 'sigma': sigma,
                'column': column, 'output': plain(output), 'loss': float(loss[0])})
  return out


def composed_cases():
  losses = (np.sin(np.arange(12) * 2.1) * 1.5 + 0.3).tolist()
  counts = [1 + i % 3 for i in range(12)]
  events = {
      'gaussian': dp_accounting.GaussianDpEvent(2.0),
      'poisson': dp_accounting.SelfComposedDpEvent(
          dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(1.0)), 20),
  }
  out = []
  for name, event in events.items():
    for epsilon in (0.0, 0.5, 2.0):
      for weights in (None, counts):
        delta = delta_calculation.delta_from_epsilon_and_samples(epsilon, losses, weights, event)
        out.append({'event': name, 'epsilon': epsilon, 'counts': weights, 'delta': float(delta)})
  return {'losses': losses, 'cases': out}


def padding_cases():
  out = []
  for size, multiple, microbatch in [(10, 4, None), (10, 4, 2), (6, 8, 4), (9, 9, 3), (0, 4, 2)]:
    padded = batch_selection.pad_to_multiple_of(np.arange(size) + 100, multiple, microbatch)
    out.append({'size': size, 'multiple': multiple, 'microbatch': microbatch,
                'padded': [int(i) for i in padded]})
  return out


content = {'optimizers': optimizer_cases(), 'multi_owner': multi_owner_cases(),
           'padding': padding_cases()}
with jax.enable_x64(True):
  content |= {
      'banded_inverse': banded_inverse_cases(),
      'sensitivities': majorant_cases(),
      'rmse': rmse_cases(),
      'cyclic_poisson': cyclic_poisson_cases(),
      'composed': composed_cases(),
  }
topic.write(content)
