#!/usr/bin/env python3
"""One engine on one program, in a process of its own: peers.py starts it with the Python of the engine's environment.

  engines.py ENGINE KEY --exports FOLDER [--export]

It prepares the program, runs it once, writes the results to the path that it reads from its input, and then times runs for each
line that it reads, a number of seconds. With --export it writes what other engines read into the folder, and ends.
"""
import argparse
import importlib.metadata
import json
import os
import pathlib
import statistics
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import installed  # noqa: E402
import programs  # noqa: E402

THREADS = os.cpu_count()


class Prepared:
  """A program that is ready: run() runs it once and waits for its results, results() are those of its first run."""

  def __init__(self, run, results, version):
    self.run, self.results, self.version = run, results, version


def export_path(folder, key, end):
  return pathlib.Path(folder) / f'{key.replace("/", "_")}.{end}'


# JAX, on XLA or on Tessera.


def jax_version():
  import jax

  return f'JAX {jax.__version__}'


def jax_inference_function(key, constants):
  """The function of the inputs, or of the weights and the inputs, and its arguments."""
  import jax
  import layers_jax

  network = programs.network_of(key)
  weights, inputs = programs.weights_and_inputs(key)
  layers = layers_jax.Layers()
  if constants:
    return lambda *inputs: network.apply(layers, jax.tree.map(jax.numpy.asarray, weights), inputs), inputs
  return lambda p, *inputs: network.apply(layers, p, inputs), (weights, *inputs)


def jax_inference(key, options, constants):
  import jax

  f, arguments = jax_inference_function(key, constants)
  f = jax.jit(f)
  arguments = jax.block_until_ready(jax.device_put(arguments))
  yield
  out = jax.block_until_ready(f(*arguments))
  yield
  yield Prepared(lambda: jax.block_until_ready(f(*arguments)), [np.asarray(x) for x in jax.tree.leaves(out)], jax_version())


def jax_training(key, options):
  import jax
  import layers_jax

  network = programs.network_of(key)
  weights, inputs = programs.weights_and_inputs(key)
  layers = layers_jax.Layers(training=True)

  def step(p, momentum, inputs):
    loss, gradients = jax.value_and_grad(lambda p: network.apply(layers, p, inputs))(p)
    momentum = jax.tree.map(lambda m, g: programs.MOMENTUM * m + g, momentum, gradients)
    return jax.tree.map(lambda w, m: w - programs.RATE * m, p, momentum), momentum, loss

  step = jax.jit(step, donate_argnums=(0, 1))
  inputs = jax.device_put(inputs)
  # Copies: a donated array must not be the caller's.
  state = [jax.device_put({k: v.copy() for k, v in weights.items()}), jax.device_put({k: np.zeros_like(v) for k, v in weights.items()})]

  def run():
    p, momentum, loss = step(*state, inputs)
    state[:] = p, momentum
    return float(jax.block_until_ready((p, loss))[1])

  yield
  losses = [run()]
  yield
  losses.append(run())
  momentum = {k: np.asarray(v) for k, v in state[1].items()}
  yield Prepared(run, programs.training_results(losses, momentum), jax_version())


def jax_ocean(key, options):
  import jax
  import ocean

  jax.config.update('jax_enable_x64', True)
  _, name, size = key.split('/')
  f = jax.jit(ocean.PROGRAMS[name].for_jax())
  arguments = jax.block_until_ready(jax.device_put(ocean.PROGRAMS[name].inputs(int(size))))
  yield
  out = jax.block_until_ready(f(*arguments))
  yield
  yield Prepared(lambda: jax.block_until_ready(f(*arguments)), [np.asarray(x) for x in jax.tree.leaves(out)], jax_version())


def export_model(key, options):
  """For the engines that run a model of models.py."""
  import jax
  import model_programs

  f, weights, state, inputs = model_programs.KINDS[key.split('/', 1)[1]]()
  leaves, structure = jax.tree.flatten((weights, state, inputs))

  def of_leaves(*leaves):
    weights, state, inputs = jax.tree.unflatten(structure, leaves)
    return jax.tree.leaves(f(weights, state, *inputs))

  exported = write_exports(jax.jit(of_leaves, keep_unused=True), leaves, key, 'arguments', options)
  export_path(options.exports, key, 'arguments.exported').write_bytes(exported.serialize())


