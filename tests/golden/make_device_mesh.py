"""device_mesh.json: the meshes that JAX's mesh_utils makes of mock devices.

"meshes": a list of {"devices": SPEC, "shape", "split", "ids"}: create_device_mesh; "ids" is row-major, null where JAX refuses.
"hybrid": a list of {"devices": SPEC, "ici", "dcn", "split", "ids"}: create_hybrid_device_mesh.
SPEC is a device specification of this library; "split" is allow_split_physical_axes.
"""
import dataclasses
import itertools
import math

from jax.experimental import mesh_utils

import golden

KINDS = {
    'tpu_v2': ('TPU v2', 2),
    'tpu_v3': ('TPU v3', 2),
    'tpu_v4': ('TPU v4', 1),
    'tpu_v5e': ('TPU v5 lite', 1),
    'tpu_v5p': ('TPU v5p', 1),
    'tpu_v6e': ('TPU v6 lite', 1),
    'gpu': ('NVIDIA H100', 1),
    'cpu': ('cpu', 1)
}


@dataclasses.dataclass(frozen=True)
class Device:
  id: int
  process_index: int
  platform: str
  device_kind: str
  coords: tuple
  core_on_chip: int
  slice_index: int


def devices(spec):
  kind, size = spec.split(':')
  size, _, slices = size.partition('*')
  x_size, y_size, z_size = ([int(e) for e in size.split('x')] + [1, 1])[:3]
  name, cores = KINDS[kind]
  result = []
  for s in range(int(slices or 1)):
    for z, y, x, core in itertools.product(range(z_size), range(y_size), range(x_size),
                                           range(cores)):
      result.append(Device(len(result), s, kind.split('_')[0], name, (x, y, z), core, s))
  return result


def shapes(count, rank):
  """All shapes of `rank` without ones whose product is `count`."""
  if rank == 1:
    return [(count,)] if count > 1 else []
  return [(d, *rest) for d in range(2, count + 1) if count % d == 0
          for rest in shapes(count // d, rank - 1)]


def ids(make):
  try:
    return [d.id for d in make().flatten()]
  except (NotImplementedError, ValueError):
    return None


def meshes(spec):
  devs = devices(spec)
  n = len(devs)
  wanted = [s for rank in (1, 2, 3) for s in shapes(n, rank)] + [(1, n), (n, 1), (2, 1, n // 2)]
  if n <= 16:
    wanted += shapes(n, 4)
  if n > 64:
    wanted = [(n,), (8, 16), (16, 8), (4, 32), (32, 4), (2, 64), (4, 4, 8), (8, 4, 4), (2, 4, 16),
              (2, 8, 8)]
  for shape, split in itertools.product(wanted, (False, True)):
    made = ids(lambda: mesh_utils.create_device_mesh(shape, devs, allow_split_physical_axes=split))
    yield {'devices': spec, 'shape': list(shape), 'split': split, 'ids': made}


def hybrid(spec):
  devs = devices(spec)
  slices = devs[-1].slice_index + 1
  n = len(devs) // slices
  for ici in shapes(n, 2) + [(n, 1), (1, n), (n,)]:
    for dcn in (s for s in itertools.product(range(1, slices + 1), repeat=len(ici))
                if math.prod(s) == slices):
      for split in (False, True):
        made = ids(lambda: mesh_utils.create_hybrid_device_mesh(
            ici, dcn, devs, allow_split_physical_axes=split))
        yield {'devices': spec, 'ici': list(ici), 'dcn': list(dcn), 'split': split, 'ids': made}


MESHES = [
    'cpu:6', 'gpu:8', 'tpu_v2:2x2', 'tpu_v2:4x4', 'tpu_v3:2x4', 'tpu_v3:1x2', 'tpu_v4:2x2x1',
    'tpu_v4:2x2x2', 'tpu_v4:2x2x4', 'tpu_v4:4x4x4', 'tpu_v4:2x4x4', 'tpu_v4:2x3x4', 'tpu_v4:4x6',
    'tpu_v4:1x1x8', 'tpu_v5e:2x2', 'tpu_v5e:4x2', 'tpu_v5e:2x4', 'tpu_v5e:2x2x2', 'tpu_v5e:4x4',
    'tpu_v5e:4x8', 'tpu_v6e:2x2', 'tpu_v6e:2x4', 'tpu_v6e:4x4', 'tpu_v6e:8x8', 'tpu_v5p:2x2x1',
    'tpu_v5p:2x2x2', 'tpu_v5p:2x2x4', 'tpu_v5p:4x4x8'
]
HYBRID = [
    'tpu_v4:2x2x1*2', 'tpu_v4:2x2x1*4', 'tpu_v2:2x2*2', 'tpu_v5e:4x4*2', 'cpu:4*2', 'gpu:8*2',
    'tpu_v4:2x2x4*2'
]
golden.Topic('device_mesh').write({
    'meshes': [case for spec in MESHES for case in meshes(spec)],
    'hybrid': [case for spec in HYBRID for case in hybrid(spec)]
})
