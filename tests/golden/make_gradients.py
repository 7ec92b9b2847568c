"""gradients.json, gradients.npz, stablehlo/gradients/*.mlir: what JAX says of the derivatives of programs, some of those of
tests/jax/gradient_programs.py, in float64.

"programs": a list of {"name", "text": the lowered program, a file below stablehlo/, "inputs": array references, "outputs": of the sum over all
  floating-point results r of sum(cos(r + i) * real(result[i])), and of its gradients by the floating-point inputs}.
"""
import pathlib
import sys

import jax
import numpy as np

import golden

golden.setup(x64=True)
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'jax'))
import gradient_inputs  # noqa: E402
import gradient_programs  # noqa: E402

NAMES = """
loops/scan loops/scan_reverse loops/scan_nested_ys loops/scan_of_dots loops/scan_checkpoint loops/scan_with_cond loops/fori_loop_reads_neighbours
loops/fori_loop_writes_next loops/fori_loop_fills_part loops/fori_loop_blocks loops/while_uint8 loops/while_zero_trips models/lstm models/flash_attention
models/transformer_scan indexing/take_clip indexing/at_add_points fourier/rfft_odd reductions/cumlogsumexp convolutions/2d_rhs_dilated
convolutions/max_pool_overlapping complexes/divide derivatives/grad_of_scan structure/dynamic_slice_clamped sharded/shard_map_softmax
sharded/shard_map_scan_psum sharded/shard_map_ring_attention sharded/auto_attention
""".split()

topic = golden.Topic('gradients')
TEXTS = golden.FOLDER / 'stablehlo' / 'gradients'
TEXTS.mkdir(exist_ok=True)
all_programs, programs = gradient_programs.programs(), []
for name in NAMES:
  function, arguments = all_programs[name]
  leaves, tree = jax.tree.flatten(arguments)
  leaves = [np.asarray(x) for x in leaves]
  flat = lambda *x: function(*jax.tree.unflatten(tree, x))
  flat.__name__ = stem = name.split('/')[1]
  wrt = [k for k, x in enumerate(leaves) if gradient_inputs.inexact(x)]
  (TEXTS / f'{stem}.mlir').write_text(jax.jit(flat, keep_unused=True).lower(*leaves).as_text())
  programs.append({
      'name': name,
      'text': f'gradients/{stem}.mlir',
      'inputs': [topic.array(f'{stem}.in{i}', x) for i, x in enumerate(leaves)],
      'outputs': [
          topic.array(f'{stem}.out{i}', x)
          for i, x in enumerate(gradient_inputs.reference(flat, leaves, wrt))
      ]
  })
topic.write({'programs': programs})