def jax_exported(key, options):
  """On XLA, the program that `tessera run` and IREE run."""
  import jax
  from jax import export

  exported = export.deserialize(bytearray(export_path(options.exports, key, 'arguments.exported').read_bytes()))
  with np.load(export_path(options.exports, key, 'arguments.npz')) as file:
    arguments = jax.block_until_ready(jax.device_put([file[f'arg{i}'] for i in range(len(file.files))]))
  f = jax.jit(exported.call)
  yield
  out = jax.block_until_ready(f(*arguments))
  yield
  yield Prepared(lambda: jax.block_until_ready(f(*arguments)), [np.asarray(x) for x in out], jax_version())


def in_jax(key, options, constants=False):
  kind = programs.kind_of(key)
  if kind == 'model':
    return jax_exported(key, options)
  if kind == 'inference':
    return jax_inference(key, options, constants)
  return jax_training(key, options) if kind == 'training' else jax_ocean(key, options)


def export_stablehlo(key, options, constants):
  import jax

  f, arguments = jax_inference_function(key, constants)
  write_exports(jax.jit(f), arguments, key, 'constants' if constants else 'arguments', options)


def write_exports(f, arguments, key, end, options):
  """For `tessera run` and IREE: the program, and the arrays of its arguments as an npz file."""
  import jax
  from jax import export

  exported = export.export(f)(*arguments)
  leaves = jax.tree.leaves(arguments)
  np.savez(export_path(options.exports, key, f'{end}.npz'), **{f'arg{i}': x for i, x in enumerate(leaves)})
  export_path(options.exports, key, f'{end}.mlir').write_bytes(exported.mlir_module_serialized)
  lowered = f.lower(*arguments).compiler_ir('stablehlo')
  with open(export_path(options.exports, key, f'{end}.bytecode'), 'wb') as out:
    lowered.operation.write_bytecode(out)
  return exported


# PyTorch.


def torch_module(key, training):
  """The network as a module of torch whose parameters are the weights, and its inputs."""
  import layers_torch
  import torch

  network = programs.network_of(key)
  weights, inputs = programs.weights_and_inputs(key)

  class Module(torch.nn.Module):
    def __init__(self):
      super().__init__()
      self.names = {name: name.replace('.', '__') for name in weights}
      for name, array in weights.items():
        setattr(self, self.names[name], torch.nn.Parameter(layers_torch.to_torch(name, array), requires_grad=training))
      self.layers = layers_torch.Layers(training)

    def forward(self, *inputs):
      return network.apply(self.layers, {name: getattr(self, attribute) for name, attribute in self.names.items()}, inputs)

  module = Module()
  return (module if training else module.eval()), tuple(layers_torch.to_torch(None, x) for x in inputs)


def as_tuple(out):
  return tuple(out) if isinstance(out, (tuple, list)) else (out,)


def torch_compiled(f, mode):
  import torch

  if mode == 'eager':
    return f
  import torch._inductor.config

  torch._inductor.config.freezing = True  # Of weights, in inference: folded into each other and packed once.
  return torch.compile(f) if mode == 'compile' else torch.compile(f, mode=mode)


def torch_inference(key, mode):
  import layers_torch
  import torch

  module, inputs = torch_module(key, False)
  f = torch_compiled(module, mode)
  with torch.inference_mode() if mode == 'eager' else torch.no_grad():
    yield
    out = f(*inputs)
    yield
    results = [np.ascontiguousarray(layers_torch.to_neutral(None, x)) for x in as_tuple(out)]
    yield Prepared(lambda: f(*inputs), results, f'PyTorch {torch.__version__}')


def torch_training(key, mode):
  import layers_torch
  import torch

  module, inputs = torch_module(key, True)
  optimizer = torch.optim.SGD(module.parameters(), programs.RATE, momentum=programs.MOMENTUM, fused=True)
  f = torch_compiled(module, mode)

  def run():
    loss = f(*inputs)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return loss.item()

  yield
  losses = [run()]
  yield
  losses.append(run())
  momentum = {}
  for name, attribute in module.names.items():
    momentum[name] = layers_torch.to_neutral(name, optimizer.state[getattr(module, attribute)]['momentum_buffer'])
  yield Prepared(run, programs.training_results(losses, momentum), f'PyTorch {torch.__version__}')


