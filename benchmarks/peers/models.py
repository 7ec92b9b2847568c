#!/usr/bin/env python3
"""Times models of keras.applications, haiku and transformers on XLA's CPU backend, IREE and `tessera run`.

  benchmarks/peers/models.py --out FILE [--tool tessera] [--environments FOLDER] [--rows REGEX] [--rounds 5] [--seconds 0.3]
                             [--beside COMMAND] [--prepare]
  benchmarks/peers/models.py --report FILE [--write]

The models are those of model_programs.py, with small inputs and random weights, which are arguments. JAX exports each once, and all
three engines run this StableHLO program, in turn, in the given number of rounds, as those of peers.py do. Results are compared with
XLA's before a time counts. For each model a line of JSON is appended to FILE; a model that FILE has is skipped. If an engine is not
installed or refuses a program, or its results differ, the line contains the reason. --prepare exports the programs and compiles them
with IREE, and measures nothing. --report prints the table of docs/peers.md, and with --write replaces it there.
"""
import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import peers  # noqa: E402
import report  # noqa: E402

ENVIRONMENT = 'models'
ENGINES = ['XLA', 'IREE', 'tessera run']  # of peers.ENGINES
OURS = 'tessera run'
TOLERANCE = 2e-3  # relative to the largest element of an array
CLOSE = 1.02  # times the best other's time that counts as equally fast


def kinds(options):
  """The names of the models, from the environment in which their libraries are installed."""
  words = [peers.python_of(ENVIRONMENT, options), '-c', 'import json, model_programs; print(json.dumps(list(model_programs.KINDS)))']
  return json.loads(subprocess.run(words, cwd=HERE, capture_output=True, text=True, check=True).stdout.splitlines()[-1])


def export(key, options):
  if not peers.export_path(options.exports, key, 'arguments.exported').exists():
    words = [peers.python_of(ENVIRONMENT, options), str(HERE / 'engines.py'), 'model', key, '--exports', str(options.exports), '--export']
    done = subprocess.run(words, env={**peers.plain_environment(), 'JAX_PLATFORMS': 'cpu'}, capture_output=True, text=True)
    if done.returncode:
      raise peers.Refused(f'not exported, ended with {done.returncode}: {peers.last_line(done.stderr)}')


def compared(engines, entries):
  """Returns the engines whose results agree with those of the first, and ends the others."""
  kept = []
  for engine in engines:
    apart, wrong = peers.difference(engine.results, engines[0].results, dict.fromkeys(('float32', 'int32'), TOLERANCE))
    entries[engine.label] = {'version': engine.version, 'difference': apart, 'first_s': engine.first, 'differs': wrong}
    if wrong:
      print(f'  {engine.label} differs from {engines[0].label} by {apart:.2e}', file=sys.stderr)
      engine.end()
    else:
      kept.append(engine)
  return kept


def measured(key, options, folder):
  """Returns what the engines took, by name."""
  engines, entries = [], {}
  for label in ENGINES:
    try:
      engines.append(peers.started(label, key, folder, options.caches, options))
    except peers.Refused as reason:
      entries[label] = {'refused': str(reason)}
  engines = compared(engines, entries) if engines else []
  peers.timed_in_rounds(engines, options)
  for engine in engines:
    entries[engine.label] |= {'ms': 1e3 * statistics.median(engine.times), 'least_ms': 1e3 * min(engine.times), 'peak_mb': engine.peak}
    engine.end()
  return entries


def prepare(key, options, folder):
  """Exports a program and lets IREE compile it, which takes the longest; both keep what they made in options.exports."""
  if peers.export_path(options.exports, key, 'arguments.vmfb').exists():
    return
  try:
    export(key, options)
    peers.started('IREE', key, folder, options.caches, options).end()
  except peers.Refused as reason:
    print(f'{key}: {reason}', file=sys.stderr, flush=True)


def row(name, options):
  key = f'model/{name}'
  line = {'name': name, 'date': time.strftime('%Y-%m-%d'), 'machine': peers.machine()}
  try:
    export(key, options)
  except peers.Refused as reason:
    return {**line, 'refused': str(reason), 'engines': {}}
  with tempfile.TemporaryDirectory() as folder:
    return {**line, 'engines': measured(key, options, pathlib.Path(folder))}


def read(file):
  lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
  return {line['name']: line for line in lines}


