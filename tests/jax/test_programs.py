"""JAX programs on Tessera: their results, compared with NumPy, and their messages."""
import jax
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest


def close(actual, expected, tolerance=1e-5):
  np.testing.assert_allclose(np.asarray(actual), expected, rtol=tolerance, atol=tolerance)


X = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)


@pytest.fixture(name='mesh', scope='module')
def _mesh():
  return jax.make_mesh((4, 2), ('x', 'y'), axis_types=(jax.sharding.AxisType.Auto,) * 2)


# --- transforms on one device


def test_jit():
  f = jax.jit(lambda a, b: {'sum': 2 * jnp.sin(a) + b, 'sizes': (a.T @ a).sum(1)})
  out = f(X, 1.0)
  close(out['sum'], 2 * np.sin(X) + 1)
  close(out['sizes'], (X.T @ X).sum(1))
  assert f.trace(X, 1.0).lower().compile()(X, 1.0)['sum'].dtype == jnp.float32


@pytest.mark.parametrize('dtype', ['bool', 'int8', 'uint8', 'int16', 'int32', 'uint32', 'float16', 'bfloat16', 'float32',
                                   'complex64'])
def test_dtypes(dtype):
  x = jnp.arange(6).astype(dtype)
  out = jax.jit(lambda x: jnp.concatenate([x, x[::-1]]).reshape(3, 4))(x)
  assert out.dtype == x.dtype
  np.testing.assert_array_equal(np.asarray(out), np.concatenate([np.asarray(x), np.asarray(x)[::-1]]).reshape(3, 4))


def test_64_bits():
  with jax.enable_x64(True):
    x = jnp.arange(3, dtype=jnp.float64) + 2.0**-40
    assert x.dtype == jnp.float64 and (np.asarray(x) - np.arange(3) == 2.0**-40).all()
    assert int(jnp.int64(2**40) * 3) == 3 * 2**40


def test_grad_and_vmap():
  def f(w, x):
    return jnp.tanh(w @ x).sum()
  w, x = X[:3], X[0]
  close(jax.grad(f)(w, x), (1 - np.tanh(w @ x)**2)[:, None] * x)
  value, grad = jax.jit(jax.value_and_grad(f))(w, x)
  close(value, np.tanh(w @ x).sum())
  batched = jax.vmap(jax.grad(f), in_axes=(None, 0))(w, X)
  close(batched[0], grad)
  hessian = jax.hessian(lambda x: (x**4).sum())(x)
  close(hessian, np.diag(12 * x**2))


def test_control_flow():
  def body(carry, x):
    return carry * 0.5 + x, carry
  last, seen = lax.scan(body, jnp.zeros(4), X)
  carry, expected = np.zeros(4), []
  for x in X:
    expected.append(carry)
    carry = carry * 0.5 + x
  close(last, carry)
  close(seen, expected)
  assert int(lax.while_loop(lambda n: n < 100, lambda n: n * 3, 1)) == 243
  assert int(lax.fori_loop(0, 10, lambda i, n: n + i, 0)) == 45
  branch = jax.jit(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: -x], x))
  for i, f in enumerate((np.sin, np.cos, np.negative)):
    close(branch(i, X), f(X))
  close(jax.grad(lambda x: lax.cond(x > 0, lambda x: x**2, lambda x: -x, x))(3.0), 6)


def test_random():
  key = jax.random.key(0)
  # The bits of threefry are the same on all backends; these are from JAX's CPU backend.
  assert [int(b) for b in jax.random.bits(key, (3,))] == [4070199207, 4202968722, 1427181096]
  x = jax.random.normal(jax.random.fold_in(key, 1), (20000,))
  assert abs(float(x.mean())) < 0.03 and abs(float(x.std()) - 1) < 0.03
  assert sorted(np.asarray(jax.random.permutation(key, 10)).tolist()) == list(range(10))
  assert (jax.random.normal(key, (4,)) != jax.random.normal(jax.random.split(key)[0], (4,))).all()


def test_donation_and_deleted_buffers():
  x = jnp.ones(4)
  x.delete()
  with pytest.raises(RuntimeError, match='Array has been deleted'):
    (x + 1).block_until_ready()
  close(jnp.ones(4) + 1, 2 * np.ones(4))  # the backend still works
  y = jnp.arange(4.0)
  out = jax.jit(lambda x: x + 1, donate_argnums=0)(y)
  close(out, [1, 2, 3, 4])


