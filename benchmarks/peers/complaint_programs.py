"""Programs like those that users of JAX report as slow on CPUs, each with the report that it follows.

PROGRAMS[name]() returns (function, arguments, NumPy's function or None). The caller jits the function, with x64 on.
"""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

RNG = np.random.default_rng(0)


def roughness(x):
  """Returns the sum of squares of all differences between neighbours, along each axis (jax#37465)."""
  total = 0.0
  for axis in range(x.ndim):
    step = lax.slice_in_dim(x, 1, None, axis=axis) - lax.slice_in_dim(x, 0, -1, axis=axis)
    total += jnp.sum(step * step)
  return total


def roughness_numpy(x):
  return sum(np.sum(np.square(np.diff(x, axis=axis))) for axis in range(x.ndim))


def regulariser():
  x = RNG.normal(size=(256, 256, 256)).astype(np.float32)
  return roughness, (x,), roughness_numpy


def regulariser_gradient():
  x = RNG.normal(size=(256, 256, 256)).astype(np.float32)
  return jax.value_and_grad(roughness), (x,), None


def cable(voltage, current):
  """Computes steps of a cable of compartments: one scan eliminates the tridiagonal system and another one substitutes (jax#26145)."""
  n, g, dt = voltage.shape[0], 2.0, 0.025

  def step(v, injected):
    rate = v * (v - 0.1) * (1.0 - v)
    right = v + dt * rate + dt * injected

    def eliminate(carry, d):
      upper, value = carry
      pivot = 1.0 + 2 * dt * g - dt * g * upper
      upper, value = dt * g / pivot, (d + dt * g * value) / pivot
      return (upper, value), (upper, value)

    def substitute(after, row):
      upper, value = row
      x = value + upper * after
      return x, x

    _, rows = lax.scan(eliminate, (jnp.zeros(()), jnp.zeros(())), right)
    _, v = lax.scan(substitute, jnp.zeros(()), rows, reverse=True)
    return v, v[n // 2]

  return lax.scan(step, voltage, current)[1]


def neuron():
  current = np.zeros((2000, 64))
  current[:400, 3] = 5.0
  return cable, (np.zeros(64), current), None


def neuron_gradient():
  current = np.zeros((500, 64))
  current[:100, 3] = 5.0
  return jax.grad(lambda v, c: jnp.sum(cable(v, c) ** 2), argnums=1), (np.zeros(64), current), None


def interior_point(q, c, a, b):
  """Solves a quadratic program with inequalities, by Newton steps on the perturbed optimality conditions (jax#26021)."""
  m, n = a.shape

  def step(_, state):
    x, s, z = state
    mu = 0.2 * jnp.dot(s, z) / m
    dual, primal, gap = q @ x + c + a.T @ z, a @ x + s - b, s * z - mu
    left = q + a.T @ ((z / s)[:, None] * a)
    right = -dual - a.T @ ((z * primal - gap) / s)
    factor = jax.scipy.linalg.cho_factor(left)
    dx = jax.scipy.linalg.cho_solve(factor, right)
    ds = -primal - a @ dx
    dz = -(gap + z * ds) / s
    limit = lambda v, d: jnp.min(jnp.where(d < 0, -v / d, jnp.inf))
    length = jnp.minimum(1.0, 0.95 * jnp.minimum(limit(s, ds), limit(z, dz)))
    return x + length * dx, s + length * ds, z + length * dz

  return lax.fori_loop(0, 15, step, (jnp.zeros(n), jnp.ones(m), jnp.ones(m)))[0]


def quadratic_program():
  root = RNG.normal(size=(20, 20))
  a = RNG.normal(size=(40, 20))
  return interior_point, (root @ root.T + np.eye(20), RNG.normal(size=20), a, np.abs(RNG.normal(size=40)) + 1), None


def quadratic_programs():
  f, (q, c, a, b), _ = quadratic_program()
  return jax.vmap(f, (None, 0, None, 0)), (q, RNG.normal(size=(64, 20)), a, np.abs(RNG.normal(size=(64, 40))) + 1), None


def rows_written_in_place():
  """A scan that writes row i of an array it carries (jax#31282)."""

  def run(x):
    def body(state, i):
      rows, row = state
      row = jnp.sin(row) + 0.1
      return (rows.at[i].set(row), row), None

    return lax.scan(body, (jnp.zeros((20_000, 16)), x), jnp.arange(20_000))[0][0]

  return run, (RNG.normal(size=16),), None


def neighbour_written_in_place():
  """A loop that writes one element, computed from the previous one (jax#40101)."""

  def run(x):
    return lax.fori_loop(1, x.shape[0], lambda i, a: a.at[i].set(0.9 * a[i - 1] + a[i]), x)

  return run, (RNG.normal(size=80_000),), None


def gravity(x, mass):
  """Returns the gravity of all bodies on each body, which needs no n x n array in memory (xla#49131)."""
  d = x[None, :, :] - x[:, None, :]
  r2 = jnp.sum(d * d, axis=-1) + 1e-3
  return jnp.sum(mass[None, :, None] * d * (r2**-1.5)[:, :, None], axis=1)


def gravity_numpy(x, mass):
  d = x[None, :, :] - x[:, None, :]
  r2 = np.sum(d * d, axis=-1) + 1e-3
  return np.sum(mass[None, :, None] * d * (r2**-1.5)[:, :, None], axis=1)


def bodies():
  return gravity, (RNG.normal(size=(1024, 3)).astype(np.float32), RNG.uniform(size=1024).astype(np.float32)), gravity_numpy


def unrolled():
  """A long chain of statements with temporaries that need not exist at the same time (xla#35719): compare the memory."""

  def run(x):
    for i in range(40):
      noise = jnp.roll(x, i + 1)
      x = x + 0.1 * jnp.cumsum(noise) / x.shape[0]
    return x

  return run, (RNG.normal(size=2_000_000),), None


def small_products():
  """A scan of 3 x 3 matrices (jax#36799)."""

  def run(a):
    def step(m, x):
      m = m @ x
      m = m / jnp.sqrt(jnp.sum(m * m))
      return m, m

    return lax.scan(step, jnp.eye(3), a)[1]

  return run, (RNG.normal(size=(10_000, 3, 3)),), None


def projections(image, angles):
  """Returns sums along the lines of rotated images (jax#36927)."""
  n = image.shape[0]
  at = jnp.arange(n) - (n - 1) / 2

  def project(angle):
    x = jnp.cos(angle) * at[:, None] - jnp.sin(angle) * at[None, :] + (n - 1) / 2
    y = jnp.sin(angle) * at[:, None] + jnp.cos(angle) * at[None, :] + (n - 1) / 2
    return jnp.sum(jax.scipy.ndimage.map_coordinates(image, [x, y], order=1), axis=0)

  return lax.map(project, angles)


def tomography():
  return projections, (RNG.uniform(size=(128, 128)).astype(np.float32), np.linspace(0, np.pi, 60, dtype=np.float32)), None


def tomography_gradient():
  image, angles = tomography()[1]
  return jax.grad(lambda image, angles: jnp.sum(projections(image, angles) ** 2)), (image, angles), None


def orbits(x, v, mass):
  """Computes leapfrog steps of five bodies and stacks their positions (jnkepler#18)."""

  def force(x):
    d = x[None] - x[:, None]
    r2 = jnp.sum(d * d, axis=-1) + jnp.eye(x.shape[0])
    return jnp.sum((mass[None, :] * r2**-1.5 * (1 - jnp.eye(x.shape[0])))[:, :, None] * d, axis=1)

  def step(state, _):
    x, v = state
    v = v + 0.005 * force(x)
    x = x + 0.01 * v
    v = v + 0.005 * force(x)
    return (x, v), x[:, 0]

  return lax.scan(step, (x, v), None, length=5000)[1]


def bodies_in_time():
  return orbits, (RNG.normal(size=(5, 3)) * 3, RNG.normal(size=(5, 3)) * 0.1, RNG.uniform(0.1, 1, size=5)), None


def bodies_in_time_gradient():
  x, v, mass = bodies_in_time()[1]
  return jax.grad(lambda x, v, m: jnp.sum(orbits(x, v, m)[-1] ** 2), argnums=2), (x, v, mass), None


def searches():
  """A while loop over a batch: its members stop at different times and carry a table that none of them changes (jax#25190)."""

  def search(start, table):
    def body(state):
      x, seen, trips = state
      x = (x * 5 + table[x % 1024]) % 65_536
      return x, seen.at[trips % 64].set(x), trips + 1

    def goes_on(state):
      return (state[0] % 97 != 0) & (state[2] < 2_000)

    return lax.while_loop(goes_on, body, (start, jnp.zeros(64, jnp.int32), 0))[1:]

  table = RNG.integers(0, 65_536, size=1024).astype(np.int32)
  return jax.vmap(search, (0, None)), (RNG.integers(1, 65_536, size=256).astype(np.int32), table), None


def value_iteration():
  """Savings of a household: the maximum over choices for each state, until the values no longer change (QuantEcon's lectures)."""
  grid, shocks = np.linspace(0.1, 10, 300), np.array([0.5, 1.0, 1.5])
  p = np.array([[0.8, 0.15, 0.05], [0.1, 0.8, 0.1], [0.05, 0.15, 0.8]])

  def run(grid, shocks, p):
    income = 1.03 * grid[:, None] + shocks[None, :]
    spent = income[:, :, None] - grid[None, None, :]
    reward = jnp.where(spent > 0, jnp.log(jnp.maximum(spent, 1e-12)), -1e9)

    def improve(state):
      v, _, trips = state
      better = jnp.max(reward + 0.95 * (p @ v.T)[None, :, :], axis=2)
      return better, jnp.max(jnp.abs(better - v)), trips + 1

    return lax.while_loop(lambda s: (s[1] > 1e-6) & (s[2] < 400), improve, (jnp.zeros((300, 3)), 1.0, 0))[0]

  return run, (grid, shocks, p), None


PROGRAMS = {
  f.__name__: f
  for f in (regulariser, regulariser_gradient, neuron, neuron_gradient, quadratic_program, quadratic_programs, rows_written_in_place,
            neighbour_written_in_place, bodies, unrolled, small_products, tomography, tomography_gradient, bodies_in_time,
            bodies_in_time_gradient, searches, value_iteration)
}
