"""A plugin of pytest that writes JSON lines for each test while it runs. A test with a start and no end
was running when its process died.

Lines: {"process": id} first, {"error": text} if a file cannot be imported, {"collected": n, "left": n
without results before}, {"start": id, "at": seconds}, {"id": id, "outcome": passed | failed | skipped,
"seconds": s, "text": first lines}.

Environment variables, set by tests/jax/run: TESSERA_RECORD, the file of lines; TESSERA_DONE, a file of ids that are not run
again; TESSERA_DEVICE_UNDER_TEST, the platform name for JAX's own tests; TESSERA_BACKEND_IS_NAMED, the result of
jax.default_backend() in tests of packages; TESSERA_SAMPLE, `n:seed` or empty; TESSERA_LIMIT, the seconds that a test may take;
TESSERA_BATCH, the number of tests that this process runs; TESSERA_SOURCES, JAX's checkout.
"""
import faulthandler
import json
import os
import sys
import time

import pytest
from recorder_sample import sample

_record = open(os.environ['TESSERA_RECORD'], 'a', buffering=1, encoding='utf-8')
_stacks = open(os.environ['TESSERA_RECORD'] + '.stacks', 'a', encoding='utf-8')
_limit = float(os.environ['TESSERA_LIMIT'])
_running = {}


def _write(**line):
  _record.write(json.dumps(line) + '\n')


_write(process=os.getpid())


@pytest.hookimpl(tryfirst=True)
def pytest_collection():
  """Makes pytest also run tests that a package keeps for the CPU. The backend that runs them is chosen by other functions of JAX.
  Modules for tests that the installed JAX lacks (jax/_src/hypothesis_test_util.py) come from the checkout."""
  if os.environ.get('TESSERA_SOURCES'):
    import jax._src
    jax._src.__path__.append(os.path.join(os.environ['TESSERA_SOURCES'], 'jax', '_src'))
  if os.environ.get('TESSERA_BACKEND_IS_NAMED'):
    import jax
    jax.default_backend = lambda: os.environ['TESSERA_BACKEND_IS_NAMED']


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
  """Makes pytest also run tests that JAX keeps for the CPU (absl's flags reset JAX's own flag, jax_test_dut)."""
  del session
  test_util = sys.modules.get('jax._src.test_util')
  if test_util and os.environ.get('TESSERA_DEVICE_UNDER_TEST'):
    test_util.device_under_test = lambda: os.environ['TESSERA_DEVICE_UNDER_TEST']
  # Programs that an older JAX exported for the CPU: the test asks for the name of the backend that runs them.
  exported = sys.modules.get('jax._src.internal_test_util.export_back_compat_test_util')
  if exported and os.environ.get('TESSERA_DEVICE_UNDER_TEST'):
    exported.CompatTestBase.default_jax_backend = lambda self: os.environ['TESSERA_DEVICE_UNDER_TEST']


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
  if os.environ.get('TESSERA_SAMPLE'):
    count, seed = os.environ['TESSERA_SAMPLE'].split(':')
    kept = sample([item.nodeid for item in items], int(count), seed)
    items[:] = [item for item in items if item.nodeid in kept]
  with open(os.environ['TESSERA_DONE'], encoding='utf-8') as file:
    done = set(file.read().split('\n'))
  left = [item for item in items if item.nodeid not in done]
  _write(collected=len(items), left=len(left))
  items[:] = left[:int(os.environ['TESSERA_BATCH'])]


def pytest_collectreport(report):
  if report.failed:
    _write(error=str(report.longrepr)[-2000:])


def pytest_runtest_logstart(nodeid):
  _running.clear()
  _running.update(outcome='passed', text='', began=time.time())
  _write(start=nodeid, at=time.time())
  # Ends the process from another thread, even if the test waits inside C++.
  faulthandler.dump_traceback_later(_limit, exit=True, file=_stacks)


def first_lines(report):
  """Returns the first lines of the exception's text, without the traceback."""
  crash = getattr(report.longrepr, 'reprcrash', None)
  if crash is not None:
    return crash.message[:1500]
  if isinstance(report.longrepr, tuple):  # a skip: file, line, reason
    return str(report.longrepr[2])[:300]
  return str(report.longrepr)[-1500:]


def pytest_runtest_logreport(report):
  if report.outcome == 'passed' or _running['outcome'] == 'failed':
    return
  _running['outcome'] = report.outcome
  _running['text'] = first_lines(report)


def pytest_runtest_logfinish(nodeid):
  faulthandler.cancel_dump_traceback_later()
  _write(id=nodeid, outcome=_running['outcome'], seconds=round(time.time() - _running['began'], 3),
         text=_running['text'])