def test_transfers():
  x = jax.device_put(X, jax.devices()[3])
  assert x.devices() == {jax.devices()[3]}
  y = x + 1
  assert y.devices() == {jax.devices()[3]}
  close(jax.device_put(y, jax.devices()[5]), X + 1)
  assert np.asarray(y).shape == (8, 4) and jnp.array(X[::2, ::-1]).shape == (4, 4)
  close(jnp.array(X[::2, ::-1]), X[::2, ::-1])
  assert jnp.zeros((0, 3)).sum() == 0


# --- eight devices


def test_sharded_jit(mesh):
  a = jax.device_put(np.ones((8, 16), np.float32), NamedSharding(mesh, P('x', 'y')))
  b = jax.device_put(np.arange(64, dtype=np.float32).reshape(16, 4), NamedSharding(mesh, P('y')))
  assert a.addressable_shards[0].data.shape == (2, 8) and len(a.sharding.device_set) == 8
  out = jax.jit(jnp.matmul)(a, b)
  close(out, np.ones((8, 16)) @ np.arange(64).reshape(16, 4))
  kept = jax.jit(jnp.matmul, out_shardings=NamedSharding(mesh, P(None, 'x')))(a, b)
  assert kept.sharding.spec == P(None, 'x')
  close(kept, out)
  constrained = jax.jit(lambda a: lax.with_sharding_constraint(a * 2, NamedSharding(mesh, P('y', 'x'))))(a)
  assert constrained.sharding.spec == P('y', 'x')
  close(constrained, 2 * np.ones((8, 16)))


@pytest.mark.parametrize('f, spec, expected', [
    (lambda x, put: jnp.concatenate([x, x[:3]]), P(), np.r_[0:16, 0:3]),
    (lambda x, put: put(x[:5], 'x'), P(), np.r_[0:5]),
    (lambda x, put: put(jnp.arange(5.), 'x') * 2, P(), 2 * np.r_[0:5]),
    (lambda x, put: put(jnp.outer(x[:5], x), 'x', 'y'), P(None, 'y'), np.outer(np.r_[0:5], np.r_[0:16])),
])
def test_results_that_do_not_divide_are_whole_in_these_dimensions(mesh, f, spec, expected):
  put = lambda x, *spec: lax.with_sharding_constraint(x, NamedSharding(mesh, P(*spec)))
  x = jax.device_put(jnp.arange(16.), NamedSharding(mesh, P('x')))
  result = jax.jit(lambda x: f(x, put))(x)
  assert result.sharding.is_equivalent_to(NamedSharding(mesh, spec), result.ndim), result.sharding
  np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize('f, spec', [
    (lambda v: v.reshape(4, 2), P()), (lambda v: v.reshape(4, 2).T, P()), (lambda v: jnp.resize(v, (4, 8)), P()),
    (lambda v: v.reshape(8, 1), P('x'))])
def test_shardings_of_results_name_whole_axes(f, spec):
  line = jax.sharding.Mesh(np.array(jax.devices()), ('x',))
  v = jax.device_put(np.arange(8, dtype=np.float32), NamedSharding(line, P('x')))
  out = jax.jit(f)(v)
  assert out.sharding.is_equivalent_to(NamedSharding(line, spec), out.ndim)
  np.testing.assert_array_equal(out, f(np.arange(8, dtype=np.float32)))


def test_reshard_and_fetch(mesh):
  x = jax.device_put(X, NamedSharding(mesh, P('x', 'y')))
  for spec in (P('y'), P(None, 'x'), P(('x', 'y')), P()):
    x = jax.device_put(x, NamedSharding(mesh, spec))
    close(x, X)
  for shard in jax.device_put(X, NamedSharding(mesh, P('x', 'y'))).addressable_shards:
    close(shard.data, X[shard.index])


def test_shard_map(mesh):
  def f(block):
    i = lax.axis_index('x')
    return lax.psum(block, 'x'), lax.all_gather(i.reshape(1), 'x', tiled=True)
  total, ids = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P('x'), out_specs=(P(), P('x')), check_vma=False))(X)
  close(total, X.reshape(4, 2, 4).sum(0))
  assert ids.shape == (16,) and ids[:4].tolist() == [0, 1, 2, 3]

  ring = [(i, (i + 1) % 4) for i in range(4)]
  turned = jax.shard_map(lambda b: lax.ppermute(b, 'x', ring), mesh=mesh, in_specs=P('x'), out_specs=P('x'))(X)
  close(turned, np.roll(X, 2, axis=0))
  scattered = jax.shard_map(lambda b: lax.psum_scatter(b, 'y', tiled=True), mesh=mesh, in_specs=P(), out_specs=P('y'))(X)
  close(scattered, 2 * X)

  def loss(x):
    return jax.shard_map(lambda b: lax.psum((b**2).sum(), ('x', 'y')), mesh=mesh, in_specs=P('x', 'y'), out_specs=P())(x)
  close(jax.grad(loss)(X), 2 * X)


