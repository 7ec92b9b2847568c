"""Reads the results of JAX's tests from the files that recorder.py writes, groups failures by cause, and makes the table."""
import collections
import dataclasses
import json
import pathlib
import re

BEGIN, END = '<!-- results of tests/jax/run -->', '<!-- end of results -->'


@dataclasses.dataclass
class Record:
  """The contents of a file of lines."""
  tests: dict  # by id; of several results of a test the last one counts
  collected: int | None = None
  left: int | None = None  # tests without results when the last process had collected
  error: str | None = None  # why the file, or the last of several, cannot be imported
  errors: int = 0  # how many files cannot be imported
  running: dict | None = None  # the test that was running when the lines end


def read(path, offset=0):
  """Reads the lines of `path` from byte `offset` on."""
  out = Record({})
  if not path.exists():
    return out
  for text in path.read_bytes()[offset:].decode('utf-8', 'replace').splitlines():
    try:
      line = json.loads(text)
    except ValueError:  # cut off by the death of its process
      continue
    if 'process' in line:
      out.collected, out.left, out.error, out.errors = None, None, None, 0
    elif 'collected' in line:
      out.collected, out.left = line['collected'], line['left']
    elif 'error' in line:
      out.error = line['error']
      out.errors += 1
    elif 'start' in line:
      out.running = line
    else:
      out.tests[line['id']] = line
      out.running = None
  return out


# The parts of messages that differ between failures of one cause.
_DETAILS = [
    (r'\x1b\[[0-9;]*m', ''),
    (r'tensor<[^>]*>+', 'tensor'),
    (r'\b(?:bool|bf16|[fcsui](?:2|4|8|16|32|64|128)|float\d+\w*|u?int\d+|complex\d+|bfloat16|pred)\[[^\]]*\]'
     r'(?:\{[^}]*\})?', 'array'),
    (r'\b(?:bool|bf16|bfloat16|float(?:8_\w+|\d+)|u?int\d+|complex\d+)\b', 'dtype'),
    (r'0x[0-9a-f]+', 'ADDRESS'),
    (r'%[\w#:]+', '%v'),
    (r'(?:/[\w.+-]+){2,}', 'PATH'),
    (r'-?\d+(?:\.\d+)?(?:e[+-]?\d+)?', 'N'),
    (r'\((?:N,? ?)*\)|\[(?:N,? ?)*\]|N(?:[x,] ?N)+', 'N'),
]


def cause(text):
  """Returns the first meaningful line of a message, without shapes, dtypes and numbers."""
  lines = [line.strip() for line in text.splitlines() if line.strip()]
  if not lines:
    return 'no message'
  first = lines[0]
  # numpy.testing and unittest describe the failure on the second line.
  if re.fullmatch(r'[\w.]*(?:Error|Exception|Failure):?', first) and len(lines) > 1:
    first = f'{first} {lines[1]}'
  for pattern, instead in _DETAILS:
    first = re.sub(pattern, instead, first, flags=re.IGNORECASE if 'x[' in pattern else 0)
  return first[:160]


def summarize(work, files, platforms):
  """Returns {file: {platform: counts, ...}}, and the tests that fail on the first platform and pass on the second, by cause.
  A file is there once it was run on both."""
  plugin, reference = platforms
  table, causes = {}, collections.defaultdict(list)
  for file in files:
    records = {p: read(work / p / f'{file}.jsonl') for p in platforms}
    if not all(records[p].tests or records[p].error for p in platforms):
      continue
    row = {}
    for p in platforms:
      row[p] = dict(collections.Counter(t['outcome'] for t in records[p].tests.values()))
      if records[p].error:
        row[p]['error'] = records[p].error.splitlines()[-1]
    ours = records[plugin].tests
    counted = [i for i, t in records[reference].tests.items() if t['outcome'] == 'passed']
    if records[plugin].error:
      outcomes = {i: {'outcome': 'failed', 'text': records[plugin].error.splitlines()[-1]} for i in counted}
    else:  # tests that an unfinished run has not reached are ignored
      outcomes = {i: ours[i] for i in counted if i in ours}
    row['compared'] = len(outcomes)
    for outcome in ('passed', 'failed', 'skipped'):
      row[outcome] = sum(t['outcome'] == outcome for t in outcomes.values())
    table[file] = row
    for i, t in outcomes.items():
      if t['outcome'] == 'failed':
        causes[cause(t['text'])].append(i)
  return table, dict(sorted(causes.items(), key=lambda c: -len(c[1])))


