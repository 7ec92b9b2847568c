// The public API of Tessera: sharded computing on arrays, with JAX's names. Modules that have
// headers of their own are not in it: tessera/scipy/, plans, trainers, accountants and audits of
// private training (tessera/privacy/privacy.h), and bridges to other libraries.
//
//   #include <tessera/tessera.h>
//   using namespace tessera;
//
//   initialize({.devices = "cpu:8"});
//   Mesh mesh(create_device_mesh({8}), {"x"});
//   Array x = device_put(arange(32.0f), NamedSharding(mesh, P("x")));
//   auto f = jit([](const Array& x) { return sum(2 * sin(x) + 1); });
//   std::cout << f(x) << "\n" << f.lower(x).explain();
#pragma once

// Values: dtypes, shapes, errors, trees.
#include "tessera/base/dtype.h"
#include "tessera/base/error.h"
#include "tessera/base/literal.h"
#include "tessera/base/shape.h"
#include "tessera/base/tree.h"
#include "tessera/base/warning.h"

// Devices, meshes, shardings.
#include "tessera/mesh/device.h"
#include "tessera/mesh/device_mesh.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/named_sharding.h"
#include "tessera/mesh/partition_spec.h"
#include "tessera/mesh/sharding.h"

// Arrays and their functions.
#include "tessera/ir/array.h"
#include "tessera/numpy/activations.h"
#include "tessera/numpy/attention.h"
#include "tessera/numpy/axes.h"
#include "tessera/numpy/callbacks.h"
#include "tessera/numpy/collectives.h"
#include "tessera/numpy/convolve.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/custom_solve.h"
#include "tessera/numpy/differences.h"
#include "tessera/numpy/dtype_info.h"
#include "tessera/numpy/edits.h"
#include "tessera/numpy/fft.h"
#include "tessera/numpy/float_parts.h"
#include "tessera/numpy/histograms.h"
#include "tessera/numpy/host_memory.h"
#include "tessera/numpy/image.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/index_grids.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/lax.h"
#include "tessera/numpy/lax_shapes.h"
#include "tessera/numpy/linalg.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/mapped_functions.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/nn.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/pad.h"
#include "tessera/numpy/partition.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/polynomial.h"
#include "tessera/numpy/printing.h"
#include "tessera/numpy/processes.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/quantile.h"
#include "tessera/numpy/reduce.h"
#include "tessera/numpy/searching.h"
#include "tessera/numpy/segment.h"
#include "tessera/numpy/sets.h"
#include "tessera/numpy/sorting.h"
#include "tessera/numpy/ufuncs.h"

// Transformations.
#include "tessera/compile/caches.h"
#include "tessera/compile/comm_budget.h"
#include "tessera/compile/control_flow.h"
#include "tessera/compile/custom_derivatives.h"
#include "tessera/compile/grad.h"
#include "tessera/compile/jit.h"
#include "tessera/compile/shard_map.h"
#include "tessera/compile/vmap.h"
#include "tessera/numpy/jacobian.h"

// Profiles of time and memory.
#include "tessera/base/memory_stats.h"
#include "tessera/runtime/profile.h"

// Random numbers, files.
#include "tessera/io/checkpoint.h"
#include "tessera/io/load.h"
#include "tessera/random/distributions.h"
#include "tessera/random/random.h"

// Training.
#include "tessera/linen/layers.h"
#include "tessera/linen/sequential.h"
#include "tessera/nn/initializers.h"
#include "tessera/nnx/modules.h"
#include "tessera/nnx/multi_head_attention.h"
#include "tessera/nnx/optimizer.h"
#include "tessera/optim/optim.h"
#include "tessera/privacy/clipping/clip_pytree.h"
#include "tessera/privacy/clipping/clipped_grad.h"
#include "tessera/privacy/noise/discrete_gaussian.h"
#include "tessera/privacy/noise/noise_addition.h"
#include "tessera/privacy/optimizers.h"
