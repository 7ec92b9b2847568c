// The expected factors of every op, written like einsums (an example is in factors_test.cc).
#pragma once

#include <string>
#include <vector>

namespace tessera::factors_test {

struct Rule {
  std::vector<std::string> ops;  // all have the same factors
  std::vector<std::string> factors;
};

inline const std::vector<Rule>& rules() {
  static const auto& all = *new std::vector<Rule>{
      // One operand, element by element.
      {{"stablehlo.abs",
        "stablehlo.not",
        "stablehlo.cbrt",
        "stablehlo.ceil",
        "stablehlo.count_leading_zeros",
        "stablehlo.cosine",
        "stablehlo.exponential",
        "stablehlo.exponential_minus_one",
        "stablehlo.floor",
        "stablehlo.is_finite",
        "stablehlo.log",
        "stablehlo.log_plus_one",
        "stablehlo.logistic",
        "stablehlo.negate",
        "stablehlo.popcnt",
        "stablehlo.round_nearest_afz",
        "stablehlo.round_nearest_even",
        "stablehlo.rsqrt",
        "stablehlo.sign",
        "stablehlo.sine",
        "stablehlo.sqrt",
        "stablehlo.tan",
        "stablehlo.tanh",
        "chlo.acos",
        "chlo.acosh",
        "chlo.asin",
        "chlo.asinh",
        "chlo.atan",
        "chlo.atanh",
        "chlo.cosh",
        "chlo.sinh",
        "chlo.digamma",
        "chlo.erf",
        "chlo.erfc",
        "chlo.erf_inv",
        "chlo.lgamma"},
       {"([])->([]) {}", "([i, j])->([i, j]) {i=3, j=5}", "([i, j])->([i, j]) {i=2, j=3}",
        "([i, j, k])->([i, j, k]) {i=2, j=1, k=37}", "([i, j])->([i, j]) {i=0, j=3}"}},
      {{"stablehlo.real", "stablehlo.imag", "chlo.conj"},
       {"([])->([]) {}", "([i, j])->([i, j]) {i=3, j=5}", "([i, j])->([i, j]) {i=2, j=3}"}},
      {{"tessera.stop_gradient", "tessera.checkpoint_name", "tessera.norm_choice", "tessera.expect",
        "stablehlo.optimization_barrier", "tessera.sharding_group", "tessera.inspect_sharding"},
       {"([i, j])->([i, j]) {i=2, j=3}", "([])->([]) {}"}},
      {{"stablehlo.convert"}, {"([i, j])->([i, j]) {i=3, j=5}", "([])->([]) {}"}},
      {{"stablehlo.bitcast_convert"}, {"([i, j])->([i, j]) {i=3, j=5}"}},
      {{"sdy.sharding_constraint"}, {"([i, j])->([i, j]) {i=8, j=4}", "([i])->([i]) {i=8}"}},
      // Two operands, element by element.
      {{"stablehlo.compare", "stablehlo.complex", "stablehlo.add", "stablehlo.atan2",
        "stablehlo.and", "stablehlo.or", "stablehlo.xor", "stablehlo.divide", "stablehlo.maximum",
        "stablehlo.minimum", "stablehlo.multiply", "stablehlo.power", "stablehlo.remainder",
        "stablehlo.shift_left", "stablehlo.shift_right_arithmetic", "stablehlo.shift_right_logical",
        "stablehlo.subtract", "chlo.next_after"},
       {"([], [])->([]) {}", "([i, j], [i, j])->([i, j]) {i=3, j=5}",
        "([i, j], [i, j])->([i, j]) {i=2, j=3}",
        "([i, j, k], [i, j, k])->([i, j, k]) {i=2, j=1, k=37}",
        "([i, j], [i, j])->([i, j]) {i=0, j=3}"}},
      // A predicate or bound that is a scalar has no factors.
      {{"stablehlo.select"},
       {"([], [], [])->([]) {}", "([i, j], [i, j], [i, j])->([i, j]) {i=3, j=5}",
        "([], [i, j], [i, j])->([i, j]) {i=3, j=5}",
        "([i, j], [i, j], [i, j])->([i, j]) {i=2, j=3}",
        "([], [i, j], [i, j])->([i, j]) {i=2, j=3}",
        "([i, j, k], [i, j, k], [i, j, k])->([i, j, k]) {i=2, j=1, k=37}",
        "([i, j], [i, j], [i, j])->([i, j]) {i=0, j=3}",
        "([], [i, j], [i, j])->([i, j]) {i=0, j=3}"}},
      {{"stablehlo.clamp"},
       {"([], [], [])->([]) {}", "([i, j], [i, j], [i, j])->([i, j]) {i=3, j=5}",
        "([], [i, j], [])->([i, j]) {i=3, j=5}", "([i, j], [i, j], [i, j])->([i, j]) {i=2, j=3}",
        "([], [i, j], [])->([i, j]) {i=2, j=3}",
        "([i, j, k], [i, j, k], [i, j, k])->([i, j, k]) {i=2, j=1, k=37}",
        "([i, j], [i, j], [i, j])->([i, j]) {i=0, j=3}", "([], [i, j], [])->([i, j]) {i=0, j=3}"}},
      // Each device makes its own part.
      {{"stablehlo.constant"},
       {"()->([i, j]) {i=3, j=5}", "()->([]) {}", "()->([i, j]) {i=2, j=3}",
        "()->([i, j]) {i=0, j=4}"}},
      {{"stablehlo.iota"},
       {"()->([i, j]) {i=3, j=300}", "()->([i, j, k]) {i=2, j=3, k=4}", "()->([i]) {i=0}"}},
      // Dimensions that the operand does not have, or in which it has one element, have factors of
      // the result alone.
      {{"stablehlo.broadcast_in_dim"},
       {"([])->([i, j]) {i=3, j=4}", "([j])->([i, j]) {i=3, j=4}", "([i])->([i, j]) {i=3, j=4}",
        "([i, ])->([i, j]) {i=3, j=4}", "([k, i])->([i, j, k]) {i=4, j=2, k=3}",
        "([, ])->([i, j, k]) {i=2, j=1, k=3}", "([i, j])->([i, j]) {i=2, j=3}",
        "([i])->([i, j]) {i=2, j=0}", "([j])->([i, j]) {i=2, j=2}"}},
      {{"stablehlo.transpose"},
       {"([j, i])->([i, j]) {i=5, j=3}", "([j, k, i])->([i, j, k]) {i=4, j=2, k=3}",
        "([i, k, j])->([i, j, k]) {i=2, j=4, k=3}", "([])->([]) {}",
        "([k, i, j])->([i, j, k]) {i=0, j=2, k=4}", "([j, i])->([i, j]) {i=3, j=2}",
        "([l, j, k, i])->([i, j, k, l]) {i=2, j=2, k=3, l=2}"}},
      // Runs of dimensions with equal products of extents are independent; the rest of a dimension
      // that does not split into whole factors is not cut.
      {{"stablehlo.reshape"},
       {"([ij, k])->([i, jk]) {i=2, j=3, k=4}",
        "([i, k])->([j, l]) {i=2, j=3, k=3, l=2} need_replication={i, j, k, l}",
        "([i, j])->([ij]) {i=4, j=6}", "([ijk])->([i, j, k]) {i=2, j=3, k=4}", "([])->([]) {}",
        "([])->([, ]) {}", "([i, , j])->([i, j]) {i=4, j=6}",
        "([i, j])->([k, l, m]) {i=3, j=0, k=0, l=5, m=2} need_replication={i, j, k, l, m}",
        "([ij, l])->([ik, m]) {i=2, j=2, k=3, l=3, m=2} need_replication={j, k, l, m}",
        "([i, jk])->([ij, k]) {i=2, j=2, k=4}", "([i, j])->([ij]) {i=2, j=2}"}},
      // The joined dimension has one factor of the result's extent.
      {{"stablehlo.concatenate"},
       {"([i], [i], [i])->([i]) {i=9} need_replication={i}",
        "([i, j], [i, j])->([i, j]) {i=2, j=4} need_replication={j}",
        "([i, j], [i, j])->([i, j]) {i=6, j=3} need_replication={i}",
        "([i, j, k], [i, j, k], [i, j, k])->([i, j, k]) {i=2, j=4, k=2} need_replication={j}",
        "([i])->([i]) {i=4} need_replication={i}",
        "([i, j], [i, j])->([i, j]) {i=2, j=2} need_replication={i}"}},
      // A dimension that is sliced, padded or reversed has one factor, of the longer extent; a
      // dimension that is kept whole passes.
      {{"stablehlo.slice"},
       {"([i])->([i]) {i=10} permutation={i}", "([i, j])->([i, j]) {i=4, j=6} permutation={j}",
        "([i, j])->([i, j]) {i=4, j=6} permutation={i, j}",
        "([i, j, k])->([i, j, k]) {i=3, j=2, k=2} permutation={i, k}", "([])->([]) {}"}},
      {{"stablehlo.pad"},
       {"([i], [])->([i]) {i=8} permutation={i}", "([i], [])->([i]) {i=5} permutation={i}",
        "([i], [])->([i]) {i=14} permutation={i}", "([i], [])->([i]) {i=7} permutation={i}",
        "([i, j], [])->([i, j]) {i=4, j=9} permutation={i, j}",
        "([i, j], [])->([i, j]) {i=6, j=3} permutation={i, j}", "([i, j], [])->([i, j]) {i=2, j=2}",
        "([], [])->([]) {}"}},
      {{"stablehlo.reverse"},
       {"([i])->([i]) {i=7} permutation={i}", "([i, j])->([i, j]) {i=3, j=5} permutation={j}",
        "([i, j])->([i, j]) {i=3, j=5} permutation={i, j}",
        "([i, j, k])->([i, j, k]) {i=2, j=3, k=4} permutation={i, k}", "([])->([]) {}",
        "([i, j])->([i, j]) {i=0, j=2} permutation={i}"}},
      // If the start is computed, operand and window have different factors.
      {{"stablehlo.dynamic_slice"},
       {"([i], [])->([j]) {i=10, j=4} need_replication={i, j}",
        "([i, j], [], [])->([i, k]) {i=4, j=6, k=3} need_replication={j, k}",
        "([i, k], [], [])->([j, l]) {i=4, j=1, k=6, l=0} need_replication={i, j, k, l}",
        "([])->([]) {}"}},
      // Each device looks for the update's rows in its own part.
      {{"stablehlo.dynamic_update_slice"},
       {"([i], [j], [])->([i]) {i=10, j=3} need_replication={j}",
        "([i, j], [i, k], [], [])->([i, j]) {i=4, j=6, k=2} need_replication={k}",
        "([i, j], [k, l], [], [])->([i, j]) {i=4, j=6, k=1, l=0} need_replication={k, l}",
        "([], [])->([]) {}"}},
      // (operand, indices) -> result. Each device reads its own part of an indexed dimension.
      // Dimensions of index vectors, and dimensions that windows have only a part of, are whole;
      // dimensions that windows span and batching dimensions pass.
      {{"stablehlo.gather"},
       {"([k, l], [i, j])->([i, l]) {i=4, j=1, k=6, l=8} reduction={k} need_replication={j}",
        "([k, l], [i, j])->([k, i]) {i=4, j=1, k=8, l=6} reduction={l} need_replication={j}",
        "([k, m], [j, i])->([l, i, n]) {i=4, j=2, k=6, l=2, m=8, n=3} need_replication={j, k, l, "
        "m, n}",
        "([l, m, n], [i, j, k])->([i, j, n]) {i=2, j=3, k=2, l=4, m=6, n=2} reduction={l, m} "
        "need_replication={k}",
        "([j], [i])->([i]) {i=4, j=10} reduction={j}",
        "([i], [])->([j]) {i=10, j=3} need_replication={i, j}",
        "([i, l], [i, j, k])->([i, j]) {i=4, j=1, k=1, l=6} reduction={l} need_replication={k}",
        "([j, k], [i, j])->([i, j]) {i=3, j=4, k=6} reduction={k}",
        "([j, k, i, l], [i, j])->([i, l, j]) {i=4, j=2, k=5, l=3} reduction={k}",
        "([k, l], [i, j])->([i, l]) {i=4, j=1, k=6, l=0} reduction={k} need_replication={j}",
        "([k, l], [i, j])->([i, l]) {i=0, j=1, k=6, l=4} reduction={k} need_replication={j}"}},
      // (operand, indices, updates) -> operand. Each device updates its own part of an indexed
      // dimension. Updates that are added up may be on several devices, but updates that replace
      // may not, because the last one wins.
      {{"stablehlo.scatter"},
       {"([k, l], [i, j], [i, l])->([k, l]) {i=4, j=1, k=6, l=8} need_replication={i, j}",
        "([k], [i, j], [i])->([k]) {i=4, j=1, k=8} need_replication={i, j}",
        "([k, l], [i, j], [i, l])->([k, l]) {i=2, j=1, k=6, l=2} need_replication={i, j}",
        "([i, l], [i, j, k], [i, j])->([i, l]) {i=4, j=1, k=1, l=6} need_replication={j, k}",
        "([k, l], [i, j], [i, l])->([k, l]) {i=4, j=1, k=6, l=8} reduction={i} "
        "need_replication={j}",
        "([k, l], [i, j], [i, l])->([k, l]) {i=2, j=1, k=6, l=2} reduction={i} "
        "need_replication={j}",
        "([i, l], [i, j, k], [i, j])->([i, l]) {i=4, j=1, k=1, l=6} reduction={j} "
        "need_replication={k}",
        "([k, l], [i, j], [i, l])->([k, l]) {i=4, j=1, k=6, l=8} reduction={i} combiner=product "
        "need_replication={j}",
        "([k, l], [i, j], [i, l])->([k, l]) {i=2, j=1, k=6, l=2} reduction={i} combiner=product "
        "need_replication={j}",
        "([i, l], [i, j, k], [i, j])->([i, l]) {i=4, j=1, k=1, l=6} reduction={j} combiner=product "
        "need_replication={k}",
        "([k, l], [i, j], [i, l])->([k, l]) {i=4, j=1, k=6, l=8} reduction={i} combiner=min "
        "need_replication={j}",
        "([i, l], [i, j, k], [i, j])->([i, l]) {i=4, j=1, k=1, l=6} reduction={j} combiner=min "
        "need_replication={k}",
        "([k, l], [i, j], [i, l])->([k, l]) {i=4, j=1, k=6, l=8} reduction={i} combiner=max "
        "need_replication={j}",
        "([i, l], [i, j, k], [i, j])->([i, l]) {i=4, j=1, k=1, l=6} reduction={j} combiner=max "
        "need_replication={k}",
        "([k, l], [i, j], [k, i])->([k, l]) {i=4, j=1, k=8, l=6} reduction={i} "
        "need_replication={j}",
        "([k, m], [j, i], [l, i, n])->([k, m]) {i=4, j=2, k=6, l=2, m=8, n=3} reduction={i} "
        "need_replication={j, k, l, m, n}",
        "([j, k, i, l], [i, j], [i, l, j])->([j, k, i, l]) {i=4, j=2, k=5, l=3}",
        "([j], [i], [i])->([j]) {i=4, j=10} reduction={i}",
        "([i], [], [j])->([i]) {i=10, j=3} need_replication={i, j}",
        "([k, l], [i, j], [i, l])->([k, l]) {i=0, j=1, k=6, l=4} reduction={i} "
        "need_replication={j}",
        "([k, l], [k, l], [i, j], [i, l], [i, l])->([k, l], [k, l]) {i=4, j=1, k=6, l=8} "
        "need_replication={i, j}"}},
      // Initial values have no factors.
      {{"stablehlo.reduce"},
       {"([i, j], [])->([j]) {i=8, j=12} reduction={i}",
        "([i, j], [])->([i]) {i=8, j=12} reduction={j}",
        "([i, j, k], [])->([j]) {i=4, j=6, k=8} reduction={i, k}",
        "([i, j], [])->([]) {i=8, j=4} reduction={i, j}",
        "([i, j], [])->([j]) {i=16, j=8} reduction={i}",
        "([i, j], [])->([j]) {i=8, j=12} reduction={i} combiner=min",
        "([i, j], [])->([i]) {i=8, j=12} reduction={j} combiner=min",
        "([i, j, k], [])->([j]) {i=4, j=6, k=8} reduction={i, k} combiner=min",
        "([i, j], [])->([]) {i=8, j=4} reduction={i, j} combiner=min",
        "([i, j], [])->([j]) {i=16, j=8} reduction={i} combiner=min",
        "([i, j], [])->([j]) {i=8, j=12} reduction={i} combiner=max",
        "([i, j], [])->([i]) {i=8, j=12} reduction={j} combiner=max",
        "([i, j, k], [])->([j]) {i=4, j=6, k=8} reduction={i, k} combiner=max",
        "([i, j], [])->([]) {i=8, j=4} reduction={i, j} combiner=max",
        "([i, j], [])->([j]) {i=16, j=8} reduction={i} combiner=max",
        "([i], [])->([]) {i=1000} reduction={i}",
        "([i, j], [])->([i]) {i=4, j=64} reduction={j}",
        "([i, j], [])->([j]) {i=8, j=3} reduction={i}",
        "([i, j], [])->([j]) {i=0, j=4} reduction={i}",
        "([i, j], [])->([j]) {i=4, j=0} reduction={i}",
        "([i], [])->([]) {i=300} reduction={i}",
        "([i, j], [])->([i]) {i=4, j=8} reduction={j} combiner=product",
        "([i], [])->([]) {i=8} reduction={i} combiner=product",
        "([i, j], [])->([j]) {i=8, j=8} reduction={i} combiner=and",
        "([i, j], [])->([i]) {i=8, j=8} reduction={j} combiner=or",
        "([i, j], [i, j], [], [])->([i], [i]) {i=8, j=16} reduction={j} combiner=argmin",
        "([i, j], [i, j], [], [])->([i], [i]) {i=8, j=16} reduction={j} combiner=argmax"}},
      {{"stablehlo.dot_general"},
       {"([i, k], [k, j])->([i, j]) {i=8, j=4, k=16} reduction={k}",
        "([k, i], [j, k])->([i, j]) {i=8, j=4, k=16} reduction={k}",
        "([i], [i])->([]) {i=16} reduction={i}", "([i], [j])->([i, j]) {i=8, j=4}",
        "([i, j, l], [i, l, k])->([i, j, k]) {i=2, j=8, k=8, l=4} reduction={l}",
        "([j, l, i], [k, i, l])->([i, j, k]) {i=2, j=3, k=5, l=4} reduction={l}",
        "([k, i, l], [l, k, j])->([i, j]) {i=3, j=5, k=2, l=4} reduction={k, l}",
        "([i, k], [k, j])->([i, j]) {i=4, j=4, k=0} reduction={k}",
        "([i, k], [k, j])->([i, j]) {i=33, j=20, k=70} reduction={k}",
        "([k, l, i], [k, l, j])->([i, j]) {i=5, j=7, k=6, l=40} reduction={k, l}",
        "([k, l, i], [k, l, j])->([i, j]) {i=5, j=7, k=6, l=3} reduction={k, l}",
        "([i, k], [k, j])->([i, j]) {i=9, j=50, k=70} reduction={k}",
        "([i, k], [k, j])->([i, j]) {i=0, j=2, k=4} reduction={k}",
        "([i, k], [k, j])->([i, j]) {i=8, j=8, k=8} reduction={k}",
        "([i, k], [k, j])->([i, j]) {i=8, j=8, k=16} reduction={k}",
        "([i, k], [k, j])->([i, j]) {i=4, j=4, k=8} reduction={k}"}},
      // A spatial dimension of input and result is one factor, for which neighbours send rows; if
      // windows are long, input and kernel share the factor. [kj] are the groups and the features
      // of a group.
      {{"stablehlo.convolution"},
       {"([i, j, l, n], [k, j, m, o])->([i, k, l, n]) {i=2, j=4, k=4, l=6, m=3, n=5, o=2} "
        "reduction={j} need_replication={m, o} permutation={l, n}",
        "([i, l, n, j], [m, o, j, k])->([i, l, n, k]) {i=2, j=4, k=6, l=8, m=3, n=8, o=3} "
        "reduction={j} need_replication={m, o} permutation={l, n}",
        "([i, l, n, j], [m, o, j, k])->([i, l, n, k]) {i=2, j=2, k=4, l=12, m=3, n=6, o=2} "
        "reduction={j} need_replication={m, o} permutation={l, n}",
        "([i, l, n, j], [m, o, j, k])->([i, l, n, k]) {i=2, j=2, k=4, l=7, m=3, n=6, o=2} "
        "reduction={j} need_replication={m, o} permutation={l, n}",
        "([i, m, o, kj], [n, p, j, kl])->([i, m, o, kl]) {i=2, j=2, k=2, l=4, m=6, n=3, o=6, p=3} "
        "reduction={j} need_replication={n, p} permutation={m, o}",
        "([i, m, o, kj], [n, p, j, kl])->([i, m, o, kl]) {i=2, j=1, k=4, l=1, m=6, n=3, o=6, p=3} "
        "reduction={j} need_replication={n, p} permutation={m, o}",
        "([i, m, o, k], [n, p, k, l])->([j, m, o, l]) {i=4, j=2, k=2, l=4, m=6, n=3, o=6, p=3} "
        "reduction={k} need_replication={i, j, l, n, p} permutation={m, o}",
        "([i, l, j], [m, j, k])->([i, l, k]) {i=2, j=2, k=4, l=9, m=3} reduction={j} "
        "need_replication={m} permutation={l}",
        "([i, j, l, n, p], [k, j, m, o, q])->([i, k, l, n, p]) {i=1, j=2, k=2, l=4, m=2, n=3, o=2, "
        "p=3, q=2} reduction={j} need_replication={m, o, q} permutation={l, n, p}",
        "([i, j], [k, j])->([i, k]) {i=4, j=6, k=8} reduction={j}",
        "([i, l, j], [m, j, k])->([i, l, k]) {i=2, j=4, k=2, l=6, m=3} reduction={j} "
        "need_replication={m} permutation={l}",
        "([i, j, l], [k, j, m])->([i, k, l]) {i=0, j=2, k=4, l=6, m=3} reduction={j} "
        "need_replication={m} permutation={l}"}},
      // Windows reach beyond a device's rows; a dimension with windows of one element passes.
      {{"stablehlo.reduce_window"},
       {"([i, j, k, l], [])->([i, j, k, l]) {i=2, j=8, k=6, l=4} permutation={j, k}",
        "([i, j, k, l], [])->([i, j, k, l]) {i=2, j=4, k=8, l=6} permutation={k, l}",
        "([i, j], [])->([i, j]) {i=4, j=9} permutation={j}",
        "([i, k], [])->([j, k]) {i=6, j=3, k=9} need_replication={i, j} permutation={k}",
        "([i, k], [])->([j, k]) {i=8, j=3, k=9} need_replication={i, j} permutation={k}",
        "([i], [])->([j]) {i=8, j=3} need_replication={i, j}",
        "([i, j, k], [])->([i, j, k]) {i=2, j=9, k=4} need_replication={j}",
        "([i, j], [])->([i, j]) {i=4, j=4} permutation={i}", "([i, j], [])->([i, j]) {i=2, j=1}",
        "([i], [])->([i]) {i=8} permutation={i}",
        "([i, j], [])->([i, j]) {i=0, j=4} need_replication={i}"}},
      {{"stablehlo.select_and_scatter"},
       {"([i, j, l, n], [i, k, m, n], [])->([i, j, l, n]) {i=2, j=8, k=4, l=6, m=3, n=4} "
        "need_replication={j, k, l, m}",
        "([i, j], [i, k], [])->([i, j]) {i=2, j=9, k=5} need_replication={j, k}",
        "([i], [j], [])->([i]) {i=8, j=7} need_replication={i, j}",
        "([i], [j], [])->([i]) {i=8, j=4} need_replication={i, j}"}},
      // Transformed dimensions are whole. The spectrum of a real line is shorter, but cut in the
      // same way.
      {{"stablehlo.fft"},
       {"([i, j])->([i, j]) {i=4, j=12} need_replication={j}",
        "([i, j, k])->([i, j, k]) {i=8, j=4, k=6} need_replication={j, k}",
        "([i, j, k, l])->([i, j, k, l]) {i=2, j=3, k=4, l=5} need_replication={j, k, l}",
        "([i, j])->([i, j]) {i=2, j=17} need_replication={j}",
        "([i])->([i]) {i=40} need_replication={i}",
        "([i, j])->([i, j]) {i=24, j=16} need_replication={j}",
        "([i])->([i]) {i=1} need_replication={i}",
        "([i, j])->([i, j]) {i=0, j=4} need_replication={j}",
        "([i, j])->([i, j]) {i=3, j=0} need_replication={j}",
        "([i, j])->([i, j]) {i=4, j=7} need_replication={j}",
        "([i, j, k])->([i, j, k]) {i=4, j=3, k=8} need_replication={j, k}",
        "([i, j])->([i, j]) {i=36, j=10} need_replication={j}",
        "([i, j])->([i, j]) {i=2, j=74} need_replication={j}",
        "([i, j])->([i, j]) {i=2, j=0} need_replication={j}",
        "([i, j])->([i, j]) {i=2, j=1} need_replication={j}"}},
      {{"stablehlo.reduce_precision"},
       {"([i, j])->([i, j]) {i=4, j=6}", "([])->([]) {}", "([i])->([i]) {i=0}",
        "([i])->([i]) {i=10}"}},
      {{"tessera.pure_callback", "tessera.io_callback"},
       {"([i, j])->([k, l]) {i=2, j=3, k=2, l=3} need_replication={i, j, k, l}"}},
      {{"tessera.ffi_call", "tessera.ffi_call_with_effect"},
       {"([i, j])->([k, l]) {i=2, j=3, k=2, l=3} need_replication={i, j, k, l}"}},
      {{"tessera.io_callback_if"},
       {"([], [i, j])->([k, l]) {i=2, j=3, k=2, l=3} need_replication={i, j, k, l}"}},
      {{"tessera.fft_along"},
       {"([i, j])->([i, j]) {i=4, j=12} need_replication={i}",
        "([i, j, k])->([i, j, k]) {i=2, j=5, k=24} need_replication={j}",
        "([i, j])->([i, j]) {i=40, j=3} need_replication={i}",
        "([i])->([i]) {i=6} need_replication={i}",
        "([i, j])->([i, j]) {i=0, j=6} need_replication={i}"}},
      // Batches are independent, matrices are whole, and right-hand sides of equations are
      // independent.
      {{"stablehlo.cholesky"},
       {"([i, j])->([k, l]) {i=4, j=4, k=4, l=4} need_replication={i, j, k, l}",
        "([i, j, k])->([i, l, m]) {i=2, j=3, k=3, l=3, m=3} need_replication={j, k, l, m}",
        "([i, j, k, l])->([i, j, m, n]) {i=4, j=2, k=5, l=5, m=5, n=5} need_replication={k, l, m, "
        "n}",
        "([i, j])->([k, l]) {i=1, j=1, k=1, l=1} need_replication={i, j, k, l}",
        "([i, j])->([k, l]) {i=0, j=0, k=0, l=0} need_replication={i, j, k, l}",
        "([i, j, k])->([i, l, m]) {i=0, j=2, k=2, l=2, m=2} need_replication={j, k, l, m}"}},
      {{"tessera.eig"},
       {"([i, j])->([k], [l, m], [n, o], []) {i=4, j=4, k=4, l=4, m=4, n=4, o=4} "
        "need_replication={i, j, k, l, m, n, o}",
        "([i, j, k, l])->([i, j, m], [i, j, n, o], [i, j, p, q], [i, j]) {i=4, j=2, k=3, l=3, m=3, "
        "n=3, o=3, p=3, q=3} need_replication={k, l, m, n, o, p, q}",
        "([i, j])->([k], [l, m], []) {i=4, j=4, k=4, l=4, m=4} need_replication={i, j, k, l, m}",
        "([i, j, k, l])->([i, j, m], [i, j, n, o], [i, j]) {i=4, j=2, k=3, l=3, m=3, n=3, o=3} "
        "need_replication={k, l, m, n, o}",
        "([i, j])->([k], []) {i=4, j=4, k=4} need_replication={i, j, k}",
        "([i, j, k, l])->([i, j, m], [i, j]) {i=4, j=2, k=3, l=3, m=3} need_replication={k, l, m}",
        "([i, j, k])->([i, l], [i, m, n], [i]) {i=2, j=0, k=0, l=0, m=0, n=0} need_replication={j, "
        "k, l, m, n}"}},
      {{"tessera.eigh"},
       {"([i, j])->([k, l], [m], []) {i=4, j=4, k=4, l=4, m=4} need_replication={i, j, k, l, m}",
        "([i, j, k])->([i, l, m], [i, n], [i]) {i=2, j=3, k=3, l=3, m=3, n=3} need_replication={j, "
        "k, l, m, n}",
        "([i, j, k, l])->([i, j, m, n], [i, j, o], [i, j]) {i=4, j=2, k=2, l=2, m=2, n=2, o=2} "
        "need_replication={k, l, m, n, o}",
        "([i, j])->([k, l], [m], []) {i=1, j=1, k=1, l=1, m=1} need_replication={i, j, k, l, m}",
        "([i, j, k])->([i, l, m], [i, n], [i]) {i=2, j=0, k=0, l=0, m=0, n=0} need_replication={j, "
        "k, l, m, n}"}},
      {{"tessera.eigh_values"},
       {"([i, j])->([k], []) {i=4, j=4, k=4} need_replication={i, j, k}",
        "([i, j, k])->([i, l], [i]) {i=2, j=3, k=3, l=3} need_replication={j, k, l}",
        "([i, j, k, l])->([i, j, m], [i, j]) {i=4, j=2, k=2, l=2, m=2} need_replication={k, l, m}",
        "([i, j])->([k], []) {i=1, j=1, k=1} need_replication={i, j, k}",
        "([i, j, k])->([i, l], [i]) {i=2, j=0, k=0, l=0} need_replication={j, k, l}"}},
      {{"tessera.lu"},
       {"([i, j])->([k, l], [m], [n], []) {i=4, j=4, k=4, l=4, m=4, n=4} need_replication={i, j, "
        "k, l, m, n}",
        "([i, j, k])->([i, l, m], [i, n], [i, o], [i]) {i=2, j=3, k=5, l=3, m=5, n=3, o=3} "
        "need_replication={j, k, l, m, n, o}",
        "([i, j, k, l])->([i, j, m, n], [i, j, o], [i, j, p], [i, j]) {i=4, j=2, k=5, l=3, m=5, "
        "n=3, o=3, p=5} need_replication={k, l, m, n, o, p}",
        "([i, j])->([k, l], [m], [n], []) {i=1, j=1, k=1, l=1, m=1, n=1} need_replication={i, j, "
        "k, l, m, n}",
        "([i, j])->([k, l], [m], [n], []) {i=0, j=0, k=0, l=0, m=0, n=0} need_replication={i, j, "
        "k, l, m, n}",
        "([i, j, k])->([i, l, m], [i, n], [i, o], [i]) {i=2, j=0, k=3, l=0, m=3, n=0, o=0} "
        "need_replication={j, k, l, m, n, o}",
        "([i, j, k])->([i, l, m], [i, n], [i, o], [i]) {i=0, j=3, k=3, l=3, m=3, n=3, o=3} "
        "need_replication={j, k, l, m, n, o}"}},
      {{"tessera.qr"},
       {"([i, j])->([k, l], [m, n]) {i=4, j=4, k=4, l=4, m=4, n=4} need_replication={i, j, k, l, "
        "m, n}",
        "([i, j, k])->([i, l, m], [i, n, o]) {i=2, j=3, k=5, l=3, m=3, n=3, o=5} "
        "need_replication={j, k, l, m, n, o}",
        "([i, j, k, l])->([i, j, m, n], [i, j, o, p]) {i=4, j=2, k=5, l=3, m=5, n=5, o=5, p=3} "
        "need_replication={k, l, m, n, o, p}",
        "([i, j, k, l])->([i, j, m, n], [i, j, o, p]) {i=4, j=2, k=5, l=3, m=5, n=3, o=3, p=3} "
        "need_replication={k, l, m, n, o, p}",
        "([i, j])->([k, l], [m, n], [o]) {i=4, j=4, k=4, l=4, m=4, n=4, o=4} need_replication={i, "
        "j, k, l, m, n, o}",
        "([i, j, k, l])->([i, j, m, n], [i, j, o, p], [i, j, q]) {i=4, j=2, k=5, l=3, m=5, n=3, "
        "o=3, p=3, q=3} need_replication={k, l, m, n, o, p, q}",
        "([i, j])->([k, l], [m, n]) {i=0, j=3, k=0, l=0, m=0, n=3} need_replication={i, j, k, l, "
        "m, n}",
        "([i, j])->([k, l], [m, n]) {i=3, j=0, k=3, l=3, m=3, n=0} need_replication={i, j, k, l, "
        "m, n}"}},
      {{"tessera.geqrf"},
       {"([i, j])->([k, l], [m]) {i=4, j=4, k=4, l=4, m=4} need_replication={i, j, k, l, m}",
        "([i, j, k])->([i, l, m], [i, n]) {i=2, j=3, k=5, l=3, m=5, n=3} need_replication={j, k, "
        "l, m, n}",
        "([i, j, k, l])->([i, j, m, n], [i, j, o]) {i=4, j=2, k=5, l=3, m=5, n=3, o=3} "
        "need_replication={k, l, m, n, o}",
        "([i, j])->([k, l], [m]) {i=0, j=3, k=0, l=3, m=0} need_replication={i, j, k, l, m}"}},
      {{"tessera.geqp3"},
       {"([i, j], [k])->([l, m], [n], [o]) {i=4, j=4, k=4, l=4, m=4, n=4, o=4} "
        "need_replication={i, j, k, l, m, n, o}",
        "([i, j, k], [i, l])->([i, m, n], [i, o], [i, p]) {i=2, j=3, k=5, l=5, m=3, n=5, o=5, p=3} "
        "need_replication={j, k, l, m, n, o, p}",
        "([i, j, k, l], [i, j, m])->([i, j, n, o], [i, j, p], [i, j, q]) {i=4, j=2, k=5, l=3, m=3, "
        "n=5, o=3, p=3, q=3} need_replication={k, l, m, n, o, p, q}"}},
      {{"tessera.householder_product"},
       {"([i, j], [k])->([l, m]) {i=4, j=4, k=4, l=4, m=4} need_replication={i, j, k, l, m}",
        "([i, j, k, l], [i, j, m])->([i, j, n, o]) {i=4, j=2, k=5, l=3, m=2, n=5, o=3} "
        "need_replication={k, l, m, n, o}",
        "([i, j], [k])->([l, m]) {i=3, j=0, k=0, l=3, m=0} need_replication={i, j, k, l, m}"}},
      {{"tessera.ormqr"},
       {"([i, j, k], [i, l], [i, m, n])->([i, o, p]) {i=2, j=4, k=3, l=3, m=4, n=5, o=4, p=5} "
        "need_replication={j, k, l, m, n, o, p}",
        "([i, j], [k], [l, m])->([n, o]) {i=4, j=3, k=2, l=5, m=4, n=5, o=4} need_replication={i, "
        "j, k, l, m, n, o}"}},
      {{"tessera.schur"},
       {"([i, j])->([k, l], [m, n], [o], []) {i=4, j=4, k=4, l=4, m=4, n=4, o=4} "
        "need_replication={i, j, k, l, m, n, o}",
        "([i, j, k, l])->([i, j, m, n], [i, j, o, p], [i, j, q], [i, j]) {i=4, j=2, k=3, l=3, m=3, "
        "n=3, o=3, p=3, q=3} need_replication={k, l, m, n, o, p, q}",
        "([i, j])->([k, l], [m, n], [o], []) {i=1, j=1, k=1, l=1, m=1, n=1, o=1} "
        "need_replication={i, j, k, l, m, n, o}",
        "([i, j])->([k, l], [m], []) {i=4, j=4, k=4, l=4, m=4} need_replication={i, j, k, l, m}",
        "([i, j, k, l])->([i, j, m, n], [i, j, o], [i, j]) {i=4, j=2, k=3, l=3, m=3, n=3, o=3} "
        "need_replication={k, l, m, n, o}",
        "([i, j])->([k, l], [m], []) {i=1, j=1, k=1, l=1, m=1} need_replication={i, j, k, l, m}"}},
      {{"tessera.hessenberg"},
       {"([i, j])->([k, l], [m], []) {i=4, j=4, k=4, l=4, m=3} need_replication={i, j, k, l, m}",
        "([i, j, k, l])->([i, j, m, n], [i, j, o], [i, j]) {i=4, j=2, k=3, l=3, m=3, n=3, o=2} "
        "need_replication={k, l, m, n, o}",
        "([i, j])->([k, l], [m], []) {i=1, j=1, k=1, l=1, m=0} need_replication={i, j, k, l, m}"}},
      {{"tessera.window_view"},
       {"([i])->([j, k]) {i=10, j=3, k=8} need_replication={i, j, k}",
        "([i])->([j, k]) {i=12, j=3, k=3} need_replication={i, j, k}",
        "([i, j])->([k, l, m, n]) {i=6, j=7, k=2, l=3, m=5, n=3} "
        "need_replication={i, j, k, l, m, n}",
        "([i, j])->([k, l, m, n]) {i=2, j=6, k=1, l=2, m=2, n=2} "
        "need_replication={i, j, k, l, m, n}",
        "([i, j])->([k, l, m, n]) {i=4, j=5, k=4, l=1, m=1, n=5} "
        "need_replication={i, j, k, l, m, n}",
        "([i])->([j, k]) {i=3, j=4, k=0} need_replication={i, j, k}", "([])->([]) {}"}},
      {{"tessera.ordered_fold"},
       {"([i, j], [])->([j]) {i=8, j=12} need_replication={i}",
        "([i, j], [])->([i]) {i=8, j=12} need_replication={j}",
        "([i, j, k], [])->([j]) {i=3, j=4, k=5} need_replication={i, k}",
        "([i], [])->([]) {i=9} need_replication={i}",
        "([i, j], [])->([j]) {i=4, j=3} need_replication={i}",
        "([i, j], [])->([j]) {i=0, j=4} need_replication={i}",
        "([i, j], [])->([j]) {i=4, j=0} need_replication={i}"}},
      {{"tessera.first_sorted"},
       {"([i, j])->([i, k], [i, k]) {i=4, j=24, k=3} need_replication={j, k}",
        "([i, k], [i, k])->([j, k], [j, k], [j, k]) {i=24, j=2, k=4} need_replication={i, j}",
        "([i, j, l], [i, j, l])->([i, k, l], [i, k, l]) {i=2, j=24, k=4, l=2} "
        "need_replication={j, k}",
        "([i, j])->([i, k], [i, k]) {i=2, j=24, k=24} need_replication={j, k}",
        "([i, j])->([i, k]) {i=2, j=24, k=0} need_replication={j, k}"}},
      {{"tessera.list_rows"},
       {"([i], [i])->([j], [i]) {i=8, j=4} need_replication={i, j}",
        "([i], [i])->([j], [i]) {i=0, j=4} need_replication={i, j}"}},
      {{"tessera.fold_lists"},
       {"([i, l], [i], [k], [j, l], [])->([i, l]) {i=4, j=6, k=8, l=8} need_replication={i, j, k}",
        "([i], [i], [k], [j], [])->([i]) {i=0, j=6, k=8} need_replication={i, j, k}"}},
      {{"tessera.svd"},
       {"([i, j])->([k], [l, m], [n, o], []) {i=4, j=4, k=4, l=4, m=4, n=4, o=4} "
        "need_replication={i, j, k, l, m, n, o}",
        "([i, j, k])->([i, l], [i, m, n], [i, o, p], [i]) {i=2, j=3, k=5, l=3, m=3, n=3, o=5, p=5} "
        "need_replication={j, k, l, m, n, o, p}",
        "([i, j, k, l])->([i, j, m], [i, j, n, o], [i, j, p, q], [i, j]) {i=4, j=2, k=5, l=3, m=3, "
        "n=5, o=5, p=3, q=3} need_replication={k, l, m, n, o, p, q}",
        "([i, j, k])->([i, l], [i, m, n], [i, o, p], [i]) {i=2, j=3, k=5, l=3, m=3, n=3, o=3, p=5} "
        "need_replication={j, k, l, m, n, o, p}",
        "([i, j, k, l])->([i, j, m], [i, j, n, o], [i, j, p, q], [i, j]) {i=4, j=2, k=5, l=3, m=3, "
        "n=5, o=3, p=3, q=3} need_replication={k, l, m, n, o, p, q}",
        "([i, j])->([k], []) {i=4, j=4, k=4} need_replication={i, j, k}",
        "([i, j, k])->([i, l], [i]) {i=2, j=3, k=5, l=3} need_replication={j, k, l}",
        "([i, j, k, l])->([i, j, m], [i, j]) {i=4, j=2, k=5, l=3, m=3} need_replication={k, l, m}",
        "([i, j])->([k], [l, m], [n, o], []) {i=0, j=3, k=0, l=0, m=0, n=3, o=3} "
        "need_replication={i, j, k, l, m, n, o}",
        "([i, j])->([k], [l, m], [n, o], []) {i=0, j=3, k=0, l=0, m=0, n=0, o=3} "
        "need_replication={i, j, k, l, m, n, o}",
        "([i, j])->([k], [l, m], [n, o], []) {i=3, j=0, k=0, l=3, m=3, n=0, o=0} "
        "need_replication={i, j, k, l, m, n, o}",
        "([i, j])->([k], [l, m], [n, o], []) {i=3, j=0, k=0, l=3, m=0, n=0, o=0} "
        "need_replication={i, j, k, l, m, n, o}",
        "([i, j, k])->([i, l], [i, m, n], [i, o, p], [i]) {i=0, j=2, k=2, l=2, m=2, n=2, o=2, p=2} "
        "need_replication={j, k, l, m, n, o, p}"}},
      {{"stablehlo.triangular_solve"},
       {"([i, j], [k, l])->([k, l]) {i=4, j=4, k=4, l=2} need_replication={i, j, k}",
        "([i, j, k], [i, l, m])->([i, l, m]) {i=2, j=3, k=3, l=3, m=4} need_replication={j, k, l}",
        "([i, j], [k, l])->([k, l]) {i=4, j=4, k=2, l=4} need_replication={i, j, l}",
        "([i, j, k], [i, l, m])->([i, l, m]) {i=2, j=3, k=3, l=4, m=3} need_replication={j, k, m}",
        "([i, j, k, l], [i, j, m, n])->([i, j, m, n]) {i=2, j=2, k=3, l=3, m=3, n=8} "
        "need_replication={k, l, m}",
        "([i, j], [k, l])->([k, l]) {i=3, j=3, k=3, l=1} need_replication={i, j, k}",
        "([i, j, k], [i, l, m])->([i, l, m]) {i=2, j=5, k=5, l=3, m=5} need_replication={j, k, m}",
        "([i, j], [k, l])->([k, l]) {i=0, j=0, k=0, l=3} need_replication={i, j, k}",
        "([i, j], [k, l])->([k, l]) {i=3, j=3, k=3, l=0} need_replication={i, j, k}"}},
      {{"tessera.tridiagonal"},
       {"([i, j])->([k, l], [m], [n], [o], []) {i=4, j=4, k=4, l=4, m=4, n=3, o=3} "
        "need_replication={i, j, k, l, m, n, o}",
        "([i, j, k, l])->([i, j, m, n], [i, j, o], [i, j, p], [i, j, q], [i, j]) {i=4, j=2, k=3, "
        "l=3, m=3, n=3, o=3, p=2, q=2} need_replication={k, l, m, n, o, p, q}",
        "([i, j])->([k, l], [m], [n], [o], []) {i=1, j=1, k=1, l=1, m=1, n=0, o=0} "
        "need_replication={i, j, k, l, m, n, o}"}},
      {{"tessera.tridiagonal_solve"},
       {"([i], [j], [k], [l, m])->([l, m], []) {i=5, j=5, k=5, l=5, m=2} need_replication={i, j, "
        "k, l}",
        "([i, j, k], [i, j, l], [i, j, m], [i, j, n, o])->([i, j, n, o], [i, j]) {i=4, j=2, k=3, "
        "l=3, m=3, n=3, o=4} need_replication={k, l, m, n}",
        "([i], [j], [k], [l, m])->([l, m], []) {i=1, j=1, k=1, l=1, m=2} need_replication={i, j, "
        "k, l}",
        "([i], [j], [k], [l, m])->([l, m], []) {i=3, j=3, k=3, l=3, m=0} need_replication={i, j, "
        "k, l}"}},
      {{"stablehlo.sort"},
       {"([i, j])->([i, j]) {i=4, j=12} need_replication={j}",
        "([i, j])->([i, j]) {i=12, j=4} need_replication={i}",
        "([i, j, k], [i, j, k])->([i, j, k], [i, j, k]) {i=2, j=8, k=2} need_replication={j}",
        "([i], [i], [i])->([i], [i], [i]) {i=32} need_replication={i}",
        "([i], [i])->([i], [i]) {i=32} need_replication={i}",
        "([i])->([i]) {i=0} need_replication={i}",
        "([i, j])->([i, j]) {i=3, j=1} need_replication={j}",
        "([i], [i])->([i], [i]) {i=10} need_replication={i}",
        "([i, j], [i, j])->([i, j], [i, j]) {i=2, j=5} need_replication={j}",
        "([i])->([i]) {i=7} need_replication={i}"}},
      // Collectives along axes that are not manual: dimensions that are split or joined are whole.
      {{"stablehlo.all_reduce"},
       {"([i, j])->([i, j]) {i=4, j=3}", "([])->([]) {}", "([i])->([i]) {i=4}",
        "([i])->([i]) {i=2}", "([i, j])->([i, j]) {i=2, j=3}", "([i])->([i]) {i=5}",
        "([i])->([i]) {i=3}", "([i, j])->([i, j]) {i=0, j=3}"}},
      {{"stablehlo.collective_permute"},
       {"([i, j])->([i, j]) {i=3, j=2}", "([i])->([i]) {i=3}", "([])->([]) {}",
        "([i])->([i]) {i=0}"}},
      {{"tessera.replicated_to_unreduced"}, {"([i, j])->([i, j]) {i=3, j=2}", "([])->([]) {}"}},
      {{"stablehlo.collective_broadcast"},
       {"([i, j])->([i, j]) {i=3, j=2}", "([i])->([i]) {i=3}", "([])->([]) {}",
        "([i, j])->([i, j]) {i=0, j=2}"}},
      {{"tessera.pcast"},
       {"([i, j])->([i, j]) {i=3, j=2}", "([])->([]) {}", "([i, j])->([i, j]) {i=0, j=2}"}},
      {{"stablehlo.all_gather"},
       {"([i, j])->([i, k]) {i=2, j=3, k=12} need_replication={j, k}",
        "([i, k])->([j, k]) {i=2, j=16, k=3} need_replication={i, j}",
        "([i, k])->([j, k]) {i=2, j=4, k=3} need_replication={i, j}",
        "([i])->([j]) {i=2, j=4} need_replication={i, j}",
        "([i, k])->([j, k]) {i=0, j=0, k=3} need_replication={i, j}"}},
      {{"stablehlo.reduce_scatter"},
       {"([i, j])->([i, k]) {i=2, j=8, k=2} need_replication={j, k}",
        "([i])->([j]) {i=8, j=1} need_replication={i, j}",
        "([i, k])->([j, k]) {i=2, j=1, k=3} need_replication={i, j}",
        "([i])->([j]) {i=4, j=2} need_replication={i, j}",
        "([i, k])->([j, k]) {i=4, j=2, k=0} need_replication={i, j}"}},
      {{"stablehlo.all_to_all"},
       {"([i, k])->([j, l]) {i=2, j=8, k=8, l=2} need_replication={i, j, k, l}",
        "([i, j])->([i, k]) {i=2, j=8, k=8} need_replication={j, k}",
        "([i, k])->([j, l]) {i=2, j=1, k=3, l=6} need_replication={i, j, k, l}",
        "([i, k, l])->([j, k, m]) {i=8, j=1, k=1, l=2, m=16} need_replication={i, j, l, m}",
        "([i, k])->([j, l]) {i=0, j=0, k=4, l=1} need_replication={i, j, k, l}"}},
      {{"tessera.ragged_all_to_all"},
       {"([i, j], [k, l], [m], [n], [o], [p])->([q, r]) {i=6, j=2, k=8, l=2, m=4, n=4, o=4, p=4, "
        "q=8, r=2} need_replication={i, j, k, l, m, n, o, p, q, r}"}},
      // The borders of a manual computation: the major factor of a dimension is that of the manual
      // axes, and only the type outside has it.
      {{"tessera.full_to_shard"},
       {"([ij, k])->([j, k]) {i=2, j=4, k=4}", "([i, jk])->([i, k]) {i=3, j=8, k=2}",
        "([])->([]) {}", "([ij, k])->([j, k]) {i=2, j=0, k=4}"}},
      {{"tessera.shard_to_full"},
       {"([j, k])->([ij, k]) {i=2, j=4, k=4}", "([i, k])->([i, jk]) {i=8, j=8, k=1}",
        "([])->([]) {}", "([j, k])->([ij, k]) {i=2, j=0, k=4}"}},
  };
  return all;
}

}  // namespace tessera::factors_test
