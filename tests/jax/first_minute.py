"""The first minute of README.md, as it stands: installs the wheel and runs the program in a new virtual environment.

  python tests/jax/first_minute.py build/wheels [jax==0.10.2]      # the folder of wheels stands for the index

What `pip install` fetches beside the wheel comes from the index, JAX as it is named, else the newest.
A JAX that is newer than the newest tested one makes a warning, and so fails here: then jax_private.TESTED is due.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def parts_of_readme():
  """The command, the program and what it prints."""
  text = (ROOT / 'README.md').read_text('utf-8')
  section = re.search(r'^## From Python\n(.*?)^## ', text, re.M | re.S).group(1)
  [command] = re.findall(r'^    (.+)$', section.split('```')[0], re.M)
  [program] = re.findall(r'```python\n(.*?)```', section, re.S)
  return command, program, re.search(r'It prints `(.*?)`', section).group(1)


def main():
  folder, *first = sys.argv[1:]
  command, program, expected = parts_of_readme()
  with tempfile.TemporaryDirectory() as work:
    subprocess.run([sys.executable, '-m', 'venv', work], check=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith(('JAX_', 'TESSERA_', 'XLA_')) and k != 'PYTHONPATH'}
    env |= {'PATH': f"{work}/bin:{env['PATH']}", 'PIP_FIND_LINKS': str(pathlib.Path(folder).resolve()), 'PIP_QUIET': '1'}
    if first:
      subprocess.run(['pip', 'install', *first], env=env, check=True)
    begin = time.monotonic()
    subprocess.run(['bash', '-c', command], env=env, check=True)
    installed = time.monotonic()
    (pathlib.Path(work) / 'first.py').write_text(program, 'utf-8')
    out = subprocess.run(['python', f'{work}/first.py'], env=env, capture_output=True, text=True, check=False)
    said = out.stdout.strip()
    if out.returncode or out.stderr or said != expected:
      sys.exit(f'first_minute: expected the program of README.md to print {expected!r}, got {said!r}\n{out.stderr}')
    subprocess.run(['python', '-m', 'tessera_jax'], env=env, check=True)
    print(f'{installed - begin:.0f} s for {command}, {time.monotonic() - installed:.0f} s for the program and the report')


if __name__ == '__main__':
  main()
