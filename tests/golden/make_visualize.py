"""visualize.json: what jax.debug.visualize_sharding draws, for arrays of rank 1 and 2 where the drawing fits into 80 columns.

"meshes": a list of {"names", "shape", "ids"}.
"texts": a list of drawings, each a list of [line, how often it follows itself].
"cases": a list of {"shape", "mesh", "spec", "options", "text"}; "mesh" and "text" are indices into the above. A spec has one
list of mesh axes, major first, for each dimension; "options" are keyword arguments where they are not the defaults.
"""
import contextlib
import io
import itertools

import jax
import numpy as np
import rich.console
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import golden

golden.setup()
jax.config.update('jax_num_cpu_devices', 16)  # two-digit ids
TRAY = [0, 1, 2, 3, 6, 7, 4, 5]
CONSOLE = rich.console.Console


def draw(width, *args, **options):
  rich.console.Console = lambda **_: CONSOLE(width=width)
  out = io.StringIO()
  with contextlib.redirect_stdout(out):
    jax.debug.visualize_sharding(*args, **options)
  return out.getvalue().rstrip('\n') + '\n'


def mesh(ids, shape):
  return Mesh(np.array([jax.devices()[i] for i in ids]).reshape(shape), tuple('xyz'[:len(shape)]))


MESHES = [([0], (1,)), (TRAY, (8,)), (TRAY, (2, 4)), (range(8), (4, 2)), (range(8), (2, 2, 2)),
          (range(16), (16,)), (range(16), (4, 4)), ([15, 3, 9, 11], (2, 2))]
SHAPES = [(8,), (16,), (64,), (1,), (2,), (8, 8), (4, 8), (16, 16), (8192, 8192), (64, 16),
          (16, 64), (16, 1), (1, 16), (16, 24), (5,), (3, 7)]
OPTIONS = [{}, {'scale': 0.35, 'min_width': 3}, {'max_width': 40}, {'min_width': 14}]


def specs(names, rank):
  axes = [()] + [p for n in (1, 2, 3) for p in itertools.permutations(names, n)]
  for dims in itertools.product(axes, repeat=rank):
    used = [a for d in dims for a in d]
    if len(used) == len(set(used)):
      yield dims


def cases():
  for ids, mesh_shape in MESHES:
    m = mesh(ids, mesh_shape)
    for shape in SHAPES:
      for number, spec in enumerate(specs(m.axis_names, len(shape))):
        parts = [int(np.prod([m.shape[a] for a in d])) for d in spec]
        if any(n % p for n, p in zip(shape, parts)):
          continue
        if number % {1: 1, 2: 2, 3: 7}[len(mesh_shape)]:  # a sample of the many
          continue
        sharding = NamedSharding(m, P(*[d or None for d in spec]))
        for options in OPTIONS if shape in ((8, 8),
                                            (16,)) and len(mesh_shape) == 2 else OPTIONS[:1]:
          width = options.get('max_width', 80)
          text = draw(10000, shape, sharding, **options)
          if max(map(len, text.splitlines())) > width:
            continue
          if draw(width, shape, sharding, **options) != text:
            raise AssertionError('a drawing that fits depends on the width of the console')
          yield {
              'shape': list(shape),
              'mesh': {
                  'names': list(m.axis_names),
                  'shape': list(mesh_shape),
                  'ids': list(ids)
              },
              'spec': [list(d) for d in spec],
              'options': options,
              'text': text
          }


# Kept small: each mesh and text once, equal lines that follow each other once with their number.
meshes, texts, content = [], [], []
for case in cases():
  lines = [[line, len(list(group))] for line, group in itertools.groupby(case['text'].splitlines())]
  for known, key, value in ((meshes, 'mesh', case['mesh']), (texts, 'text', lines)):
    if value not in known:
      known.append(value)
    case[key] = known.index(value)
  content.append(case)
print(len(content), 'cases')
golden.Topic('visualize').write({'meshes': meshes, 'texts': texts, 'cases': content})
