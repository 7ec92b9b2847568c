"""The disk space of an installed Python package with all that it requires."""
import importlib.metadata
import re


def requirements(name):
  """The distributions that are installed for `name`, itself included."""
  found, open_names, seen = {}, [(name, '')], set()
  while open_names:
    name, extras = open_names.pop()
    key = re.sub(r'[-_.]+', '-', name).lower()
    if (key, extras) in seen:
      continue
    seen.add((key, extras))
    try:
      found[key] = importlib.metadata.distribution(key)
    except importlib.metadata.PackageNotFoundError:  # Of another system.
      continue
    for text in found[key].requires or []:
      extra = re.search(r'extra == ["\']([^"\']*)', text)
      if not extra or extra.group(1) in extras.split(','):
        wanted = re.match(r'([\w.-]+)\s*(?:\[([^\]]*)\])?', text)
        open_names.append((wanted.group(1), (wanted.group(2) or '').replace(' ', '')))
  return list(found.values())


def megabytes(names):
  """What the files of these packages and of all that they require take."""
  files = set()
  for name in names:
    for distribution in requirements(name):
      files.update(f.locate() for f in distribution.files or [])
  return sum(f.stat().st_size for f in files if f.is_file()) / 2**20
