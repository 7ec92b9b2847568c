"""The programs and reports of benchmarks/peers: networks and ocean models compute the same in each dialect, and reports have the measured values."""
import json
import pathlib
import re
import subprocess
import sys
import types

import jax
import numpy as np
import pytest

PEERS = pathlib.Path(__file__).resolve().parents[2] / 'benchmarks' / 'peers'
sys.path.insert(0, str(PEERS))
import engines  # pylint: disable=wrong-import-position
import layers_jax  # pylint: disable=wrong-import-position
import layers_numpy  # pylint: disable=wrong-import-position
import models  # pylint: disable=wrong-import-position
import networks  # pylint: disable=wrong-import-position
import ocean  # pylint: disable=wrong-import-position
import peers  # pylint: disable=wrong-import-position
import programs  # pylint: disable=wrong-import-position
import report  # pylint: disable=wrong-import-position

OCEAN_CELLS = 64 * ocean.LEVELS


def tiny(name):
  network = networks.TINY[name]
  training = 'training' in name or name in ('lstm', 'graph network')
  return network, training, network.weights(np.random.default_rng(0)), network.inputs(np.random.default_rng(1))


def assert_close(actual, expected, tolerance):
  for a, b in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.max(np.abs(b)))


@pytest.mark.parametrize('name', networks.TINY)
def test_a_network_in_jax_is_that_in_numpy(name):
  network, training, weights, inputs = tiny(name)
  f = jax.jit(lambda p, inputs: network.apply(layers_jax.Layers(training), p, inputs))
  assert_close(f(weights, inputs), network.apply(layers_numpy.Layers(training), weights, inputs), 1e-5)


@pytest.mark.parametrize('name', networks.TINY)
def test_a_network_in_torch_is_that_in_numpy(name):
  pytest.importorskip('torch')
  import layers_torch

  network, training, weights, inputs = tiny(name)
  p = {key: layers_torch.to_torch(key, w) for key, w in weights.items()}
  for key, w in weights.items():
    np.testing.assert_array_equal(layers_torch.to_neutral(key, p[key]), w)
  out = network.apply(layers_torch.Layers(training), p, tuple(layers_torch.to_torch(None, x) for x in inputs))
  out = [layers_torch.to_neutral(None, x) for x in (out if isinstance(out, tuple) else (out,))]
  assert_close(out, network.apply(layers_numpy.Layers(training), weights, inputs), 1e-5)


@pytest.mark.parametrize('name', ocean.PROGRAMS)
def test_a_model_of_the_ocean_in_jax_is_that_in_numpy(name):
  kernel = ocean.PROGRAMS[name]
  inputs = kernel.inputs(OCEAN_CELLS)
  with jax.enable_x64(True):
    assert_close(jax.jit(kernel.for_jax())(*inputs), kernel.for_numpy()(*inputs), 1e-12)


def test_the_density_is_that_of_the_standard():
  """The check values are those of Fofonoff and Millard (1983): salinity, degrees Celsius, bar, kilograms per cubic metre."""
  for s, t, p, density in ((35, 5, 0, 1027.67547), (35, 25, 1000, 1062.53817), (0, 5, 1000, 1044.12802)):
    assert abs(ocean.equation_of_state(ocean.NumPyArrays(), np.float64(s), t, p) - density) < 1e-5


def test_mixing_is_along_surfaces_of_equal_density():
  """With uniform salinity, surfaces of equal density are surfaces of equal temperature, so nothing mixes."""
  temperature, salinity, depth = ocean.mixing_inputs(OCEAN_CELLS)
  step = ocean.PROGRAMS['isoneutral_mixing'].for_numpy()
  inside = temperature[1:-1, 1:-1]
  same_t, same_s = step(temperature, np.full_like(salinity, 35.0), depth)
  np.testing.assert_allclose(same_s, 35.0, rtol=1e-13)
  np.testing.assert_allclose(same_t, inside, rtol=0, atol=1e-12)
  assert np.max(np.abs(step(temperature, salinity, depth)[0] - inside)) > 1e-4


