"""tests/jax/run survives tests that crash or hang their process, continues earlier runs, and counts."""
import importlib.machinery
import importlib.util
import json
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / 'conformance'))
import recorder_sample  # pylint: disable=wrong-import-position
import results  # pylint: disable=wrong-import-position

TESTS = '''
import os, time, unittest
class T(unittest.TestCase):
  def test_passes(self): pass
  def test_aborts(self): os.abort()
  def test_hangs(self): time.sleep(100)
  def test_leaves(self): os._exit(0)
  def test_skips(self): raise unittest.SkipTest("not here")
  def test_fails(self): self.assertEqual([1, 2], [1, 3])
  def test_zlast(self): pass
'''


def run(sources, work, *options):
  return subprocess.run([sys.executable, str(HERE / 'run'), str(sources), '--platform', 'cpu', '--work', str(work),
                         '--limit', '3', *options], capture_output=True, text=True, check=False)


@pytest.fixture(name='sources')
def _sources(tmp_path):
  (tmp_path / 'jax' / 'tests').mkdir(parents=True)
  (tmp_path / 'jax' / 'tests' / 'lax_test.py').write_text(TESTS)
  (tmp_path / 'jax' / 'tests' / 'api_test.py').write_text('import no_such_module')
  return tmp_path / 'jax'


def outcomes(work):
  [record] = work.glob('*/cpu/lax_test.jsonl')
  tests = results.read(record).tests
  return {i.split('::test_')[1]: (t['outcome'], t['text'].splitlines()[:1]) for i, t in tests.items()}


def test_crashes_hangs_and_the_rest(sources, tmp_path):
  work = tmp_path / 'work'
  out = run(sources, work, 'lax_test', 'api_test')
  assert out.returncode == 0, out.stderr
  assert 'lax_test: 2 passed, 4 failed, 1 skipped of 7' in out.stdout
  assert "api_test: cannot be imported: E   ModuleNotFoundError: No module named 'no_such_module'" in out.stdout
  assert outcomes(work) == {
      'passes': ('passed', []), 'zlast': ('passed', []), 'skips': ('skipped', ['Skipped: not here']),
      'aborts': ('failed', ['crash: SIGABRT']), 'hangs': ('failed', ['timeout']),
      'leaves': ('failed', ['crash: exit code 0']),
      'fails': ('failed', ['AssertionError: Lists differ: [1, 2] != [1, 3]'])}
  # A later run continues, and nothing is left to run; failed tests run again on request.
  assert 'lax_test:' not in run(sources, work, 'lax_test').stdout
  path = sources / 'tests' / 'lax_test.py'
  path.write_text(TESTS.replace('[1, 3]', '[1, 2]'))
  assert 'lax_test: 3 passed, 3 failed, 1 skipped of 1; 1 run' in run(
      sources, work, 'lax_test', '--retry', '-k', 'fails').stdout
  assert outcomes(work)['fails'] == ('passed', [])


def test_modules_that_only_tests_need_come_from_the_checkout(sources, tmp_path):
  (sources / 'jax' / '_src').mkdir(parents=True)
  (sources / 'jax' / '_src' / 'only_for_tests.py').write_text('VALUE = 7')
  (sources / 'jax' / '_src' / 'core.py').write_text('raise AssertionError("of the checkout")')
  (sources / 'tests' / 'pjit_test.py').write_text(
      'from jax._src import core, only_for_tests\ndef test_value(): assert only_for_tests.VALUE == 7 and core.ShapedArray\n')
  out = run(sources, tmp_path / 'work', 'pjit_test', '--limit', '60')
  assert 'pjit_test: 1 passed, 0 failed, 0 skipped of 1' in out.stdout, out.stdout + out.stderr


def test_sample(sources, tmp_path):
  assert 'of 2; 2 run' in run(sources, tmp_path / 'work', 'lax_test', '--sample', '2').stdout
  ids = [f't{i}' for i in range(100)]
  chosen = recorder_sample.sample(ids, 10, 0)
  assert len(chosen) == 10 and recorder_sample.sample(ids[::-1], 10, 0) == chosen
  assert recorder_sample.sample(ids, 10, 1) != chosen


