"""auditing.json: privacy audits by jax_privacy.auditing (2.3.0.dev0, commit 8967688), with every root
found to the last digits.

The reference divides the significance by the number of thresholds on the hull, which the scores
choose. Tessera takes thresholds that so many canaries pass, so bounds over all thresholds are made here
of the reference's bounds at one threshold. The script imports the module alone: run it with the
folder jax_privacy/ of a checkout in PYTHONPATH.

"scores": name -> {"in", "out"}. "cases": {"scores", "method", "options", "value"}, the methods and
their keyword arguments as CanaryScoreAuditor's; "threshold" for the Explicit strategy. "bootstrap":
{"scores", "values", "estimate", "jackknife", "quantiles", "plain", "corrected", "accelerated"}:
resampled areas under the curve, and the quantiles that come of them.
"""
import functools

import auditing  # of jax_privacy
import dp_accounting
import numpy as np
import scipy.optimize

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


def few_to_many(n):
  """0, 1, 2, 3, 4, 6, 8, 12, ... below n."""
  counts = {0} | {f * 2**k for f in (1, 3) for k in range(40) if f * 2**k < n}
  return sorted(counts)


def rates(name, both_ends):
  """False negatives and positives, of which ties may let fewer pass, at each threshold."""
  ins, outs = np.sort(SCORES[name]['in']), np.sort(SCORES[name]['out'])
  n = len(outs)
  passing = set(few_to_many(n)) | ({n - c for c in few_to_many(n)} if both_ends else set())
  return [(int(np.sum(ins <= outs[n - 1 - c])), c) for c in sorted(passing - {n})]


def upper(count, trials, significance):
  return float(auditing._clopper_pearson_upper(count, trials, significance))  # pylint: disable=protected-access


def clopper_pearson(name, significance, delta, one_sided):
  """epsilon_clopper_pearson over all thresholds."""
  at = rates(name, not one_sided)
  n_in, n_out = len(SCORES[name]['in']), len(SCORES[name]['out'])
  best = 0
  for fn, fp in at:
    fnr, fpr = (upper(c, n, significance / len(at) / 2) for c, n in ((fn, n_in), (fp, n_out)))
    pairs = [(fnr, fpr)] if one_sided else [(fnr, fpr), (fpr, fnr)]
    best = max([best] + [np.log(1 - a - delta) - np.log(b) for a, b in pairs if 1 - a > delta])
  return best


def gdp(name, significance, delta):
  """epsilon_from_gdp: the epsilon of the largest mu by the reference's formula."""
  at = rates(name, True)
  n_in, n_out = len(SCORES[name]['in']), len(SCORES[name]['out'])
  share = significance / len(at) / 2
  bounds = [(upper(fp, n_out, share), upper(fn, n_in, share)) for fn, fp in at]
  norm = auditing._norm  # pylint: disable=protected-access
  mu = max([0.0] + [norm.isf(a) - norm.ppf(b) for a, b in bounds if max(a, b) < 1 - delta])
  return min(float(dp_accounting.get_epsilon_gaussian(1 / mu, delta)), 100.0) if mu > 0 else 0.0


def one_run(name, method, significance, delta):
  """The one-run bounds over all numbers of guesses."""
  ins, outs = np.array(SCORES[name]['in']), np.array(SCORES[name]['out'])
  both = np.sort(np.concatenate([ins, outs]))
  m = len(both)
  excluded = {both[m - 1 - g] for g in few_to_many(m)}
  counts = [(int(np.sum(ins > v)), int(np.sum(outs > v))) for v in excluded]
  counts = [(tp, fp) for tp, fp in counts if tp + fp > 0]
  bound = getattr(auditing, '_' + method)
  return max([0.0] + [
      float(bound(0, m, tp + fp, tp, significance / len(counts), delta)) for tp, fp in counts])


def over_thresholds(name, method, options):
  if method == 'epsilon_clopper_pearson':
    return clopper_pearson(name, **options)
  if method == 'epsilon_from_gdp':
    return gdp(name, **options)
  return one_run(name, method, **options)


def case(name, method, threshold=None, **options):
  auditor = auditing.CanaryScoreAuditor(SCORES[name]['in'], SCORES[name]['out'])
  extra = {}
  if threshold is not None:
    extra['threshold_strategy'] = auditing.Explicit(threshold)
    options_out = {**options, 'threshold': threshold}
  else:
    options_out = options
  if threshold is None and 'significance' in options and method.startswith('epsilon_'):
    value = float(over_thresholds(name, method, options))
  else:
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
