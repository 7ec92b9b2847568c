#!/usr/bin/env python3
"""Makes tables (Markdown) and charts (SVG) from the lines that peers.py has written.

  benchmarks/peers/report.py FILE... [--write]

For each program and engine the last line counts. Without --write the tables are printed; with it they replace those of docs/peers.md,
between `<!-- peers KIND -->` and `<!-- end -->`, and the charts docs/peers_KIND.svg are drawn. Kinds that the files do not have keep
their tables and charts.
"""
import argparse
import json
import math
import pathlib
import re

DOCS = pathlib.Path(__file__).resolve().parents[2] / 'docs'
OURS = 'Tessera'

# By column, the engines of peers.py that it represents; the column shows the fastest of them.
COLUMNS = {
    OURS: ['Tessera', 'Tessera, constants'],
    'tessera run': ['tessera run', 'tessera run, constants'],
    'XLA 0.10.2': ['XLA 0.10.2', 'XLA 0.10.2, constants'],
    'XLA 0.12.0.1': ['XLA 0.12.0.1'],
    'PyTorch': ['PyTorch, eager', 'PyTorch, compile', 'PyTorch, max-autotune'],
    'ONNX Runtime': ['ONNX Runtime'],
    'OpenVINO': ['OpenVINO'],
    'IREE': ['IREE', 'IREE, constants'],
    'NumPy': ['NumPy'],
    'numba': ['numba'],
}
COLORS = {OURS: '#d6336c', 'tessera run': '#f783ac', 'XLA 0.10.2': '#1c7ed6', 'XLA 0.12.0.1': '#74c0fc', 'PyTorch': '#f76707',
          'ONNX Runtime': '#2f9e44', 'OpenVINO': '#7048e8', 'IREE': '#868e96', 'NumPy': '#f2b705', 'numba': '#0ca678'}
ALSO_OURS = ('tessera run',)


def read(files):
  """Returns the last measurement by 'steady' or 'starts', key and engine."""
  found = {'steady': {}, 'starts': {}}
  for file in files:
    for line in file.read_text().splitlines():
      row = json.loads(line)
      found[row['what']].setdefault(row['key'], {}).update(row['engines'])
  return found


def best(engines, column):
  """Returns the label and the entry of the column's fastest engine; an engine without a time if none has one; None without engines."""
  entries = [(label, engines[label]) for label in COLUMNS[column] if label in engines]
  timed = [e for e in entries if 'ms' in e[1]]
  return min(timed, key=lambda e: e[1]['ms']) if timed else entries[0] if entries else None


def number(x):
  return f'{x:,.0f}' if x >= 1000 else f'{x:.3g}'


def cell(found):
  if found is None:
    return ''
  entry = found[1]
  if 'ms' in entry:
    return f'{number(entry["ms"])} ms, {entry["peak_mb"]:,.0f} MB'
  return f'differs by {entry["difference"]:.0e}' if entry.get('differs') else entry['refused']


def others(engines):
  """Returns the time of the best engine of each column, except Tessera's."""
  times = {}
  for column in COLUMNS:
    found = best(engines, column)
    if column != OURS and column not in ALSO_OURS and found and 'ms' in found[1]:
      times[column] = found[1]['ms']
  return times


def title(key):
  _, name, size = key.split('/')
  words = {'resnet50': 'ResNet-50', 'bert_base': 'BERT-base', 'gpt2': 'GPT-2', 'gpt2_decoding': 'GPT-2, a token', 'unet': 'U-Net', 'lstm': 'LSTM'}
  name = words.get(name, name.replace('_', ' '))
  return f'{name}, {int(size):,} cells' if key.startswith('ocean') else f'{name}, batch {size}'


def steady_table(rows, kind):
  rows = {key: engines for key, engines in rows.items() if key.startswith(kind)}
  columns = [c for c in COLUMNS if any(best(engines, c) for engines in rows.values())]
  lines = [f'| program | {" | ".join(columns)} | Tessera / fastest other |', '|---|' + '---:|' * (len(columns) + 1)]
  for key, engines in rows.items():
    ratio, ours, times = '', best(engines, OURS), others(engines)
    if ours and 'ms' in ours[1] and times:
      fastest = min(times, key=times.get)
      ratio = f'{ours[1]["ms"] / times[fastest]:.2f} ({fastest})'
    lines.append(f'| {title(key)} | {" | ".join(cell(best(engines, c)) for c in columns)} | {ratio} |')
  return '\n'.join(lines)


def starts_table(rows):
  lines = ['| program, engine | first call, empty caches | first call, full caches | threads busy while idle | installed |', '|---|---:|---:|---:|---:|']
  for key, engines in rows.items():
    for label, entry in engines.items():
      if 'refused' in entry:
        lines.append(f'| {title(key)}: {label} | {entry["refused"]} | | | |')
        continue
      busy = f'{entry["busy"]:.2f}' if 'busy' in entry else ''
      size = f'{entry["installed_mb"]:,.0f} MB' if 'installed_mb' in entry else ''
      lines.append(f'| {title(key)}: {label} | {entry["empty_s"]:.2f} s | {entry["full_s"]:.2f} s | {busy} | {size} |')
  return '\n'.join(lines)


