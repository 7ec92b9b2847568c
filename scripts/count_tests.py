"""Sums the tests of a ctest run: `N passed, N failed`. usage: count_tests.py FOLDER

FOLDER contains ctest.junit, which has one entry for each test program, and PROGRAM.xml of each program of GoogleTest or pytest
that came to its end. A program without such a file (a script, or one that crashed) counts as one test.
"""
import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def main():
  folder = pathlib.Path(sys.argv[1])
  passed = failed = 0
  for program in ElementTree.parse(folder / 'ctest.junit').getroot().iter('testcase'):
    ok = program.get('status') == 'run'
    cases = folder / f'{program.get("name")}_tests.xml'
    if not cases.exists():
      if program.get('status') != 'disabled':
        passed, failed = passed + ok, failed + (not ok)
      continue
    bad = good = 0
    for case in ElementTree.parse(cases).getroot().iter('testcase'):
      if case.find('failure') is not None or case.find('error') is not None:
        bad += 1
      elif case.get('status', 'run') == 'run' and case.get('result') != 'skipped' and case.find('skipped') is None:
        good += 1
    if not ok and bad == 0:
      bad = 1  # the program failed after its last test: a leak, a race, a crash at exit
    passed, failed = passed + good, failed + bad
  print(f'{passed} passed, {failed} failed')
  return 1 if failed or not passed else 0


if __name__ == '__main__':
  sys.exit(main())