def test_the_row_of_a_sample(sources, tmp_path, monkeypatch):
  page = HERE.parent.parent / 'docs' / 'systems.md'
  before = page.read_bytes()
  out = run(sources, tmp_path / 'work', 'lax_test', '--sample', '2', '--write')
  assert out.returncode == 1 and 'expected results of the whole sample on tessera and cpu, got only a part of lax_test' in out.stderr
  assert page.read_bytes() == before

  loader = importlib.machinery.SourceFileLoader('jax_tests_run', str(HERE / 'run'))
  runner = importlib.util.module_from_spec(importlib.util.spec_from_loader('jax_tests_run', loader))
  loader.exec_module(runner)
  monkeypatch.setattr(runner, 'installed_version', lambda: '9.1')
  monkeypatch.setattr(runner.systems_page, 'system', lambda: 'Debian 12')
  table = {file: {'tessera': {'passed': 3, 'failed': 1}, 'cpu': {'passed': 4, 'failed': 1, 'skipped': 2}, 'compared': 4, 'passed': 2,
                  'failed': 1, 'skipped': 1} for file in ('a_test', 'b_test')}
  python = sys.version.split()[0]
  assert runner.sample_row(table, ['a_test', 'b_test'], '') == f'| Debian 12 | {python} | 9.1 | jax-v9.1 | 14 | 8 | 4 | 2 | 2 |'
  table['b_test']['compared'] = 3
  with pytest.raises(SystemExit, match='got only a part of b_test'):
    runner.sample_row(table, ['a_test', 'b_test'], 'abc')


@pytest.mark.parametrize('arguments, said', [
    (['/nowhere'], "expected JAX's sources with tests/lax_test.py, got /nowhere"),
    (['SOURCES', 'no_test'], 'expected names of files of'),
    (['SOURCES', '--platform', 'tessera', '--plugin', '/no.so'], 'expected the plugin, got no /no.so'),
])
def test_errors(sources, arguments, said):
  arguments = [str(sources) if a == 'SOURCES' else a for a in arguments]
  out = subprocess.run([sys.executable, str(HERE / 'run'), *arguments], capture_output=True, text=True, check=False)
  assert out.returncode == 1 and said in out.stderr


def line(test, outcome, text=''):
  return json.dumps({'id': test, 'outcome': outcome, 'seconds': 0.1, 'text': text})


def test_table(tmp_path):
  for platform, lines in {
      'cpu': [line('x_test.py::a', 'passed'), line('x_test.py::b', 'passed'), line('x_test.py::c', 'passed'), line('x_test.py::d', 'failed'),
              line('x_test.py::e', 'passed')],
      'tessera': [line('x_test.py::a', 'passed'), line('x_test.py::b', 'failed', 'ValueError: tensor<3x4xf32> at 17'),
                  line('x_test.py::c', 'skipped'), line('x_test.py::d', 'passed')]}.items():
    (tmp_path / platform).mkdir()
    (tmp_path / platform / 'x_test.jsonl').write_text('\n'.join(lines))
  table, causes = results.summarize(tmp_path, ['x_test', 'y_test'], ['tessera', 'cpu'])
  assert list(table) == ['x_test']
  row = table['x_test']
  assert [row[k] for k in ('compared', 'passed', 'failed', 'skipped')] == [3, 1, 1, 1]
  assert results.share(row) == 50
  assert causes == {'ValueError: tensor at N': ['x_test.py::b']}
  page, data, reasons = (tmp_path / name for name in ('page.md', 'data.json', 'reasons.json'))
  page.write_text(f'before\n{results.BEGIN}\nold\n{results.END}\nafter\n')
  for _ in range(2):
    results.write(page, data, table, causes, ['tessera', 'cpu'], 'About.', ['x_test'], reasons)
  assert page.read_text() == f'''before
{results.BEGIN}
About.

| file | cpu passes | tessera: passed | failed | skipped | share |
|---|---:|---:|---:|---:|---:|
| x_test | 3 | 1 | 1 | 1 | 50.0 % |
| all | 3 | 1 | 1 | 1 | 50.0 % |

| failures | file | reason, or the first line of the error |
|---:|---|---|
| 1 | x_test | ValueError: tensor at N |
{results.END}
after
'''
  assert json.loads(data.read_text())['failures'] == causes


