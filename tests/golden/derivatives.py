"""What make_derivatives.py makes: derivatives_<file>.json and .npz for each file of tests/derivatives. They have every function
of the table docs/jax_names.md that takes arrays, in float64: its values, and where it is differentiable its derivatives. Made by
jax 0.12.0.1, as scipy_special:

    python3 -m venv VENV && VENV/bin/pip install jax==0.12.0.1 scipy
    VENV/bin/python tests/golden/make_derivatives.py [FILE...]

"cases": [case], "sizes" of the arrays in the npz. A case has the name of the function, and after a slash what is special
about it, "inputs" and "outputs". "no" is the reason why it has no derivative. Otherwise it has

    "by": the inputs by which it is differentiated (all inexact ones, unless the table says otherwise);
    "tangents" of the inexact outputs for the tangents `direction` of these inputs (absent if JAX has no forward mode);
    "gradients" of `loss` by them (absent if JAX has no reverse mode);
    "second": the tangents of these gradients (absent if JAX does not have them, or wrongly has NaN).

An array is [dtype, shape, place]: its elements begin at this place of the npz member "floats" (complex numbers as two of
them) or "integers". scripts/jax_names counts the names, so that none of the table is forgotten.
"""
import sys
import warnings

import jax
import jax.numpy as jnp
import jax.scipy as js
import numpy as np
from jax import lax
from jax.experimental.ode import odeint

import golden

golden.VERSION = '0.12.0.1'
if jax.__version__ != golden.VERSION:
  raise SystemExit(f'this data is made by jax {golden.VERSION}, this is {jax.__version__}')
jax.config.update('jax_platforms', 'cpu')
jax.config.update('jax_enable_x64', True)
warnings.simplefilter('ignore')
for module in ('cluster.vq', 'fft', 'integrate', 'interpolate', 'linalg', 'ndimage', 'optimize', 'signal', 'sparse.linalg',
               'spatial.transform', 'special', 'stats'):
  __import__(f'jax.scipy.{module}')

WANTED = sys.argv[1:]  # files to make; none: all
FILE, cases, pools, sizes = '', [], {}, {}


def begin(file):
  """Writes what was collected for the file before, and begins another one."""
  global FILE, cases, pools, sizes
  if cases:
    topic = golden.Topic(f'derivatives_{FILE}')
    for pool, parts in pools.items():
      topic.array(pool, np.concatenate(parts))
    topic.write({'sizes': sizes, 'cases': cases})
  empty = {'floats': np.zeros(0), 'integers': np.zeros(0, np.int64)}
  FILE, cases = file, []
  pools, sizes = {pool: [x] for pool, x in empty.items()}, dict.fromkeys(empty, 0)


def store(value):
  value = np.asarray(value)
  pool = 'floats' if np.issubdtype(value.dtype, np.inexact) else 'integers'
  if np.issubdtype(value.dtype, np.complexfloating):
    flat = np.ravel(value).astype(np.complex128).view(np.float64)
  else:
    flat = np.ravel(value).astype(np.float64 if pool == 'floats' else np.int64)
  place = sizes[pool]
  pools[pool].append(flat)
  sizes[pool] += flat.size
  return [value.dtype.name, list(value.shape), place]


def inexact(x):
  return np.issubdtype(np.asarray(x).dtype if not hasattr(x, 'dtype') else x.dtype, np.inexact)


def direction(x, start):
  """The tangent of an input."""
  t = np.cos(start + np.arange(x.size)).reshape(x.shape)
  return jnp.asarray(t * (1 + 0.5j) if np.issubdtype(x.dtype, np.complexfloating) else t, x.dtype)


def loss(outputs):
  """The sum of the inexact outputs times cos(1), cos(2), ..., so that each counts differently."""
  total = 0.0
  for y in outputs:
    if inexact(y):
      weights = np.cos(1.0 + np.arange(y.size)).reshape(y.shape)
      if np.issubdtype(y.dtype, np.complexfloating):
        weights = weights * (1 - 0.5j)
      total = total + jnp.real(jnp.sum(y * weights))
  return total


