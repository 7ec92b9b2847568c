// Compares ops on shapes with JAX (tests/golden/make_ops.py).
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/select.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/concatenate.h"
#include "tessera/ops/structural/pad.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/ops/structural/slice.h"
#include "tests/golden/golden.h"
#include "tests/ops/host_executor.h"

namespace tessera::testing_ops::shape_ops_golden_test {

using namespace ops;

namespace {

// Returns the program's result by the lax function of its op; undefined for ops of other files.
Array run(const std::string& op, const golden::Json& a, const std::vector<Array>& x) {
  if (op == "pad")
    return lax::pad(x[0], x[1], golden::dims(a["edge_padding_low"]),
                    golden::dims(a["edge_padding_high"]), golden::dims(a["interior_padding"]));
  if (op == "slice")
    return lax::slice(x[0], golden::dims(a["start_indices"]), golden::dims(a["limit_indices"]),
                      golden::dims(a["strides"]));
  if (op == "reverse") return lax::rev(x[0], golden::dims(a["dimensions"]));
  if (op == "transpose") return lax::transpose(x[0], golden::dims(a["permutation"]));
  if (op == "concatenate") return lax::concatenate(x, a["dimension"]);
  if (op == "broadcast_in_dim")
    return lax::broadcast_in_dim(x[0], golden::dims(a["shape"]),
                                 golden::dims(a["broadcast_dimensions"]));
  if (op == "reshape") return lax::reshape(x[0], golden::dims(a["shape"]));
  if (op == "iota")
    return lax::iota(dtype_from_name(a["dtype"].get<std::string>()), golden::dims(a["shape"]),
                     a["iota_dimension"]);
  if (op == "select" && x.size() == 3) return lax::select(x[0], x[1], x[2]);
  if (op == "dynamic_slice") {
    // Programs with one start use it for every dimension.
    const std::vector<Array> starts = {x[1], x.back()};
    return lax::dynamic_slice(x[0], starts, golden::dims(a["slice_sizes"]));
  }
  if (op == "dynamic_update_slice")
    return lax::dynamic_update_slice(x[0], x[1], std::span<const Array>(x).subspan(2));
  return {};
}

class ShapeOpsGolden : public HostTest {};

TEST_F(ShapeOpsGolden, AgreesWithJax) {
  const golden::Topic topic("ops");
  int tested = 0;
  for (const auto& program : topic["programs"]) {
    SCOPED_TRACE(program["name"].get<std::string>());
    std::vector<Array> inputs;
    for (const Literal& x : topic.arrays(program["inputs"])) inputs.push_back(Array(x));
    const Array result = run(program["op"], program["attributes"], inputs);
    if (!result.defined()) continue;
    EXPECT_EQ(result.to_host(), topic.array(program["outputs"][0]));
    ++tested;
  }
  EXPECT_GE(tested, 55);
}

}  // namespace
}  // namespace tessera::testing_ops::shape_ops_golden_test