def measure(options):
  options.exports.mkdir(parents=True, exist_ok=True)
  wanted = [name for name in kinds(options) if re.search(options.rows, name)]
  for i, name in enumerate(wanted):
    if name in read(options.out):
      continue
    if options.prepare:
      with tempfile.TemporaryDirectory() as folder:
        prepare(f'model/{name}', options, pathlib.Path(folder))
      continue
    line = row(name, options)
    with open(options.out, 'a') as out:
      print(json.dumps(line), file=out)
    shown = {label: entry.get('ms') or entry.get('refused') or f'{entry["difference"]:.1e}' for label, entry in line['engines'].items()}
    print(f'{i + 1} of {len(wanted)}: {name}: {line.get("refused") or shown}', file=sys.stderr, flush=True)


def ratio(line, others=('XLA', 'IREE')):
  """Returns Tessera's time in terms of that of the fastest of the others, or None if one is missing."""
  times = [line['engines'][label]['ms'] for label in others if 'ms' in line['engines'].get(label, {})]
  ours = line['engines'].get(OURS, {}).get('ms')
  return ours / min(times) if times and ours else None


def cell(line, label):
  entry = line['engines'].get(label, {})
  if 'ms' in entry:
    return report.number(entry['ms'])
  return f'differs by {entry["difference"]:.0e}' if entry.get('differs') else 'refused'


def summary(lines):
  ratios = [ratio(line) for line in lines if ratio(line)]
  text = f'Tessera is the fastest or within 2 % on {sum(x <= CLOSE for x in ratios)} of {len(ratios)} programs.'
  for other in ('XLA', 'IREE'):
    pairs = [ratio(line, (other,)) for line in lines if ratio(line, (other,))]
    text += f' The median of Tessera / {other} is {statistics.median(pairs):.2f} ({len(pairs)} programs).'
  refused = [sum('refused' in line['engines'].get(label, {}) for line in lines) for label in ('IREE', OURS)]
  return text + f' IREE refuses {refused[0]} and `tessera run` {refused[1]}.'


def table(lines):
  """First the models on which Tessera is behind, the farthest first, and then the others."""
  exported = [line for line in lines if line['engines']]
  text = [summary(exported), '', '| program | XLA | IREE | Tessera | Tessera / best other |', '|---|---:|---:|---:|---:|']
  for line in sorted(exported, key=lambda line: -(ratio(line) or 0)):
    found = ratio(line)
    text.append(f'| {line["name"]} | {" | ".join(cell(line, label) for label in ENGINES)} | {f"{found:.2f}" if found else ""} |')
  text += [f'| {line["name"]} | {line["refused"]} | | | |' for line in lines if not line['engines']]
  return '\n'.join(text)


def write(text):
  page = report.DOCS / 'peers.md'
  old = page.read_text()
  new, count = re.subn(r'(<!-- models -->\n).*?(<!-- end of models -->)', lambda m: f'{m.group(1)}{text}\n{m.group(2)}', old, flags=re.S)
  if count != 1:
    raise SystemExit(f'expected one place for the models in {page}, got {count}')
  page.write_text(new)


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  home = pathlib.Path.home() / '.cache' / 'tessera' / 'peers'
  parser.add_argument('--environments', type=pathlib.Path, default=home)
  parser.add_argument('--exports', type=pathlib.Path, default=home / 'models', help='where programs are exported to')
  parser.add_argument('--caches', type=pathlib.Path, default=home / 'caches', help='compiled programs of Tessera')
  parser.add_argument('--tool', type=pathlib.Path, help='the program tessera')
  parser.add_argument('--rows', default='', help='a regular expression for the names of models')
  parser.add_argument('--rounds', type=int, default=5)
  parser.add_argument('--seconds', type=float, default=0.3, help='how long each engine runs in a round')
  parser.add_argument('--beside', help='as of peers.py')
  parser.add_argument('--prepare', action='store_true', help='export and compile, and measure nothing')
  parser.add_argument('--out', type=pathlib.Path)
  parser.add_argument('--report', type=pathlib.Path, metavar='FILE')
  parser.add_argument('--write', action='store_true')
  # Of peers.py, which models do not need.
  parser.set_defaults(starts=False, plugin=None)
  options = parser.parse_args()
  if options.report:
    text = table(list(read(options.report).values()))
    return write(text) if options.write else print(text)
  if not options.out:
    parser.error('expected --out or --report, got none')
  measure(options)


if __name__ == '__main__':
  main()