def case(name, function, *inputs, by=None, no=None, second=True, forward=True, reverse=True, tolerance=1):
  if WANTED and FILE not in WANTED:
    return
  inputs = [jnp.asarray(x) for x in inputs]
  leaves = lambda args: [jnp.asarray(y) for y in jax.tree.leaves(function(*args))]
  outputs = leaves(inputs)
  entry = {'name': name, 'inputs': [store(x) for x in inputs], 'outputs': [store(y) for y in outputs]}
  cases.append(entry)
  if tolerance != 1:
    entry['tolerance'] = tolerance
  by = [i for i, x in enumerate(inputs) if inexact(x)] if by is None else by
  if no is None and not inputs:
    no = 'it has no arguments'
  if no is None and not any(inexact(y) for y in outputs):
    no = 'its results are integers or truth values'
  if no is None and not by:
    no = 'its arguments are integers or truth values'
  if no is not None:
    entry['no'] = no
    return

  def of_by(*args):
    full = list(inputs)
    for i, x in zip(by, args):
      full[i] = x
    return [y for y in leaves(full) if inexact(y)]

  at = tuple(inputs[i] for i in by)
  tangents = tuple(direction(x, 2.0 + i) for i, x in enumerate(at))
  entry['by'] = by
  if forward:
    entry['tangents'] = [store(t) for t in jax.jvp(of_by, at, tangents)[1]]
  if not reverse:
    return
  gradient = jax.grad(lambda *args: loss(of_by(*args)), argnums=tuple(range(len(by))))
  entry['gradients'] = [store(g) for g in gradient(*at)]
  if second:
    try:
      entry['second'] = [store(t) for t in jax.jvp(gradient, at, tangents)[1]]
    except Exception as error:  # JAX has no second derivative.
      print(name, 'has no second derivative:', str(error)[:100])


def each(module, functions, names, *inputs, suffix='', **options):
  for name in names.split():
    case(f'{module}.{name}{suffix}', getattr(functions, name), *inputs, **options)


rng = np.random.default_rng(36)
X = np.array([-1.7, -0.6, 0.0, 0.45, 1.0, 2.1])
Y = np.array([0.8, -1.2, 0.5, 2.0, 1.0, -0.3])
P = np.array([0.2, 0.5, 0.9, 1.0, 1.6, 3.1])
U = np.array([-0.9, -0.5, 0.0, 0.2, 0.6, 0.85])
Q = np.array([0.05, 0.2, 0.5, 0.6, 0.8, 0.97])
LOC, SCALE = 0.1 * Y, 0.5 + P
NANS = np.where(X == 1, np.nan, X)
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0])
NUMBERS = EDGES[~np.isnan(EDGES)]
EDGES2 = np.array([0.0, 2.0, 1.0, 0.5, 1.0, 1.0, 2.0])
I, J = np.array([3, 0, 2, 3, 1, 2]), np.array([1, 2, 3, 5, 4, 2])
Z = np.array([0.3 - 0.8j, -1.2 + 0.4j, 0.9 + 1.1j, 1.5 - 0.2j])
M = rng.uniform(-2, 2, (3, 4))
S = rng.uniform(-1, 1, (3, 3)) + 2 * np.eye(3)
E = np.diag([1.0, 2.5, 4.0]) + 0.2 * S
C = rng.uniform(-2, 2, (3, 3)) + 1j * rng.uniform(-2, 2, (3, 3))
T = rng.uniform(-2, 2, (2, 3, 4))
W = rng.uniform(-2, 2, (6, 3, 2))
L = rng.uniform(-2, 2, (2, 6, 3))
A4 = rng.uniform(-2, 2, (2, 3, 2, 4))
SIG = rng.uniform(-2, 2, 20)
K = jax.random.key(3)
DN = lax.ScatterDimensionNumbers((), (0,), (0,))
