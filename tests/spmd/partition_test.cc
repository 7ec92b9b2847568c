// Partition: which collectives programs get, for which reason, and the notes about them.
#include "tessera/spmd/partition.h"

#include <gmock/gmock.h>

#include "tessera/control/control.h"
#include "tessera/control/shard_map_trace.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/array_math.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tests/spmd/programs.h"

namespace tessera::partition_test {

using namespace spmd;

namespace {

using namespace array_math;
using testing::ElementsAre;
using testing::HasSubstr;
using Arrays = std::vector<Array>;

const Mesh& mesh8() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({8}, {"x"}));
  return mesh;
}
const Mesh& mesh24() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({2, 4}, {"x", "y"}));
  return mesh;
}
Arrays dot(const Arrays& x) { return {lax::dot(x[0], x[1])}; }
std::string reason(const Partitioned& p, size_t i = 0) { return p.collectives.at(i).reason; }
Array like_row(const Array& v, const Array& x) { return lax::broadcast_in_dim(v, x.shape(), {0}); }
Array softmax_rows(const Array& x) {
  const Array e = lax::exp(x - like_row(lax::reduce_max(x, {1}), x));
  return e / like_row(lax::reduce_sum(e, {1}), x);
}

// --- Communication ---

TEST(Partition, ElementwiseProgramsCommunicateNothing) {
  const Partitioned p =
      partition_and_check(mesh24(), {{{16, 8}, P("x", "y")}},
                          [](const Arrays& x) { return Arrays{lax::sin(x[0]) * 2 + 1}; });
  EXPECT_EQ(communication(p), "");
  EXPECT_EQ(p.outputs[0].spec(), P("x", "y"));
  EXPECT_EQ(p.function.output_types()[0].varying, (AxisNames{"x", "y"}));
}

TEST(Partition, ASumOverACutDimensionIsAllReduced) {
  const Partitioned p =
      partition_and_check(mesh24(), {{{16, 8}, P("x", "y")}},
                          [](const Arrays& x) { return Arrays{lax::reduce_sum(x[0], {0})}; });
  EXPECT_EQ(communication(p), "all_reduce x");
  EXPECT_EQ(p.collectives[0].group_size, 2);
  EXPECT_EQ(p.collectives[0].bytes_per_device, 2 * 4 / 2 * 2);  // 2 (n-1)/n of two float32
  EXPECT_EQ(reason(p), "reduce sums over dimension 0 of operand 0, sharded over 'x'");
}

TEST(Partition, AllReduceThenSliceIsReduceScatter) {
  const auto sum = [](const Arrays& x) { return Arrays{lax::reduce_sum(x[0], {0})}; };
  EXPECT_EQ(communication(partition_and_check(mesh8(), {{{16, 8}, P("x")}}, sum, {P("x")})),
            "reduce_scatter x");
  EXPECT_EQ(communication(
                partition_and_check(mesh24(), {{{16, 8}, P("x", "y")}}, sum, {P(joint("y", "x"))})),
            "reduce_scatter x");
  EXPECT_EQ(
      communication(partition_and_check(mesh24(), {{{16, 8}, P(joint("x", "y"))}}, sum, {P("x")})),
      "reduce_scatter x; all_reduce y");
  // The axis does not divide 10, so the sum is complete before it is sharded.
  EXPECT_EQ(communication(partition_and_check(mesh8(), {{{16, 10}, P("x")}}, sum, {P("x")})),
            "all_reduce x");
  EXPECT_EQ(communication(partition_and_check(
                mesh8(), {{{16, 64}, P(None, "x")}, {{64, 8}, P("x")}}, dot, {P("x")})),
            "reduce_scatter x");
}

TEST(Partition, DotOverACutContractionIsAllReduced) {
  const Partitioned p =
      partition_and_check(mesh8(), {{{16, 64}, P(None, "x")}, {{64, 8}, P("x")}}, dot);
  EXPECT_EQ(communication(p), "all_reduce x");
  EXPECT_EQ(reason(p), "dot_general sums over dimension 1 of operand 0, sharded over 'x'");
}

// Then every device does all of the work, which is only good if far fewer bytes are sent.
TEST(Partition, ASmallOperandIsGatheredBeforeALargeSum) {
  const auto product = [](int64_t rows, int64_t terms, int64_t columns) {
    return communication(partition_and_check(
        mesh8(), {{{rows, terms}, P(None, "x")}, {{terms, columns}, P()}}, dot, {P()}));
  };
  EXPECT_EQ(product(256, 64, 128), "all_gather x");   // a quarter of the sum's bytes
  EXPECT_EQ(product(256, 208, 128), "all_reduce x");  // four fifths
  EXPECT_EQ(product(256, 512, 128), "all_reduce x");
}

