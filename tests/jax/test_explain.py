"""tessera_jax.explain: plans as data and text, under any backend, for devices that this machine does not have."""
import json
import pathlib
import subprocess
import sys

import jax
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec as P
import jax.numpy as jnp
import numpy as np
import pytest
import tessera_jax


def layer(params, unused, batch):
  return jnp.tanh(batch @ params['w'] + params['b']).sum(0)


ARGS = ({'w': np.ones((16, 4), np.float32), 'b': np.ones(4, np.float32)}, 3.0, jnp.ones((64, 16)))
ASKED = {'mesh': {'x': 4, 'y': 2}, 'jit_options': {'in_shardings': (P(), None, P('x', 'y'))}}


def test_plan_of_a_sharded_function():
  plan = tessera_jax.explain(layer, *ARGS, **ASKED)
  assert plan.mesh == {'x': 4, 'y': 2} and plan.device_ids == tuple(range(8))
  assert [(v.name, v.shape, v.spec) for v in plan.inputs] == [
      ("args[0]['b']", (4,), 'PartitionSpec(None)'), ("args[0]['w']", (16, 4), 'PartitionSpec(None, None)'),
      ('args[2]', (64, 16), "PartitionSpec('x', 'y')")]
  assert [(v.name, v.dtype, v.shape) for v in plan.outputs] == [('result', 'float32', (4,))]
  first, second = plan.collectives
  # Rings: 2 (n-1)/n of the local operand: 16 x 4 floats over 2 devices, 4 floats over 4.
  assert (first.name, first.axes, first.group_size, first.bytes_per_device) == ('all_reduce', ('y',), 2, 256)
  assert (second.name, second.axes, second.group_size, second.bytes_per_device) == ('all_reduce', ('x',), 4, 24)
  assert first.times == 1 and "sharded over 'y'" in first.reason and 'dot_general' in first.source
  assert plan.cost.communication_bytes == 280 and plan.cost.flops > 0 and plan.steps > 2
  text = str(plan)
  assert "#1 all_reduce over (y) among 2 devices: each sends 256 B" in text and first.reason in text
  assert json.loads(json.dumps(plan.to_dict()))['collectives'][1]['bytes_per_device'] == 24


def test_slower_links_of_other_devices():
  cpu, tpu = (tessera_jax.explain(layer, *ARGS, **ASKED, devices=d) for d in ('cpu:8', 'tpu_v4:2x2x2'))
  assert [c.bytes_per_device for c in cpu.collectives] == [c.bytes_per_device for c in tpu.collectives]
  assert tpu.cost.communication_seconds != cpu.cost.communication_seconds
  assert tpu.devices == 'tpu_v4:2x2x2'
  assert len(jax.devices()) == 8 and jax.devices()[0].device_kind == 'cpu'  # as before


def test_meshes_that_are_not_there():
  mesh = AbstractMesh((64,), ('i',), axis_types=(AxisType.Auto,))
  total = jax.jit(jax.shard_map(lambda x: jax.lax.psum(x, 'i'), mesh=mesh, in_specs=P('i'), out_specs=P()))
  plan = tessera_jax.explain(total, jax.ShapeDtypeStruct((128,), jnp.float32))
  assert plan.mesh == {'i': 64} and plan.devices == 'cpu:64'
  assert [(c.name, c.group_size, c.bytes_per_device) for c in plan.collectives] == [('all_reduce', 64, 16)]
  x = jax.ShapeDtypeStruct((256, 8), jnp.float32, sharding=NamedSharding(mesh, P('i')))
  assert tessera_jax.explain(jax.jit(lambda x: x.sum(1)), x).collectives == ()


def test_arrays_of_this_process():
  mesh = jax.make_mesh((8,), ('i',))
  x = jax.device_put(jnp.ones((16, 4)), NamedSharding(mesh, P('i')))
  plan = tessera_jax.explain(jax.jit(jnp.sum), x)
  assert plan.devices == '' and [c.name for c in plan.collectives] == ['all_reduce']
  traced = jax.jit(jnp.sum).trace(x)
  assert tessera_jax.explain(traced) == plan
  assert tessera_jax.explain(traced.lower()) == plan


def test_how_often_is_left_open_where_a_condition_decides():
  mesh = AbstractMesh((8,), ('i',), axis_types=(AxisType.Auto,))
  def loop(x):
    return jax.lax.while_loop(lambda c: c.sum() < 100, lambda c: jax.lax.psum(c, 'i') + 1, x)
  f = jax.shard_map(loop, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
  [collective] = tessera_jax.explain(f, jnp.ones(4)).collectives
  assert collective.times is None


def test_one_device():
  plan = tessera_jax.explain(lambda x, y=0.0: x * 2 + y, 3.0, y=1.0)
  assert plan.mesh is None and plan.collectives == () and plan.device_ids == (0,)
  assert [v.name for v in plan.inputs] == ['args[0]', "['y']"] and plan.inputs[0].spec is None
  assert str(plan).startswith('one device; nothing is communicated\n')


@pytest.mark.parametrize('devices, said', [
    ('tpu_v4:2x2x1', r"\[explain\] expected at least the 8 devices of the program's mesh, got 4 of 'tpu_v4:2x2x1'; name more"),
    ('tpu', r'\[initialize\] expected a device specification'),
])
def test_errors(devices, said):
  with pytest.raises(ValueError, match=said):
    tessera_jax.explain(layer, *ARGS, **ASKED, devices=devices)
  assert len(tessera_jax.explain(layer, *ARGS, **ASKED).collectives) == 2


def test_under_another_backend(environment):
  code = '''
import jax, tessera_jax
from jax.sharding import PartitionSpec as P
f = lambda x: x.sum()
plan = tessera_jax.explain(f, jax.numpy.ones((16, 4)), mesh={"i": 16}, jit_options={"in_shardings": P("i")})
print(jax.default_backend(), len(jax.devices()), plan.mesh, [c.name for c in plan.collectives])'''
  out = subprocess.run([sys.executable, '-c', code], env=environment | {'JAX_PLATFORMS': 'cpu'}, capture_output=True,
                       text=True, check=False)
  assert out.stdout == "cpu 1 {'i': 16} ['all_reduce']\n", out.stderr


def test_the_page_says_what_it_prints():
  page = (pathlib.Path(__file__).resolve().parent.parent.parent / 'docs' / 'jax.md').read_text(encoding='utf-8')
  block = page.split('## What a program would communicate')[1].split('`plan.collectives`')[0]
  lines = [line[4:] for line in block.splitlines() if line.startswith('    ')]
  at = next(i for i, line in enumerate(lines) if line.startswith('mesh '))
  scope = {}
  exec('\n'.join(line for line in lines[:at] if not line.startswith('print')), scope)  # pylint: disable=exec-used
  assert str(scope['plan']).strip().splitlines() == lines[at:]