def torch_ocean(key, mode):
  import ocean
  import torch

  _, name, size = key.split('/')
  f = torch_compiled(ocean.PROGRAMS[name].for_torch(), mode)
  arguments = [torch.from_numpy(x) for x in ocean.PROGRAMS[name].inputs(int(size))]
  with torch.inference_mode() if mode == 'eager' else torch.no_grad():
    yield
    out = f(*arguments)
    yield
    yield Prepared(lambda: f(*arguments), [x.numpy() for x in as_tuple(out)], f'PyTorch {torch.__version__}')


def in_torch(key, options, mode):
  import torch

  torch.set_num_threads(THREADS)
  kind = programs.kind_of(key)
  return {'inference': torch_inference, 'training': torch_training, 'ocean': torch_ocean}[kind](key, mode)


def export_onnx(key, options):
  import torch

  module, inputs = torch_module(key, False)
  torch.onnx.export(module, inputs, str(export_path(options.exports, key, 'onnx')), dynamo=True, external_data=True, verbose=False)
  # The order of PyTorch's inputs; images are (batch, features, height, width) there.
  np.savez(export_path(options.exports, key, 'onnx.npz'), *[x.contiguous().numpy() for x in inputs])


def onnx_inputs(key, options):
  with np.load(export_path(options.exports, key, 'onnx.npz')) as file:
    return [file[name] for name in file.files]


def of_channels_first(out):
  return [np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if x.ndim == 4 else np.array(x) for x in out]


# ONNX Runtime, OpenVINO, IREE.


def in_onnxruntime(key, options):
  import onnxruntime

  inputs = onnx_inputs(key, options)
  settings = onnxruntime.SessionOptions()
  settings.intra_op_num_threads = THREADS
  settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
  yield
  session = onnxruntime.InferenceSession(str(export_path(options.exports, key, 'onnx')), settings, providers=['CPUExecutionProvider'])
  feeds = dict(zip([x.name for x in session.get_inputs()], inputs, strict=True))
  out = session.run(None, feeds)
  yield
  yield Prepared(lambda: session.run(None, feeds), of_channels_first(out), f'ONNX Runtime {onnxruntime.__version__}')


def in_openvino(key, options):
  import openvino

  inputs = onnx_inputs(key, options)
  settings = {'PERFORMANCE_HINT': 'LATENCY', 'INFERENCE_NUM_THREADS': THREADS, 'INFERENCE_PRECISION_HINT': 'f32', 'ENABLE_CPU_PINNING': False}
  yield
  core = openvino.Core()
  compiled = core.compile_model(str(export_path(options.exports, key, 'onnx')), 'CPU', settings)
  request = compiled.create_infer_request()
  feeds = [openvino.Tensor(x, shared_memory=True) for x in inputs]
  for i, x in enumerate(feeds):
    request.set_input_tensor(i, x)

  def run():
    request.infer()
    return [request.get_output_tensor(i).data for i in range(len(compiled.outputs))]

  out = of_channels_first(run())
  yield
  yield Prepared(run, out, f'OpenVINO {openvino.__version__.split("-")[0]}')


def iree_code(tools, program):
  """The program compiled for this processor, with -O3 where the compiler succeeds with it."""
  flags = ['--iree-llvmcpu-target-cpu=host']
  try:
    return tools.compile_file(program, input_type='stablehlo', target_backends=['llvm-cpu'], extra_args=[*flags, '--iree-opt-level=O3'])
  except tools.CompilerToolError as error:
    print(f'without -O3: {error}', file=sys.stderr)
    return tools.compile_file(program, input_type='stablehlo', target_backends=['llvm-cpu'], extra_args=flags)


def in_iree(key, options, constants):
  from iree import runtime
  from iree.compiler import tools

  end = 'constants' if constants else 'arguments'
  with np.load(export_path(options.exports, key, f'{end}.npz')) as file:
    inputs = [file[f'arg{i}'] for i in range(len(file.files))]
  compiled = export_path(options.exports, key, f'{end}.vmfb')
  runtime.flags.parse_flags(f'--task_topology_max_group_count={THREADS}')
  device = runtime.get_device('local-task')
  inputs = [runtime.asdevicearray(device, x) for x in inputs]
  yield
  if options.compile_anew or not compiled.exists():
    code = iree_code(tools, str(export_path(options.exports, key, f'{end}.bytecode')))
    compiled.write_bytes(code)
  configuration = runtime.Config(device=device)
  program = runtime.load_vm_module(runtime.VmModule.mmap(configuration.vm_instance, str(compiled)), configuration)

  def run():
    return [np.asarray(x.to_host()) for x in as_tuple(program.main(*inputs))]

  out = run()
  yield
  yield Prepared(run, out, f'IREE {importlib.metadata.version("iree-base-runtime")}')


