"""Programs in several processes by jax.distributed.initialize: their results, and how all processes end if one
dies, fails or does something else.

Each process of a program is a separate Python. Tests that are marked `nightly` run only if TESSERA_JAX_NIGHTLY is set,
as by `scripts/nightly jax`; the others take half a minute.
"""
import ctypes
import os
import re
import shutil
import socket
import subprocess
import sys
import time

from jax_plugins.tessera import shared_library
import pytest

START = '''
import os, sys, time
import jax
jax.config.update("jax_enable_x64", True)
jax.distributed.initialize("127.0.0.1:" + sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
import functools
import jax.numpy as jnp, numpy as np
from jax import lax
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
me, count = jax.process_index(), jax.process_count()
def go_wrong(): print("WRONG AT", time.time(), flush=True)
'''
# Eight devices, over all processes.
MESH = START + '''
mesh = Mesh(np.array(jax.devices()), ("x",))
rows = NamedSharding(mesh, P("x"))
x = jax.make_array_from_callback((16,), rows, lambda index: np.arange(16.0)[index])
def check(name, got, want):
  want = np.asarray(want)
  assert got.shape == want.shape, (name, got.shape)
  for shard in got.addressable_shards:
    np.testing.assert_array_equal(np.asarray(shard.data), want[shard.index], err_msg=name)
'''


def free_port():
  with socket.socket() as s:
    s.bind(('127.0.0.1', 0))
    return str(s.getsockname()[1])


