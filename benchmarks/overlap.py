#!/usr/bin/env python3
"""Measures how much of the transfers between processes overlaps with computation (docs/clusters.md).

  benchmarks/overlap.py TRACE.json...    reads files that TESSERA_TRACE made
  benchmarks/overlap.py --run COMMAND... runs a program with a new trace and reads the trace

Prints, for each process, the time of all transfers and the part of it during which steps were computed. Exits with 1 if this part is
less than --asked.
"""
import argparse
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def union(intervals):
  out = []
  for begin, end in sorted(intervals):
    if out and begin <= out[-1][1]:
      out[-1][1] = max(out[-1][1], end)
    else:
      out.append([begin, end])
  return out


def common(begin, end, intervals):
  return sum(max(0, min(end, b) - max(begin, a)) for a, b in intervals)


def read(file):
  """Returns the intervals of steps, of waits and of transfers, in microseconds, and the names of the transfers."""
  found, began, names = {'step': [], 'wait': [], 'transfer': []}, {}, {}
  with open(file, encoding='utf-8') as text:
    events = json.load(text)['traceEvents']
  for event in events:
    if event['ph'] == 'X':
      found[event['cat']].append((event['ts'], event['ts'] + event['dur']))
    elif event['ph'] == 'b':
      began[event['id']] = event['ts']
      names[event['name']] = names.get(event['name'], 0) + 1
    elif event['ph'] == 'e':
      found['transfer'].append((began[event['id']], event['ts']))
  return found, names


def hidden(found, skip):
  """Returns the time of the transfers that begin after the first `skip` of the time, and the part of it during steps that do not wait."""
  times = [t for kind in found.values() for interval in kind for t in interval]
  since = min(times) + skip * (max(times) - min(times)) if times else 0
  waits, steps = union(found['wait']), union(found['step'])
  total = beside = 0
  for begin, end in found['transfer']:
    if begin < since:
      continue
    total += end - begin
    computed = [(max(a, begin), min(b, end)) for a, b in steps if a < end and b > begin]
    beside += sum(b - a - common(a, b, waits) for a, b in computed)
  return total, beside


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--asked', type=float, default=0, help='the share that must be hidden, from 0 to 1')
  parser.add_argument('--skip', type=float, default=0.25, help='share of the run that is left out, from its start: compilation')
  parser.add_argument('--run', action='store_true')
  parser.add_argument('files', nargs=argparse.REMAINDER, metavar='FILE')
  args = parser.parse_args()
  files, folder = args.files, None
  if args.run:
    folder = tempfile.TemporaryDirectory()
    subprocess.run(args.files, check=True, stdout=subprocess.DEVNULL,
                   env=os.environ | {'TESSERA_TRACE': f'{folder.name}/trace.json'})
    files = sorted(glob.glob(f'{folder.name}/*.json'))
  shares = []
  for file in files:
    found, names = read(file)
    total, beside = hidden(found, args.skip)
    shares.append(beside / total if total else 1)
    print(f'{pathlib.Path(file).name}: transfers {total / 1000:.1f} ms, {beside / 1000:.1f} ms of it beside steps: '
          f'{shares[-1]:.1%}')
  return 1 if not shares or min(shares) < args.asked else 0


if __name__ == '__main__':
  sys.exit(main())
