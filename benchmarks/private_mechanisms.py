#!/usr/bin/env python3
"""Makes the table of docs/privacy.md that compares the mechanisms of private training (Markdown).

    benchmarks/private_mechanisms.py [--example FILE] [--steps N] [--canaries N] [--seed N] [NAME ...]

Runs examples/private_char_transformer with each named mechanism (with all without names). It trains, and
trains once more with canaries. A row has the loss of the last batch, the accuracy (the fraction of next
characters in held-out text that are predicted correctly), the epsilon that is accounted for, its lower
bound that the canaries prove (at 95%), the bound that they prove for exactly Gaussian mechanisms, and the
area under the attack's curve. Runs use the seed, except those of `system`, which takes none. Exits with 1
if a run fails, or if canaries prove more than is accounted for.
"""
import argparse
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
EXAMPLE = FOLDER.parent / 'build/release/examples/private_char_transformer'
MECHANISMS = {
    'none': 'no privacy',
    'gaussian': 'Gaussian, independent',
    'discrete': '`DiscreteGaussian`',
    'system': 'Gaussian, `RandomSource::kSystem`',
    'banded': '`BandedNoise` of 2 bands',
    'buffered': '`BufferedNoise`, not amplified',
    'banded_inverse': '`BandedInverseNoise` of 4 bands, not amplified',
    'dense': '`DenseNoise`, not amplified',
}
NUMBER = r'([-+.\w]+)'
PATTERNS = {
    'loss': rf'^loss {NUMBER} after',
    'accuracy': rf' {NUMBER}% of the next characters',
    'accounted': rf'^accounted epsilon +{NUMBER}',
    'audited': rf'^audited epsilon +{NUMBER}',
    'gaussian': rf'if it were Gaussian +{NUMBER}',
    'auroc': rf'^area under the curve +{NUMBER}',
}


def measure(example, name, args):
  """Returns the numbers that PATTERNS finds in the output of a run, as text."""
  command = [str(example), '--mechanism', name, '--steps', str(args.steps), '--audit',
             str(args.canaries)]
  if name != 'system':
    command += ['--reproducible', str(args.seed)]
  done = subprocess.run(command, capture_output=True, text=True)
  if done.returncode != 0:
    raise RuntimeError(f'{name}: exit {done.returncode}: {done.stderr.strip()}')
  out = {}
  for key, pattern in PATTERNS.items():
    found = re.search(pattern, done.stdout, re.MULTILINE)
    if not found:
      raise RuntimeError(f'{name}: no {key} in what it printed')
    out[key] = found.group(1)
  return out


def main():
  parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
  parser.add_argument('names', nargs='*', metavar='NAME', help=', '.join(MECHANISMS))
  parser.add_argument('--example', default=EXAMPLE, help='the built example')
  parser.add_argument('--steps', type=int, default=100)
  parser.add_argument('--canaries', type=int, default=500)
  parser.add_argument('--seed', type=int, default=1)
  args = parser.parse_args()
  unknown = [name for name in args.names if name not in MECHANISMS]
  if unknown:
    parser.error(f'expected names of {", ".join(MECHANISMS)}, got {", ".join(unknown)}')

  status = 0
  print('| noise | loss | accuracy | epsilon accounted | epsilon audited, at least | '
        'audited as Gaussian | area under the curve |')
  print('|---|---|---|---|---|---|---|')
  for name in args.names or MECHANISMS:
    try:
      row = measure(args.example, name, args)
    except (OSError, RuntimeError) as error:
      print(error, file=sys.stderr)
      status = 1
      continue
    print(f'| {MECHANISMS[name]} | {row["loss"]} | {row["accuracy"]}% | {row["accounted"]} | '
          f'{row["audited"]} | {row["gaussian"]} | {row["auroc"]} |', flush=True)
    if float(row['audited']) > float(row['accounted']):
      print(f'{name}: the canaries contradict the accounting', file=sys.stderr)
      status = 1
  return status


if __name__ == '__main__':
  sys.exit(main())