TEST(Partition, TensorParallelMlpCommunicatesOnce) {
  const auto mlp = [](const Arrays& x) {
    return Arrays{lax::dot(lax::tanh(lax::dot(x[0], x[1])), x[2])};
  };
  const std::vector<Input> inputs{
      {{32, 64}, P("x")}, {{64, 128}, P(None, "y")}, {{128, 64}, P("y")}};
  const Partitioned p = partition_and_check(mesh24(), inputs, mlp, {}, 1e-4);
  EXPECT_EQ(communication(p), "all_reduce y");
  EXPECT_EQ(p.outputs[0].spec(), P("x"));
}

// The weights are sharded over the same axis as the batch. They are smaller than the activations,
// so they are gathered.
TEST(Partition, FullyShardedWeightsAreGathered) {
  const Partitioned p =
      partition_and_check(mesh8(), {{{1024, 64}, P("x")}, {{64, 64}, P("x")}}, dot, {}, 1e-4);
  EXPECT_EQ(communication(p), "all_gather x");
  EXPECT_EQ(p.outputs[0].spec(), P("x"));
  EXPECT_THAT(reason(p), HasSubstr("operand 1 of dot_general: ('x', None) to (None, None)"));
}

TEST(Partition, ConstraintToAnotherAxisIsAPermutationOrAnAllToAll) {
  const auto constrained = [](const Mesh& mesh, const PartitionSpec& spec) {
    return [=](const Arrays& x) {
      return Arrays{lax::sharding_constraint(x[0] + 1, NamedSharding(mesh, spec))};
    };
  };
  const Mesh square = Mesh::abstract({4, 4}, {"x", "y"});
  EXPECT_EQ(
      communication(partition_and_check(square, {{{64, 64}, P("x")}}, constrained(square, P("y")))),
      "collective_permute x y");
  EXPECT_EQ(communication(partition_and_check(mesh8(), {{{64, 64}, P("x")}},
                                              constrained(mesh8(), P(None, "x")))),
            "all_to_all x");
  EXPECT_EQ(
      communication(partition_and_check(mesh8(), {{{64, 64}, P()}}, constrained(mesh8(), P("x")))),
      "");
}

TEST(Partition, OneReshardingServesAllUsers) {
  const Partitioned p = partition_and_check(
      mesh8(), {{{64, 32}, P("x")}, {{32, 32}, P("x")}, {{64, 32}, P("x")}},
      [](const Arrays& x) {
        return Arrays{lax::dot(x[0], x[1]), lax::dot(x[2], x[1])};
      },
      {}, 1e-4);
  EXPECT_EQ(communication(p), "all_gather x");
}

// A backward pass transposes the weights that the forward pass has gathered.
TEST(Partition, WhatWasMovedIsTurnedRatherThanMovedAgain) {
  const Partitioned p = partition_and_check(
      mesh8(), {{{1024, 16}, P("x")}, {{16, 16}, P("x")}, {{1024, 16}, P("x")}},
      [](const Arrays& x) {
        const Array turned = lax::rev(lax::transpose(-x[1], {1, 0}), {0});
        return Arrays{lax::dot(x[0], x[1]), lax::dot(x[2], turned)};
      },
      {}, 1e-4);
  EXPECT_EQ(communication(p), "all_gather x");
}

// --- Uneven shards ---

TEST(Partition, UnevenShardsAreMaskedWhereTheyAreFolded) {
  for (const int64_t n : {10, 9, 7, 3, 1}) {
    SCOPED_TRACE(n);
    for (const Mesh& mesh : {mesh8(), mesh24()}) {
      const PartitionSpec rows = mesh.rank() == 1 ? P("x") : P(joint("x", "y")),
                          columns = mesh.rank() == 1 ? P(None, "x") : P("x", "y");
      for (const PartitionSpec& spec : {rows, columns}) {
        partition_and_check(mesh, {{{n, n}, spec}}, [](const Arrays& x) {
          return Arrays{lax::sin(x[0]),
                        lax::reduce_sum(x[0], {0}),
                        lax::reduce_sum(x[0], {1}),
                        lax::reduce_sum(x[0], {0, 1}),
                        lax::reduce_max(x[0], {0}),
                        lax::reduce_min(x[0], {1}),
                        lax::argmax(x[0], 0, int32),
                        lax::argmin(x[0], 1, int32),
                        softmax_rows(x[0]),
                        lax::transpose(x[0], {1, 0}),
                        lax::dot(x[0], x[0])};
        });
      }
    }
  }
}