@pytest.mark.parametrize('spec', [P('x'), P('y'), P(('x', 'y')), P(None, ('y', 'x'))])
def test_a_shard_map_without_inputs(mesh, spec):
  # The constraint on its result does not spread to values inside of it.
  def f():
    ours = lambda: lax.psum(jnp.cumsum(jnp.eye(8), 0), ('x', 'y'))
    out = jax.shard_map(ours, mesh=mesh, in_specs=(), out_specs=P(), check_vma=False)()
    return lax.with_sharding_constraint(out, NamedSharding(mesh, spec))

  close(jax.jit(f)(), 8 * np.tri(8))


def test_sums_over_groups_of_different_sizes(mesh):
  groups = [[0, 1], [4, 2, 7], [3, 5, 6]]
  f = jax.jit(jax.shard_map(lambda x: lax.psum(x, ('x', 'y'), axis_index_groups=groups), mesh=mesh,
                            in_specs=P(('x', 'y')), out_specs=P(('x', 'y')), check_vma=False))
  x = np.arange(8, dtype=np.float32)**2
  expected = np.zeros(8)
  for group in groups:
    expected[group] = x[group].sum()
  close(f(x), expected)


def test_a_thousand_collectives_in_flight(mesh):
  total = jax.jit(jax.shard_map(lambda b: lax.psum(b, ('x', 'y')), mesh=mesh, in_specs=P(('x', 'y')), out_specs=P()))
  x = jax.device_put(X, NamedSharding(mesh, P(('x', 'y'))))
  outs = [total(x) for _ in range(1000)]
  close(outs[-1], X.sum(0, keepdims=True))


def test_sharded_gradient_step(mesh):
  def step(w, x, y):
    return w - 0.1 * jax.grad(lambda w: ((x @ w - y)**2).mean())(w)
  w = np.ones((4, 2), np.float32)
  y = X @ np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.float32)
  rows = NamedSharding(mesh, P('x'))
  sharded = jax.jit(step)(w, jax.device_put(X, rows), jax.device_put(y, rows))
  expected = w - 0.1 * 2 / 16 * X.T @ (X @ w - y)
  close(sharded, expected)


# --- programs that are refused


def test_ahead_of_time():
  compiled = jax.jit(lambda x: x + 1).lower(X).compile()
  close(compiled(X), X + 1)
  with pytest.raises(TypeError, match='compiled'):
    compiled(X[:3])
  assert compiled.as_text() and 'stablehlo.add' in jax.jit(lambda x: x + 1).lower(X).as_text()


def test_errors_leave_the_client_usable(mesh):
  with pytest.raises(ValueError, match='evenly divide|divisible'):
    jax.device_put(np.ones(7), NamedSharding(mesh, P('x')))
  with pytest.raises(jax.errors.JaxRuntimeError, match=r'expected a custom call that Tessera has, got @no_such_target'):
    jax.jit(jax.ffi.ffi_call('no_such_target', jax.ShapeDtypeStruct((4,), jnp.float32)))(jnp.ones(4))
  with pytest.raises(ValueError, match='incompatible devices'):
    jax.jit(jnp.add)(jax.device_put(X, jax.devices()[0]), jax.device_put(X, jax.devices()[1]))
  close(jax.jit(jnp.add)(X, X), 2 * X)


# --- rules that JAX has only for platforms with certain names


def test_rules_for_cpu_are_found_whenever_they_are_registered():
  from jax._src.interpreters import mlir
  from jax.extend import core
  from jax_plugins.tessera import lowerings
  jax.devices()  # installs the rules
  rules = mlir._platform_specific_lowerings['tessera']
  late = core.Primitive('schur')
  assert late not in rules
  mlir.register_lowering(late, lambda ctx, x: [x], platform='cpu')
  assert late in rules and rules[late] is mlir._platform_specific_lowerings['cpu'][late]
  everywhere = core.Primitive('of_all_platforms')
  mlir.register_lowering(everywhere, lambda ctx, x: [x])
  mlir.register_lowering(everywhere, lambda ctx, x: [x], platform='cpu')
  assert everywhere not in rules
  with pytest.raises(KeyError):
    rules[everywhere]  # pylint: disable=pointless-statement
  mlir.register_lowering(everywhere, lambda ctx, x: [x], platform='tessera')
  lowerings.install()
  assert everywhere in mlir._platform_specific_lowerings['tessera']
  del mlir._platform_specific_lowerings['cpu'][late], mlir._platform_specific_lowerings['cpu'][everywhere], rules[everywhere]


