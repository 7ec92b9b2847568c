// Functions of jax.numpy that make, move and find elements: values and derivatives as in JAX.
#include "derivatives.h"
#include "tessera/numpy/edits.h"
#include "tessera/numpy/float_parts.h"
#include "tessera/numpy/index_grids.h"
#include "tessera/numpy/indexing.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/mapped_functions.h"
#include "tessera/numpy/pad.h"
#include "tessera/numpy/partition.h"
#include "tessera/numpy/polynomial.h"
#include "tessera/numpy/searching.h"
#include "tessera/numpy/sets.h"
#include "tessera/numpy/sorting.h"
#include "tessera/numpy/ufuncs.h"

namespace tessera::derivatives_arrays_test {
namespace {

using namespace derivatives_test;

Arrays results(const UniqueAll& u) { return {u.values, u.indices, u.inverse_indices, u.counts}; }
Arrays results(const UniqueCounts& u) { return {u.values, u.counts}; }
Arrays results(const UniqueInverse& u) { return {u.values, u.inverse_indices}; }
using derivatives_test::results;

const std::vector<Row> kRows = {
    CALL("jax.numpy.append", append(x[0], x[1])),
    CALL("jax.numpy.apply_along_axis",
         apply_along_axis([](const Array& v) { return cumsum(v); }, 0, x[0])),
    CALL("jax.numpy.apply_over_axes",
         apply_over_axes(
             [](const Array& v, int64_t axis) { return sum(v, {.axis = axis, .keepdims = true}); },
             x[0], {0, 1})),
    CALL("jax.numpy.array", stack({asarray(x[0]), 2 * x[0]})),
    CALL("jax.numpy.asarray", asarray(x[0])),
    CALL("jax.numpy.array_split", array_split(x[0], 4)),
    CALL("jax.numpy.atleast_1d", atleast_1d(x[0])),
    CALL("jax.numpy.atleast_2d", atleast_2d(x[0])),
    CALL("jax.numpy.atleast_3d", atleast_3d(x[0])),
    CALL("jax.numpy.block", block({{x[0], x[1]}, {x[1], x[0]}})),
    CALL("jax.numpy.broadcast_arrays", broadcast_arrays({x[0], x[1]})),
    CALL("jax.numpy.broadcast_to", broadcast_to(x[0], {2, 6})),
    CALL("jax.numpy.column_stack", column_stack({x[0], x[1]})),
    CALL("jax.numpy.compress", compress(x[0], x[1], 3)),
    CALL("jax.numpy.concat", concat({x[0], x[1]})),
    CALL("jax.numpy.concatenate", concatenate({x[0], x[1]}, 1)),
    CALL("jax.numpy.delete", delete_(x[0], 2)),
    CALL("jax.numpy.diag", diag(x[0])),
    CALL("jax.numpy.diag/matrix", diag(x[0], 1)),
    CALL("jax.numpy.diagflat", diagflat(x[0], 1)),
    CALL("jax.numpy.diagonal", diagonal(x[0])),
    CALL("jax.numpy.dsplit", dsplit(x[0], 2)),
    CALL("jax.numpy.dstack", dstack({x[0], x[1]})),
    CALL("jax.numpy.expand_dims", expand_dims(x[0], 1)),
    CALL("jax.numpy.extract", extract(x[0], x[1], 3)),
    CALL("jax.numpy.fill_diagonal", fill_diagonal(x[0], x[1])),
    CALL("jax.numpy.flip", flip(x[0])),
    CALL("jax.numpy.fliplr", fliplr(x[0])),
    CALL("jax.numpy.flipud", flipud(x[0])),
    CALL("jax.numpy.hsplit", hsplit(x[0], 2)),
    CALL("jax.numpy.hstack", hstack({x[0], x[1]})),
    CALL("jax.numpy.insert", insert(x[0], 2, x[1])),
    CALL("jax.numpy.kron", kron(x[0], x[1])),
    CALL("jax.numpy.lexsort", lexsort({x[0], x[1]})),
    CALL("jax.numpy.matrix_transpose", matrix_transpose(x[0])),
    CALL("jax.numpy.meshgrid", meshgrid({x[0], x[1]})),
    CALL("jax.numpy.moveaxis", moveaxis(x[0], 0, 2)),
    CALL("jax.numpy.pad", pad(x[0], 1)),
    CALL("jax.numpy.pad/reflect", pad(x[0], 1, {.mode = PadMode::kReflect})),
    CALL("jax.numpy.pad/edge", pad(x[0], 2, {.mode = PadMode::kEdge})),
    CALL("jax.numpy.pad/wrap", pad(x[0], 2, {.mode = PadMode::kWrap})),
    CALL("jax.numpy.permute_dims", permute_dims(x[0], {2, 0, 1})),
    CALL("jax.numpy.place", place(x[0], x[1], x[2])),
    CALL("jax.numpy.put", put(x[0], x[1], x[2])),
    CALL("jax.numpy.put_along_axis", put_along_axis(x[0], x[1], x[2], 1)),
    CALL("jax.numpy.ravel", ravel(x[0])),
    CALL("jax.numpy.repeat", repeat(x[0], 2, 1)),
    CALL("jax.numpy.reshape", reshape(x[0], {4, 3})),
    CALL("jax.numpy.resize", resize(x[0], {2, 5})),
    CALL("jax.numpy.roll", roll(x[0], 2)),
    CALL("jax.numpy.rollaxis", rollaxis(x[0], 2)),
    CALL("jax.numpy.rot90", rot90(x[0])),
    CALL("jax.numpy.sort", sort(x[0])),
    CALL("jax.numpy.sort_complex", sort_complex(x[0])),
    CALL("jax.numpy.partition", partition(x[0], 2)),
    CALL("jax.numpy.split", split(x[0], 2, 1)),
    CALL("jax.numpy.squeeze", squeeze(x[0])),
    CALL("jax.numpy.stack", stack({x[0], x[1]}, 1)),
    CALL("jax.numpy.swapaxes", swapaxes(x[0], 0, 2)),
    CALL("jax.numpy.take", take(x[0], x[1], {.axis = 1})),
    CALL("jax.numpy.take_along_axis", take_along_axis(x[0], x[1], 1)),
    CALL("jax.numpy.tile", tile(x[0], {2, 1})),
    CALL("jax.numpy.top_k", top_k(x[0], 2)),
    CALL("jax.numpy.transpose", transpose(x[0])),
    CALL("jax.numpy.tril", tril(x[0])),
    CALL("jax.numpy.triu", triu(x[0])),
    CALL("jax.numpy.trim_zeros", trim_zeros(x[0])),
    CALL("jax.numpy.unstack", unstack(x[0])),
    CALL("jax.numpy.vsplit", vsplit(x[0], 3)),
    CALL("jax.numpy.vstack", vstack({x[0], x[1]})),
    CALL("jax.numpy.argsort", argsort(x[0])),
    CALL("jax.numpy.argmax", argmax(x[0])),
    CALL("jax.numpy.argmin", argmin(x[0])),
    CALL("jax.numpy.nanargmax", nanargmax(x[0])),
    CALL("jax.numpy.nanargmin", nanargmin(x[0])),
    CALL("jax.numpy.argpartition", argpartition(x[0], 0)),
    CALL("jax.numpy.argwhere", argwhere(x[0], 4)),
    CALL("jax.numpy.flatnonzero", flatnonzero(x[0], 4)),
    CALL("jax.numpy.nonzero", nonzero(x[0], 4)),
    CALL("jax.numpy.isin", isin(x[0], x[1])),
    CALL("jax.numpy.searchsorted", searchsorted(x[0], x[1])),
    CALL("jax.numpy.digitize", digitize(x[0], x[1])),
    CALL("jax.numpy.bincount", bincount(x[0], 4, x[1])),
    CALL("jax.numpy.ravel_multi_index", ravel_multi_index({x[0], x[1]}, {5, 6}, RavelMode::kClip)),
    CALL("jax.numpy.unravel_index", unravel_index(x[0], {3, 4})),
    CALL("jax.numpy.ix_", ix_({x[0], x[1]})),
    CALL("jax.numpy.packbits", packbits(x[0])),
    CALL("jax.numpy.unpackbits", unpackbits(x[0])),
    CALL("jax.numpy.unique", unique(x[0], 4)),
    CALL("jax.numpy.unique_values", unique_values(x[0], 4)),
    CALL("jax.numpy.unique_counts", unique_counts(x[0], 4)),
    CALL("jax.numpy.unique_inverse", unique_inverse(x[0], 4)),
    CALL("jax.numpy.unique_all", unique_all(x[0], 4)),
    CALL("jax.numpy.union1d", union1d(x[0], x[1], 7)),
    CALL("jax.numpy.intersect1d", intersect1d(x[0], x[1], 2)),
    CALL("jax.numpy.setdiff1d", setdiff1d(x[0], x[1], 2)),
    CALL("jax.numpy.setxor1d", setxor1d(x[0], x[1], 4)),
    CALL("jax.numpy.arange", arange(1.0, 3.0, 0.25)),
    CALL("jax.numpy.full", full({2, 3}, x[0])),
    CALL("jax.numpy.full_like", full_like(x[0], x[1])),
    CALL("jax.numpy.linspace", linspace(x[0], x[1], 5)),
    CALL("jax.numpy.logspace", logspace(x[0], x[1], 5)),
    CALL("jax.numpy.geomspace", geomspace(x[0], x[1], 5)),
    CALL("jax.numpy.zeros", zeros({2, 3})),
    CALL("jax.numpy.ones", ones({2, 3})),
    CALL("jax.numpy.empty", empty({2, 0})),
    CALL("jax.numpy.zeros_like", zeros_like(x[0])),
    CALL("jax.numpy.ones_like", ones_like(x[0])),
    CALL("jax.numpy.empty_like", empty_like(index(x[0], {Slice(0, 0)}))),
    CALL("jax.numpy.eye", eye(3, 4, 1)),
    CALL("jax.numpy.identity", identity(3)),
    CALL("jax.numpy.tri", tri(3, 4, 0, float64)),
    CALL("jax.numpy.indices", indices({2, 3})),
    CALL("jax.numpy.fromfunction",
         fromfunction([](const Array& i, const Array& j) { return i + 2 * j; }, {2, 3})),
    CALL("jax.numpy.diag_indices", diag_indices(3)),
    CALL("jax.numpy.diag_indices_from", diag_indices_from(x[0])),
    CALL("jax.numpy.tril_indices", tril_indices(3)),
    CALL("jax.numpy.triu_indices", triu_indices(3)),
    CALL("jax.numpy.tril_indices_from", tril_indices_from(x[0])),
    CALL("jax.numpy.triu_indices_from", triu_indices_from(x[0])),
    CALL("jax.numpy.mask_indices", mask_indices(3, triu, 6)),
    CALL("jax.numpy.bartlett", bartlett(7)),
    CALL("jax.numpy.blackman", blackman(7)),
    CALL("jax.numpy.hamming", hamming(7)),
    CALL("jax.numpy.hanning", hanning(7)),
};

TEST(Derivatives, Arrays) { check_section("arrays", kRows); }

}  // namespace
}  // namespace tessera::derivatives_arrays_test