TEST(Partition, PaddingIsNoted) {
  const Partitioned p = partition_and_check(mesh8(), {{{10, 4}, P("x")}},
                                            [](const Arrays& x) { return Arrays{lax::sin(x[0])}; });
  ASSERT_FALSE(p.notes.empty());
  EXPECT_FALSE(p.notes[0].warning);
  EXPECT_EQ(
      p.notes[0].text,
      "dimension 0 of float32[10,4] is divided into 8 shards of 2: 6 of 16 rows of storage are "
      "padding");
  EXPECT_EQ(p.notes[0].remedy, "make it a multiple of 8");
}

// --- Warnings ---

TEST(Partition, AConstraintThatGathersEverythingIsAWarning) {
  const auto gathered = [](const Arrays& x) {
    return Arrays{lax::sharding_constraint(x[0] + 1, NamedSharding(mesh8(), P())) * 2};
  };
  const Partitioned p = partition_and_check(mesh8(), {{{64, 512}, P("x")}}, gathered);
  EXPECT_EQ(communication(p), "all_gather x");
  ASSERT_EQ(p.notes.size(), 1u);
  EXPECT_TRUE(p.notes[0].warning);
  EXPECT_EQ(p.notes[0].op, "sharding_constraint");
  EXPECT_THAT(p.notes[0].text,
              HasSubstr("gathers float32[64,512] whole on every device (114688 bytes each)"));
  EXPECT_THAT(p.notes[0].remedy, HasSubstr("('x', None)"));
  // A small gather is only noted.
  const Partitioned small = partition_and_check(mesh8(), {{{64, 32}, P("x")}}, gathered);
  ASSERT_EQ(small.notes.size(), 1u);
  EXPECT_FALSE(small.notes[0].warning);
  EXPECT_THAT(small.notes[0].text, HasSubstr("(7168 bytes each)"));
}

// Parameters that are sharded over the axis of the batch are gathered on purpose.
TEST(Partition, GatheringWhatIsRepeatedIsANote) {
  const Partitioned p =
      partition_and_check(mesh8(), {{{64, 32}, P("x")}, {{32}, P("x")}},
                          [](const Arrays& x) {
                            return Arrays{x[0] * lax::broadcast_in_dim(x[1], {64, 32}, {1})};
                          },
                          {P("x")});
  EXPECT_EQ(communication(p), "all_gather x");
  ASSERT_EQ(p.notes.size(), 1u);
  EXPECT_FALSE(p.notes[0].warning);
  EXPECT_THAT(p.notes[0].text, HasSubstr("gathers float32[32] whole on every device"));
}

// --- Manual computations ---

control::FlatShardMapOptions manual(const Mesh& mesh, std::vector<PartitionSpec> in,
                                    std::vector<PartitionSpec> out,
                                    std::vector<std::string> axes = {}) {
  return {.mesh = mesh,
          .in_specs = std::move(in),
          .out_specs = [=](std::span<const Array>) { return out; },
          .manual_axes = std::move(axes)};
}

TEST(Partition, ManualComputationsRunAsTheyAre) {
  const Partitioned p = partition_and_check(mesh8(), {{{16, 4}, P("x")}}, [](const Arrays& x) {
    return control::shard_map_flat(
        [](const Arrays& v) { return Arrays{lax::psum(lax::reduce_sum(v[0], {0}), "x")}; },
        manual(mesh8(), {P("x")}, {P()}), Arrays{x[0] * 2});
  });
  EXPECT_EQ(communication(p), "all_reduce x");
  EXPECT_EQ(reason(p), "called by the program");
}

TEST(Partition, ArgumentsAreReshardedToInSpecs) {
  const Partitioned p =
      partition_and_check(mesh24(), {{{16, 8}, P(None, "x")}}, [](const Arrays& x) {
        return control::shard_map_flat(
            [](const Arrays& v) {
              return Arrays{v[0] + like_row(lax::reduce_sum(v[0], {1}), v[0])};
            },
            manual(mesh24(), {P("x")}, {P("x")}), Arrays{x[0]});
      });
  EXPECT_EQ(communication(p), "all_to_all x");
  EXPECT_THAT(reason(p), HasSubstr("in_spec of shard_map"));
}

TEST(Partition, PartialManualStaysAutomaticInside) {
  // The computation is manual over x. Over y the dot inside is partitioned like any other.
  const Partitioned p = partition_and_check(
      mesh24(), {{{16, 32}, P("x", "y")}, {{32, 8}, P("y")}},
      [](const Arrays& x) {
        return control::shard_map_flat(
            [](const Arrays& v) { return Arrays{lax::psum(lax::dot(v[0], v[1]), "x")}; },
            manual(mesh24(), {P("x"), P()}, {P()}, {"x"}), Arrays{x[0], x[1]});
      },
      {}, 1e-4);
  EXPECT_EQ(communication(p), "all_reduce y; all_reduce x");
}