@pytest.mark.parametrize('f, call', [
    (lambda a: jax.lax.linalg.lu(a), '@lapack_sgetrf_ffi'),
    (lambda a: jnp.linalg.eigh(a), '@lapack_ssyevd_ffi'),
    (lambda a: jnp.linalg.svd(a), '@lapack_sgesdd_ffi'),
    (lambda a: jnp.linalg.qr(a), '@lapack_sgeqrf_ffi'),
    (lambda a: jnp.linalg.eig(a), '@lapack_sgeev_ffi'),
    (lambda a: jax.scipy.linalg.schur(a), '@lapack_sgees_ffi'),
    (lambda a: jax.lax.linalg.hessenberg(a), '@lapack_sgehrd_ffi'),
    (lambda a: jax.lax.linalg.tridiagonal(a), '@lapack_ssytrd_ffi'),
    (lambda a: jax.lax.linalg.tridiagonal_solve(a[0], a[1], a[2], a), '@lapack_sgtsv_ffi'),
    (jnp.linalg.cholesky, 'stablehlo.cholesky'),
    (lambda a: jax.scipy.linalg.solve_triangular(a, a), 'stablehlo.triangular_solve'),
])
def test_linear_algebra_lowers_to_lapack_or_stablehlo(f, call):
  assert call in jax.jit(f).lower(jnp.eye(4)).as_text()


def test_checkify():
  from jax.experimental import checkify
  def f(x):
    checkify.check(x > 0, 'not positive: {}', x)
    return x
  error, _ = jax.jit(checkify.checkify(f))(jnp.float32(-1))
  assert 'not positive: -1' in error.get()
  with pytest.raises(ValueError, match='checkify'):
    jax.jit(f)(1.0)


def test_programs_for_the_cpu_are_programs_for_tessera():
  for platforms in (['cpu'], ['tpu', 'cpu']):
    exported = jax.export.export(jax.jit(lambda x: 2 * jnp.sin(x) + x @ x.T[:, :1]), platforms=platforms)(X)
    close(jax.jit(exported.call)(X), 2 * np.sin(X) + X @ X.T[:, :1])
  with pytest.raises(ValueError, match='was exported for platforms'):
    jax.export.export(jax.jit(lambda x: 2 * x), platforms=['tpu'])(X).call(X)


@pytest.mark.parametrize('branches, expected', [
    ({'cpu': jnp.sin, 'tpu': jnp.cos}, np.sin),
    ({'tpu': jnp.cos, 'cpu': jnp.sin, 'default': jnp.tan}, np.sin),
    ({'cpu': jnp.sin, 'tessera': jnp.cos}, np.cos),
    ({'tpu': jnp.sin, 'default': jnp.tan}, np.tan),
])
def test_choices_by_platform(branches, expected):
  f = lambda x: lax.platform_dependent(x, **branches)
  close(f(X), expected(X))
  close(jax.jit(jax.vmap(f))(X), expected(X))
  with pytest.raises(NotImplementedError, match='not found for platform tessera'):
    jax.jit(lambda x: lax.platform_dependent(x, tpu=jnp.sin))(X)


def test_devices_end_loops_and_take_branches_by_themselves(mesh):
  def f(block):
    trips, _ = lax.while_loop(lambda c: c[1][0, 0] < 100, lambda c: (c[0] + 1, 3 * c[1] + 1),
                              (lax.pcast(0, ('x', 'y'), to='varying'), block))
    which = lax.switch(block[0, 0].astype(int) % 3, [lambda b: b, lambda b: -b, lambda b: b * b], block)
    return trips[None, None], which
  starts = np.arange(8, dtype=np.float32).reshape(4, 2) * 13
  trips, which = jax.jit(jax.shard_map(f, mesh=mesh, in_specs=P('x', 'y'), out_specs=P('x', 'y')))(starts)
  expected = np.zeros((4, 2), int)
  for i in np.ndindex(4, 2):
    v = starts[i]
    while v < 100:
      v, expected[i] = 3 * v + 1, expected[i] + 1
  np.testing.assert_array_equal(trips, expected)
  np.testing.assert_array_equal(which, np.choose(starts.astype(int) % 3, [starts, -starts, starts**2]))


