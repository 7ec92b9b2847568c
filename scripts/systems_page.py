"""The tables of docs/systems.md that scripts write. Each is between two comments, and its first cells identify a row."""
import pathlib
import platform
import re

PAGE = pathlib.Path(__file__).resolve().parent.parent / 'docs' / 'systems.md'


class PageTable:
  """The table that `script` writes. The first `keys` cells identify a row, and rows are sorted by `order` of these cells."""

  def __init__(self, script, columns, keys, order=tuple):
    self.begin, self.end = f'<!-- results of {script} -->', f'<!-- end of results of {script} -->'
    self.keys, self.order = keys, order
    self.head = [self.line(columns), '|' + '---|' * len(columns)]

  @staticmethod
  def line(cells):
    return '| ' + ' | '.join(cells) + ' |'

  def key(self, line):
    return tuple(cell.strip() for cell in line.split('|')[1:1 + self.keys])

  def write(self, rows):
    """Writes the rows to the page; they replace rows with the same keys."""
    before, rest = PAGE.read_text('utf-8').split(self.begin)
    table, after = rest.split(self.end)
    new = {self.key(row) for row in rows}
    old = [line for line in table.strip().splitlines()[len(self.head):] if self.key(line) not in new]
    lines = sorted(old + rows, key=lambda line: self.order(self.key(line)))
    PAGE.write_text('\n'.join([before + self.begin, *self.head, *lines, self.end + after]), 'utf-8')


def _by_version_of_jax(key):
  system_of, python, jax = key
  return system_of, *(tuple(map(int, version.split('.'))) for version in (jax, python))


JAX_VERSIONS = PageTable('scripts/jax-matrix', ['system', 'Python', 'JAX', 'installs', 'first program', 'tests'], keys=3,
                         order=_by_version_of_jax)
JAX_SAMPLES = PageTable('scripts/jax-sample', ['system', 'Python', 'JAX', "JAX's tests at", 'drawn', 'XLA passes', 'of these Tessera passes',
                                               'skips', 'fails'], keys=3, order=_by_version_of_jax)
TRIALS = PageTable('scripts/systems-table', ['system', 'what', 'with', 'installed in', 'first output after', 'then'], keys=3)
STARTS = PageTable('scripts/starts', ['what', 'measured', 'at most', 'kept'], keys=1)


def system():
  """Returns the system's name and version, such as "Debian 13"; if a suite has no number yet, its name: "Debian forky"."""
  names = dict(re.findall(r'^(\w+)="?([^"\n]*)', pathlib.Path('/etc/os-release').read_text('utf-8'), re.M))
  version = names.get('VERSION_ID') or names.get('VERSION_CODENAME', '')
  return f"{names.get('ID', platform.system()).capitalize()} {version}".strip()
