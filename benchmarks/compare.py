#!/usr/bin/env python3
"""Compares Tessera with JAX, in one run on one machine.

    benchmarks/compare.py --jax VENV/bin/python --peer jax_bench.py [--bench FILE] [--rounds N]
                          [--json] [--chart FILE.svg] [substring ...]

For each workload with a name that contains a substring (for all workloads if there is no substring) it
runs JAX, then Tessera, N times in turn. It prints both medians, how many times faster Tessera is, and
the ratio that the project promises; it exits with 1 if a ratio is missed. A row's median is the best
median of the rounds, so that a short load on the machine counts against neither side.

The peer is a program that takes substrings of workload names and prints, for each, a JSON line with
name, min_us and med_us; tessera-bench does the same under the same names. The peers of loops/,
fft/ and linalg/ are jax_loops.py, jax_fft.py and jax_linalg.py in this folder. This program needs only
the standard library; the Python of --jax needs what the peers import.
"""
import argparse
import html
import json
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PEERS = {kind: str(FOLDER / f'jax_{kind}.py') for kind in ('loops', 'fft', 'linalg')}
LOOPS = ('newton_while', 'lorenz_rk4', 'lorenz96_40', 'lorenz96_1000', 'mcmc_scan', 'mcmc_carry',
         'logistic_scan', 'rnn_16', 'carried_8x8', 'nested_fori', 'vmap_while', 'momentum_200',
         'bisect_while', 'cond_in_loop', 'power_32', '10k_trips', '10k_rows')
FFT = ('c64_2^20', 'c64_1024x1024', 'c64_4096x256', 'c64_10007', 'f32_2^20', 'c128_2^20',
       'c128_1024x1024', 'c128_4096x256', 'c128_10007', 'f64_2^20')
LINALG = tuple(f'{kind}_{shape}' for kind in ('cholesky', 'lu', 'qr', 'eigh', 'svd')
               for shape in ('1024', '1000x32x32'))
# The least ratio of JAX's median to Tessera's on two cores; None: the ratio is shown, not promised.
TARGETS = {
    'dispatch/1dev': 5,
    'dispatch/8dev': 10,
    'dispatch/eager_1dev': 4,
    'compile/elementwise_8dev': 4,
    'elementwise/2sin+1_1dev': None,
    'elementwise/2sin+1_8dev': 10,
    'elementwise/x*2+1_8dev': 1.5,
    'elementwise/gelu_8dev': 1.8,
    'reduce/sum_axis0_8dev': 1,
    'reduce/softmax_8dev': 2,
    'gemm/f32_1dev': 1.2,
    'gemm/f32_8dev_rows': 1.15,
    'gemm/f32_8dev_contract': 1.9,
    'aat/f32': 1.2,
    'aat/bf16': 2.3,
    'aat/f16': 1.5,
    'aat/f64': 1.25,
    'collective/psum_4MiB': 1.5,
    'collective/all_gather_4MiB': 25,
    'collective/psum_scatter_4MiB': 1,
    'collective/all_to_all_4MiB': 3,
    'collective/ppermute_4MiB': 10,
    'collective/psum_4B': 20,
    'random/normal_16M': 7,
    'train/mlp_1dev': 1.05,
    'train/mlp_8dev': 1.7,
    'train/transformer_B32_1dev': 2,
    'train/transformer_B32_8dev': 2,
    'compile/mlp3_train_8dev': 5,
    'compile/mlp50_train_8dev': 4,
    'compile/transformer_train_8dev': 4,
} | {f'{kind}/{name}': 1 for kind, names in (('loops', LOOPS), ('fft', FFT), ('linalg', LINALG))
     for name in names}
BFLOAT16 = {'aat/bf16'}  # promised where the CPU has bfloat16 instructions


def has_bfloat16():
  try:
    flags = pathlib.Path('/proc/cpuinfo').read_text()
  except OSError:
    return False
  return 'avx512_bf16' in flags or 'amx_bf16' in flags


def measure(command, name):
  """Returns the median in microseconds that `command NAME` prints for `name`, or the reason why there is none."""
  # A setting of OpenBLAS may choose kernels for an older processor.
  plain = {name: value for name, value in os.environ.items() if not name.startswith('OPENBLAS_')}
  try:
    done = subprocess.run([*command, name], capture_output=True, text=True, timeout=900, env=plain)
  except (OSError, subprocess.TimeoutExpired) as error:
    return None, str(error)
  for line in done.stdout.splitlines(
  ):  # a name may be a part of another's, so other workloads may have run too
    try:
      row = json.loads(line)
    except ValueError:
      continue
    if isinstance(row, dict) and row.get('name') == name:
      return (row['med_us'], None) if 'med_us' in row else (None, row.get('error', 'no median'))
  tail = (done.stderr.strip().splitlines() or ['no such workload'])[-1]
  return None, f'exit {done.returncode}: {tail}' if done.returncode else tail