def test_rejection_sampling_in_shard_map(mesh):
  keys = jax.random.split(jax.random.key(3), 8)
  draw = lambda key: jax.random.gamma(key[0], 2.0, (5,))[None]
  out = jax.jit(jax.shard_map(draw, mesh=mesh, in_specs=P(('x', 'y')), out_specs=P(('x', 'y'))))(keys)
  close(out, np.stack([np.asarray(jax.random.gamma(key, 2.0, (5,))) for key in keys]))


def test_singular_matrices_are_no_errors():
  assert np.isnan(jnp.linalg.cholesky(-jnp.eye(2))).any()
  assert not np.isfinite(jnp.linalg.inv(jnp.zeros((2, 2)))).any()
  assert not np.isfinite(jnp.linalg.solve(jnp.ones((2, 2)), jnp.arange(2.))).all()


def test_transforms_of_nothing():
  with pytest.raises(ValueError, match='Shape should be positive'):
    jnp.fft.fft(jnp.zeros(4), n=0)
  assert jnp.fft.fft(jnp.zeros(0)).shape == (0,)
  assert jnp.fft.fft(jnp.zeros((0, 4))).shape == (0, 4)


@pytest.mark.skipif(not hasattr(jnp, 'int1'), reason='this JAX has no integers of one bit')
def test_dtypes_that_tessera_lacks():
  with pytest.raises(jax.errors.JaxRuntimeError, match=r'\[tessera\] expected an array of bool.*got PJRT'):
    jnp.zeros(2, 'int1')
  close(jnp.ones(2) + 1, 2 * np.ones(2))


def test_ragged_all_to_all_and_its_gradient():
  random = np.random.default_rng(0)
  devices, rows, capacity = 8, 20, 64
  mesh = jax.make_mesh((devices,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))
  sent = random.multinomial(rows, np.full(devices, 1 / devices), devices).astype(np.int32)  # from, to
  start, landing = np.cumsum(sent, 1) - sent, (np.cumsum(sent, 0) - sent).astype(np.int32)
  x = random.normal(size=(devices, rows, 3)).astype(np.float32)
  weights = random.normal(size=(devices, capacity, 3)).astype(np.float32)
  expected, gradient = np.full((devices, capacity, 3), -1, np.float32), np.zeros_like(x)
  for s in range(devices):
    for d in range(devices):
      out, into = slice(landing[s, d], landing[s, d] + sent[s, d]), slice(start[s, d], start[s, d] + sent[s, d])
      expected[d, out] = x[s, into]
      gradient[s, into] = weights[d, out]

  def exchange(x, *sizes):
    return lax.ragged_all_to_all(x[0], jnp.full((capacity, 3), -1, jnp.float32), *(a[0] for a in sizes), axis_name='x')[None]

  f = jax.shard_map(exchange, mesh=mesh, in_specs=P('x'), out_specs=P('x'), check_vma=False)
  sizes = (start.astype(np.int32), sent, landing, sent.T.copy())
  np.testing.assert_array_equal(jax.jit(f)(x, *sizes), expected)
  close(jax.jit(jax.grad(lambda x: jnp.vdot(f(x, *sizes), weights)))(x), gradient)


def test_a_partial_shard_map_on_an_explicit_mesh():
  # Since 0.12 JAX writes the axes that stay explicit into the shardings of the manual computation.
  explicit = jax.make_mesh((4, 2), ('x', 'y'), axis_types=(jax.sharding.AxisType.Explicit,) * 2)
  with jax.sharding.use_mesh(explicit) if hasattr(jax.sharding, 'use_mesh') else jax.set_mesh(explicit):
    a = jax.device_put(X, NamedSharding(explicit, P('x', 'y')))
    f = jax.jit(jax.shard_map(lambda a: 2 * a + lax.psum(a.sum(), 'x'), in_specs=P('x'), out_specs=P('x'), axis_names={'x'}))
    out = f(a)
    close(out, 2 * X + X.sum())
    assert out.sharding.is_equivalent_to(NamedSharding(explicit, P('x', 'y')), 2)
    if jax.__version__.startswith('0.8.'):
      return  # its own rule fails for a psum under vmap here
    columns = jax.device_put(X[:, :2], NamedSharding(explicit, P('x', 'y')))
    summed = jax.jit(jax.vmap(jax.shard_map(lambda a: lax.psum(a, 'y'), in_specs=P('y'), out_specs=P(None))))(columns)
    close(summed, X[:, :2].sum(1, keepdims=True))
