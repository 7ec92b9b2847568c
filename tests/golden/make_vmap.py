"""vmap.json, vmap.npz: collectives over the axis that vmap maps, in every kind of region, float64.

"x": float64[3, 3], mapped: an array reference. "cases": a list of {"collective", "wrapper", "values":
vmap of the function over x, "outside": the gradient of sum(values * weights) by x, "inside": what
each example gets as the gradient of its sum(value * weights[0]): one row an example}. The latter two
are null where there is no reverse derivative.

What each example gets is that of shard_map over three devices, where a loss that varies is
differentiated by arguments cast to vary: under vmap, JAX itself sums twice (psum is its own
transpose there). tests/compile/vmap_golden_test.cc has the same functions under the same names.
"""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec as P

import golden

golden.setup(x64=True)
topic = golden.Topic('vmap')
rng = np.random.default_rng(11)
X = rng.normal(size=(3, 3))
TS = np.array([1.0, -0.5])
YS = np.array([0.5, 1.0, -1.5])
WEIGHTS = np.cos(np.arange(9.0)).reshape(3, 3)
TABLE = np.sin(np.arange(9.0)).reshape(3, 3)


def vary_as(v, like):
  """v, typed as varying over what `like` varies over (shard_map; nothing under vmap)."""
  missing = tuple(jax.typeof(like).mat.varying - jax.typeof(v).mat.varying)
  return lax.pcast(v, missing, to='varying') if missing else v


COLLECTIVES = {
    'psum': lambda v, i: lax.psum(v, i),
    'pmean': lambda v, i: lax.pmean(v, i),
    'pmax': lambda v, i: lax.pmax(v, i),
    'all_gather': lambda v, i: jnp.sum(lax.all_gather(v, i) * TABLE, 0),
    'psum_scatter': lambda v, i: lax.psum_scatter(v, i, tiled=True) * TABLE[0],
    # JAX has no rule for what is the same for all examples.
    'all_to_all': lambda v, i: lax.all_to_all(v + 0 * lax.axis_index(i), i, 0, 0, tiled=True),
    'ppermute': lambda v, i: lax.ppermute(v, i, [(0, 1), (1, 2), (2, 0)]),
    'axis_index': lambda v, i: v * (lax.axis_index(i) + 1),
    'axis_size': lambda v, i: v * lax.axis_size(i),
}


def scan(c, v):

  def step(h, t):
    out = h * 0.5 + c(v * t)
    return vary_as(out, c(v)), jnp.sum(out)

  h, ys = lax.scan(step, vary_as(jnp.zeros(3), c(v)), TS)
  return h + jnp.sum(ys * TS)


def carried(c, v):
  """The collective is of the carry, which starts as the same for all."""
  like = c(v) + v
  return lax.fori_loop(0, 2, lambda k, h: vary_as(jnp.tanh(c(h) + v), like),
                       vary_as(jnp.ones(3), like))


def cond(c, v):
  like = c(v) + v
  return lax.cond(jnp.sum(TS) > 0, lambda a: vary_as(c(jnp.sin(a)), like),
                  lambda a: vary_as(a * 2, like), v)


def cond_mapped(c, v, x):
  """A cond. JAX stops gradients into a branch that an example does not take, also those that a
  collective brings from other examples, which is not the derivative; where() has it."""
  return jnp.where(jnp.sum(x) > 0, c(jnp.sin(v)), v * 2)


def while_loop(c, v):
  end = vary_as(v, c(v))
  body = lambda s: (s[0] + 1, s[1] * 0.5 + c(v))
  return lax.while_loop(lambda s: s[0] < 2, body, (0, end))[1]


def while_condition(c, v):
  """The collective stands in the condition."""
  going = lambda s: jnp.logical_and(s[0] < 3, jnp.sum(c(s[1])) < 1)
  return lax.while_loop(going, lambda s: (s[0] + 1, s[1] + v), (0, v))[1]


