"""group_norm.json, group_norm.npz: GroupNorm of flax.nnx and flax.linen.

"cases": a list of {"name", "x", "out": of nnx, "grad": by x of the sum of out's squares, "linen":
the same of linen}. tests/nnx/nnx_test.cc and tests/linen/linen_test.cc have the options.
"""
import warnings

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

import golden

warnings.simplefilter('ignore')
golden.setup()
topic = golden.Topic('group_norm')
rng = np.random.default_rng(6)
IMAGE, LINE, VECTOR = (np.float32(rng.normal(size=s)) for s in ((2, 3, 4, 6), (3, 5, 8), (4, 6)))
CASES = {
    'groups': (IMAGE, dict(num_groups=3)),
    'group_size': (IMAGE, dict(num_groups=None, group_size=3)),
    'one_group': (LINE, dict(num_groups=1)),
    'each_feature': (VECTOR, dict(num_groups=6)),
    'no_scale': (LINE, dict(num_groups=4, use_scale=False, epsilon=1e-2)),
    'axes': (IMAGE, dict(num_groups=2, reduction_axes=(2, 3))),
    'bfloat16': (LINE, dict(num_groups=2, dtype=jnp.bfloat16)),
}

cases = []
for name, (x, options) in CASES.items():
  module = nn.GroupNorm(**options)
  variables = module.init(jax.random.key(3), x)
  linen = module.apply(variables, x)
  case = {'name': name, 'x': topic.array(f'{name}_x', x), 'linen': topic.array(f'{name}_l', linen)}
  # flax.nnx repeats its means along dimension 1, which is right for the default axes alone.
  if 'reduction_axes' not in options:
    m = nnx.GroupNorm(x.shape[-1], rngs=nnx.Rngs(7), **options)
    case['out'] = topic.array(f'{name}_out', m(x))
    case['grad'] = topic.array(f'{name}_grad', jax.grad(lambda v: jnp.sum(m(v)**2))(x))
  cases.append(case)
topic.write({'cases': cases})
