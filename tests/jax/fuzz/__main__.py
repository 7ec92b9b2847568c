#!/usr/bin/env python3
"""Runs random JAX programs on the plugin, on XLA's CPU backend and in NumPy; if one of the three differs, it is wrong.

usage: python tests/jax/fuzz [--seeds FIRST:LAST] [--keep FOLDER] [--seconds N] [--limit N] [--no-reduce] [--lazy] [--positions]
                               [--show SEED]

Finds the plugin as pytest does (conftest.py). Prints progress, each difference, and a table at the end. A program with different
results is reduced, and its reproducer is written to the folder. Programs run in separate processes, so that a crash or a hang is
reported as a difference too. Exits with 1 if Tessera is wrong on a program.
"""
import argparse
import collections
import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import environment  # noqa: E402  pylint: disable=wrong-import-position

environment.prepare()


class Worker:
  """A process that tries the programs of some seeds and reports in lines of JSON."""

  def __init__(self, seeds, options):
    command = [sys.executable, str(HERE / 'worker.py'), f'{seeds[0]}:{seeds[1]}', *options]
    self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    self.lines = queue.Queue()
    self.errors = collections.deque(maxlen=30)
    threading.Thread(target=self.read, daemon=True).start()
    threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

  def read(self):
    for line in self.process.stdout:
      self.lines.put(line)
    self.lines.put(None)

  def messages(self, limit):
    """Yields the messages of the process, and finally how it ended."""
    while True:
      try:
        line = self.lines.get(timeout=limit)
      except queue.Empty:
        self.process.kill()
        yield {'ended': f'hangs: nothing for {limit} s'}
        return
      if line is None:
        code = self.process.wait()
        yield {'ended': '' if code == 0 else f'crashes: exit code {code}\n{"".join(self.errors)[-2000:]}'}
        return
      if line.startswith('{'):
        yield json.loads(line)


class Report:
  """The results so far."""

  def __init__(self, keep):
    self.keep, self.counts, self.start, self.last = keep, collections.Counter(), time.monotonic(), 0

  def add(self, seed, verdict):
    self.counts[verdict['who']] += 1
    if verdict['who'] not in ('equal', 'refused'):
      print(f'seed {seed}: {verdict["who"]} ({verdict["kind"]})\n  ' + '\n  '.join(verdict['text'].splitlines()[:6]),
            flush=True)
      if self.keep and verdict.get('reproducer'):
        folder = pathlib.Path(self.keep)
        folder.mkdir(parents=True, exist_ok=True)
        comment = ''.join(f'# {line}\n' for line in f'{verdict["who"]}: {verdict["kind"]}\n{verdict["text"]}'.splitlines())
        (folder / f'{verdict["who"]}_{seed}.py').write_text(comment + verdict['reproducer'])
    self.progress()

  def progress(self, final=False):
    elapsed, total = time.monotonic() - self.start, sum(self.counts.values())
    if final or elapsed - self.last > 10:
      self.last = elapsed
      counts = ', '.join(f'{n} {who}' for who, n in sorted(self.counts.items()))
      print(f'{total} programs in {elapsed:.0f} s ({total / max(elapsed, 1e-9):.1f} a second): {counts}', flush=True)


def seeds_of(text):
  first, _, last = text.partition(':')
  if not (first.isdigit() and last.isdigit() and int(first) < int(last)):
    raise argparse.ArgumentTypeError(f'expected FIRST:LAST, got {text!r}; give numbers, the first smaller')
  return int(first), int(last)


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--seeds', default=(0, 100), type=seeds_of)
  parser.add_argument('--keep')
  parser.add_argument('--limit', type=float, default=150, help='seconds without a word after which a program hangs')
  parser.add_argument('--seconds', type=float, default=0, help='stop after so many seconds')
  parser.add_argument('--no-reduce', action='store_true')
  parser.add_argument('--lazy', action='store_true', help='ask XLA only where Tessera and the reference disagree')
  parser.add_argument('--positions', action='store_true', help='programs of operations that read or write by position')
  parser.add_argument('--show', type=int, help='print the reproducer of a seed, and run nothing')
  options = parser.parse_args()
  if options.show is not None:
    import generator  # pylint: disable=import-outside-toplevel
    import positions  # pylint: disable=import-outside-toplevel
    print((positions if options.positions else generator).generate(options.show).reproducer())
    return 0
  first, last = options.seeds
  report = Report(options.keep)
  while first < last:
    worker = Worker((first, last), ['--no-reduce'] * options.no_reduce + ['--lazy'] * options.lazy + ['--positions'] * options.positions)
    current, who = first, 'generator'
    for message in worker.messages(options.limit):
      if 'begins' in message:
        current, who = message['begins'], message['who']
      elif 'ended' in message:
        if message['ended']:
          report.add(current, {'who': who, 'kind': 'process', 'text': message['ended']})
        first = current + 1
      else:
        report.add(message['seed'], message)
      if options.seconds and time.monotonic() - report.start > options.seconds:
        worker.process.kill()
        first = last
        break
  report.progress(final=True)
  return 1 if report.counts['tessera'] else 0


if __name__ == '__main__':
  sys.exit(main())
