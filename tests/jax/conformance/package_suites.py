"""The test suites of packages that tests/jax/packages runs: their places in a checkout, their numbers of devices, and the lines of a
package that depend on the name of the platform."""
import dataclasses
import importlib.metadata
import importlib.util
import pathlib
import re


@dataclasses.dataclass(frozen=True)
class Suite:
  """A suite, which runs in a separate process. Paths are relative to the folder of the package in its checkout."""
  name: str
  package: str  # the folder of the checkout, and, except for orbax, the module
  tests: str  # a folder, or a pattern of files
  distribution: str = ''  # its name for pip, if it differs from that of the package
  module: str = ''  # the folder of its modules
  inside: str = ''  # the folder of the checkout that holds the package
  but_not: str = ''  # a pattern of files that another suite runs
  devices: int = 1  # 0: the suite sets their number itself

  def folder(self, sources):
    return pathlib.Path(sources) / self.package / self.inside

  def version(self):
    return importlib.metadata.version(self.distribution or self.package)

  def paths(self, sources):
    """Returns the paths for pytest."""
    if '*' in self.tests:
      return sorted(str(p.relative_to(self.folder(sources))) for p in self.folder(sources).glob(self.tests))
    return [self.tests] + ([f'--ignore-glob=*/{self.but_not}'] if self.but_not else [])

  def problem(self, sources):
    """Returns why the suite cannot be run with this checkout and the installed packages; empty if it can."""
    folder, module = self.folder(sources), self.module or self.package
    if not (folder / module).is_dir() or not ('*' in self.tests or (folder / self.tests).exists()):
      return f'expected a checkout of {self.package} with {module} and {self.tests}, got {folder}'
    try:
      version = self.version()
    except importlib.metadata.PackageNotFoundError:
      return f'expected {self.distribution or self.package} to be installed, got none: install it, or name other packages'
    spec = importlib.util.find_spec(module.split('/')[0])
    installed = pathlib.Path(list(spec.submodule_search_locations)[0], *module.split('/')[1:])
    for path in sorted((folder / module).rglob('*.py')):
      beside = installed / path.relative_to(folder / module)
      if beside.exists() and beside.read_bytes() != path.read_bytes():
        return (f'expected the sources of {self.package} {version}, which is installed, got another {path}: '
                'check the tag of the version out')
    return ''


SUITES = [
    Suite('flax', 'flax', 'tests', devices=4),
    Suite('optax', 'optax', 'optax', devices=8),
    Suite('equinox', 'equinox', 'tests', devices=0),
    Suite('diffrax', 'diffrax', 'test'),
    Suite('optimistix', 'optimistix', 'tests'),
    Suite('lineax', 'lineax', 'tests'),
    Suite('orbax', 'orbax', 'orbax/checkpoint', 'orbax-checkpoint', module='orbax/checkpoint', inside='checkpoint', devices=8),
    Suite('chex', 'chex', 'chex', devices=0),
    Suite('distrax', 'distrax', 'distrax', but_not='*_float64_test.py'),
    Suite('distrax, float64', 'distrax', 'distrax/**/*_float64_test.py'),
    Suite('jaxopt', 'jaxopt', 'tests'),
    Suite('jax_privacy', 'jax_privacy', 'tests', 'jax_privacy'),
]

# Conditions on the name of the platform that have another value for tessera than for cpu.
_CONDITIONS = [
    r'default_backend\(\)\s*(?:[!=]=|(?:not )?in)\s*[\[(]?[\'"]cpu', r'\.platform\s*(?:[!=]=|(?:not )?in)\s*[\[(]?[\'"]cpu',
    r'\.platform\s+(?:not )?in\s', r'(?:local_devices|devices)\((?:backend=)?[\'"]cpu', r'backend=[\'"]cpu',
    r'device_under_test\(\)\s*[!=]=\s*[\'"]cpu']


def conditions(suites, sources):
  """Returns the lines of the packages that depend on whether the platform is named cpu, as (package, path, number, text)."""
  pattern = re.compile('|'.join(_CONDITIONS))
  out = []
  for package, folder in dict((s.package, s.folder(sources)) for s in suites).items():
    for path in sorted(folder.rglob('*.py')):
      where = path.relative_to(folder)
      if {'docs', 'examples', 'benchmarks'} & set(where.parts):
        continue
      for number, line in enumerate(path.read_text(encoding='utf-8', errors='replace').splitlines(), 1):
        if pattern.search(line) and not line.lstrip().startswith('#'):
          out.append((package, str(where), number, line.strip()))
  return out
