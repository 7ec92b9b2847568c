"""reshard.json: which device holds what, for shardings of rank 1 to 3 on meshes (8,), (2, 4), (2,
2, 2).

"placements": a list of {"mesh": {"names", "shape"}, "shape", "spec", "map": for each device the
  [start, stop) of each dimension,
"shard_shape", "replicated": whether every device holds all, "replica_ids": for each device}. All
  specs of rank 1; of rank 2 and 3 those whose axes appear in a few orders (any two of them are a
  resharding to test: the source map, the target map).
"equivalence": a list of {"mesh", "rank", "a", "b", "equivalent"}.
"errors": a list of {"mesh", "shape", "spec", "why", "error"}: JAX refuses to place such an array.
"""
import itertools

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec as P

import golden

golden.setup()
MESHES = [
    jax.make_mesh(shape, tuple('xyz'[:len(shape)]), axis_types=(AxisType.Auto,) * len(shape))
    for shape in ((8,), (2, 4), (2, 2, 2))
]


def describe(mesh):
  return {'names': list(mesh.axis_names), 'shape': list(mesh.devices.shape)}


def all_specs(names, rank):
  """Every way to give an ordered list of distinct axes to each dimension."""
  specs = set()
  for count in range(len(names) + 1):
    for axes in itertools.permutations(names, count):
      for cuts in itertools.combinations_with_replacement(range(count + 1), rank - 1):
        ends = (0,) + cuts + (count,)
        specs.add(tuple(axes[a:b] for a, b in zip(ends, ends[1:])))
  return sorted(specs)


def placement(mesh, shape, spec):
  array = jax.device_put(jnp.zeros(shape), NamedSharding(mesh, P(*spec)))
  shards = sorted(array.addressable_shards, key=lambda s: s.device.id)
  return {
      'mesh': describe(mesh),
      'shape': list(shape),
      'spec': [list(d) for d in spec],
      'map': [[list(i.indices(n)[:2]) for i, n in zip(s.index, shape)] for s in shards],
      'shard_shape': list(array.sharding.shard_shape(shape)),
      'replicated': array.is_fully_replicated,
      'replica_ids': [s.replica_id for s in shards]
  }


def placements():
  for mesh in MESHES:
    for shape in ((16,), (8, 16), (8, 8, 16)):
      specs = all_specs(mesh.axis_names, len(shape))
      if len(specs) > 24:
        specs = specs[::len(specs) // 20]
      for spec in specs:
        yield placement(mesh, shape, spec)


def equivalences():
  cases = [(0, 2, ((), ()), ()), (0, 2, (('x',),), (('x',), ())), (0, 2, (('x',),), ((), ('x',))),
           (1, 2, (('x', 'y'),), (('y', 'x'),)), (1, 2, (('x',), ('y',)), (('y',), ('x',))),
           (1, 3, ((), ('x', 'y')), ((), ('x', 'y'), ())),
           (2, 1, (('x', 'y'),), (('x', 'y', 'z'),)),
           (2, 2, (('x',), ('y', 'z')), (('x',), ('z', 'y')))]
  for number, rank, a, b in cases:
    mesh = MESHES[number]
    one, two = NamedSharding(mesh, P(*a)), NamedSharding(mesh, P(*b))
    yield {
        'mesh': describe(mesh),
        'rank': rank,
        'a': [list(d) for d in a],
        'b': [list(d) for d in b],
        'equivalent': one.is_equivalent_to(two, rank),
        'equal': one == two
    }


def errors():
  cases = [((8,), ((), ('x',)), 'more entries than dimensions'), ((8,), (('w',),), 'unknown axis'),
           ((8, 8), (('x',), ('x',)), 'an axis twice'), ((), (('x',),), 'a scalar'),
           ((10,), (('x',),), 'indivisible (the library pads instead)')]
  mesh = MESHES[0]
  for shape, spec, why in cases:
    try:
      jax.device_put(jnp.zeros(shape), NamedSharding(mesh, P(*spec)))
    except Exception as error:  # a ValueError or JAX's own DuplicateSpecError
      yield {
          'mesh': describe(mesh),
          'shape': list(shape),
          'spec': [list(d) for d in spec],
          'why': why,
          'error': type(error).__name__
      }
    else:
      raise AssertionError(why)


golden.Topic('reshard').write({
    'placements': list(placements()),
    'equivalence': list(equivalences()),
    'errors': list(errors())
})
