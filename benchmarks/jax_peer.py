"""Times the peers in JAX (jax_fft.py, jax_linalg.py), and prints JSON lines that compare.py reads."""
import json
import statistics
import time

import jax


def report(name, f, x, seconds):
  """Prints name, min_us and med_us of a call of the compiled f(x), over at least five calls in `seconds`."""
  compiled = jax.jit(f)
  jax.block_until_ready(compiled(x))
  micros, start = [], time.perf_counter()
  while len(micros) < 5 or time.perf_counter() - start < seconds:
    began = time.perf_counter()
    jax.block_until_ready(compiled(x))
    micros.append(1e6 * (time.perf_counter() - began))
  print(json.dumps({'name': name, 'min_us': min(micros), 'med_us': statistics.median(micros)}), flush=True)
