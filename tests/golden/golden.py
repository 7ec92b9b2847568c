"""What every make_<topic>.py shares: the JAX set-up, and the writer of a topic's JSON and npz
files.

A topic is <topic>.json, and <topic>.npz where it has arrays. JSON never holds an array's values,
but references to them: {"key": K, "dtype": D, "shape": [...]}, the values being the npz member
K.npy. bfloat16, which npy does not know, is stored as the uint16 of its bits; "dtype" says what it
is.
"""
import io
import json
import pathlib
import zipfile

import jax
import ml_dtypes
import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent
VERSION = '0.10.2'

INTS = ['int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64']
FLOATS = ['float16', 'bfloat16', 'float32', 'float64']
COMPLEXES = ['complex64', 'complex128']
DTYPES = ['bool'] + INTS + FLOATS + COMPLEXES


def setup(x64=False):
  """Eight CPU devices. Call it before anything else touches JAX."""
  if jax.__version__ != VERSION:
    raise SystemExit(f'the golden data is made by jax {VERSION}, this is {jax.__version__}')
  jax.config.update('jax_num_cpu_devices', 8)
  jax.config.update('jax_platforms', 'cpu')
  jax.config.update('jax_enable_x64', x64)


def np_dtype(name):
  return np.dtype(ml_dtypes.bfloat16) if name == 'bfloat16' else np.dtype(name)


def filled(value, indent, width):
  """A list of scalars, as many in a line as fit."""
  lines, line = [], ''
  for item in (json.dumps(v, ensure_ascii=False, allow_nan=False) for v in value):
    if line and indent + len(line) + len(item) + 4 > width:
      lines.append(line)
      line = ''
    line += (', ' if line else '') + item
  return '[' + (',\n' + ' ' * (indent + 1)).join(lines + [line]) + ']'


def compact(value, indent=0, width=100):
  """JSON with one line for what fits in it, so that a change of the data makes a readable diff."""
  flat = json.dumps(value, ensure_ascii=False, allow_nan=False)
  if len(flat) + indent <= width or not isinstance(value, (dict, list)) or not value:
    return flat
  pad = ' ' * (indent + 1)
  if isinstance(value, dict):
    items = [f'{json.dumps(k)}: {compact(v, indent + 1, width)}' for k, v in value.items()]
    opening, closing = '{}'
  elif not any(isinstance(v, (dict, list)) for v in value):
    return filled(value, indent, width)
  else:
    items = [compact(v, indent + 1, width) for v in value]
    opening, closing = '[]'
  return opening + '\n' + ',\n'.join(pad + i for i in items) + '\n' + ' ' * indent + closing


class Topic:
  """Collects the arrays of one topic; write() makes the files."""

  def __init__(self, name):
    self.name = name
    self.arrays = {}

  def array(self, key, value):
    """Stores `value` under `key`; returns the reference to put into the JSON."""
    value = np.asarray(value)
    name = value.dtype.name
    if name not in DTYPES:
      raise TypeError(f'{key}: {name}')
    if key in self.arrays:
      raise KeyError(f'{key} twice')
    bits = value.view(np.uint16) if name == 'bfloat16' else value
    self.arrays[key] = np.array(bits, dtype=bits.dtype.newbyteorder('<'),
                                order='C').reshape(value.shape)
    return {'key': key, 'dtype': name, 'shape': list(value.shape)}

  def write(self, content):
    """`content`: a dict. Members are stored, not deflated, with a fixed date: same data, same bytes."""
    content = {'jax': VERSION, **content}
    (FOLDER / f'{self.name}.json').write_text(compact(content) + '\n')
    json_size = (FOLDER / f'{self.name}.json').stat().st_size
    npz_size = 0
    if self.arrays:
      path = FOLDER / f'{self.name}.npz'
      with zipfile.ZipFile(path, 'w', zipfile.ZIP_STORED) as archive:
        for key, value in self.arrays.items():
          data = io.BytesIO()
          np.lib.format.write_array(data, value, version=(1, 0), allow_pickle=False)
          archive.writestr(zipfile.ZipInfo(f'{key}.npy', (1980, 1, 1, 0, 0, 0)), data.getvalue())
      npz_size = path.stat().st_size
    print(f'{self.name}: {len(self.arrays)} arrays, {json_size / 1024:.0f} KiB json, '
          f'{npz_size / 1024:.0f} KiB npz')


