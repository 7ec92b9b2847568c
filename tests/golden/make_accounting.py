"""accounting.json: what dp_accounting 0.6.0 and jax_privacy 2.0.0 say of private mechanisms. An infinite value is null.

"rdp": {"q", "sigma", "orders", "poisson", "without_replacement", "laplace"}: divergences at the orders.
"rdp_epsilon", "pld_epsilon": {"sigma", "q", "steps", "delta", "epsilon"} of Poisson-sampled Gaussians; of "rdp_epsilon" also "order".
"pld": {"name", "args", "relation", "steps", "delta", "epsilon", "at", "delta_at"} of other mechanisms: epsilon at delta, and the
delta at the epsilon `at`.
"gaussian": {"sigma", "delta", "epsilon"}, where epsilon(sigma, delta) and sigma(epsilon, delta) are inverse.
"training": {"kind", "pld", "updates", "params", "epsilon"}: jax_privacy's training accountants. "calibrated": its calibrations.
"losses": {"law", "c_col", "sigma", "output", "rest", "loss"}: Monte Carlo losses of given outputs. "overall_delta": {"samples", "base",
"delta"}.
"""
import math

import dp_accounting as dp
import numpy as np
from dp_accounting.rdp import rdp_privacy_accountant as rdp
from jax_privacy import accounting, batch_selection
from jax_privacy.experimental.monte_carlo import delta_calculation, sample_generation

import golden

R = dp.NeighboringRelation
ORDERS = [1.01, 1.5, 2, 2.5, 7.8, 8, 31.5, 32, 63, 300, 512]


def finite(value):
  value = float(value)
  return value if math.isfinite(value) else None


def rdp_cases():
  for q, sigma in [(0, 1), (1, 1), (1, .3), (.01, 1), (.01, 2), (.5, .3), (.1, 100), (1e-6, 1), (.9, 4), (256 / 60000, 1.1)]:
    yield {
        'q': q, 'sigma': sigma, 'orders': ORDERS,
        'poisson': [finite(x) for x in rdp._compute_rdp_poisson_subsampled_gaussian(q, sigma, ORDERS)],
        'without_replacement': [finite(x) for x in rdp._compute_rdp_sample_wor_gaussian(q, sigma, ORDERS)],
        'laplace': [finite(rdp._laplace_rdp(1 / sigma, a)) for a in ORDERS]}


def sampled(sigma, q):
  return dp.PoissonSampledDpEvent(q, dp.GaussianDpEvent(sigma))


REFERENCE = [(1, .01, 1000, 1e-5), (3, .1, 512, 1e-6), (1.1, 256 / 60000, 14062, 1e-5)]
GRID = [(.3, .01, 1, 1e-5), (.3, .01, 10, 1e-5), (1, 1, 1, 1e-5), (1, 1, 1, 1e-12), (100, .01, 1, 1e-12), (100, .01, 1000000, 1e-6),
        (100, 1, 1000, 1e-8), (5, .001, 1000000, 1e-6), (1, 0, 1000, 1e-5), (2, .5, 100, 1e-12), (1, .01, 1000, 1e-12), (.7, .001, 1, 1e-3),
        (1, .01, 1000, .5), (10, .1, 20000, 1e-5), (1, 1e-6, 1000, 1e-10)]


def rdp_epsilons():
  for sigma, q, steps, delta in REFERENCE + GRID:
    epsilon, order = dp.rdp.RdpAccountant().compose(sampled(sigma, q), steps).get_epsilon_and_optimal_order(delta)
    yield {'sigma': sigma, 'q': q, 'steps': steps, 'delta': delta, 'epsilon': finite(epsilon), 'order': float(order)}


def pld_epsilons():
  for sigma, q, steps, delta in REFERENCE + GRID:
    epsilon = dp.pld.PLDAccountant().compose(sampled(sigma, q), steps).get_epsilon(delta)
    yield {'sigma': sigma, 'q': q, 'steps': steps, 'delta': delta, 'epsilon': finite(epsilon)}