// The body shards blocks of 3 rows (or 1) by 4, so each block has padding; the whole array has
// padding at its end.
TEST(Partition, UnevenBlocksOfPartialManualComputations) {
  for (const int64_t rows : {2, 6, 10})
    for (const auto& spec : {P("x"), P("y"), P(joint("x", "y")), P()}) {
      SCOPED_TRACE(fmt::format("{} rows as {}", rows, spec));
      partition_and_check(mesh24(), {{{rows, 4}, spec}, {{3}, P("y")}}, [](const Arrays& x) {
        return control::shard_map_flat(
            [&](const Arrays& v) {
              const Array split_into_shards =
                  lax::sharding_constraint(v[0] * 2, NamedSharding(mesh24(), P("y")));
              return Arrays{split_into_shards + like_row(lax::reduce_sum(split_into_shards, {1}),
                                                         split_into_shards),
                            v[1] * 3};
            },
            manual(mesh24(), {P("x"), P()}, {P("x"), P("x")}, {"x"}), Arrays{x[0], x[1]});
      });
    }
}

TEST(Partition, NestedManualComputations) {
  const Mesh& mesh = mesh24();
  const Partitioned p = partition_and_check(mesh, {{{16, 8}, P("x", "y")}}, [&](const Arrays& x) {
    return control::shard_map_flat(
        [&](const Arrays& v) {
          const Arrays inner = control::shard_map_flat(
              [](const Arrays& w) {
                return Arrays{lax::psum(w[0], "y") + like_row(lax::reduce_sum(w[0], {1}), w[0])};
              },
              manual(mesh, {P(None, "y")}, {P(None, "y")}, {"y"}), Arrays{v[0] * 2});
          return Arrays{inner[0] + like_row(lax::reduce_sum(inner[0], {1}), inner[0])};
        },
        manual(mesh, {P("x")}, {P("x")}, {"x"}), Arrays{x[0]});
  });
  EXPECT_EQ(communication(p), "all_reduce y; all_reduce y");
}

TEST(Partition, CollectivesOverSeveralAxes) {
  partition_and_check(mesh24(), {{{16, 8}, P(joint("x", "y"))}}, [](const Arrays& x) {
    return control::shard_map_flat(
        [](const Arrays& v) {
          return Arrays{
              lax::psum(v[0], {"x", "y"}), lax::all_gather(v[0], {"y", "x"}, {.tiled = true}),
              lax::psum_scatter(v[0], "y", {.scatter_dimension = 1, .tiled = true}),
              lax::all_to_all(v[0], "y", 1, 0, {.tiled = true}),
              v[0] + lax::broadcast_in_dim(lax::convert_element_type(lax::axis_index("x"), float32),
                                           v[0].shape(), {})};
        },
        manual(mesh24(), {P(joint("x", "y"))},
               {P(), P(joint("x", "y")), P("x", "y"), P(joint("x", "y")), P(joint("x", "y"))}),
        Arrays{x[0]});
  });
}

// --- Meshes that name the same devices in another way ---

TEST(Partition, MeshesOfOneDeviceOrderMix) {
  const Mesh flat = mesh8(), grid = Mesh::abstract({2, 2, 2}, {"a", "b", "c"});
  std::vector<Type> types{{float32, {16, 8}}, {float32, {16, 8}}};
  const TracedFunction traced = trace_function(
      [&](const Arrays& x) {
        return Arrays{
            lax::sharding_constraint(x[0] + x[1], NamedSharding(grid, P(joint("a", "b"), "c")))};
      },
      types);
  ShardingRequest request{{NamedSharding(flat, P("x")), std::nullopt}, {std::nullopt}};
  const Mesh mesh = program_mesh(traced.function, request);
  EXPECT_EQ(mesh, grid);
  const Partitioned p = partition(propagated_program(traced.function, mesh, request), mesh);
  EXPECT_EQ(p.inputs[0], NamedSharding(grid, P(joint("a", "b", "c"))));
  EXPECT_EQ(communication(p), "all_to_all c");
}

// --- Equal values ---

TEST(Partition, EqualSumsAreCommunicatedOnce) {
  const Partitioned p = partition_and_check(mesh8(), {{{16, 4}, P("x")}}, [](const Arrays& x) {
    return Arrays{lax::reduce_sum(x[0], {0, 1}), lax::reduce_sum(x[0], {0, 1}) + 1};
  });
  EXPECT_EQ(communication(p), "all_reduce x");
}