def write_texts(folder, texts):
  """Files of stablehlo/<folder>/: `texts` by their names, and no others."""
  path = FOLDER / 'stablehlo' / folder
  path.mkdir(exist_ok=True, parents=True)
  for old in path.glob('*.mlir'):
    old.unlink()
  for file, text in texts.items():
    (path / file).write_text(text)


class Programs(Topic):
  """A topic of programs as JAX lowers them, with what they compute: texts below stablehlo/<name>/."""

  def __init__(self, name):
    super().__init__(name)
    self.programs = []
    self.texts = {}

  def program(self, name, function, *inputs, platform=None):
    """Lowered for the CPU, or for another platform; the outputs are the CPU's."""
    function = (lambda f: lambda *a: f(*a))(function)
    function.__name__ = name
    jitted = jax.jit(function, keep_unused=True)
    lowered = jitted.lower(*inputs)
    outputs = jax.tree.leaves(lowered.compile()(*inputs))
    if platform:
      lowered = jitted.trace(*inputs).lower(lowering_platforms=(platform,))
    self.texts[f'{name}.mlir'] = lowered.as_text()
    self.programs.append({
        'name': name,
        'inputs': [self.array(f'{name}.in{i}', x) for i, x in enumerate(inputs)],
        'outputs': [self.array(f'{name}.out{i}', x) for i, x in enumerate(outputs)],
        'text': f'{self.name}/{name}.mlir'
    })

  def write(self):
    write_texts(self.name, self.texts)
    print(f'{len(self.programs)} programs')
    super().write({'programs': self.programs})


NARROW = {'float64': 'float32', 'complex128': 'complex64', 'int64': 'int32', 'uint64': 'uint32'}


class Calls(Topic):
  """A topic of calls by name, which tests/numpy/calls.h makes again: values and gradients, in float32 and in float64."""

  def __init__(self, name):
    super().__init__(name)
    self.sections = {}

  def call(self, section, name, function, *inputs, gradient=True, traced=True, tolerance=1.0):
    """Records function(*inputs): inputs of 64 bits as they are with x64, and as their 32-bit kin without.

    The gradient is that of the sum of all outputs times cos(1), cos(2), ... by all inexact inputs; `traced`: whether
    the call is one that jit and vmap take; `tolerance` multiplies the test's own.
    """
    for x64 in (False, True):
      jax.config.update('jax_enable_x64', x64)
      key = f'{section}.{name}.{64 if x64 else 32}'
      arrays = [np.asarray(x) for x in inputs]
      if not x64:
        arrays = [x.astype(NARROW.get(x.dtype.name, x.dtype.name)) for x in arrays]
      run = jax.jit(function) if traced else function
      outputs = jax.tree.leaves(run(*(jax.numpy.asarray(x) for x in arrays)))
      case = {
          'name': name,
          'x64': x64,
          'inputs': [self.array(f'{key}.in{i}', x) for i, x in enumerate(arrays)],
          'outputs': [self.array(f'{key}.out{i}', x) for i, x in enumerate(outputs)]
      }
      if not traced:
        case['traced'] = False
      if tolerance != 1.0:
        case['tolerance'] = tolerance
      inexact = [i for i, x in enumerate(arrays) if np.issubdtype(x.dtype, np.inexact)]
      if gradient and inexact and any(np.issubdtype(y.dtype, np.inexact) for y in outputs):

        def loss(*args):
          total = 0.0
          for y in jax.tree.leaves(function(*args)):
            if np.issubdtype(y.dtype, np.inexact):
              weights = np.cos(1.0 + np.arange(y.size)).reshape(y.shape)
              total = total + (y * weights).sum().real
          return total

        gradient_of = jax.grad(loss, argnums=inexact)
        gradient_of = jax.jit(gradient_of) if traced else gradient_of
        grads = gradient_of(*(jax.numpy.asarray(x) for x in arrays))
        case['gradients'] = [self.array(f'{key}.grad{i}', g) for i, g in zip(inexact, grads)]
      self.sections.setdefault(section, []).append(case)

  def write(self):
    super().write({'sections': self.sections})