def test_results_of_other_files_stay(tmp_path):
  page, data, reasons = (tmp_path / name for name in ('page.md', 'data.json', 'reasons.json'))
  page.write_text(f'{results.BEGIN}\n{results.END}\n')
  reasons.write_text(json.dumps({'b_test.py::': 'of b', 'b_test.py::T::test_2': 'of the second'}))

  def write(file, passed, causes, about='About.'):
    row = {'compared': 5, 'passed': passed, 'failed': 5 - passed, 'skipped': 0}
    results.write(page, data, {file: row}, causes, ['tessera', 'cpu'], about, ['b_test'], reasons)
    return page.read_text().splitlines()

  write('a_test', 4, {'Error: N': ['a_test.py::T::test_1']})
  write('b_test', 2, {'Error: N': ['b_test.py::T::test_1', 'b_test.py::T::test_2', 'b_test.py::T::test_3']})
  lines = write('c_test', 4, {'Error: N': ['c_test.py::T::test_1']})
  assert [line.split(' | ')[0] for line in lines if '_test |' in line and '%' in line] == ['| b_test', '| a_test', '| c_test']
  assert lines[-5:-1] == ['|---:|---|---|', '| 2 | a_test, c_test | Error: N |', '| 2 | b_test | of b |', '| 1 | b_test | of the second |']
  # New results replace the old ones of the same file; results of another version replace all.
  lines = write('a_test', 5, {})
  assert '| 1 | c_test | Error: N |' in lines and '| a_test | 5 | 5 | 0 | 0 | 100.0 % |' in lines
  lines = write('c_test', 5, {}, 'Another.')
  assert [line for line in lines if '_test' in line] == ['| c_test | 5 | 5 | 0 | 0 | 100.0 % |']


@pytest.mark.parametrize('text, cause', [
    ('AssertionError: \nNot equal to tolerance rtol=1e-06, atol=0',
     'AssertionError: Not equal to tolerance rtol=N, atol=N'),
    ('jax.errors.JaxRuntimeError: UNIMPLEMENTED: [jax:3:5] expected float32[3,4], got i64[2] %17#0',
     'jax.errors.JaxRuntimeError: UNIMPLEMENTED: [jax:N:N] expected array, got array %v'),
    ('TypeError: (2, 3) and [4, 5] of bfloat16', 'TypeError: N and N of dtype'),
    ('', 'no message'),
])
def test_cause(text, cause):
  assert results.cause(text) == cause


def test_a_file_gets_the_devices_that_it_asks_for(sources, tmp_path):
  for name, ask, count in (('many_test', 'jtu.request_cpu_devices(4)', 4), ('one_test', '', 1)):
    (sources / 'tests' / f'{name}.py').write_text(
        f'# {ask}\nimport os\ndef test_devices():\n  assert os.environ["XLA_FLAGS"].endswith("count={count}")\n')
  out = run(sources, tmp_path / 'work', 'many_test', 'one_test')
  assert out.stdout.count(' 1 passed, 0 failed, 0 skipped of 1') == 2, out.stdout


def test_suspects_are_what_fails_on_the_plugin(sources, tmp_path):
  work = tmp_path / 'work'
  run(sources, work, 'lax_test', '-k', 'test_zlast')  # makes the folder of this version
  [record] = work.glob('*/cpu/lax_test.jsonl')
  [test] = results.read(record).tests
  record.unlink()
  on_plugin = record.parent.parent / 'tessera' / record.name
  on_plugin.parent.mkdir()
  fails = ('zlast', 'fails')
  lines = [{'id': test.replace('zlast', name), 'outcome': 'failed' if name in fails else 'passed', 'seconds': 0, 'text': ''}
           for name in ('passes', 'aborts', 'hangs', 'leaves', 'skips', 'fails', 'zlast')]
  on_plugin.write_text(''.join(json.dumps(line) + '\n' for line in lines))
  out = run(sources, work, 'lax_test', '--suspects')
  assert set(results.read(record).tests) == {test.replace('zlast', name) for name in fails}
  assert '1 files: 5 passed, 2 failed, 0 skipped; of the failed ones, 1 pass on XLA:\n' + test in out.stdout, out.stdout
