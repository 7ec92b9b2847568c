// Samples of the collectives, on a mesh of ('x': 2, 'y': 4): over one axis, over both, in groups,
// and of arrays without dimensions or elements.
#include "tessera/ops/collectives/collectives_rules.h"

namespace tessera::ops {
namespace {

const Mesh& mesh() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({2, 4}, {"x", "y"}));
  return mesh;
}
// Returns two groups, each of two ranks of y.
const std::vector<Dims>& pairs_of_y() {
  static const auto& groups = *new std::vector<Dims>{{0, 2}, {3, 1}};
  return groups;
}
std::vector<Type> varying(DType dtype, const Shape& shape) {
  return {{.dtype = dtype, .shape = shape, .varying = {"x", "y"}}};
}

}  // namespace

std::vector<Sample> all_reduce_samples() {
  return {
      {.operands = varying(float32, {4, 3}), .params = AllReduceParams{mesh(), {"x"}}},
      {.operands = varying(float64, {}), .params = AllReduceParams{mesh(), {"y", "x"}}},
      {.operands = varying(float32, {4}), .params = AllReduceParams{mesh(), {"y"}, pairs_of_y()}},
      {.operands = varying(float32, {4}),
       .params = AllReduceParams{mesh(), {"y"}, {{0, 2, 3}, {1}}}},
      {.operands = varying(float32, {2}), .params = AllReduceParams{mesh(), {"y:(2)2"}}},
      {.operands = varying(complex64, {2, 3}),
       .params = AllReduceParams{mesh(), {"y"}, {}, ReduceKind::kProduct}},
      {.operands = varying(int32, {5}),
       .params = AllReduceParams{mesh(), {"y"}, {}, ReduceKind::kMin}},
      {.operands = varying(bfloat16, {5}),
       .params = AllReduceParams{mesh(), {"y"}, {}, ReduceKind::kMax}},
      {.operands = varying(bool_, {3}),
       .params = AllReduceParams{mesh(), {"x"}, {}, ReduceKind::kAnd}},
      {.operands = varying(uint8, {3}),
       .params = AllReduceParams{mesh(), {"x"}, {}, ReduceKind::kOr}},
      {.operands = varying(float32, {0, 3}), .params = AllReduceParams{mesh(), {"x"}}},
  };
}

std::vector<Sample> all_gather_samples() {
  return {
      {.operands = varying(float32, {2, 3}), .params = AllGatherParams{mesh(), {"y"}, {}, 1}},
      {.operands = varying(int8, {2, 3}), .params = AllGatherParams{mesh(), {"y", "x"}, {}, 0}},
      {.operands = varying(float32, {2, 3}),
       .params = AllGatherParams{mesh(), {"y"}, pairs_of_y(), 0}},
      {.operands = varying(float32, {2}), .params = AllGatherParams{mesh(), {"x"}, {}, 0, true}},
      {.operands = varying(float32, {0, 3}), .params = AllGatherParams{mesh(), {"y"}, {}, 0}},
  };
}

std::vector<Sample> reduce_scatter_samples() {
  return {
      {.operands = varying(float32, {2, 8}),
       .params = ReduceScatterParams{mesh(), {"y"}, {}, ReduceKind::kSum, 1}},
      {.operands = varying(float64, {8}),
       .params = ReduceScatterParams{mesh(), {"y", "x"}, {}, ReduceKind::kSum, 0}},
      {.operands = varying(float32, {2, 3}),
       .params = ReduceScatterParams{mesh(), {"y"}, pairs_of_y(), ReduceKind::kSum, 0}},
      {.operands = varying(int32, {4}),
       .params = ReduceScatterParams{mesh(), {"x"}, {}, ReduceKind::kMax, 0}},
      {.operands = varying(float32, {4, 0}),
       .params = ReduceScatterParams{mesh(), {"x"}, {}, ReduceKind::kSum, 0}},
  };
}