STYLE = """<style>
  .back { fill: #ffffff } .text { fill: #212529 } .line { stroke: #dee2e6 } .ours { stroke: #d6336c }
  @media (prefers-color-scheme: dark) { .back { fill: #15181c } .text { fill: #e9ecef } .line { stroke: #343a40 } }
</style>"""


def chart(rows, heading):
  """Returns an SVG of dots: for each program, the ratio of each peer's time to Tessera's, on a logarithmic axis.

  rows: {name: {column: ratio}}. To the left of 1 a peer is faster than Tessera."""
  ratios = [r for row in rows.values() for r in row.values()]
  low, high = min([0.5, *ratios]) / 1.1, max([2.0, *ratios]) * 1.1
  left, right, top, step = 300, 30, 74, 36
  width = 960
  height = top + step * len(rows) + 40

  def place(ratio):
    return left + (width - left - right) * math.log(ratio / low) / math.log(high / low)

  columns = [c for c in COLORS if any(c in row for row in rows.values())]
  out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" font-family="sans-serif"'
         f' font-size="13" role="img" aria-label="{heading}">', STYLE, f'<rect class="back" width="{width}" height="{height}"/>',
         f'<text class="text" x="12" y="22" font-size="15">{heading}</text>']
  x = 12
  for column in [OURS, *columns]:
    out.append(f'<circle cx="{x + 6}" cy="44" r="6" fill="{COLORS[column]}"/><text class="text" x="{x + 18}" y="48">{column}</text>')
    x += 34 + 7.4 * len(column)
  marks = [m for e in range(-3, 4) for m in (10**e, 2 * 10**e, 5 * 10**e) if low <= m <= high]
  for mark in marks:
    out.append(f'<line class="{"ours" if mark == 1 else "line"}" x1="{place(mark):.1f}" x2="{place(mark):.1f}" y1="{top - 8}" y2="{height - 28}"/>'
               f'<text class="text" x="{place(mark):.1f}" y="{height - 10}" text-anchor="middle">{mark:g}</text>')
  for i, (name, row) in enumerate(rows.items()):
    y = top + step * i + step / 2
    out.append(f'<text class="text" x="{left - 14}" y="{y + 4:.1f}" text-anchor="end">{name}</text>')
    out.append(f'<line class="line" x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}"/>')
    out.append(f'<circle cx="{place(1):.1f}" cy="{y:.1f}" r="6" fill="{COLORS[OURS]}"/>')
    for column, ratio in row.items():
      dot_y = y + 20 * (columns.index(column) / max(1, len(columns) - 1) - 0.5)  # dots of equal times do not cover each other
      out.append(f'<circle cx="{place(ratio):.1f}" cy="{dot_y:.1f}" r="6" fill="{COLORS[column]}" fill-opacity="0.85"><title>{column}: {ratio:.2f}'
                 '</title></circle>')
  return '\n'.join([*out, '</svg>', ''])


def ratios_of(rows, kind):
  found = {}
  for key, engines in rows.items():
    ours = best(engines, OURS)
    if key.startswith(kind) and ours and 'ms' in ours[1]:
      found[title(key)] = {column: ms / ours[1]['ms'] for column, ms in others(engines).items()}
  return found


def written(page, kind, table):
  """Returns the page with the table of this kind replaced."""
  pattern = re.compile(rf'(<!-- peers {kind} -->\n).*?(<!-- end -->)', re.DOTALL)
  if not pattern.search(page):
    raise SystemExit(f'expected <!-- peers {kind} --> and <!-- end --> in docs/peers.md, got none')
  return pattern.sub(lambda m: f'{m.group(1)}{table}\n{m.group(2)}', page)


def has_kind(found, kind):
  return bool(found['starts']) if kind == 'starts' else any(key.startswith(kind) for key in found['steady'])


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('files', nargs='+', type=pathlib.Path)
  parser.add_argument('--write', action='store_true')
  options = parser.parse_args()
  found = read(options.files)
  tables = {kind: steady_table(found['steady'], kind) for kind in ('inference', 'training', 'ocean')}
  tables['starts'] = starts_table(found['starts'])
  if not options.write:
    print('\n\n'.join(tables.values()))
    return
  page = (DOCS / 'peers.md').read_text()
  for kind, table in tables.items():
    if has_kind(found, kind):
      page = written(page, kind, table)
  (DOCS / 'peers.md').write_text(page)
  for kind, what in (('inference', 'Inference'), ('training', 'Training steps'), ('ocean', 'Ocean models')):
    if has_kind(found, kind):
      heading = f'{what}: times as long as on Tessera (right of 1: slower)'
      (DOCS / f'peers_{kind}.svg').write_text(chart(ratios_of(found['steady'], kind), heading))


if __name__ == '__main__':
  main()
