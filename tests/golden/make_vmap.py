"""vmap.json, vmap.npz: collectives over the axis that vmap maps, in every kind of region, float64.

"x": float64[3, 3], mapped, and "u": float64[3], the same for every example: array references.
"cases": a list of {"collective", "wrapper", "mapped": whether the collective is given x or u,
"values": vmap of the function over x, "outside": the gradient of sum(values * weights) by x, then by
u, flat, "inside": what each example gets as the gradient of its sum(value * weights[0]), by x and by
u: one row an example}. The latter two are null where there is no reverse derivative.

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
X, U = rng.normal(size=(3, 3)), rng.normal(size=3)
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
    'all_to_all': lambda v, i: lax.all_to_all(v, i, 0, 0, tiled=True),
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
  return lax.cond(jnp.sum(x) > 0, lambda a: c(jnp.sin(a)), lambda a: a * 2, v)


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

  def local(x, u):
    x, loss = x[0], lambda a, b: jnp.sum(f(a, b) * WEIGHTS[0])
    if jax.typeof(loss(x, u)).mat.varying:
      u = lax.pcast(u, 'i', to='varying')
    gx, gu = jax.grad(loss, (0, 1))(x, u)
    return gx[None], vary_as(gu, x)[None]

  gx, gu = jax.jit(jax.shard_map(local, mesh=mesh, in_specs=(P('i'), P()),
                                 out_specs=P('i')))(jnp.asarray(X), jnp.asarray(U))
  return np.concatenate([np.asarray(gx), np.asarray(gu)], 1)


def outside(f):

  def loss(x, u):
    return jnp.sum(jax.vmap(f, in_axes=(0, None), axis_name='i')(x, u) * WEIGHTS)

  gx, gu = jax.grad(loss, (0, 1))(X, U)
  return np.concatenate([np.asarray(gx).ravel(), np.asarray(gu)])


cases = []


def case(collective, wrapper, mapped, f, gradients, alone):
  name = f'{wrapper}_{collective}_{"x" if mapped else "u"}'
  try:
    values = jax.vmap(f, in_axes=(0, None), axis_name='i')(X, U)
  except (AssertionError, TypeError, ValueError) as e:  # some collectives of unmapped values under two vmaps
    print('no reference for', name, str(e).split('\n')[0])
    return
  cases.append({
      'collective': collective,
      'wrapper': wrapper,
      'mapped': mapped,
      'values': topic.array(name, values),
      'outside': topic.array(f'{name}_outside', outside(f)) if gradients else None,
      'inside': topic.array(f'{name}_inside', inside(f)) if gradients and alone else None,
  })


for mapped in [True, False]:
  for collective, c in COLLECTIVES.items():
    has_gradient = collective != 'pmax'
    over_i, over_j = (lambda v, c=c: c(v, 'i')), (lambda v, c=c: c(v, 'j'))
    for wrapper, w in WRAPPERS.items():
      f = lambda x, u, w=w, k=over_i: w(k, x if mapped else u)
      case(collective, wrapper, mapped, f, has_gradient and wrapper not in NO_GRADIENT, True)
    f = lambda x, u, k=over_i: cond_mapped(k, x if mapped else u, x)
    case(collective, 'cond_mapped', mapped, f, has_gradient, False)
    for wrapper, w in INNER.items():
      f = lambda x, u, w=w, k=over_j: w(k, x if mapped else u)
      case(collective, wrapper, mapped, f, has_gradient, False)
    if collective in ('psum', 'pmean', 'axis_index', 'axis_size'):
      both = lambda v, c=c: c(v, ('i', 'j'))
      f = lambda x, u, k=both: INNER['inner'](k, x if mapped else u)
      case(collective, 'both', mapped, f, has_gradient, False)

topic.write({'x': topic.array('x', X), 'u': topic.array('u', U), 'cases': cases})