def share(row):
  """Returns the percentage that the plugin passes of the tests that the reference passes and the plugin does not skip."""
  ran = row['passed'] + row['failed']
  return 100 * row['passed'] / ran if ran else 100.0


def by_reason(causes, reasons):
  """Groups failures by the known reason of the test, or by their cause. Of several reasons, that of the longest prefix of the name counts."""
  out = collections.defaultdict(list)
  for text, ids in causes.items():
    for i in ids:
      known = max((key for key in reasons if i.startswith(key)), key=len, default=None)
      out[reasons[known] if known else text].append(i)
  return dict(sorted(out.items(), key=lambda c: -len(c[1])))


def file_of(test):
  """Returns the file of a test from the test's name, without .py."""
  return test.split('::')[0].removesuffix('.py')


def merged(old, table, causes, order):
  """Returns (table, causes) joined with the old data of other files; the files in `order` come first in the table."""
  out = collections.defaultdict(list)
  for text, ids in old['failures'].items():
    out[text] += [i for i in ids if file_of(i) not in table]
  for text, ids in causes.items():
    out[text] += ids
  place = {file: k for k, file in enumerate(order)}
  rows = sorted((old['files'] | table).items(), key=lambda row: (place.get(row[0], len(place)), row[0]))
  return dict(rows), {text: ids for text, ids in sorted(out.items(), key=lambda c: -len(c[1])) if ids}


def markdown(table, causes, platforms, about, reasons=()):
  plugin, reference = platforms
  lines = [f'{about}', '', f'| file | {reference} passes | {plugin}: passed | failed | skipped | share |',
           '|---|---:|---:|---:|---:|---:|']
  total = collections.Counter()
  for file, row in table.items():
    total.update({k: row[k] for k in ('compared', 'passed', 'failed', 'skipped')})
    lines.append(f"| {file} | {row['compared']} | {row['passed']} | {row['failed']} | "
                 f"{row['skipped']} | {share(row):.1f} % |")
  if table:
    lines.append(f"| all | {total['compared']} | {total['passed']} | {total['failed']} | "
                 f"{total['skipped']} | {share(total):.1f} % |")
  if causes:
    lines += ['', '| failures | file | reason, or the first line of the error |', '|---:|---|---|']
    for text, ids in by_reason(causes, reasons).items():
      shown = text.replace('|', '\\|').replace('<', '&lt;').replace('`', "'")
      files = ', '.join(sorted({file_of(i) for i in ids}))
      lines.append(f'| {len(ids)} | {files} | {shown} |')
  return '\n'.join(lines)


def write(page, data, table, causes, platforms, about, order, reasons):
  """Puts the table between the markers of the page, and writes all data as JSON. Results of other files with the same version and
  settings stay. `reasons` is a file of reasons for failures, by prefixes of the names of tests."""
  text = page.read_text(encoding='utf-8')
  if BEGIN not in text or END not in text:
    raise SystemExit(f'run: expected the markers {BEGIN} and {END} in {page}, got none: add them')
  data, reasons = pathlib.Path(data), pathlib.Path(reasons)
  old = json.loads(data.read_text(encoding='utf-8')) if data.exists() else {'about': about, 'files': {}, 'failures': {}}
  if old['about'] == about:
    table, causes = merged(old, table, causes, order)
  known = json.loads(reasons.read_text(encoding='utf-8')) if reasons.exists() else {}
  head, rest = text.split(BEGIN, 1)
  tail = rest.split(END, 1)[1]
  body = markdown(table, causes, platforms, about, known)
  page.write_text(f'{head}{BEGIN}\n{body}\n{END}{tail}', encoding='utf-8')
  data.write_text(json.dumps({'about': about, 'files': table, 'failures': causes}, indent=1) + '\n', encoding='utf-8')