TEST(Partition, EqualCollectivesOfAShardMapAreOne) {
  const Partitioned p = partition_and_check(mesh8(), {{{16, 4}, P("x")}}, [](const Arrays& x) {
    return control::shard_map_flat(
        [](const Arrays& v) {
          return Arrays{lax::psum(v[0], "x") * 2, lax::sin(lax::psum(v[0], "x"))};
        },
        {.mesh = mesh8(),
         .in_specs = {P("x")},
         .out_specs =
             [](std::span<const Array>) {
               return std::vector<PartitionSpec>{P(), P()};
             }},
        Arrays{x[0]});
  });
  EXPECT_EQ(communication(p), "all_reduce x");
}

// Weights that are gathered again for a backward pass are not kept from the forward pass.
TEST(Partition, CollectivesBehindABarrierAreDoneAgain) {
  const Partitioned p = partition_and_check(
      mesh8(), {{{64, 8}, P(None, "x")}, {{8, 8}, P("x")}}, [](const Arrays& x) {
        const Array w = lax::sharding_constraint(x[1], NamedSharding(mesh8(), P()));
        const Array again =
            lax::sharding_constraint(lax::optimization_barrier(x[1]), NamedSharding(mesh8(), P()));
        return Arrays{lax::sin(w), lax::cos(again)};
      });
  EXPECT_EQ(communication(p), "all_gather x; all_gather x");
}

// Both use the same constant array, but it does not make their shardings equal.
TEST(Partition, ConstantsBelongToTheirUsers) {
  const Partitioned p = partition_and_check(
      mesh8(), {{{64, 64}, P("x")}, {{64, 64}, P(None, "x")}, {{}, P()}}, [](const Arrays& x) {
        const auto mask = [&] {
          return lax::sin(lax::broadcast_in_dim(lax::iota(float32, {64}, 0), {64, 64}, {0}));
        };
        const Array rows = lax::broadcast_in_dim(x[2], {64, 64}, {});
        return Arrays{x[0] + mask(), x[1] + mask(), x[0] * rows, x[1] * rows};
      });
  EXPECT_EQ(communication(p), "");
}

// --- The costs of large programs and meshes ---

struct Size {
  size_t ops = 0, collectives = 0;
  friend bool operator==(const Size&, const Size&) = default;
};

// Partitions an MLP of `layers`: the batch is sharded over "data" and weights over "model",
// alternately by columns and by rows.
Size partitioned_mlp(int layers, const Shape& mesh_shape) {
  const Mesh mesh = Mesh::abstract(mesh_shape, {"data", "model"});
  std::vector<Type> types{{float32, {8192, 4096}}};
  ShardingRequest request{{NamedSharding(mesh, P("data"))}, {std::nullopt}};
  for (int i = 0; i < layers; ++i) {
    types.push_back({float32, {4096, 4096}});
    types.push_back({float32, {4096}});
    request.inputs.emplace_back(NamedSharding(mesh, i % 2 ? P("model", None) : P(None, "model")));
    request.inputs.emplace_back(std::nullopt);
  }
  const TracedFunction traced = trace_function(
      [&](const Arrays& x) {
        Array h = x[0];
        for (int i = 0; i < layers; ++i) {
          h = lax::dot(h, x[1 + 2 * i]);
          h = lax::tanh(h + lax::broadcast_in_dim(x[2 + 2 * i], h.shape(), {1}));
        }
        return Arrays{h};
      },
      types);
  const Partitioned p = partition(
      propagated_program(traced.function, program_mesh(traced.function, request), request), mesh);
  return {p.function.ops.size(), p.collectives.size()};
}

TEST(PartitionCost, DoesNotGrowWithTheDevices) {
  const Size small = partitioned_mlp(50, {2, 4});
  EXPECT_EQ(small.collectives, 25u);
  for (const Shape& mesh : {Shape{8, 8}, Shape{16, 32}, Shape{64, 64}})
    EXPECT_EQ(partitioned_mlp(50, mesh), small) << mesh.elements() << " devices";
}

TEST(PartitionCost, IsLinearInDepth) {
  const Size two = partitioned_mlp(2, {64, 64}), four = partitioned_mlp(4, {64, 64});
  for (const int layers : {40, 160}) {
    const size_t pairs = static_cast<size_t>(layers) / 2;
    const Size expected{two.ops + (pairs - 1) * (four.ops - two.ops), pairs};
    EXPECT_EQ(partitioned_mlp(layers, {64, 64}), expected) << layers << " layers";
  }
}

}  // namespace
}  // namespace tessera::partition_test
