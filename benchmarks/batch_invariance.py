#!/usr/bin/env python3
"""Measures the cost of results that have the same bits for a row in any batch (docs/performance.md).

  benchmarks/batch_invariance.py [--write] [--tool build/release/tools/tessera]

Matrix products have an attribute for this: tessera.sum = "invariant" on a dot_general. They run with and without it, in turns. The
table has the least times, their ratio, and the number of different results of a row in these batches. Convolutions have no such
attribute: they are measured with batches filled up to one size. Sums of long rows have one order if one thread computes them.
--write replaces the tables of the page. Needs NumPy.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / 'docs/performance.md'
BEGIN, END = '<!-- batch invariance -->\n', '<!-- end of batch invariance -->\n'
ROWS = [1, 2, 4, 8, 16, 64, 256, 1024]
MATRICES = [(256, 256), (512, 2048), (2048, 512)]
ROUNDS = 3


def tensor(*shape):
  return f"tensor<{'x'.join(map(str, shape))}xf32>"


def product(rows, k, n, invariant):
  attribute = ' {tessera.sum = "invariant"}' if invariant else ''
  x, w, y = tensor(rows, k), tensor(k, n), tensor(rows, n)
  return (f'func.func @main(%x: {x}, %w: {w}) -> {y} {{\n  %0 = stablehlo.dot_general %x, %w, '
          f'contracting_dims = [1] x [0]{attribute} : ({x}, {w}) -> {y}\n  return %0 : {y}\n}}\n')


def convolution(images, size, channels):
  x, w = tensor(images, size, size, channels), tensor(3, 3, channels, channels)
  return (f'func.func @main(%x: {x}, %w: {w}) -> {x} {{\n  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x'
          '[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} '
          f'{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : ({x}, {w}) -> {x}\n  return %0 : {x}\n}}\n')


def row_sum(rows, columns):
  x, y = tensor(rows, columns), tensor(rows)
  return (f'func.func @main(%x: {x}) -> {y} {{\n  %zero = stablehlo.constant dense<0.0> : tensor<f32>\n  %0 = stablehlo.reduce'
          f'(%x init: %zero) applies stablehlo.add across dimensions = [1] : ({x}, tensor<f32>) -> {y}\n  return %0 : {y}\n}}\n')


class Runner:
  """Runs programs by the command-line tool."""

  def __init__(self, tool, folder):
    self.tool, self.folder = tool, pathlib.Path(folder)

  def __call__(self, text, arguments, repeat=0, **env):
    """Returns the result, and the least time of a run in microseconds."""
    program, given, out = (self.folder / name for name in ('program.mlir', 'in.npz', 'out.npz'))
    program.write_text(text)
    np.savez(given, **{f'arr_{i}': a for i, a in enumerate(arguments)})
    done = subprocess.run([self.tool, 'run', '--repeat', str(max(2, repeat)), '--inputs', given, '--outputs', out, program],
                          capture_output=True, text=True, env=os.environ | env, check=False)
    least = re.search(r'min ([0-9.]+) ms', done.stdout + done.stderr)
    if done.returncode or not least:
      sys.exit(f'batch_invariance: expected {self.tool} to run the program, got: {done.stdout}{done.stderr}')
    return np.load(out)['arr_0'], 1e3 * float(least.group(1))


def least_times(run, cases, repeat):
  """Runs the cases {name: (text, arguments, environment)} in turns, and returns their least times."""
  best = {}
  for _ in range(ROUNDS):
    for name, (text, arguments, env) in cases.items():
      best[name] = min(best.get(name, float('inf')), run(text, arguments, repeat, **env)[1])
  return best


def shown(us):
  return f'{us:,.0f}' if us >= 100 else f'{us:.1f}'


def product_table(run, random):
  lines = ['| product of n rows, float32 | ' + ' | '.join(f'n = {n}' for n in ROWS) + ' | results of a row |\n',
           '|---|' + '---:|' * (len(ROWS) + 1) + '\n']
  for k, n in MATRICES:
    w = random.normal(size=(k, n)).astype(np.float32)
    x = random.normal(size=(ROWS[-1], k)).astype(np.float32)
    ratios, bits = [], {False: set(), True: set()}
    for rows in ROWS:
      cases = {invariant: (product(rows, k, n, invariant), (x[:rows], w), {}) for invariant in (False, True)}
      repeat = max(5, min(200, int(2e10 / (2 * rows * k * n))))
      best = least_times(run, cases, repeat)
      for invariant, (text, arguments, _) in cases.items():
        bits[invariant].add(run(text, arguments)[0][0].tobytes())
      ratios.append(f'{shown(best[True])} / {shown(best[False])} = {best[True] / best[False]:.2f}')
    if len(bits[True]) != 1:
      sys.exit(f'batch_invariance: expected one result of a row by a {k} x {n} matrix, got {len(bits[True])}')
    lines.append(f'| by {k} x {n}: invariant / any order, us | ' + ' | '.join(ratios) + f' | 1 / {len(bits[False])} |\n')
  return ''.join(lines)


def convolution_table(run, random):
  images, size, channels = [1, 2, 4, 8, 16, 32], 28, 32
  x = random.normal(size=(images[-1], size, size, channels)).astype(np.float32)
  w = random.normal(size=(3, 3, channels, channels)).astype(np.float32)
  best = least_times(run, {n: (convolution(n, size, channels), (x[:n], w), {}) for n in images}, 20)
  results = {run(convolution(n, size, channels), (x[:n], w))[0][0].tobytes() for n in images}
  return (f'| 3 x 3 convolution of n images {size} x {size} x {channels} | ' + ' | '.join(f'n = {n}' for n in images) + ' | results of an image |\n'
          '|---|' + '---:|' * (len(images) + 1) + '\n| us | ' + ' | '.join(shown(best[n]) for n in images) + f' | {len(results)} |\n'
          f'| filled up to {images[-1]} | ' + ' | '.join(f'{best[images[-1]] / best[n]:.1f} times' for n in images) + ' | 1 |\n')


def sum_table(run, random):
  columns = [32768, 262144, 1048576, 8388608]
  lines = ['| sum of one float32 row of | ' + ' | '.join(f'{n:,}' for n in columns) + ' |\n', '|---|' + '---:|' * len(columns) + '\n']
  x = random.normal(size=(1, columns[-1])).astype(np.float32)
  times = {n: least_times(run, {t: (row_sum(1, n), (x[:, :n],), {'TESSERA_NUM_THREADS': t} if t else {}) for t in ('', '1')}, 50)
           for n in columns}
  lines.append('| as it is, us | ' + ' | '.join(shown(times[n]['']) for n in columns) + ' |\n')
  lines.append('| one thread | ' + ' | '.join(f"{shown(times[n]['1'])} ({times[n]['1'] / times[n]['']:.2f} times)" for n in columns) + ' |\n')
  return ''.join(lines)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--tool', default=str(ROOT / 'build/release/tools/tessera'))
  parser.add_argument('--write', action='store_true')
  args = parser.parse_args()
  random = np.random.default_rng(1)
  with tempfile.TemporaryDirectory() as folder:
    run = Runner(args.tool, folder)
    text = '\n'.join(make(run, random) for make in (product_table, convolution_table, sum_table))
  print(text, end='')
  if args.write:
    page = PAGE.read_text(encoding='utf-8')
    if BEGIN not in page or END not in page:
      sys.exit(f'batch_invariance: expected the marks {BEGIN.strip()} and {END.strip()} in {PAGE}')
    PAGE.write_text(page.split(BEGIN)[0] + BEGIN + text + END + page.split(END)[1], encoding='utf-8')


if __name__ == '__main__':
  main()
