#!/usr/bin/env python3
"""The transforms of fft.cc in JAX: a peer for compare.py. Prints, for each workload with a name that contains one of the arguments (for
all workloads without arguments), a JSON line with name, min_us and med_us of a call of the compiled program."""
import sys

import jax
import jax.numpy as jnp

from jax_peer import report

jax.config.update('jax_enable_x64', True)


def workloads():
  for complex_name, real_name, complex_dtype, real_dtype in (('c64', 'f32', 'complex64', 'float32'),
                                                             ('c128', 'f64', 'complex128', 'float64')):
    yield f'fft/{complex_name}_2^20', jnp.fft.fft, complex_dtype, (1 << 20,)
    yield f'fft/{complex_name}_1024x1024', jnp.fft.fft2, complex_dtype, (1024, 1024)
    yield f'fft/{complex_name}_4096x256', jnp.fft.fft, complex_dtype, (4096, 256)
    yield f'fft/{complex_name}_10007', jnp.fft.fft, complex_dtype, (10007,)
    yield f'fft/{real_name}_2^20', jnp.fft.rfft, real_dtype, (1 << 20,)


def main():
  words = sys.argv[1:]
  for name, f, dtype, shape in workloads():
    if words and not any(word in name for word in words):
      continue
    size = 1
    for n in shape:
      size *= n
    x = jnp.sin(jnp.arange(size, dtype='float64')).reshape(shape).astype(dtype)
    report(name, f, x, seconds=0.5)


if __name__ == '__main__':
  main()
