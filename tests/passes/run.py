#!/usr/bin/env python3
"""Runs tessera-opt on the programs of this folder and compares what it prints with the text beside them.

  tests/passes/run.py TESSERA_OPT [--write] [FILE...]

A file has a comment that says what to see in it, the line `// OPTIONS ...` with options of tessera-opt, a program, the line
`// PRINTS`, and what tessera-opt prints for the program. --write puts that there: look at the difference before you commit
it. Every pass needs a file that runs it.
"""
import argparse
import difflib
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
PRINTS = '// PRINTS\n'


class Refused(Exception):
  pass


def options_of(file, head):
  found = re.search(r'^// OPTIONS (.*)$', head, re.MULTILINE)
  if not found:
    raise Refused(f'{file.name}: expected a line "// OPTIONS ..."')
  return found[1].split()


def run(tool, file, write):
  """Returns the options, what stands before the expected text, the expected text and the printed one."""
  head, mark, expected = file.read_text().partition(PRINTS)
  if not mark and not write:
    raise Refused(f'{file.name}: expected a line "{PRINTS.strip()}" after the program')
  options = options_of(file, head)
  done = subprocess.run([tool, '-', *options], input=head, capture_output=True, text=True, timeout=60)
  return options, head, expected, done.stdout + done.stderr


def all_passes(tool):
  text = subprocess.run([tool, '--help'], capture_output=True, text=True, check=True).stdout
  return set(re.search(r'--passes .*in order: (.*)', text)[1].split(', '))


def passes_of(options):
  begin = options.index('--passes') + 1
  return {word for word in options[begin:] if not word.startswith('-')}


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('tool')
  parser.add_argument('--write', action='store_true')
  parser.add_argument('files', nargs='*', type=pathlib.Path)
  arguments = parser.parse_intermixed_args()
  failed = 0
  used = set()
  for file in arguments.files or sorted(FOLDER.glob('*.mlir')):
    try:
      options, head, expected, printed = run(arguments.tool, file, arguments.write)
    except Refused as refused:
      print(refused)
      failed += 1
      continue
    used |= passes_of(options)
    if arguments.write:
      file.write_text(head + PRINTS + printed)
    elif printed != expected:
      failed += 1
      sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), printed.splitlines(True), f'{file.name}: expected', 'printed'))
  if not arguments.files:
    for name in sorted(all_passes(arguments.tool) - used):
      print(f'{name}: expected a file of {FOLDER.name}/ that runs this pass')
      failed += 1
  print(f'{failed} failed')
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
