"""many_keys.json, many_keys.npz: samplers at small and odd shapes, each over many keys.

"keys": the keys, two words each. "cases": a list of {"function", "x64", "params", "out": array
reference}, the results of all keys stacked along the first dimension. Params that are absent had
JAX's defaults. Arithmetic is that of AVX2, as in make_random.py.
"""
import os

os.environ['XLA_FLAGS'] = '--xla_cpu_max_isa=AVX2'

import jax
import numpy as np

import golden

golden.setup()
topic = golden.Topic('many_keys')
KEYS = [[i * 2654435761 % 2**32, i] for i in range(24)]
SHAPES = [(), (1,), (3,), (3, 5)]
CALLS = [
    ('uniform', {'minval': -3.3, 'maxval': 7.7}),
    ('uniform', {'minval': 0.1, 'maxval': 0.7}),
    ('uniform', {'minval': 0.1, 'maxval': 0.7, 'dtype': 'float16'}),
    ('uniform', {'minval': 0.1, 'maxval': 0.7, 'dtype': 'bfloat16'}),
    ('uniform', {'minval': 0.1, 'maxval': 0.7, 'dtype': 'float64'}),
    ('normal', {}), ('gumbel', {}), ('exponential', {}), ('laplace', {}), ('logistic', {}),
    ('cauchy', {}), ('rademacher', {}), ('bits', {}),
    ('truncated_normal', {'lower': -1.5, 'upper': 2.5}),
    ('bernoulli', {'p': 0.3}),
    ('randint', {'minval': -3, 'maxval': 100}),
]
cases = []
for function, params in CALLS:
  for shape in SHAPES:
    x64 = params.get('dtype') == 'float64'
    with jax.enable_x64(x64):
      call = {'shape': shape, **params}
      out = np.stack([
          np.asarray(
              getattr(jax.random, function)(jax.random.wrap_key_data(np.array(k, np.uint32)),
                                            **call)) for k in KEYS
      ])
    cases.append({
        'function': function,
        'x64': x64,
        'params': {**params, 'shape': list(shape)},
        'out': topic.array(f'{len(cases)}.{function}', out)
    })
topic.write({'keys': KEYS, 'cases': cases})