def other_plds():
  add = 'add_or_remove_one'
  cases = [
      ('laplace', dp.LaplaceDpEvent(2.0), [2.0], add, 10, 1e-5),
      ('sampled_laplace', dp.PoissonSampledDpEvent(.1, dp.LaplaceDpEvent(1.0)), [.1, 1.0], add, 50, 1e-6),
      ('discrete_laplace', dp.dp_event.DiscreteLaplaceDpEvent(.5, 3), [.5, 3], add, 5, 1e-5),
      ('mixture', dp.dp_event.MixtureOfGaussiansDpEvent(1.5, [0., 1., 2.], [.81, .18, .01]), [1.5, [0., 1., 2.], [.81, .18, .01]], add,
       100, 1e-5),
      ('mixture', dp.dp_event.MixtureOfGaussiansDpEvent(2., [.5, 3.], [.75, .25]), [2., [.5, 3.], [.75, .25]], add, 3, 1e-6),
      ('truncated', dp.TruncatedSubsampledGaussianDpEvent(10000, .01, 150, 1.0), [10000, .01, 150, 1.0], add, 1000, 1e-5),
      ('truncated', dp.TruncatedSubsampledGaussianDpEvent(1000, .1, 105, 2.0), [1000, .1, 105, 2.0], add, 100, 1e-6),
      ('truncated', dp.TruncatedSubsampledGaussianDpEvent(1000, .1, 105, 2.0), [1000, .1, 105, 2.0], 'replace_one', 100, 1e-6),
      ('sampled_gaussian', sampled(1.5, .1), [.1, 1.5], 'replace_one', 100, 1e-6),
      ('sampled_gaussian', sampled(1.5, .1), [.1, 1.5], 'replace_special', 100, 1e-6),
      ('gaussian', dp.GaussianDpEvent(2.0), [2.0], 'replace_one', 7, 1e-6),
  ]
  for name, event, args, relation, steps, delta in cases:
    accountant = dp.pld.PLDAccountant(R[relation.upper()]).compose(event, steps)
    epsilon = accountant.get_epsilon(delta)
    yield {'name': name, 'args': args, 'relation': relation, 'steps': steps, 'delta': delta, 'epsilon': finite(epsilon),
           'at': epsilon / 2, 'delta_at': float(accountant.get_delta(epsilon / 2))}


def gaussians():
  for sigma, delta in [(1, 1e-5), (.3, 1e-5), (100, 1e-6), (.01, 1e-12), (5, 1e-12), (1, .1), (.5, 1e-30)]:
    yield {'sigma': sigma, 'delta': delta, 'epsilon': float(dp.get_epsilon_gaussian(sigma, delta))}


def trainings():
  kinds = {'dpsgd': accounting.DpsgdTrainingAccountant, 'user': accounting.DpsgdTrainingUserLevelAccountant,
           'single': accounting.SingleReleaseTrainingAccountant}
  base = {'num_samples': 10000, 'delta': 1e-5, 'batch_size': 100}
  cases = [
      ('dpsgd', True, 500, {'noise_multipliers': 1.0}),
      ('dpsgd', False, 500, {'noise_multipliers': 1.0}),
      ('dpsgd', True, 500, {'noise_multipliers': [(0, 1.0), (200, 1.5)]}),
      ('dpsgd', True, 500, {'noise_multipliers': 1.2, 'batch_size_scale_schedule': {100: 4, 300: 2}}),
      ('dpsgd', True, 501, {'noise_multipliers': 1.0, 'cycle_length': 4}),
      ('dpsgd', True, 100, {'noise_multipliers': 2.0, 'fixed': True}),
      ('dpsgd', True, 100, {'noise_multipliers': 1.0, 'truncated_batch_size': 120}),
      ('dpsgd', False, 100, {'noise_multipliers': 1.0, 'cycle_length': 3}),
      ('user', True, 100, {'noise_multipliers': 3.0, 'examples_per_user': 3}),
      ('user', True, 100, {'noise_multipliers': 5.0, 'examples_per_user': 4, 'fixed': True}),
      ('single', True, 100, {'noise_multipliers': 2.0}),
      ('single', False, 100, {'noise_multipliers': [(0, 2.0), (50, 3.0)]}),
  ]
  for kind, pld, updates, params in cases:
    config = accounting.PldAccountantConfig() if pld else accounting.RdpAccountantConfig()
    given = {**base, **{k: v for k, v in params.items() if k != 'fixed'}}
    if params.get('fixed'):
      given['sampling_method'] = accounting.SamplingMethod.FIXED_BATCH_SIZE
    if 'batch_size_scale_schedule' in given:  # jax arrays otherwise, with which dp_accounting takes minutes
      given['batch_size'] = [(step, int(size)) for step, size in accounting.DpParams(**given).batch_sizes]
      del given['batch_size_scale_schedule']
    epsilon = kinds[kind](config).compute_epsilon(updates, accounting.DpParams(**given))
    if 'batch_size_scale_schedule' in params:
      params['batch_size_scale_schedule'] = sorted(params['batch_size_scale_schedule'].items())
    yield {'kind': kind, 'pld': pld, 'updates': updates, 'params': {**base, **params}, 'epsilon': finite(epsilon)}