def test_training_compares_losses_lengths_and_one_momentum():
  momentum = {'b.scale': np.full(4, 2.0, np.float32), 'a.dense': np.array([[3.0, 4.0]], np.float32)}
  losses, lengths, whole = programs.training_results([2.0, 1.0], momentum)
  np.testing.assert_array_equal(losses, [2.0, 1.0])
  np.testing.assert_array_equal(lengths, [5.0, 4.0])
  np.testing.assert_array_equal(whole, [[3.0, 4.0]])


def steady(**engines):
  return {'key': 'inference/unet/8', 'what': 'steady', 'engines': engines}


def lines_of(folder, *rows):
  file = folder / 'rows.jsonl'
  file.write_text(''.join(json.dumps(row) + '\n' for row in rows))
  return report.read([file])['steady']


def test_a_report_has_the_fastest_of_a_peer_and_the_reasons_of_others(tmp_path):
  rows = lines_of(tmp_path, steady(**{
      'Tessera': {'ms': 30.0, 'peak_mb': 100.0}, 'Tessera, constants': {'ms': 20.0, 'peak_mb': 200.0},
      'PyTorch, eager': {'ms': 50.0, 'peak_mb': 1.0}, 'PyTorch, compile': {'ms': 16.0, 'peak_mb': 2.0},
      'OpenVINO': {'refused': 'not installed'}, 'IREE': {'differs': True, 'difference': 0.25}}))
  table = report.steady_table(rows, 'inference')
  row = table.splitlines()[-1]
  assert row == '| U-Net, batch 8 | 20 ms, 200 MB | 16 ms, 2 MB | not installed | differs by 2e-01 | 1.25 (PyTorch) |'


def test_a_later_line_replaces_the_engines_that_it_has(tmp_path):
  rows = lines_of(tmp_path, steady(Tessera={'ms': 30.0, 'peak_mb': 1.0}, IREE={'ms': 60.0, 'peak_mb': 1.0}),
                  steady(Tessera={'ms': 20.0, 'peak_mb': 1.0}))
  assert report.steady_table(rows, 'inference').endswith('| 20 ms, 1 MB | 60 ms, 1 MB | 0.33 (IREE) |')


def test_a_chart_has_a_dot_for_each_time(tmp_path):
  rows = lines_of(tmp_path, steady(Tessera={'ms': 20.0, 'peak_mb': 1.0}, IREE={'ms': 60.0, 'peak_mb': 1.0}, OpenVINO={'refused': 'no'}))
  svg = report.chart(report.ratios_of(rows, 'inference'), 'Inference')
  assert re.findall('<title>(.*?)</title>', svg) == ['IREE: 3.00']
  assert svg.count('<text') == svg.count('</text>')


def test_kinds_that_were_not_measured_keep_their_tables_and_charts(tmp_path, monkeypatch):
  kinds = ('inference', 'training', 'ocean', 'starts')
  (tmp_path / 'peers.md').write_text(''.join(f'<!-- peers {kind} -->\nearlier {kind}\n<!-- end -->\n' for kind in kinds))
  lines_of(tmp_path, steady(Tessera={'ms': 20.0, 'peak_mb': 1.0}, IREE={'ms': 60.0, 'peak_mb': 1.0}))
  monkeypatch.setattr(report, 'DOCS', tmp_path)
  monkeypatch.setattr(sys, 'argv', ['report.py', str(tmp_path / 'rows.jsonl'), '--write'])
  report.main()
  assert re.findall('earlier (.*)', (tmp_path / 'peers.md').read_text()) == ['training', 'ocean', 'starts']
  assert [file.name for file in tmp_path.glob('*.svg')] == ['peers_inference.svg']


def test_results_are_compared_by_the_size_of_the_largest(tmp_path):
  for name, array in (('a', [1.0, 100.0]), ('b', [1.1, 100.0]), ('c', [1.0, 101.0]), ('d', [1.0, np.nan])):
    np.savez(tmp_path / f'{name}.npz', np.array(array, np.float32))
  worst, wrong = peers.difference(tmp_path / 'b.npz', tmp_path / 'a.npz')
  assert abs(worst - 1e-3) < 1e-6 and not wrong
  assert peers.difference(tmp_path / 'c.npz', tmp_path / 'a.npz')[1]
  assert peers.difference(tmp_path / 'd.npz', tmp_path / 'a.npz') == (float('inf'), True)


