"""Prints the results of the JAX versions of examples/: the value and the time of the compiled call, as one line of JSON."""
import json
import time

import jax


def print_times(value, call):
  """Prints `value`, and the times of `call` in microseconds, in the same form as examples/timed.h."""
  jax.block_until_ready(call())
  times, start, cpu = [], time.perf_counter(), time.process_time()
  while len(times) < 7 or (len(times) < 1000 and time.perf_counter() - start < 1):
    before = time.perf_counter()
    jax.block_until_ready(call())
    times.append((time.perf_counter() - before) * 1e6)
  cpu_us = (time.process_time() - cpu) * 1e6 / len(times)
  times.sort()
  print(json.dumps({'value': float(value), 'min_us': times[0], 'med_us': times[len(times) // 2], 'cpu_us': cpu_us}))
