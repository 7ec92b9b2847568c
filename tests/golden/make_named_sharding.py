"""named_sharding.json: what NamedSharding says of where data lies, over all specs of rank 1 and 2 on meshes of 8 devices.

"shapes": rank -> the shape of the array.
"cases": a list of {"mesh": {"names", "shape"}, "spec", "shard_shape", "starts", "replicated", "class"}. A spec has one list of mesh
axes, major first, for each dimension. "starts" has for each device, in order of id, where its shard begins. Two cases of
one rank with the same "class" are equivalent, two of different ones are not (is_equivalent_to, also between meshes).
"""
import itertools

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

import golden

golden.setup()
SHAPES = {1: (48,), 2: (24, 40)}
MESHES = [(8,), (2, 4), (4, 2), (2, 2, 2), (1, 8)]


def specs(names, rank):
  axes = [()] + [p for n in range(1, len(names) + 1) for p in itertools.permutations(names, n)]
  for dims in itertools.product(axes, repeat=rank):
    used = [a for d in dims for a in d]
    if len(used) == len(set(used)):
      yield dims


cases, classes = [], {1: [], 2: []}
for mesh_shape, rank in itertools.product(MESHES, SHAPES):
  mesh = Mesh(np.array(jax.devices()).reshape(mesh_shape), tuple('xyz'[:len(mesh_shape)]))
  for spec in specs(mesh.axis_names, rank):
    sharding = NamedSharding(mesh, P(*[d or None for d in spec]))
    known = classes[rank]
    number = next((i for i, s in enumerate(known) if s.is_equivalent_to(sharding, rank)),
                  len(known))
    if number == len(known):
      known.append(sharding)
    shape = SHAPES[rank]
    indices = {
        d.id: [s.indices(n)[0] for s, n in zip(i, shape)]
        for d, i in sharding.devices_indices_map(shape).items()
    }
    cases.append({
        'mesh': {
            'names': list(mesh.axis_names),
            'shape': list(mesh_shape)
        },
        'spec': [list(d) for d in spec],
        'shard_shape': list(sharding.shard_shape(shape)),
        'starts': [indices[d] for d in sorted(indices)],
        'replicated': sharding.is_fully_replicated,
        'class': number
    })
print(len(cases), 'cases,', {r: len(c) for r, c in classes.items()}, 'classes')
golden.Topic('named_sharding').write({
    'shapes': {
        str(r): list(s) for r, s in SHAPES.items()
    },
    'cases': cases
})
