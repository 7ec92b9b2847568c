"""The installed JAX has every name of it that Tessera uses, and a JAX without some of them is handled.

scripts/jax-matrix runs this in every version of jax_private.TESTED."""
import pathlib
import re

import jax
from jax_plugins.tessera import jax_private
import pytest

PACKAGES = pathlib.Path(jax_private.__file__).resolve().parent.parent.parent


@pytest.mark.parametrize('name', jax_private.NAMES)
def test_the_name_is_there(name):
  assert jax_private.get(name) is not None


def test_no_problems():
  for part in jax_private.PARTS:
    assert not jax_private.missing(part)
  assert jax_private.refusal(jax.__version__) == ''
  assert all('lacks' not in problem for problem in jax_private.problems(jax.__version__))


def test_every_name_is_of_a_part():
  assert {name.part for name in jax_private.NAMES.values()} == set(jax_private.PARTS)
  assert list(jax_private.TESTED) == sorted(jax_private.TESTED, key=jax_private.parsed)


def test_private_names_stand_in_one_file():
  for package in ('jax_plugins/tessera', 'tessera_jax'):
    for path in (PACKAGES / package).glob('*.py'):
      if path.name != 'jax_private.py':
        assert not re.search(r'(import|from) jax\._src|\bjax\._src\.\w+\.\w+\(', path.read_text()), path


@pytest.fixture(name='without')
def _without(monkeypatch):
  """Removes the name from JAX."""

  def forget(name):
    gone = jax_private.NAMES | {name: jax_private._Name(jax_private.NAMES[name].part, ('jax.nowhere:nothing',))}
    monkeypatch.setattr(jax_private, 'NAMES', gone)
    jax_private.missing.cache_clear()

  yield forget
  monkeypatch.undo()
  jax_private.missing.cache_clear()


def test_a_part_that_cannot_be_there_is_named(without):
  without('is_cache_used')
  assert jax_private.missing('cache') == ('is_cache_used',)
  assert jax_private.problems('0.10.2') == [
      "JAX 0.10.2 lacks jax.nowhere.nothing, so that on Tessera these do not work: JAX's compilation cache. "
      f'pip install jax=={jax_private.TESTED[-1]}']
  assert jax_private.refusal('0.10.2') == ''
  with pytest.raises(LookupError, match='JAX has no jax.nowhere:nothing'):
    jax_private.get('is_cache_used')


def test_without_what_the_backend_needs_it_is_refused(without):
  without('make_client')
  assert jax_private.refusal('0.10.2').startswith(
      '[tessera] expected a JAX with jax.nowhere.nothing, got 0.10.2, which has none; pip install jax==')


@pytest.mark.parametrize('version, numbers', [
    ('0.12.0.1', (0, 12, 0, 1)), ('0.12.1.dev20261101+abc', (0, 12, 1)), ('1.0rc1', (1, 0))])
def test_versions_are_numbers(version, numbers):
  assert jax_private.parsed(version) == numbers
