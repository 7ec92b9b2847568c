"""explain: returns Tessera's plan of a JAX function, whatever backend JAX runs on.

JAX is imported by the functions that use it, so that the report (`python -m tessera_jax`) can tell what is wrong with a JAX that
cannot be imported.
"""
from __future__ import annotations

import contextlib
import ctypes
import functools
import io
import json
from typing import TYPE_CHECKING, Any, Callable, Mapping

from jax_plugins.tessera import client
from jax_plugins.tessera import jax_private
from jax_plugins.tessera import shared_library
from tessera_jax import plan

if TYPE_CHECKING:
  import jax


@functools.cache
def _library() -> ctypes.CDLL:
  client.check_jax()
  client.load()  # JAX registers the callbacks of custom_partitioning
  library = shared_library.open_library(shared_library.library_path())
  library.tessera_explain.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p,
                                      ctypes.POINTER(ctypes.c_void_p)]
  library.tessera_free.argtypes = [ctypes.c_void_p]
  library.tessera_free.restype = None
  return library


def _ask(code: bytes, devices: str) -> dict[str, Any]:
  out = ctypes.c_void_p()
  failed = _library().tessera_explain(code, len(code), devices.encode(), ctypes.byref(out))
  try:
    text = ctypes.string_at(out).decode() if out else '[explain] expected memory, got none left'
  finally:
    _library().tessera_free(out)
  if failed:
    raise ValueError(text)
  return json.loads(text)


def _as_mesh(mesh: Any) -> Any:
  """Returns a mesh; a dict of sizes becomes one with Auto axes. (The default type of axes differs between versions of JAX.)"""
  import jax
  if isinstance(mesh, Mapping):
    types = (jax.sharding.AxisType.Auto,) * len(mesh)
    return jax.sharding.AbstractMesh(tuple(mesh.values()), tuple(mesh.keys()), axis_types=types)
  return mesh


def _with_mesh(shardings: Any, mesh: Any) -> Any:
  """Returns `shardings` with each PartitionSpec as a NamedSharding: jit takes bare specs only in a mesh of real devices."""
  import jax
  is_spec = lambda s: isinstance(s, jax.sharding.PartitionSpec)
  return jax.tree.map(lambda s: jax.sharding.NamedSharding(mesh, s) if is_spec(s) else s, shardings,
                      is_leaf=is_spec)


def _without_data(tree: Any) -> Any:
  """Returns the tree with arrays replaced by their types, because in_shardings may differ from where the arrays are."""
  import jax
  return jax.tree.map(
      lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak_type) if isinstance(x, jax.Array) else x, tree)


def _traced(f: Callable[..., Any], args: tuple, kwargs: dict[str, Any], mesh: Any,
            options: dict[str, Any]) -> jax.stages.Traced:
  import jax
  if options or not hasattr(f, 'trace'):
    for name in ('in_shardings', 'out_shardings'):
      if mesh is not None and name in options:
        options[name] = _with_mesh(options[name], mesh)
        args, kwargs = _without_data((args, kwargs))
    f = jax.jit(f, **options)
  context = contextlib.nullcontext()
  if mesh is not None:
    context = jax.sharding.use_abstract_mesh(getattr(mesh, 'abstract_mesh', mesh))
  with context:
    return f.trace(*args, **kwargs)


def _argument_names(lowered: jax.stages.Lowered) -> list[str]:
  """Returns the names of the program's arguments. jit leaves out arguments that the function does not use."""
  import jax
  paths = jax.tree_util.tree_flatten_with_path(lowered.args_info)[0]
  # The first key tells args from kwargs.
  names = [('args' if path[0].idx == 0 else '') + jax.tree_util.keystr(path[1:]) for path, _ in paths]
  kept = jax_private.kept_arguments(lowered)
  return names if kept is None else [names[i] for i in sorted(kept)]


def _result_names(lowered: jax.stages.Lowered) -> list[str]:
  import jax
  paths = jax.tree_util.tree_flatten_with_path(lowered.out_info)[0]
  return ['result' + jax.tree_util.keystr(path) for path, _ in paths]


def _code(lowered: jax.stages.Lowered) -> bytes:
  out = io.BytesIO()
  lowered.compiler_ir('stablehlo').operation.write_bytecode(out)
  return out.getvalue()


def explain(f: Callable[..., Any] | jax.stages.Traced | jax.stages.Lowered, *args: Any, mesh: Any = None, devices: str = '',
            jit_options: Mapping[str, Any] | None = None, **kwargs: Any) -> plan.Plan:
  """Returns how Tessera would run f(*args, **kwargs): the collectives with their bytes and reasons, and the cost.

  Nothing is compiled or run, and JAX may run on any backend.

  Args:
    f: a function, jitted or not, or the result of jax.jit(f).trace(...) or .lower(...) (then without args).
    *args, **kwargs: the arguments of f; arrays, or jax.ShapeDtypeStructs with shardings.
    mesh: the mesh of axes that f or `jit_options` name without a mesh: a Mesh, an AbstractMesh, or a dict of sizes
      ({'x': 4, 'y': 2}). Its devices need not exist.
    devices: the devices for which the program is planned, as in TESSERA_DEVICES ("cpu:8", "tpu_v4:2x2x1"); position i of
      the program's mesh is device i. By default these are the devices of this process, or CPUs if it has too few.
    jit_options: options of jax.jit(f, ...), such as in_shardings; f must not be jitted then.

  Returns:
    A Plan; str(plan) is a readable text.

  Raises:
    ValueError: `[op] expected, got, remedy` if Tessera refuses the program or if there are too few devices.
  """
  import jax
  jax.local_device_count()  # makes JAX look for plugins, so that it knows the platform and its rules
  if isinstance(f, jax.stages.Lowered):
    lowered = f
  else:
    traced = f if isinstance(f, jax.stages.Traced) else _traced(
        f, args, kwargs, _as_mesh(mesh), dict(jit_options or {}))
    lowered = traced.lower(lowering_platforms=('tessera',))
  return plan.from_json(_ask(_code(lowered), devices), _argument_names(lowered), _result_names(lowered))