# NumPy and numba, on the programs of ocean models.


def in_numpy(key, options):
  import ocean

  _, name, size = key.split('/')
  f, arguments = ocean.PROGRAMS[name].for_numpy(), ocean.PROGRAMS[name].inputs(int(size))
  yield
  out = f(*arguments)
  yield
  yield Prepared(lambda: f(*arguments), list(as_tuple(out)), f'NumPy {np.__version__}')


def in_numba(key, options):
  import numba
  import ocean
  import ocean_numba

  numba.set_num_threads(THREADS)
  _, name, size = key.split('/')
  f, arguments = ocean_numba.PROGRAMS[name], ocean.PROGRAMS[name].inputs(int(size))
  yield
  out = f(*arguments)
  yield
  yield Prepared(lambda: f(*arguments), list(as_tuple(out)), f'numba {numba.__version__}')


ENGINES = {
    'tessera': in_jax,
    'tessera-constants': lambda key, options: in_jax(key, options, constants=True),
    'xla': in_jax,
    'xla-constants': lambda key, options: in_jax(key, options, constants=True),
    'torch-eager': lambda key, options: in_torch(key, options, 'eager'),
    'torch-compile': lambda key, options: in_torch(key, options, 'compile'),
    'torch-max-autotune': lambda key, options: in_torch(key, options, 'max-autotune'),
    'onnxruntime': in_onnxruntime,
    'openvino': in_openvino,
    'iree': lambda key, options: in_iree(key, options, constants=False),
    'iree-constants': lambda key, options: in_iree(key, options, constants=True),
    'numpy': in_numpy,
    'numba': in_numba,
}

EXPORTS = {
    'onnx': export_onnx,
    'model': export_model,
    'stablehlo': lambda key, options: export_stablehlo(key, options, constants=False),
    'stablehlo-constants': lambda key, options: export_stablehlo(key, options, constants=True),
}


def memory_megabytes(what):
  """VmHWM (the peak) or VmRSS of this process."""
  return int(pathlib.Path('/proc/self/status').read_text().split(f'{what}:')[1].split()[0]) / 1024


def busy_while_idle(seconds):
  """How many threads' worth of processor time this process takes while it does nothing."""
  begin = time.process_time()
  time.sleep(seconds)
  return (time.process_time() - begin) / seconds


# What a user installs for an engine.
PACKAGES = {'tessera': ['jax'], 'xla': ['jax'], 'torch': ['torch'], 'iree': ['iree-base-compiler', 'iree-base-runtime']}


def serve(engine, key, options):
  """Answers a line for each that it reads: a path (the results go there), 'idle', or how many seconds to time."""
  pathlib.Path('/proc/self/comm').write_text(f'peer:{engine}'[:15])
  steps = ENGINES[engine](key, options)
  next(steps)
  begin = time.perf_counter()
  next(steps)
  first = time.perf_counter() - begin
  prepared = next(steps)
  np.savez(sys.stdin.readline().strip(), *prepared.results)
  prepared.results = None
  print(json.dumps({'first': first, 'version': prepared.version}), flush=True)
  last = first
  for line in sys.stdin:
    if line.strip() == 'idle':
      prepared.run()
      time.sleep(1)
      packages = PACKAGES.get(engine.split('-')[0], [engine])
      print(json.dumps({'busy': busy_while_idle(2), 'installed_mb': installed.megabytes(packages)}), flush=True)
      continue
    if 4 * last < float(line):
      prepared.run()  # Caches of the processor are cold after a turn of another engine.
    times, until = [], time.perf_counter() + float(line)
    while not times or time.perf_counter() < until:
      begin = time.perf_counter()
      prepared.run()
      times.append(time.perf_counter() - begin)
    last = statistics.median(times)
    print(json.dumps({'seconds': last, 'peak': memory_megabytes('VmHWM')}), flush=True)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('engine')
  parser.add_argument('key')
  parser.add_argument('--exports', required=True)
  parser.add_argument('--export', action='store_true')
  parser.add_argument('--compile-anew', action='store_true', help='although a compiled program of IREE is there')
  options = parser.parse_args()
  if options.export:
    EXPORTS[options.engine](options.key, options)
  else:
    serve(options.engine, options.key, options)


if __name__ == '__main__':
  main()
