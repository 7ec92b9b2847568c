#!/usr/bin/env python3
"""Runs JAX programs under JAX_PLATFORMS=tessera and =cpu, in turns, and prints medians and their ratios (docs/jax.md).

  benchmarks/jax_plugin.py [--rounds N] [SUBSTRING...]     prints the table; needs a Python that has jax
  benchmarks/jax_plugin.py --one [SUBSTRING...]            runs one process: a JSON line for each workload, under JAX_PLATFORMS

Each round starts one process for each platform, with 8 devices. It compares the median over rounds of a workload's median.
If a workload ends its process (XLA's collectives may), it is reported as `aborts`; if it does not end, as `hangs`.
The plugin is that of build/release, unless TESSERA_PJRT names one.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLATFORMS = ['cpu', 'tessera']
# The least ratio cpu / tessera that is required.
ASKED = {'dispatch/1dev': 1, 'dispatch/8dev': 4, 'first_call/sin_8dev': 3, 'compile/mlp50_train_8dev': 4,
         'psum/4B_8dev': 3, 'psum/4MiB_8dev': 3, 'train/mlp_8dev': 1.5, 'train/transformer_8dev': 1.8}
UNBLOCKED = 'psum/1000_unblocked_8dev'


def workloads():
  """Yields a name and a function that returns (seconds of one call or None, the function to call)."""
  import jax
  from jax.sharding import NamedSharding, PartitionSpec as P
  import jax.numpy as jnp
  import numpy as np
  mesh = jax.make_mesh((8,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))
  on = lambda *spec: NamedSharding(mesh, P(*spec))
  random = np.random.default_rng(0)
  array = lambda *shape: jnp.asarray(random.normal(size=shape), jnp.float32)

  def dispatch(sharding):
    x = jnp.zeros(8) if sharding is None else jax.device_put(jnp.zeros(8), sharding)
    f = jax.jit(lambda x: x + 1)
    return lambda: f(x)

  def first_call():
    x = jax.device_put(array(4096, 64), on('x'))
    count = iter(range(10**6))

    def once():
      scale = 2.0 + next(count)  # a program that no cache has
      return jax.jit(lambda x: scale * jnp.sin(x) + 1)(x)
    return once

  def layers(sizes):
    return [(array(a, b) / np.sqrt(a), jnp.zeros(b)) for a, b in zip(sizes[:-1], sizes[1:])]

  def cross_entropy(params, x, labels):
    for w, b in params[:-1]:
      x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    logs = jax.nn.log_softmax(x @ w + b)
    return -jnp.mean(jnp.take_along_axis(logs, labels[:, None], axis=1))

  def step_of(loss):
    def step(params, *data):
      value, grads = jax.value_and_grad(loss)(params, *data)
      return jax.tree.map(lambda p, g: p - 0.01 * g, params, grads), value
    return step

  def mlp_data(rows, sizes):
    return (jax.device_put(layers(sizes), on()), jax.device_put(array(rows, sizes[0]), on('x')),
            jax.device_put(jnp.asarray(random.integers(0, sizes[-1], rows)), on('x')))

  def compile_deep():
    count = iter(range(10**6))

    def once():
      args = mlp_data(256 + 8 * next(count), [64] * 51)
      lowered = jax.jit(step_of(cross_entropy)).lower(*args)
      began = time.perf_counter()
      lowered.compile()
      return time.perf_counter() - began
    return once

  def mlp():
    args, f = mlp_data(1024, [784, 512, 512, 10]), jax.jit(step_of(cross_entropy))
    return lambda: f(*args)

  def transformer():
    d, heads, depth, vocabulary, length = 256, 4, 4, 512, 128
    block = lambda: {'qkv': array(d, 3 * d) / 16, 'out': array(d, d) / 16, 'up': array(d, 4 * d) / 16,
                     'down': array(4 * d, d) / 32, 'scale1': jnp.ones(d), 'scale2': jnp.ones(d)}
    params = {'embed': 0.02 * array(vocabulary, d), 'blocks': [block() for _ in range(depth)],
              'head': array(d, vocabulary) / 16}
    tokens = jnp.asarray(random.integers(0, vocabulary, (32, length + 1)))
    causal = jnp.tril(jnp.ones((length, length), bool))

    def norm(x, scale):
      return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * scale

    def loss(params, tokens):
      x = params['embed'][tokens[:, :-1]]
      for b in params['blocks']:
        q, k, v = (part.reshape(-1, length, heads, d // heads).swapaxes(1, 2)
                   for part in jnp.split(norm(x, b['scale1']) @ b['qkv'], 3, -1))
        weights = jax.nn.softmax(jnp.where(causal, q @ k.mT / np.sqrt(d // heads), -1e30))
        x = x + (weights @ v).swapaxes(1, 2).reshape(x.shape) @ b['out']
        x = x + jax.nn.gelu(norm(x, b['scale2']) @ b['up']) @ b['down']
      logs = jax.nn.log_softmax(x @ params['head'])
      return -jnp.mean(jnp.take_along_axis(logs, tokens[:, 1:, None], axis=-1))
    args = jax.device_put(params, on()), jax.device_put(tokens, on('x'))
    f = jax.jit(step_of(loss))
    return lambda: f(*args)

  def psum(size):
    x = jax.device_put(array(8 * size), on('x'))
    f = jax.jit(jax.shard_map(lambda v: jax.lax.psum(v, 'x'), mesh=mesh, in_specs=P('x'), out_specs=P()))
    return lambda: f(x)

  def unblocked():
    one = psum(1024)
    return lambda: [one() for _ in range(1000)][-1]

  yield 'dispatch/1dev', lambda: dispatch(None)
  yield 'dispatch/8dev', lambda: dispatch(on('x'))
  yield 'first_call/sin_8dev', first_call
  yield 'compile/mlp50_train_8dev', compile_deep
  yield 'psum/4B_8dev', lambda: psum(1)
  yield 'psum/4MiB_8dev', lambda: psum(1 << 20)
  yield 'train/mlp_8dev', mlp
  yield 'train/transformer_8dev', transformer
  yield UNBLOCKED, unblocked


def run_one(words):
  import jax
  for name, make in workloads():
    if words and not any(word in name for word in words):
      continue
    print(json.dumps({'name': name, 'begins': True}), flush=True)
    call = make()

    def seconds(call=call):
      began = time.perf_counter()
      own = call()
      jax.block_until_ready(own)
      return own if isinstance(own, float) else time.perf_counter() - began
    seconds()
    times, began = [], time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - began < 2 and len(times) < 2000):
      times.append(seconds())
      if name == UNBLOCKED:
        break
    print(json.dumps({'name': name, 'seconds': statistics.median(times)}), flush=True)


def environment(platform):
  env = {k: v for k, v in os.environ.items() if not k.startswith(('JAX_', 'XLA_', 'TESSERA_', 'OPENBLAS_'))}
  env |= {'JAX_PLATFORMS': platform, 'JAX_NUM_CPU_DEVICES': '8', 'TESSERA_DEVICES': 'cpu:8',
          'PYTHONPATH': str(ROOT / 'python' / 'src'),
          'TESSERA_PJRT': os.environ.get('TESSERA_PJRT', str(ROOT / 'build/release/plugin/libtessera_pjrt.so'))}
  return env


def run_round(platform, words, into):
  """Adds the seconds of each workload, or a string if it ended its process or took too long."""
  command = [sys.executable, __file__, '--one', *words]
  with subprocess.Popen(command, env=environment(platform), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                        text=True) as process:
    ended = 'aborts'
    try:
      out, _ = process.communicate(timeout=600)
    except subprocess.TimeoutExpired:
      process.kill()
      out, ended = process.communicate()[0], 'hangs'
  running = None
  for line in out.splitlines():
    result = json.loads(line)
    running = result['name'] if result.get('begins') else None
    if 'seconds' in result:
      into.setdefault(result['name'], {}).setdefault(platform, []).append(result['seconds'])
  if running:
    into.setdefault(running, {}).setdefault(platform, []).append(ended)
  elif process.returncode:
    raise SystemExit(f'jax_plugin: the process of {platform} ended with {process.returncode}; try --one')


def text_of(results):
  if not results or any(isinstance(r, str) for r in results):
    return next((r for r in results if isinstance(r, str)), '-'), None
  median = statistics.median(results)
  return (f'{1e6 * median:.0f} us' if median < 0.01 else f'{1e3 * median:.0f} ms'), median


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('words', nargs='*', metavar='SUBSTRING')
  parser.add_argument('--one', action='store_true')
  parser.add_argument('--rounds', type=int, default=3)
  args = parser.parse_args()
  if args.one:
    return run_one(args.words)
  results = {}
  for number in range(args.rounds):
    for platform in PLATFORMS:
      print(f'round {number + 1} of {args.rounds}: {platform}', file=sys.stderr, flush=True)
      run_round(platform, args.words, results)
  print('| workload | cpu | tessera | cpu / tessera | asked |\n|---|---:|---:|---:|---:|')
  for name, found in results.items():
    (cpu, a), (tessera, b) = (text_of(found.get(platform, [])) for platform in PLATFORMS)
    ratio = f'{a / b:.2f}' if a and b else ''
    print(f'| {name} | {cpu} | {tessera} | {ratio} | {ASKED.get(name, "")} |')
  return 0


if __name__ == '__main__':
  sys.exit(main())
