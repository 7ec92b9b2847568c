#!/usr/bin/env python3
"""Compares the programs of examples/ with the same programs in JAX, in one run on one machine.

    benchmarks/examples/compare.py --jax VENV/bin/python [--programs FOLDER] [--rounds N] [--write] [name ...]

For each name (for all programs if there is no name) it runs NAME.py of this folder with JAX, then NAME of the programs' folder, N times in turn.
Both print the value that they computed and the times of their compiled call. It shows the shortest call of each side, which the load of other
programs changes least, and how many times faster Tessera is by this time and by the time of all CPUs. It exits with 1 if Tessera is slower, or
if the values differ by more than the program allows. --write puts the rows of the named programs into the table of docs/performance.md. This
program needs only the standard library; the Python of --jax needs jax.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parent.parent / 'docs/performance.md'
BEGIN, END = '<!-- examples -->\n', '<!-- end of examples -->\n'
HEAD = '| program | JAX | Tessera | JAX / Tessera | the same of the time of all CPUs |\n|---|---:|---:|---:|---:|\n'
# The largest relative difference of the values that is allowed. Resampled particles depend on the last digits of the sums of their weights.
TOLERANCES = {'particle_filter': 2e-3}
TOLERANCE = 1e-3


def measure(command, folder):
  """Returns what `command` prints, a dictionary with value, min_us, med_us and cpu_us, or the reason why there is none."""
  # A setting of OpenBLAS may choose kernels for an older processor.
  plain = {name: value for name, value in os.environ.items() if not name.startswith('OPENBLAS_')}
  try:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder, env=plain)
  except (OSError, subprocess.TimeoutExpired) as error:
    return None, str(error)
  for line in done.stdout.splitlines():
    if line.startswith('{"value"'):
      return json.loads(line), None if done.returncode == 0 else f'exit {done.returncode}'
  return None, f'exit {done.returncode}: {(done.stderr.strip().splitlines() or ["no output"])[-1]}'


def write(rows):
  """Puts rows {program: row} into the table of the page; the other rows stay."""
  page = PAGE.read_text(encoding='utf-8')
  if BEGIN not in page or END not in page:
    sys.exit(f'compare.py: expected the marks {BEGIN.strip()} and {END.strip()} in {PAGE}')
  before, rest = page.split(BEGIN)
  table, after = rest.split(END)
  all_rows = {line.split('|')[1].strip(): line for line in table.splitlines()[2:]} | rows
  table = HEAD + ''.join(all_rows[name] + '\n' for name in sorted(all_rows))
  PAGE.write_text(before + BEGIN + table + END + after, encoding='utf-8')


def compare(name, jax, programs, rounds, rows):
  """Prints the line of a program and adds it to `rows`; returns whether Tessera is as fast and computes the same."""
  best, cpu, values, problems = {}, {}, {}, []
  for _ in range(rounds):
    for side, command in (('jax', [jax, f'{name}.py']), ('tessera', [str(programs / name), '--time'])):
      row, problem = measure(command, FOLDER)
      if problem:
        problems.append(f'{side}: {problem}')
      if row:
        best[side] = min(best.get(side, row['min_us']), row['min_us'])
        cpu[side] = min(cpu.get(side, row['cpu_us']), row['cpu_us'])
        values[side] = row['value']
  if len(best) < 2:
    print(f'{name:<20} {"; ".join(problems)[:120]}', flush=True)
    return False
  ratio = best['jax'] / best['tessera']
  apart = abs(values['jax'] - values['tessera']) / max(abs(values['jax']), 1e-9)
  if apart > TOLERANCES.get(name, TOLERANCE):
    problems.append(f'values {values["jax"]:g} and {values["tessera"]:g}')
  print(f'{name:<20}{best["jax"]:>14,.1f}{best["tessera"]:>14,.1f}{ratio:>9.2f}{cpu["jax"] / cpu["tessera"]:>11.2f}{apart:>11.1e}  {"; ".join(problems)}', flush=True)
  if not problems:
    times = ' | '.join(f'{best[side] / 1000:,.3g} ms' for side in ('jax', 'tessera'))
    rows[name] = f'| {name} | {times} | {ratio:.2f} | {cpu["jax"] / cpu["tessera"]:.2f} |'
  return ratio >= 1 and not problems


def main():
  known = sorted(f.stem for f in FOLDER.glob('*.py') if f.stem not in ('compare', 'timed'))
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--jax', required=True, metavar='PYTHON', help='a Python that has jax')
  parser.add_argument('--programs', default=str(FOLDER.parent.parent / 'build/release/examples'), metavar='FOLDER', help='of the compiled programs')
  parser.add_argument('--rounds', type=int, default=1, metavar='N', help='how often each side runs, in turn')
  parser.add_argument('--write', action='store_true', help='the rows of these programs into docs/performance.md')
  parser.add_argument('names', nargs='*', metavar='name')
  options = parser.parse_args()
  if options.rounds < 1:
    parser.error('--rounds must be 1 or more')
  unknown = [n for n in options.names if n not in known]
  if unknown:
    parser.error(f'there is no {", ".join(unknown)}; there are {", ".join(known)}')
  print(f'{"program":<20}{"JAX us":>14}{"Tessera us":>14}{"ratio":>9}{"CPU ratio":>11}{"apart":>11}')
  programs = pathlib.Path(options.programs).resolve()
  rows = {}
  good = [compare(name, options.jax, programs, options.rounds, rows) for name in options.names or known]
  if options.write:
    write(rows)
  return 0 if all(good) else 1


if __name__ == '__main__':
  sys.exit(main())