std::vector<Sample> all_to_all_samples() {
  return {
      {.operands = varying(float32, {2, 8}), .params = AllToAllParams{mesh(), {"y"}, {}, 1, 0}},
      {.operands = varying(int16, {2, 8}), .params = AllToAllParams{mesh(), {"x"}, {}, 1, 1}},
      {.operands = varying(float32, {2, 3}),
       .params = AllToAllParams{mesh(), {"y"}, pairs_of_y(), 0, 1}},
      {.operands = varying(float32, {8, 1, 2}),
       .params = AllToAllParams{mesh(), {"x", "y"}, {}, 0, 2}},
      {.operands = varying(float32, {0, 4}), .params = AllToAllParams{mesh(), {"y"}, {}, 1, 0}},
  };
}

std::vector<Sample> permute_samples() {
  return {
      {.operands = varying(float32, {3, 2}),
       .params = CollectivePermuteParams{mesh(), {"y"}, {{0, 1}, {1, 2}, {2, 3}, {3, 0}}}},
      {.operands = varying(complex64, {3}),
       .params = CollectivePermuteParams{mesh(), {"x", "y"}, {{0, 7}, {3, 1}}}},
      {.operands = varying(bool_, {}), .params = CollectivePermuteParams{mesh(), {"x"}, {{1, 0}}}},
      {.operands = varying(float32, {0}), .params = CollectivePermuteParams{mesh(), {"x"}, {}}},
  };
}

std::vector<Sample> to_unreduced_samples() {
  return {{.operands = varying(float32, {3, 2}), .params = to_unreduced(mesh(), {"y"})},
          {.operands = varying(int32, {}), .params = to_unreduced(mesh(), {"x", "y"})}};
}

std::vector<Sample> broadcast_samples() {
  return {
      {.operands = varying(float32, {3, 2}),
       .params = CollectiveBroadcastParams{mesh(), {"y"}, {}, 2}},
      {.operands = varying(int32, {3}),
       .params = CollectiveBroadcastParams{mesh(), {"y"}, pairs_of_y(), 1}},
      {.operands = varying(float32, {3}),
       .params = CollectiveBroadcastParams{mesh(), {"y"}, {{2, 1, 3}, {0}}, 0}},
      {.operands = varying(float32, {}),
       .params = CollectiveBroadcastParams{mesh(), {"x", "y"}, {}, 0}},
      {.operands = varying(float32, {0, 2}),
       .params = CollectiveBroadcastParams{mesh(), {"x"}, {}, 0}},
  };
}

// Each rank sends 2, 0, 2 and 1 of its rows to ranks 0, 1, 2 and 3: those from rows 0, 2, 2 and 4
// on. Rank j receives them from row 2 j on.
std::vector<Sample> ragged_samples() {
  std::vector<Type> operands = varying(float32, {6, 2});
  operands.push_back(varying(float32, {8, 2})[0]);
  for (int k = 0; k < 4; ++k) operands.push_back(varying(int32, {4})[0]);
  const auto sizes = [](std::vector<int32_t> values) {
    return Literal::from<int32_t>(values, {4});
  };
  std::vector<float> rows(12);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i) / 4;
  return {{.operands = operands,
           .params = RaggedAllToAllParams{mesh(), {"y"}},
           .literals = {Literal::from<float>(rows, {6, 2}), Literal(float32, {8, 2}),
                        sizes({0, 2, 2, 4}), sizes({2, 0, 2, 1}), sizes({0, 2, 4, 6}),
                        sizes({2, 2, 2, 2})}}};
}

std::vector<Sample> axis_index_samples() {
  return {{.params = AxisIndexParams{mesh(), {"x"}}},
          {.params = AxisIndexParams{mesh(), {"y", "x"}}}};
}

std::vector<Sample> pcast_samples() {
  return {{.operands = {{float32, {3, 2}}}, .params = PcastParams{mesh(), {"x"}}},
          {.operands = {{int32, {}}}, .params = PcastParams{mesh(), {"x", "y"}}},
          {.operands = {{.dtype = float32, .shape = {0, 2}, .varying = {"y"}}},
           .params = PcastParams{mesh(), {"x"}}}};
}

}  // namespace tessera::ops