def custom_vjp(c, v):
  f = jax.custom_vjp(lambda a: c(a))
  f.defvjp(lambda a: (c(a), a), lambda a, ct: (ct * jnp.cos(a),))
  return f(v)


def custom_jvp(c, v):
  f = jax.custom_jvp(lambda a: c(a))
  f.defjvp(lambda p, t: (c(p[0]), c(t[0] * 2)))
  return f(v)


WRAPPERS = {
    'plain': lambda c, v: c(jnp.sin(v)),
    'scan': scan,
    'carried': carried,
    'cond': cond,
    'while_loop': while_loop,
    'while_condition': while_condition,
    'checkpoint': lambda c, v: jax.checkpoint(lambda a: c(jnp.sin(a)))(v),
    'custom_vjp': custom_vjp,
    'custom_jvp': custom_jvp,
    'jit': lambda c, v: jax.jit(lambda a: c(jnp.sin(a)))(v),
    'scan_of_cond': lambda c, v: scan(functools.partial(cond, c), v),
    'checkpoint_of_scan': lambda c, v: jax.checkpoint(functools.partial(scan, c))(v),
    'scan_of_checkpoint': lambda c, v: scan(jax.checkpoint(lambda a: c(a)), v),
    'cond_of_custom_vjp': lambda c, v: cond(functools.partial(custom_vjp, c), v),
    # Inside another vmap, and over its axis.
    'outer': lambda c, v: jnp.sum(jax.vmap(lambda y: scan(c, v * y), axis_name='j')(YS), 0),
}
INNER = {
    'inner': lambda c, v: jnp.sum(jax.vmap(lambda y: scan(c, v * y), axis_name='j')(YS), 0),
    'inner_unmapped': lambda c, v: jnp.sum(
        jax.vmap(lambda y: scan(c, v) * y, axis_name='j')(YS), 0),
}
NO_GRADIENT = {'while_loop', 'while_condition'}
mesh = jax.make_mesh((3,), ('i',), axis_types=(jax.sharding.AxisType.Auto,),
                     devices=jax.devices()[:3])


def inside(f):
  """The gradients that each of three devices gets."""

  def local(x):
    return vary_as(jax.grad(lambda a: jnp.sum(f(a) * WEIGHTS[0]))(x[0]), x)[None]

  return jax.jit(jax.shard_map(local, mesh=mesh, in_specs=P('i'), out_specs=P('i')))(jnp.asarray(X))


def outside(f):
  return jax.grad(lambda x: jnp.sum(jax.vmap(f, axis_name='i')(x) * WEIGHTS))(X)


cases = []


def case(collective, wrapper, f, gradients, alone):
  name = f'{wrapper}_{collective}'
  cases.append({
      'collective': collective,
      'wrapper': wrapper,
      'values': topic.array(name, jax.vmap(f, axis_name='i')(X)),
      'outside': topic.array(f'{name}_outside', outside(f)) if gradients else None,
      'inside': topic.array(f'{name}_inside', inside(f)) if gradients and alone else None,
  })


for collective, c in COLLECTIVES.items():
  has_gradient = collective != 'pmax'
  over_i, over_j = (lambda v, c=c: c(v, 'i')), (lambda v, c=c: c(v, 'j'))
  for wrapper, w in WRAPPERS.items():
    gradients = has_gradient and wrapper not in NO_GRADIENT
    case(collective, wrapper, lambda x, w=w, k=over_i: w(k, x), gradients, True)
  case(collective, 'cond_mapped', lambda x, k=over_i: cond_mapped(k, x, x), has_gradient, False)
  for wrapper, w in INNER.items():
    case(collective, wrapper, lambda x, w=w, k=over_j: w(k, x), has_gradient, False)
  if collective in ('psum', 'pmean', 'axis_index', 'axis_size'):
    both = lambda v, c=c: c(v, ('i', 'j'))
    case(collective, 'both', lambda x, k=both: INNER['inner'](k, x), has_gradient, False)

topic.write({'x': topic.array('x', X), 'cases': cases})