def peers_script(*words):
  return subprocess.run([sys.executable, PEERS / 'peers.py', *words], capture_output=True, text=True, check=False)


def test_a_peer_that_is_not_installed_is_in_the_row(tmp_path):
  out = tmp_path / 'rows.jsonl'
  folders = [f'--{name}={tmp_path / name}' for name in ('environments', 'exports', 'caches')]
  done = peers_script(f'--out={out}', '--rows=equation_of_state/65536', '--engines=numba', *folders)
  assert done.returncode == 0, done.stderr
  assert json.loads(out.read_text())['engines'] == {'numba': {'refused': 'not installed'}}


def test_a_row_that_is_not_there_is_an_error(tmp_path):
  done = peers_script(f'--out={tmp_path / "rows.jsonl"}', '--rows=nothing')
  assert done.returncode == 2
  assert 'expected --rows to match one of inference/resnet50/1, ' in done.stderr and 'got nothing' in done.stderr


def test_setup_refuses_an_environment_that_it_does_not_know(tmp_path):
  done = subprocess.run([sys.executable, PEERS / 'setup', f'--into={tmp_path}', 'theano'], capture_output=True, text=True, check=False)
  assert done.returncode == 2
  assert 'expected one of jax-0.10.2, ' in done.stderr and 'got theano' in done.stderr


def model_line(name, xla, iree, ours):
  return {'name': name, 'engines': {'XLA': xla, 'IREE': iree, 'tessera run': ours}}


def test_the_table_of_models_begins_with_those_that_are_behind():
  ms = [{'ms': float(x)} for x in range(10)]
  table = models.table([model_line('ahead', ms[8], ms[4], ms[2]), model_line('alone', ms[4], {'refused': 'no'}, ms[4]),
                        model_line('behind', ms[4], ms[2], ms[3]), model_line('wrong', ms[4], {'differs': True, 'difference': 0.25}, ms[2]),
                        {'name': 'not exported', 'refused': 'no', 'engines': {}}])
  assert table.splitlines()[0] == ('Tessera is the fastest or within 2 % on 3 of 4 programs. The median of Tessera / XLA is 0.62 (4 programs).'
                                   ' The median of Tessera / IREE is 1.00 (2 programs). IREE refuses 1 and `tessera run` 0.')
  assert table.splitlines()[4:] == ['| behind | 4 | 2 | 3 | 1.50 |', '| alone | 4 | refused | 4 | 1.00 |', '| ahead | 8 | 4 | 2 | 0.50 |',
                                    '| wrong | 4 | differs by 2e-01 | 2 | 0.50 |', '| not exported | no | | | |']


def test_arrays_of_zeros_are_equal(tmp_path):
  np.savez(tmp_path / 'zeros.npz', np.zeros(2, np.float32))
  assert peers.difference(tmp_path / 'zeros.npz', tmp_path / 'zeros.npz') == (0.0, False)


def test_a_model_is_exported_for_all_engines_with_its_unused_arguments(tmp_path, monkeypatch):
  made = lambda: (lambda w, state, x: {'y': x @ w['a']}, {'a': np.ones((3, 2), np.float32), 'b': np.ones(4, np.float32)}, {}, (np.ones((5, 3), np.float32),))  # noqa: E731
  monkeypatch.setitem(sys.modules, 'model_programs', types.SimpleNamespace(KINDS={'small': made}))
  options = types.SimpleNamespace(exports=tmp_path)
  try:
    engines.export_model('model/small', options)
  except ImportError as error:  # JAX writes exported programs with flatbuffers, which is not everywhere.
    pytest.skip(str(error))
  with np.load(tmp_path / 'model_small.arguments.npz') as file:
    assert [file[name].shape for name in file.files] == [(3, 2), (4,), (5, 3)]
  steps = engines.jax_exported('model/small', options)
  prepared = list(steps)[-1]
  np.testing.assert_array_equal(prepared.results[0], np.full((5, 2), 3, np.float32))