def run(program, environment, count, seconds=240, **changes):
  """Runs the program in `count` processes, and returns the exit status and the output of each."""
  port = free_port()
  env = environment | {'TESSERA_DEVICES': f'cpu:{8 // count}', 'TESSERA_NUM_THREADS': '1'} | changes
  started = [subprocess.Popen([sys.executable, '-c', program, port, str(count), str(i)], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for i in range(count)]
  out = []
  end = time.monotonic() + seconds
  try:
    for process in started:
      text = process.communicate(timeout=max(1, end - time.monotonic()))[0]
      out.append((process.returncode, text))
  finally:
    for process in started:
      process.kill()
  return out


def run_well(program, environment, count, **changes):
  for i, (status, text) in enumerate(run(program, environment, count, **changes)):
    assert status == 0, f'process {i} ended with {status}:\n{text}'


def transport(name):
  """Returns the library of a transport, in the place where the plugin looks for it; None if it was not built."""
  folder = os.path.dirname(os.path.abspath(shared_library.library_path()))
  places = [os.path.join(place, f'libtessera_{name}.so') for place in (folder, os.path.dirname(folder))]
  return next(filter(os.path.exists, places), None)


@pytest.fixture(name='ucx', scope='session')
def _ucx():
  library = transport('ucx')
  if not library:
    pytest.skip('the transport over UCX was not built; scripts/setup installs UCX')
  try:
    ctypes.CDLL(library)
  except OSError as error:
    if not re.match(r'libuc[ps]\.so\S*: cannot open', str(error)):
      raise
    pytest.skip(f'UCX is not installed: {error}')


@pytest.fixture(name='mpi', scope='session')
def _mpi():
  if not shutil.which('mpirun') or not transport('mpi'):
    pytest.skip('there is no mpirun, or the transport over MPI was not built')


nightly = pytest.mark.skipif(not os.environ.get('TESSERA_JAX_NIGHTLY'), reason='runs in scripts/nightly jax')
several = pytest.mark.parametrize('count', [2, pytest.param(4, marks=nightly)])


@pytest.mark.usefixtures('ucx')
@several
def test_arrays(environment, count):
  run_well(MESH + '''
assert count == int(sys.argv[2]) and me == int(sys.argv[3])
assert jax.device_count() == 8 and jax.local_device_count() == 8 // count
assert [d.id for d in jax.devices()] == list(range(8))
assert [d.process_index for d in jax.devices()] == sorted([p for p in range(count)] * (8 // count))
assert jax.local_devices() == [d for d in jax.devices() if d.process_index == me]
check("arange", jax.jit(lambda: jnp.arange(64), out_shardings=rows)(), np.arange(64))
check("callback", x, np.arange(16.0))
assert float(jax.jit(jnp.sum)(x)) == 120
check("product", jax.jit(lambda a: jnp.outer(a, a), out_shardings=NamedSharding(mesh, P(None, "x")))(x),
      np.outer(np.arange(16.0), np.arange(16.0)))
local = np.arange(16.0 / count) + 100 * me
b = jax.make_array_from_process_local_data(rows, local)
want = np.concatenate([np.arange(16.0 / count) + 100 * p for p in range(count)])
check("local data", b, want)
check("put", jax.device_put(np.arange(8), rows), np.arange(8))
check("moved", jax.device_put(b, NamedSharding(mesh, P())), want)
assert not b.is_fully_addressable and jax.device_put(b, NamedSharding(mesh, P())).is_fully_replicated
check("gradient", jax.jit(jax.grad(lambda a: (a ** 2).sum()))(b), 2 * want)
check("donated", jax.jit(lambda a: a + 1, donate_argnums=0)(x + 0), np.arange(16.0) + 1)
check("random", jax.jit(lambda k: jax.random.normal(k, (16,)), out_shardings=rows)(jax.random.key(1)),
      jax.random.normal(jax.random.key(1), (16,)))
check("loop", jax.jit(lambda a: lax.fori_loop(0, 3, lambda i, v: v + v.sum(), a))(x),
      functools.reduce(lambda v, _: v + v.sum(), range(3), np.arange(16.0)))
''', environment, count)


@pytest.mark.usefixtures('ucx')
@several
def test_collectives(environment, count):
  run_well(MESH + '''
@functools.partial(jax.shard_map, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False)
def f(v):
  whole = lax.all_gather(v, "x", tiled=True)
  return (lax.psum(v, "x"), lax.pmax(v, "x"), lax.ppermute(v, "x", [(i, (i + 3) % 8) for i in range(8)]),
          lax.psum_scatter(whole, "x", tiled=True), lax.all_to_all(jnp.tile(v, 4), "x", 0, 0, tiled=True))
n = np.arange(16.0)
pairs = n.reshape(8, 2)
total, largest, moved, scattered, transposed = jax.jit(f)(x)
check("psum", total, np.tile(pairs.sum(0), 8))
check("pmax", largest, np.tile([14, 15], 8))
check("ppermute", moved, np.roll(n, 6))
check("psum_scatter", scattered, 8 * n)
check("all_to_all", transposed, np.tile(pairs, (1, 4)).T.reshape(-1))
''', environment, count)


@nightly
@pytest.mark.usefixtures('ucx')
@several
def test_meshes(environment, count):
  """Meshes of one process's devices, of all devices in another order, and of some devices in several processes."""
  run_well(MESH + '''
own = NamedSharding(Mesh(np.array(jax.local_devices()), ("x",)), P("x"))
a = jax.device_put(np.arange(16.0) + me, own)
assert float(jax.jit(jnp.sum)(a)) == 120 + 16 * me  # nobody else runs this program
assert {s.device for s in jax.jit(jnp.sin)(a).addressable_shards} == set(jax.local_devices())
if me == 1:
  jax.jit(jnp.cumsum)(a)
back = NamedSharding(Mesh(np.array(jax.devices())[::-1], ("x",)), P("x"))
b = jax.device_put(np.arange(16.0), back)
check("backwards", b, np.arange(16.0))
check("both orders", jax.jit(lambda v: 2 * v, out_shardings=back)(b), 2 * np.arange(16.0))
mixed = NamedSharding(Mesh(np.array(jax.devices()).reshape(2, 4).T[1:3], ("x", "y")), P("y", "x"))
if any(d.process_index == me for d in mixed.device_set):
  c = jax.device_put(np.arange(16.0).reshape(4, 4), mixed)
  check("some devices", jax.jit(lambda v: v @ v, out_shardings=mixed)(c),
        np.arange(16.0).reshape(4, 4) @ np.arange(16.0).reshape(4, 4))
multihost_utils.sync_global_devices("all")
''', environment, count)


@nightly
@pytest.mark.usefixtures('ucx')
@several
def test_multihost_utils(environment, count):
  run_well(MESH + '''
got = multihost_utils.process_allgather(x, tiled=True)
np.testing.assert_array_equal(got, np.arange(16.0))
got = multihost_utils.process_allgather(np.full(3, me))
np.testing.assert_array_equal(got, np.repeat(np.arange(count), 3).reshape(count, 3))
assert int(multihost_utils.broadcast_one_to_all(np.int32(7 + me))) == 7
multihost_utils.assert_equal(np.arange(5), "the same in all")
multihost_utils.sync_global_devices("here")
by_process = Mesh(np.array(jax.devices()).reshape(count, -1), ("p", "d"))
a = multihost_utils.host_local_array_to_global_array(np.full((2,), me), by_process, P("p"))
check("host local", a, np.repeat(np.arange(count), 2))
''', environment, count)


def ends(program, environment, count, said):
  """Checks that every process ends within a minute after go_wrong() (JAX by itself would wait for 100 s), and that the processes in
  `said` fail with these messages."""
  out = run(program, environment, count)
  end = time.time()
  wrong = [float(at) for _, text in out for at in re.findall(r'WRONG AT (\S+)', text)]
  assert wrong, out
  assert end - min(wrong) < 60
  for process, text in said.items():
    assert out[process][0] != 0, out
    assert text in out[process][1], out[process][1]
  return out


@pytest.mark.usefixtures('ucx')
@several
def test_a_process_that_dies(environment, count):
  ends(MESH + '''
total = jax.jit(jnp.sum)
float(total(x))
if me == 1:
  go_wrong()
  os.kill(os.getpid(), 9)
float(total(x))
''', environment, count, {p: '[cluster] expected process 1 in ' for p in range(count) if p != 1})


@nightly
@pytest.mark.usefixtures('ucx')
def test_a_process_that_raises(environment):
  out = ends(MESH + '''
total = jax.jit(jnp.sum)
float(total(x))
if me == 1:
  go_wrong()
  raise ValueError("the cause")
float(total(x))
''', environment, 2, {0: '[cluster] expected process 1 in ', 1: 'ValueError: the cause'})
  assert 'got its end: it has left the program' in out[0][1]


@nightly
@pytest.mark.usefixtures('ucx')
def test_a_process_that_differs(environment):
  program = MESH + '''
float(jax.jit(jnp.sum)(x))
def f(a): return a.sum() + 1
def g(a): return (a * a).sum()
go_wrong()
float(jax.jit(g if me == 1 else f)(x))
'''
  said = '[cluster] expected one program in all processes, got '
  ends(program, environment, 2, {0: said, 1: said})


@pytest.mark.usefixtures('ucx')
@pytest.mark.parametrize('program, said', [
    ('os.environ["TESSERA_DEVICES"] = f"cpu:{1 + int(sys.argv[3])}"',
     '[initialize] expected the same devices and cluster in all processes, got cpu:1 '),
    ('os.environ["TESSERA_TRANSPORT"] = "tcp"',
     '[initialize] expected `mpi` or `ucx` in the environment variable TESSERA_TRANSPORT, got "tcp"; unset it'),
    ('os.environ["TESSERA_TRANSPORT"] = "mpi"',
     "[initialize] expected 2 processes started by Open MPI's mpirun"),
    ('os.environ["TESSERA_UCX_TRANSPORT"] = "/nowhere.so"',
     '[initialize] expected the UCX transport /nowhere.so, got: /nowhere.so: cannot open'),
])
def test_processes_that_cannot_start(environment, program, said):
  """They fail instead of running as separate programs."""
  for status, text in run(f'import os, sys\n{program}\n' + START + 'jax.devices()', environment, 2):
    assert status != 0 and said in text


@nightly
@pytest.mark.usefixtures('mpi')
def test_cluster_of_the_environment(environment):
  """A cluster that JAX does not detect."""
  out = mpirun('import jax; jax.devices()', environment | {'TESSERA_CLUSTER': 'mpi'})
  assert out.returncode != 0
  assert '[tessera] expected a client of 2 processes, as TESSERA_CLUSTER has started them' in out.stdout


def mpirun(program, environment):
  env = environment | {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', 'TESSERA_NUM_THREADS': '1',
                       'TESSERA_DEVICES': 'cpu:4'}
  return subprocess.run(['mpirun', '-n', '2', '--oversubscribe', '--bind-to', 'none', sys.executable, '-c', program],
                        env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240, check=False)


@nightly
@pytest.mark.usefixtures('mpi')
@pytest.mark.parametrize('carrier', ['mpi', 'ucx'])
def test_under_mpirun(environment, carrier, request):
  request.getfixturevalue(carrier)
  program = MESH.replace('sys.argv[1], int(sys.argv[2]), int(sys.argv[3])',
                         f'"{free_port()}", 2, int(os.environ["OMPI_COMM_WORLD_RANK"])') + '''
assert float(jax.jit(jnp.sum)(x)) == 120
maps = open("/proc/self/maps").read()
''' + f'''
assert [name for name in ("mpi", "ucx") if "libtessera_" + name in maps] == ["{carrier}"]
'''
  out = mpirun(program, environment | ({'TESSERA_TRANSPORT': 'ucx'} if carrier == 'ucx' else {}))
  assert out.returncode == 0, out.stdout