def compare(name, jax, ours, rounds):
  best, problems = {'jax': None, 'tessera': None}, {}
  for _ in range(rounds):
    for side, command in (('jax', jax), ('tessera', ours)):
      median, problem = measure(command, name)
      if problem:
        problems[side] = problem
      elif best[side] is None or median < best[side]:
        best[side] = median
  target = TARGETS[name]
  if name in BFLOAT16 and not has_bfloat16():
    target = None
  row = {
      'name': name,
      'jax_us': best['jax'],
      'tessera_us': best['tessera'],
      'ratio': None,
      'target': target,
      'met': None
  }
  if best['jax'] is not None and best['tessera'] is not None:
    row['ratio'] = best['jax'] / max(best['tessera'], 1e-9)
  if target is not None:
    row['met'] = row['ratio'] is not None and row['ratio'] >= target
  if problems:
    row['problems'] = problems
  return row


def show(row):
  number = lambda value, digits: '-' if value is None else f'{value:,.{digits}f}'
  verdict = {True: 'ok', False: 'SHORT', None: ''}[row['met']]
  for side, problem in row.get('problems', {}).items():
    verdict += f'  {side}: {problem[:80]}'
  target = '-' if row['target'] is None else f'{row["target"]:g}'
  times = ''.join(f'{number(row[key], 1):>14}' for key in ('jax_us', 'tessera_us'))
  return f'{row["name"]:<30}{times}{number(row["ratio"], 2):>9}{target:>8}  {verdict}'


def chart(rows):
  """Returns the medians as SVG: two bars for each workload, scaled to the longer one."""
  width, label, bar, gap = 760, 220, 14, 14
  parts, y = [], 34
  for row in rows:
    longest = max(row['jax_us'] or 0, row['tessera_us'] or 0)
    parts.append(f'<text x="{label - 8}" y="{y + bar + 4}" text-anchor="end">'
                 f'{html.escape(row["name"])}</text>')
    for side, colour in (('jax', '#9aa5b1'), ('tessera', '#2b6cb0')):
      time = row[f'{side}_us']
      length = (width - label - 130) * time / longest if time and longest else 0
      text = f'{time / 1e3:,.3g} ms' if time else 'none'
      if side == 'tessera' and row['ratio']:
        text += f', {row["ratio"]:.2f} x'
      parts.append(f'<rect x="{label}" y="{y}" width="{length:.1f}" height="{bar}" fill="{colour}"/>'
                   f'<text x="{label + length + 6:.1f}" y="{y + bar - 3}">{text}</text>')
      y += bar
    y += gap
  head = (f'<rect x="{label}" y="10" width="12" height="12" fill="#9aa5b1"/>'
          f'<text x="{label + 18}" y="20">JAX</text>'
          f'<rect x="{label + 70}" y="10" width="12" height="12" fill="#2b6cb0"/>'
          f'<text x="{label + 88}" y="20">Tessera (median; times as fast)</text>')
  return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{y}" '
          f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" '
          f'fill="white"/>{head}{"".join(parts)}</svg>\n')


def write_whole(file, text):
  part = f'{file}.part'
  with open(part, 'w', encoding='utf-8') as out:
    out.write(text)
    out.flush()
    os.fsync(out.fileno())
  os.replace(part, file)


def main():
  root = pathlib.Path(__file__).resolve().parent.parent
  parser = argparse.ArgumentParser(description=__doc__,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--jax', required=True, metavar='PYTHON', help='a Python that has jax')
  parser.add_argument('--peer', required=True, metavar='FILE', help="the peer's benchmark")
  parser.add_argument('--bench',
                      default=str(root / 'build/release/benchmarks/tessera-bench'),
                      help='tessera-bench (default: the release build)')
  parser.add_argument('--rounds',
                      type=int,
                      default=1,
                      metavar='N',
                      help='how often each side runs, in turn')
  parser.add_argument('--json', action='store_true', help='one JSON line a workload')
  parser.add_argument('--chart', metavar='FILE', help='draws the medians, as SVG')
  parser.add_argument('substrings', nargs='*', metavar='substring')
  options = parser.parse_args()
  if options.rounds < 1:
    parser.error('--rounds must be 1 or more')
  for file in (options.jax, options.peer, options.bench):
    if not pathlib.Path(file).is_file():
      parser.error(f'{file} is not a file')
  unknown = [s for s in options.substrings if not any(s in name for name in TARGETS)]
  if unknown:
    parser.error(f'no workload contains {", ".join(unknown)}; there are {", ".join(TARGETS)}')
  names = [n for n in TARGETS if not options.substrings or any(s in n for s in options.substrings)]

  if not options.json:
    print(f'{"workload":<30}{"JAX us":>14}{"Tessera us":>14}{"ratio":>9}{"target":>8}')
  rows = []
  for name in names:
    peer = PEERS.get(name.split('/')[0], options.peer)
    rows.append(compare(name, [options.jax, peer], [options.bench, '--json'], options.rounds))
    print(json.dumps(rows[-1]) if options.json else show(rows[-1]), flush=True)
  if options.chart:
    write_whole(options.chart, chart(rows))
  promised = [r for r in rows if r['met'] is not None]
  missed = [r['name'] for r in promised if not r['met']]
  if not options.json:
    print(f'{len(promised) - len(missed)} of {len(promised)} targets met' +
          (f'; short: {", ".join(missed)}' if missed else ''))
  return 1 if missed else 0


if __name__ == '__main__':
  sys.exit(main())
