#!/usr/bin/env python3
"""Runs the workloads of tessera-cluster-bench in JAX, in several processes. cluster.py starts it.

  jax_cluster.py ADDRESS PROCESSES INDEX DEVICES SECONDS [SUBSTRING...]    process 0 prints a JSON line for each workload

It runs on XLA's CPU backend with gloo's collectives, or with JAX_PLATFORMS=tessera on the plugin. INDEX is `rank` under mpirun.
"""
import json
import os
import statistics
import sys
import time

import jax

address, processes, index, devices, budget = *sys.argv[1:5], float(sys.argv[5])
index = int(os.environ['OMPI_COMM_WORLD_RANK'] if index == 'rank' else index)
processes, devices = int(processes), int(devices)
words = sys.argv[6:]
jax.config.update('jax_num_cpu_devices', devices)
if os.environ.get('JAX_PLATFORMS') != 'tessera':
  jax.config.update('jax_platforms', 'cpu')
  jax.config.update('jax_cpu_collectives_implementation', 'gloo')
jax.distributed.initialize(address, processes, index)

import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import NamedSharding, PartitionSpec as P

count = processes * devices
mesh = jax.make_mesh((count,), ('x',), axis_types=(jax.sharding.AxisType.Auto,))
random = np.random.default_rng(0)


def array(*shape):
  return np.asarray(random.normal(size=shape), np.float32)


def put(tree, *spec):
  sharding = NamedSharding(mesh, P(*spec))
  place = lambda x: jax.make_array_from_callback(x.shape, sharding, lambda part: x[part])
  return jax.tree.map(place, tree)


def collective(rows, out, body):
  x = put(array(rows * count), 'x')
  f = jax.jit(jax.shard_map(body, mesh=mesh, in_specs=P('x'), out_specs=out, check_vma=False))
  return lambda: f(x)


def step_of(loss, rate):
  def step(params, *data):
    value, grads = jax.value_and_grad(loss)(params, *data)
    return jax.tree.map(lambda p, g: p - rate * g, params, grads), value
  return jax.jit(step)


def cross_entropy(logits, labels):
  chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], axis=-1)
  return -jnp.mean(chosen)


def mlp():
  sizes = [784, 512, 512, 10]
  params = put([(array(a, b) / np.sqrt(a, dtype=np.float32), np.zeros(b, np.float32))
                for a, b in zip(sizes[:-1], sizes[1:])])

  def loss(params, x, labels):
    for w, b in params[:-1]:
      x = jax.nn.relu(x @ w + b)
    w, b = params[-1]
    return cross_entropy(x @ w + b, labels)
  data = put((array(1024, 784), np.asarray(random.integers(0, 10, 1024), np.int32)), 'x')
  f = step_of(loss, 0.1)
  return lambda: f(params, *data)


def transformer():
  d, heads, depth, vocabulary, length = 256, 4, 4, 512, 128
  scaled = lambda by, *shape: array(*shape) / np.float32(by)
  one = np.ones(d, np.float32)
  block = lambda: (scaled(16, d, 3 * d), scaled(16, d, d), scaled(16, d, 4 * d), scaled(32, 4 * d, d), one, one)
  params = put((scaled(50, vocabulary, d), [block() for _ in range(depth)], scaled(16, d, vocabulary)))
  causal = np.tril(np.ones((length, length), bool))

  def norm(x, gain):
    return (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain

  def loss(params, tokens):
    table, blocks, head = params
    x = table[tokens[:, :-1]]
    split = lambda t: t.reshape(-1, length, heads, d // heads).swapaxes(1, 2)
    for qkv, out, up, down, gain1, gain2 in blocks:
      q, k, v = map(split, jnp.split(norm(x, gain1) @ qkv, 3, -1))
      weights = jax.nn.softmax(jnp.where(causal, q @ k.mT / np.sqrt(d // heads), -1e30))
      x = x + (weights @ v).swapaxes(1, 2).reshape(x.shape) @ out
      x = x + jax.nn.gelu(norm(x, gain2) @ up) @ down
    return cross_entropy(x @ head, tokens[:, 1:])
  tokens = put(np.asarray(random.integers(0, vocabulary, (32, length + 1)), np.int32), 'x')
  f = step_of(loss, 1e-2)
  return lambda: f(params, tokens)


RING = [(i, (i + 1) % count) for i in range(count)]
LARGE = 1 << 20
WORKLOADS = {
    'collective/psum_4MiB': lambda: collective(LARGE, P(), lambda v: jax.lax.psum(v, 'x')),
    'collective/all_gather_4MiB':
        lambda: collective(LARGE, P(), lambda v: jax.lax.all_gather(v, 'x', tiled=True)),
    'collective/all_to_all_4MiB':
        lambda: collective(LARGE, P('x'), lambda v: jax.lax.all_to_all(v, 'x', 0, 0, tiled=True)),
    'collective/ppermute_4MiB': lambda: collective(LARGE, P('x'), lambda v: jax.lax.ppermute(v, 'x', RING)),
    'collective/psum_4B': lambda: collective(1, P(), lambda v: jax.lax.psum(v, 'x')),
    'train/mlp': mlp,
    'train/transformer_B32': transformer,
}

for name, make in WORKLOADS.items():
  if words and not any(word in name for word in words):
    continue
  run = make()

  def seconds():
    began = time.perf_counter()
    jax.block_until_ready(run())
    return time.perf_counter() - began
  for _ in range(2):
    seconds()
  wanted = min(max(budget / max((seconds() + seconds()) / 2, 1e-6), 5), 5000)
  times = [seconds() for _ in range(int(multihost_utils.broadcast_one_to_all(np.int32(wanted))))]
  if index == 0:
    print(json.dumps({'name': name, 'min_us': 1e6 * min(times), 'med_us': 1e6 * statistics.median(times)}), flush=True)
