// Jax.nn, jax.ops and jax.image: values and derivatives as in JAX.
#include "tessera/numpy/nn.h"

#include "derivatives.h"
#include "tessera/numpy/activations.h"
#include "tessera/numpy/attention.h"
#include "tessera/numpy/image.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/segment.h"

namespace tessera::derivatives_nn_test {
namespace {

using namespace derivatives_test;

const std::vector<Row> kRows = {
    CALL("jax.nn.celu", celu(x[0])),
    CALL("jax.nn.elu", elu(x[0])),
    CALL("jax.nn.gelu", gelu(x[0])),
    CALL("jax.nn.glu", glu(x[0])),
    CALL("jax.nn.hard_sigmoid", hard_sigmoid(x[0])),
    CALL("jax.nn.hard_silu", hard_silu(x[0])),
    CALL("jax.nn.hard_swish", hard_swish(x[0])),
    CALL("jax.nn.hard_tanh", hard_tanh(x[0])),
    CALL("jax.nn.leaky_relu", leaky_relu(x[0])),
    CALL("jax.nn.log_sigmoid", log_sigmoid(x[0])),
    CALL("jax.nn.log_softmax", log_softmax(x[0])),
    CALL("jax.nn.mish", mish(x[0])),
    CALL("jax.nn.relu", relu(x[0])),
    CALL("jax.nn.relu6", relu6(x[0])),
    CALL("jax.nn.selu", selu(x[0])),
    CALL("jax.nn.sigmoid", sigmoid(x[0])),
    CALL("jax.nn.silu", silu(x[0])),
    CALL("jax.nn.swish", swish(x[0])),
    CALL("jax.nn.soft_sign", soft_sign(x[0])),
    CALL("jax.nn.softmax", softmax(x[0])),
    CALL("jax.nn.softplus", softplus(x[0])),
    CALL("jax.nn.sparse_plus", sparse_plus(x[0])),
    CALL("jax.nn.sparse_sigmoid", sparse_sigmoid(x[0])),
    CALL("jax.nn.squareplus", squareplus(x[0])),
    CALL("jax.nn.tanh", tanh(x[0])),
    CALL("jax.nn.logsumexp", logsumexp(x[0])),
    CALL("jax.nn.logmeanexp", logmeanexp(x[0])),
    CALL("jax.nn.standardize", standardize(x[0])),
    CALL("jax.nn.celu/edges", celu(x[0])),
    CALL("jax.nn.elu/edges", elu(x[0])),
    CALL("jax.nn.gelu/edges", gelu(x[0])),
    CALL("jax.nn.hard_silu/edges", hard_silu(x[0])),
    CALL("jax.nn.hard_tanh/edges", hard_tanh(x[0])),
    CALL("jax.nn.leaky_relu/edges", leaky_relu(x[0])),
    CALL("jax.nn.log_sigmoid/edges", log_sigmoid(x[0])),
    CALL("jax.nn.mish/edges", mish(x[0])),
    CALL("jax.nn.selu/edges", selu(x[0])),
    CALL("jax.nn.sigmoid/edges", sigmoid(x[0])),
    CALL("jax.nn.silu/edges", silu(x[0])),
    CALL("jax.nn.soft_sign/edges", soft_sign(x[0])),
    CALL("jax.nn.softplus/edges", softplus(x[0])),
    CALL("jax.nn.sparse_plus/edges", sparse_plus(x[0])),
    CALL("jax.nn.sparse_sigmoid/edges", sparse_sigmoid(x[0])),
    CALL("jax.nn.squareplus/edges", squareplus(x[0])),
    CALL("jax.nn.hard_sigmoid/edges", hard_sigmoid(x[0])),
    CALL("jax.nn.relu/edges", relu(x[0])),
    CALL("jax.nn.relu6/edges", relu6(x[0])),
    CALL("jax.nn.relu/far", relu(x[0])),
    CALL("jax.nn.relu6/far", relu6(x[0])),
    CALL("jax.nn.hard_sigmoid/far", hard_sigmoid(x[0])),
    CALL("jax.nn.hard_silu/far", hard_silu(x[0])),
    CALL("jax.nn.hard_swish/far", hard_swish(x[0])),
    CALL("jax.nn.elu/far", elu(x[0])),
    CALL("jax.nn.selu/far", selu(x[0])),
    CALL("jax.nn.sparse_plus/far", sparse_plus(x[0])),
    CALL("jax.nn.log1mexp", log1mexp(x[0])),
    CALL("jax.nn.one_hot", one_hot(x[0], 3)),
    CALL("jax.nn.dot_product_attention", dot_product_attention(x[0], x[1], x[2])),
    CALL("jax.nn.dot_product_attention/causal",
         dot_product_attention(x[0], x[1], x[2], {.is_causal = true})),
    CALL("jax.nn.gelu/exact", gelu(x[0], false)),
    CALL("jax.nn.logsumexp/weights", logsumexp(x[0], {.b = x[1]})),
    CALL("jax.nn.logsumexp/infinite", logsumexp(x[0])),
    CALL("jax.nn.softmax/where", softmax(x[0], -1, x[0] < 1.5)),
    CALL("jax.nn.squareplus/b", squareplus(x[0], x[1])),
    CALL("jax.ops.segment_sum", segment_sum(x[0], x[1], 4)),
    CALL("jax.ops.segment_prod", segment_prod(x[0], x[1], 7, {.unique_indices = true})),
    CALL("jax.ops.segment_max", segment_max(x[0], x[1], 4)),
    CALL("jax.ops.segment_min", segment_min(x[0], x[1], 4)),
    CALL("jax.image.resize", image::resize(x[0], {5, 3}, image::ResizeMethod::kCubic)),
    CALL("jax.image.resize/lanczos", image::resize(x[0], {5, 3}, image::ResizeMethod::kLanczos3)),
    CALL(
        "jax.image.scale_and_translate",
        image::scale_and_translate(x[0], {5, 3}, {0, 1}, x[1], x[2], image::ResizeMethod::kLinear)),
};

TEST(Derivatives, Nn) { check_section("nn", kRows); }

}  // namespace
}  // namespace tessera::derivatives_nn_test

const std::vector<tessera::derivatives_test::Row>& tessera::derivatives_test::nn_rows() {
  return derivatives_nn_test::kRows;
}
