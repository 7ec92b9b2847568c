"""Tries the programs of some seeds in this process, and prints the outcome of each as a line of JSON. Started by __main__.py."""
import json
import sys

import environment

environment.prepare()

import jax  # noqa: E402  pylint: disable=wrong-import-position

import comparer  # noqa: E402  pylint: disable=wrong-import-position
import generator  # noqa: E402  pylint: disable=wrong-import-position
import positions  # noqa: E402  pylint: disable=wrong-import-position
import reducer  # noqa: E402  pylint: disable=wrong-import-position
import runner  # noqa: E402  pylint: disable=wrong-import-position

WORTH_REDUCING = (comparer.OURS, comparer.XLA, comparer.BOTH, comparer.REFERENCE)


def verdict_of(program, overrides=None, lazy=False, at=lambda who: None):
  """Returns the verdict on a program. `overrides` replace names that its source uses on Tessera. If `lazy`, XLA runs it only if Tessera
  and the reference disagree. `at` is called with the name of the side that runs next, so that the side that crashed is known."""
  def run_xla():
    at(comparer.XLA)
    return runner.run(program, 'cpu')
  at(comparer.OURS)
  ours = runner.run(program, 'tessera', overrides, again=True)
  at(comparer.REFERENCE)
  return comparer.compare(program, ours, run_xla, lazy)


def reduced(program, verdict, overrides=None, seconds=60, report=lambda text: None):
  def interesting(candidate):
    try:
      found = verdict_of(candidate, overrides)
    except Exception:  # pylint: disable=broad-except
      return False
    return (found.who, found.kind) == (verdict.who, verdict.kind)
  return reducer.reduce(reducer.cleaned(program), interesting, seconds, report)


def say(**message):
  print(json.dumps(message), flush=True)


def main():
  first, last = (int(n) for n in sys.argv[1].split(':'))
  generate = positions.generate if '--positions' in sys.argv else generator.generate
  for seed in range(first, last):
    say(begins=seed, who='generator')
    program = generate(seed)
    at = lambda who: say(begins=seed, who=who)  # noqa: E731  pylint: disable=cell-var-from-loop,unnecessary-lambda-assignment
    verdict = verdict_of(program, None, '--lazy' in sys.argv, at)
    reproducer = None
    if verdict.who in WORTH_REDUCING:
      if '--no-reduce' not in sys.argv:
        program = reduced(program, verdict, report=lambda text: say(begins=seed, who='reducer'))  # pylint: disable=cell-var-from-loop
        verdict = verdict_of(program)
      reproducer = program.reproducer()
    say(seed=seed, who=verdict.who, kind=verdict.kind, text=verdict.text, reproducer=reproducer)
    if seed % 100 == 99:
      jax.clear_caches()


if __name__ == '__main__':
  main()