def calibrated():
  rdp_accountant = accounting.DpsgdTrainingAccountant(accounting.RdpAccountantConfig())
  common = {'accountant': rdp_accountant, 'target_epsilon': 3.0, 'num_samples': 10000, 'target_delta': 1e-5}
  return {
      'noise_multiplier': accounting.calibrate_noise_multiplier(batch_sizes=100, num_updates=1000, tol=1e-10, **common),
      'num_updates': accounting.calibrate_num_updates(noise_multipliers=1.0, batch_sizes=100, **common),
      'num_updates_cycle_7': accounting.calibrate_num_updates(noise_multipliers=1.0, batch_sizes=100, cycle_length=7, **common),
      'batch_size': accounting.calibrate_batch_size(noise_multipliers=1.0, num_updates=1000, **common)}


def losses():
  laws = {
      'balls': (batch_selection.BallsInBinsSampling(iterations=10, cycle_length=4), [1.0, .5, .25], None),
      'balls_long': (batch_selection.BallsInBinsSampling(iterations=7, cycle_length=2), [1.0, .5, .25], None),
      'b_min_sep': (batch_selection.BMinSepSampling(sampling_prob=.3, iterations=9, min_sep=3), [.8, .6], None),
      'b_min_sep_cold': (batch_selection.BMinSepSampling(sampling_prob=.3, iterations=9, min_sep=3, warm_start=False), [.8, .6], None),
      'b_min_sep_truncated': (
          batch_selection.BMinSepSampling(sampling_prob=.3, iterations=9, min_sep=3, truncated_batch_size=4), [.8, .6], 20)}
  for name, (law, c_col, size) in laws.items():
    for seed in range(2):
      loss, sample = sample_generation.get_privacy_loss_sample(law, 1.3, np.array(c_col), seed=seed, dataset_size=size)
      output, rest = sample if isinstance(sample, tuple) else (sample, [])
      yield {'law': name, 'c_col': c_col, 'sigma': 1.3, 'output': [float(x) for x in output], 'rest': [int(x) for x in rest],
             'loss': float(loss)}


def overall_deltas():
  for samples, base in [(1000, .01), (100000, 1e-3), (1000000, 1e-4), (10, .5)]:
    yield {'samples': samples, 'base': base, 'delta': float(delta_calculation.get_overall_delta(samples, base))}


golden.Topic('accounting').write({
    'rdp': list(rdp_cases()), 'rdp_epsilon': list(rdp_epsilons()), 'pld_epsilon': list(pld_epsilons()), 'pld': list(other_plds()),
    'gaussian': list(gaussians()), 'training': list(trainings()), 'calibrated': calibrated(), 'losses': list(losses()),
    'overall_delta': list(overall_deltas())})
