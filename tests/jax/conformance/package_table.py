"""The table of tests/jax/packages: the tests of each suite that XLA's CPU backend passes, and those of them that the plugin passes."""
import collections

import results

BEGIN, END = '<!-- results of tests/jax/packages -->', '<!-- end of results of packages -->'


def summarize(work, suites):
  """Returns the rows, and {cause: tests that fail on the plugin and pass on XLA}. A suite has a row once it was run on both."""
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
    rows.append({'suite': suite.name, 'version': suite.version(), 'collected': cpu.collected, 'compared': len(outcomes),
                 'not_cpu': sum(t['outcome'] == 'failed' for t in cpu.tests.values()), 'not_imported': cpu.errors,
                 'passed': count['passed'], 'failed': count['failed'], 'skipped': count['skipped']})
    for i, t in outcomes.items():
      if t['outcome'] == 'failed':
        causes[results.cause(t['text'])].append(f'{suite.name}: {i}')
  return rows, dict(sorted(causes.items(), key=lambda c: -len(c[1])))


def _escaped(text):
  return text.replace('|', '\\|').replace('<', '&lt;').replace('`', "'")


def markdown(rows, causes, sample):
  drawn = f'At most {sample} tests of each, drawn at random. ' if sample else ''
  lines = [drawn + 'Of the tests that XLA passes here. "Fails on XLA": tests that fail on both or on XLA alone, which are not '
           'counted; "files": those that cannot be imported here, since they need other packages.', '',
           '| suite | version | fails on XLA | files | XLA passes | Tessera: passed | failed | skipped | share |',
           '|---|---|---:|---:|---:|---:|---:|---:|---:|']
  total = collections.Counter()
  for row in rows:
    total.update({k: v for k, v in row.items() if isinstance(v, int)})
    lines.append(f"| {row['suite']} | {row['version']} | {row['not_cpu']} | {row['not_imported']} | {row['compared']} | "
                 f"{row['passed']} | {row['failed']} | {row['skipped']} | {results.share(row):.1f} % |")
  if rows:
    lines.append(f"| all | | {total['not_cpu']} | {total['not_imported']} | {total['compared']} | {total['passed']} | "
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


def write(page, text):
  """Puts the table between the markers of the page."""
  old = page.read_text(encoding='utf-8')
  if BEGIN not in old or END not in old:
    raise SystemExit(f'packages: expected the markers {BEGIN} and {END} in {page}, got none: add them')
  head, rest = old.split(BEGIN, 1)
  page.write_text(f'{head}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}', encoding='utf-8')
