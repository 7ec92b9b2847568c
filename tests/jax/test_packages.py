"""tests/jax/packages runs the suite of a checkout on both platforms, counts, and refuses other checkouts."""
import json
import os
import pathlib
import subprocess
import sys

import pytest

if not os.environ.get('TESSERA_PJRT'):
  pytest.skip('packages are tested with the library of a build, not with that of the wheel', allow_module_level=True)

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / 'conformance'))
import package_suites  # pylint: disable=wrong-import-position
import package_table  # pylint: disable=wrong-import-position

TESTS = '''
import os
import jax
import lineax
import pytest

def test_platform():
  assert jax.devices()[0].platform == jax.numpy.zeros(1).devices().pop().platform != 'gpu'
@pytest.mark.skipif(jax.default_backend() != 'cpu', reason='for the CPU')
def test_kept_for_the_cpu():
  assert lineax.ONE == 1
def test_plugin_fails():
  assert jax.devices()[0].platform == 'cpu'
def test_plugin_aborts():
  if jax.devices()[0].platform == 'tessera':
    os.abort()
def test_cpu_fails():
  assert jax.devices()[0].platform == 'tessera'
'''


@pytest.fixture(name='sources')
def _sources(tmp_path):
  """Makes a checkout of a package named lineax, which is also installed."""
  for folder in (tmp_path / 'site', tmp_path / 'src' / 'lineax'):
    (folder / 'lineax').mkdir(parents=True)
    (folder / 'lineax' / '__init__.py').write_text('ONE = 1\n')
  (tmp_path / 'site' / 'lineax-7.1.dist-info').mkdir()
  (tmp_path / 'site' / 'lineax-7.1.dist-info' / 'METADATA').write_text('Metadata-Version: 2.1\nName: lineax\nVersion: 7.1\n')
  tests = tmp_path / 'src' / 'lineax' / 'tests'
  tests.mkdir()
  (tests / 'test_x.py').write_text(TESTS)
  (tests / 'test_y.py').write_text('import no_such_module')
  return tmp_path / 'src'


def run(sources, *options):
  env = os.environ | {'PYTHONPATH': os.pathsep.join(
      [str(sources.parent / 'site'), *filter(None, [os.environ.get('PYTHONPATH')])])}
  return subprocess.run([sys.executable, str(HERE / 'packages'), str(sources), '--work', str(sources.parent / 'work'),
                         '--limit', '60', *options], capture_output=True, text=True, env=env, check=False)


def test_both_platforms(sources):
  out = run(sources)
  assert out.returncode == 0, out.stderr
  assert '| lineax | 7.1 | all | 1 | 1 | 4 | 2 | 2 | 0 | 50.0 % |' in out.stdout, out.stdout
  assert "| 1 | crash: SIGABRT | lineax: tests/test_x.py::test_plugin_aborts |" in out.stdout
  again = run(sources, '--report').stdout.splitlines()
  assert again[:-1] == out.stdout.splitlines()[-len(again):-1]  # all but the seconds


def test_a_sample(sources):
  out = run(sources, '--sample', '2', '--platform', 'cpu')
  assert 'of 2; 2 run' in out.stdout


def test_conditions(sources):
  assert run(sources, '--conditions').stdout.splitlines()[2:] == [
      "| lineax | tests/test_x.py:9 | @pytest.mark.skipif(jax.default_backend() != 'cpu', reason='for the CPU') |",
      "| lineax | tests/test_x.py:13 | assert jax.devices()[0].platform == 'cpu' |"]


def test_another_version_is_refused(sources):
  (sources / 'lineax' / 'lineax' / '__init__.py').write_text('ONE = 2\n')
  out = run(sources)
  assert out.returncode == 1
  assert 'expected the sources of lineax 7.1, which is installed, got another' in out.stderr


@pytest.mark.parametrize('options, said', [
    (['haiku'], 'packages: expected names among chex, '),
    (['chex'], 'packages: expected a checkout of chex with chex and chex, got '),
    (['--plugin', '/no.so'], 'packages: expected the plugin, got no /no.so'),
])
def test_errors(sources, options, said):
  out = run(sources, *options)
  assert out.returncode == 1 and said in out.stderr


def test_no_checkouts(tmp_path):
  (tmp_path / 'site').mkdir()
  (tmp_path / 'src').mkdir()
  out = run(tmp_path / 'src')
  assert out.returncode == 1 and f"expected checkouts of packages in {tmp_path / 'src'}, got none" in out.stderr


def line(test, outcome, text=''):
  return json.dumps({'id': test, 'outcome': outcome, 'seconds': 0.1, 'text': text})


class Named(package_suites.Suite):
  def version(self):
    return '1.0'


def test_table(tmp_path):
  suite = Named('s', 's', 'tests')
  for platform, lines in {'cpu': [line(i, 'passed') for i in 'abcd'],
                          'tessera': [line('a', 'passed'), line('b', 'failed', 'ValueError: at 17'), line('c', 'skipped')]}.items():
    (tmp_path / platform).mkdir()
    (tmp_path / platform / 's.jsonl').write_text('\n'.join(lines))
  [row], causes = package_table.summarize(tmp_path, [suite])
  assert [row[k] for k in ('compared', 'passed', 'failed', 'skipped')] == [3, 1, 1, 1]  # d has not been reached
  assert causes == {'ValueError: at N': ['s: b']}
  (tmp_path / 'tessera' / 's.complete').write_text('')
  [row], causes = package_table.summarize(tmp_path, [suite])
  assert [row[k] for k in ('compared', 'passed', 'failed', 'skipped')] == [4, 1, 2, 1]  # d is missing


def row_of(suite, passed, drawn):
  return {'suite': suite, 'version': '1.0', 'drawn': drawn, 'collected': 9, 'compared': 4, 'not_cpu': 0, 'not_imported': 0, 'passed': passed,
          'failed': 4 - passed, 'skipped': 0}


def test_the_page_keeps_the_rows_of_other_suites(tmp_path):
  page, data = tmp_path / 'page.md', tmp_path / 'data.json'
  page.write_text(f'before\n{package_table.BEGIN}\nold\n{package_table.END}\nafter\n')
  write = lambda *new: package_table.write(page, data, *new, ['s', 'tt', 't'])  # noqa: E731
  write([row_of('t', 3, 0), row_of('s', 2, 60)], {'A': ['t: a', 's: b'], 'B': ['s: c']})
  write([row_of('tt', 4, 60)], {})
  write([row_of('s', 3, 5)], {'C': ['s: d']})
  rows = [row_of('s', 3, 5), row_of('tt', 4, 60), row_of('t', 3, 0)]
  text = package_table.markdown(rows, {'A': ['t: a'], 'C': ['s: d']})
  assert page.read_text() == f'before\n{package_table.BEGIN}\n{text}\n{package_table.END}\nafter\n'
  assert '| s | 1.0 | 5 | 0 | 0 | 4 | 3 | 1 | 0 | 75.0 % |' in text and '| t | 1.0 | all | 0 |' in text
  page.write_text('no markers')
  with pytest.raises(SystemExit, match='expected the markers'):
    write([], {})
