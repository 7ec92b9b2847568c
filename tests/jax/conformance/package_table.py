"""The table of tests/jax/packages: the tests of each suite that XLA's CPU backend passes, and those of them that the plugin passes."""
import collections
import json

import results

BEGIN, END = '<!-- results of tests/jax/packages -->', '<!-- end of results of packages -->'


def summarize(work, suites, sample=0):
  """Returns the rows, and {cause: tests that fail on the plugin and pass on XLA}. A suite has a row once it was run on both. `sample` is the
  largest number of tests that were drawn of a suite; 0 if all were run."""
  rows, causes = [], collections.defaultdict(list)
  for suite in suites:
    cpu, ours = (results.read(work / platform / f'{suite.name}.jsonl') for platform in ('cpu', 'tessera'))
    if not (cpu.tests and (ours.tests or ours.error)):
      continue
    counted = [i for i, t in cpu.tests.items() if t['outcome'] == 'passed']
    # A test that the plugin's processes did not find is a failure once the run is complete; before that it is ignored.
    complete = (work / 'tessera' / f'{suite.name}.complete').exists()
    absent = {'outcome': 'failed', 'text': 'not found: its file cannot be imported on the plugin'}
    outcomes = {i: ours.tests.get(i, absent) for i in counted if complete or i in ours.tests}
    count = collections.Counter(t['outcome'] for t in outcomes.values())
    rows.append({'suite': suite.name, 'version': suite.version(), 'drawn': sample, 'collected': cpu.collected, 'compared': len(outcomes),
                 'not_cpu': sum(t['outcome'] == 'failed' for t in cpu.tests.values()), 'not_imported': cpu.errors,
                 'passed': count['passed'], 'failed': count['failed'], 'skipped': count['skipped']})
    for i, t in outcomes.items():
      if t['outcome'] == 'failed':
        causes[results.cause(t['text'])].append(f'{suite.name}: {i}')
  return rows, dict(sorted(causes.items(), key=lambda c: -len(c[1])))


def _escaped(text):
  return text.replace('|', '\\|').replace('<', '&lt;').replace('`', "'")


def merged(old, rows, causes, order):
  """Returns (rows, causes) joined with the old data of other suites, in the order of the names `order`."""
  new = {row['suite']: row for row in rows}
  out = collections.defaultdict(list)
  for text, ids in old['failures'].items():
    out[text] += [i for i in ids if i.split(': ')[0] not in new]
  for text, ids in causes.items():
    out[text] += ids
  both = {row['suite']: row for row in old['rows']} | new
  place = {name: k for k, name in enumerate(order)}
  joined = sorted(both.values(), key=lambda row: place.get(row['suite'], len(place)))
  return joined, {text: ids for text, ids in sorted(out.items(), key=lambda c: -len(c[1])) if ids}


def markdown(rows, causes):
  lines = ['Of the tests that XLA passes here. "Drawn": how many tests were drawn at random, at most. "Fails on XLA": tests that fail on both or '
           'on XLA alone, which are not counted; "files": those that cannot be imported here, since they need other packages.', '',
           '| suite | version | drawn | fails on XLA | files | XLA passes | Tessera: passed | failed | skipped | share |',
           '|---|---|---:|---:|---:|---:|---:|---:|---:|---:|']
  total = collections.Counter()
  for row in rows:
    total.update({k: v for k, v in row.items() if isinstance(v, int)})
    lines.append(f"| {row['suite']} | {row['version']} | {row['drawn'] or 'all'} | {row['not_cpu']} | {row['not_imported']} | {row['compared']} | "
                 f"{row['passed']} | {row['failed']} | {row['skipped']} | {results.share(row):.1f} % |")
  if rows:
    lines.append(f"| all | | | {total['not_cpu']} | {total['not_imported']} | {total['compared']} | {total['passed']} | "
                 f"{total['failed']} | {total['skipped']} | {results.share(total):.1f} % |")
  if causes:
    lines += ['', '| failures | cause | tests |', '|---:|---|---|']
    for text, ids in causes.items():
      more = f' and {len(ids) - 2} others' if len(ids) > 2 else ''
      lines.append(f"| {len(ids)} | {_escaped(text)} | {_escaped(', '.join(ids[:2]))}{more} |")
  return '\n'.join(lines)


def conditions_markdown(found):
  lines = ['| package | line | condition |', '|---|---|---|']
  lines += [f'| {package} | {path}:{number} | {_escaped(text)} |' for package, path, number, text in found]
  return '\n'.join(lines)


def write(page, data, rows, causes, order):
  """Puts the table between the markers of the page, and writes all data as JSON. Results of other suites stay."""
  page_text = page.read_text(encoding='utf-8')
  if BEGIN not in page_text or END not in page_text:
    raise SystemExit(f'packages: expected the markers {BEGIN} and {END} in {page}, got none: add them')
  if data.exists():
    rows, causes = merged(json.loads(data.read_text(encoding='utf-8')), rows, causes, order)
  head, rest = page_text.split(BEGIN, 1)
  page.write_text(f'{head}{BEGIN}\n{markdown(rows, causes)}\n{END}{rest.split(END, 1)[1]}', encoding='utf-8')
  data.write_text(json.dumps({'rows': rows, 'failures': causes}, indent=1) + '\n', encoding='utf-8')
