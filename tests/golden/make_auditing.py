"""auditing.json: privacy audits by jax_privacy.auditing (2.0.0), with every root found to the last
digits.

"scores": name -> {"in", "out"}. "cases": {"scores", "method", "options", "value"}, the methods and
their keyword arguments as CanaryScoreAuditor's; "threshold" for the Explicit strategy. "bootstrap":
{"scores", "values", "estimate", "jackknife", "quantiles", "plain", "corrected", "accelerated"}:
resampled areas under the curve, and the quantiles that come of them.
"""
import functools

import numpy as np
import scipy.optimize
from jax_privacy import auditing

import golden

golden.setup()
topic = golden.Topic('auditing')
brentq = scipy.optimize.brentq


def exact_brentq(f, a, b, **_):
  return brentq(f, a, b, xtol=1e-15, rtol=4 * np.finfo(float).eps, maxiter=1000)


scipy.optimize.brentq = exact_brentq
rng = np.random.default_rng(0)


def normal(mean, size):
  return [round(float(x), 2) for x in rng.normal(mean, 1, size)]


SCORES = {
    'separated': {'in': normal(1.5, 100), 'out': normal(0, 100)},
    'weak': {'in': normal(0.3, 160), 'out': normal(0, 120)},
    'perfect': {'in': [x + 9 for x in normal(0, 40)], 'out': normal(0, 30)},
    'reversed': {'in': normal(-1.2, 80), 'out': normal(0, 90)},
    'ties': {'in': [1, 2, 2, 3, 3, 3, 4, 4] * 4, 'out': [0, 1, 1, 2, 2, 3] * 5},
    'equal': {'in': [1, 1, 1, 1, 1], 'out': [1, 1, 1]},
    'two': {'in': [1], 'out': [0]},
}
cases = []


def case(name, method, threshold=None, **options):
  auditor = auditing.CanaryScoreAuditor(SCORES[name]['in'], SCORES[name]['out'])
  extra = {}
  if threshold is not None:
    extra['threshold_strategy'] = auditing.Explicit(threshold)
    options_out = {**options, 'threshold': threshold}
  else:
    options_out = options
  value = float(getattr(auditor, method)(**options, **extra))
  cases.append({'scores': name, 'method': method, 'options': options_out, 'value': value})


for name in SCORES:
  add = functools.partial(case, name)
  for significance in [0.05, 0.3, 1e-4]:
    for delta in [0, 1e-3, 0.3]:
      for one_sided in [True, False]:
        add('epsilon_clopper_pearson', significance=significance, delta=delta, one_sided=one_sided)
    for delta in [1e-9, 1e-3, 0.2]:
      add('epsilon_one_run', significance=significance, delta=delta)
      add('epsilon_one_run_fdp', significance=significance, delta=delta)
      add('epsilon_from_gdp', significance=significance, delta=delta)
  for threshold in [-0.5, 1, 2.5]:
    add('epsilon_clopper_pearson', threshold, significance=0.1, delta=1e-5)
    add('epsilon_one_run', threshold, significance=0.1, delta=1e-5)
    add('epsilon_one_run_fdp', threshold, significance=0.1, delta=1e-5)
  for min_count in [1, 5, 50, 200]:
    for delta in [0, 0.05]:
      for one_sided in [True, False]:
        add('epsilon_raw_counts', min_count=min_count, delta=delta, one_sided=one_sided)
  for fpr in [0, 0.01, 0.1, 0.37, 1]:
    add('tpr_at_given_fpr', fpr=fpr)
  add('attack_auroc')
  add('max_accuracy')
  for prevalence in [0, 0.3, 1]:
    add('max_accuracy', prevalence=prevalence)
    add('max_accuracy', prevalence=prevalence, significance=0.05)

bootstrap = []
for name, size in [('weak', 60), ('ties', 100), ('perfect', 40)]:
  auditor = auditing.CanaryScoreAuditor(SCORES[name]['in'], SCORES[name]['out'])
  quantiles = [0.025, 0.5, 0.8, 0.975]
  seen = []

  def record(a):
    value = a.attack_auroc()  # of numpy: with Python's float the reference fails
    seen.append(float(value))
    return value

  def quantiles_of(**options):
    seen.clear()
    params = auditing.BootstrapParams(num_samples=size, quantiles=quantiles, seed=1, **options)
    return [float(q) for q in auditor._bootstrap(record, params)]  # pylint: disable=protected-access

  plain = quantiles_of(bias_correction=False)
  values = sorted(seen)
  corrected = quantiles_of()
  accelerated = quantiles_of(acceleration=True)
  bootstrap.append({
      'scores': name, 'values': values, 'estimate': float(auditor.attack_auroc()),
      'jackknife': sorted(seen[size + 1:]), 'quantiles': quantiles, 'plain': plain,
      'corrected': corrected, 'accelerated': accelerated
  })

topic.write({'scores': SCORES, 'cases': cases, 'bootstrap': bootstrap})
