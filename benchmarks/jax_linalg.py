#!/usr/bin/env python3
"""The factorisations of linalg.cc in JAX: a peer for compare.py. Prints, for each workload with a name that contains one of the arguments
(for all workloads without arguments), a JSON line with name, min_us and med_us of a call of the compiled program."""
import sys

import jax
import jax.numpy as jnp

from jax_peer import report


def matrices(shape, positive):
  x = jax.random.normal(jax.random.key(0), shape)
  return x @ x.mT + shape[-1] * jnp.eye(shape[-1]) if positive else x


def workloads():
  for kind, f in (('cholesky', jnp.linalg.cholesky), ('lu', jax.lax.linalg.lu), ('qr', jnp.linalg.qr), ('eigh', jnp.linalg.eigh),
                  ('svd', jnp.linalg.svd)):
    for name, shape in (('1024', (1024, 1024)), ('1000x32x32', (1000, 32, 32))):
      yield f'linalg/{kind}_{name}', f, shape, kind == 'cholesky'


def main():
  words = sys.argv[1:]
  for name, f, shape, positive in workloads():
    if words and not any(word in name for word in words):
      continue
    x = matrices(shape, positive)
    report(name, f, x, seconds=2)


if __name__ == '__main__':
  main()
