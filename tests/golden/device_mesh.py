"""Writes device_mesh.txt: the meshes that JAX's mesh_utils makes of mock devices.

A line is `SPEC|SHAPE|SPLIT|IDS` for create_device_mesh and `SPEC|ICI|DCN|SPLIT|IDS` for the hybrid one; IDS is `error`
where JAX refuses.
"""

import collections
import itertools
import math
import pathlib

from jax.experimental import mesh_utils

Device = collections.namedtuple(
    "Device", "id process_index platform device_kind coords core_on_chip slice_index")
KINDS = {"tpu_v2": ("TPU v2", 2), "tpu_v3": ("TPU v3", 2), "tpu_v4": ("TPU v4", 1),
         "tpu_v5e": ("TPU v5 lite", 1), "tpu_v5p": ("TPU v5p", 1), "tpu_v6e": ("TPU v6 lite", 1),
         "gpu": ("NVIDIA H100", 1), "cpu": ("cpu", 1)}


def devices(spec):
    kind, size = spec.split(":")
    size, _, slices = size.partition("*")
    extents = [int(e) for e in size.split("x")] + [1, 1]
    name, cores = KINDS[kind]
    platform = kind.split("_")[0]
    result = []
    for s in range(int(slices or 1)):
        for z, y, x, core in itertools.product(*map(range, (extents[2], extents[1], extents[0], cores))):
            result.append(Device(len(result), s, platform, name, (x, y, z), core, s))
    return result


def shapes(count, rank):
    """All shapes of `rank` without ones whose product is `count`."""
    if rank == 1:
        return [(count,)] if count > 1 else []
    return [(d, *rest) for d in range(2, count + 1) if count % d == 0 for rest in shapes(count // d, rank - 1)]


def attempt(make):
    try:
        return " ".join(str(d.id) for d in make().flatten())
    except (NotImplementedError, ValueError):
        return "error"


def text(shape):
    return "x".join(map(str, shape))


lines = []
for spec in ["cpu:6", "gpu:8", "tpu_v2:2x2", "tpu_v2:4x4", "tpu_v3:2x4", "tpu_v3:1x2", "tpu_v4:2x2x1", "tpu_v4:2x2x2",
             "tpu_v4:2x2x4", "tpu_v4:4x4x4", "tpu_v4:2x4x4", "tpu_v4:2x3x4", "tpu_v4:4x6", "tpu_v4:1x1x8",
             "tpu_v5e:2x2", "tpu_v5e:4x2", "tpu_v5e:2x4", "tpu_v5e:2x2x2", "tpu_v5e:4x4", "tpu_v5e:4x8",
             "tpu_v6e:2x2", "tpu_v6e:2x4", "tpu_v6e:4x4", "tpu_v6e:8x8", "tpu_v5p:2x2x1", "tpu_v5p:2x2x2",
             "tpu_v5p:2x2x4", "tpu_v5p:4x4x8"]:
    devs = devices(spec)
    n = len(devs)
    all_shapes = [s for rank in (1, 2, 3) for s in shapes(n, rank)]
    all_shapes += [(1, n), (n, 1), (2, 1, n // 2)] + [s for s in shapes(n, 4) if n <= 16]
    if n > 64:
        all_shapes = [(n,), (8, 16), (16, 8), (4, 32), (32, 4), (2, 64), (4, 4, 8), (8, 4, 4), (2, 4, 16), (2, 8, 8)]
    for shape in all_shapes:
        for split in (0, 1):
            ids = attempt(lambda: mesh_utils.create_device_mesh(shape, devs, allow_split_physical_axes=bool(split)))
            lines.append(f"{spec}|{text(shape)}|{split}|{ids}")

for spec in ["tpu_v4:2x2x1*2", "tpu_v4:2x2x1*4", "tpu_v2:2x2*2", "tpu_v5e:4x4*2", "cpu:4*2", "gpu:8*2", "tpu_v4:2x2x4*2"]:
    devs = devices(spec)
    slices = devs[-1].slice_index + 1
    per_slice = len(devs) // slices
    for ici in shapes(per_slice, 2) + [(per_slice, 1), (1, per_slice), (per_slice,)]:
        for dcn in [s for s in itertools.product(range(1, slices + 1), repeat=len(ici)) if math.prod(s) == slices]:
            for split in (0, 1):
                ids = attempt(lambda: mesh_utils.create_hybrid_device_mesh(
                    ici, dcn, devs, allow_split_physical_axes=bool(split)))
                lines.append(f"{spec}|{text(ici)}|{text(dcn)}|{split}|{ids}")

path = pathlib.Path(__file__).with_suffix(".txt")
path.write_text("\n".join(lines) + "\n")
print(len(lines), "cases", path.stat().st_size, "bytes")
