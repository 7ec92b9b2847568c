// Collectives of jax.lax over the axis of a vmap: values and derivatives as in JAX.
#include "tessera/ops/collectives/collectives.h"

#include "derivatives.h"

namespace tessera::derivatives_collectives_test {
namespace {

using namespace derivatives_test;

const std::vector<Row> kRows = {
    CALL("jax.lax.psum",
         vmap([](const Array& v) { return lax::psum(v, "i"); }, {.axis_name = "i"})(x[0])),
    CALL("jax.lax.pmean",
         vmap([](const Array& v) { return lax::pmean(v, "i"); }, {.axis_name = "i"})(x[0])),
    CALL("jax.lax.pmax",
         vmap([](const Array& v) { return lax::pmax(v, "i"); }, {.axis_name = "i"})(x[0])),
    CALL("jax.lax.pmin",
         vmap([](const Array& v) { return lax::pmin(v, "i"); }, {.axis_name = "i"})(x[0])),
    CALL("jax.lax.all_gather",
         vmap([](const Array& v) { return lax::all_gather(v, "i"); }, {.axis_name = "i"})(x[0])),
    CALL("jax.lax.all_to_all", vmap([](const Array& v) { return lax::all_to_all(v, "i", 0, 0); },
                                    {.axis_name = "i"})(x[0])),
    CALL("jax.lax.psum_scatter",
         vmap([](const Array& v) { return lax::psum_scatter(v, "i"); }, {.axis_name = "i"})(x[0])),
    CALL("jax.lax.ppermute", vmap(
                                 [](const Array& v) {
                                   return lax::ppermute(v, "i", {{0, 1}, {1, 2}, {2, 0}});
                                 },
                                 {.axis_name = "i"})(x[0])),
    CALL("jax.lax.pshuffle", vmap(
                                 [](const Array& v) {
                                   return lax::pshuffle(v, "i", {1, 2, 0});
                                 },
                                 {.axis_name = "i"})(x[0])),
    CALL("jax.lax.pswapaxes",
         vmap([](const Array& v) { return lax::pswapaxes(v, "i", 0); }, {.axis_name = "i"})(x[0])),
    CALL("jax.lax.axis_index",
         vmap([](const Array& v) { return v * lax::axis_index("i"); }, {.axis_name = "i"})(x[0])),
    CALL("jax.lax.axis_size",
         vmap([](const Array& v) { return v * lax::axis_size("i"); }, {.axis_name = "i"})(x[0])),
};

TEST(Derivatives, Collectives) { check_section("collectives", kRows); }

}  // namespace
}  // namespace tessera::derivatives_collectives_test
