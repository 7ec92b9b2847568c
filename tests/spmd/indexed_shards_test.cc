// Gather and scatter along indexed dimensions that are cut: each device reads, or updates, the rows
// that it has.
#include <gmock/gmock.h>

#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/indexing/scatter.h"
#include "tests/spmd/programs.h"

namespace tessera::indexed_shards_test {

using namespace spmd;

namespace {

using testing::HasSubstr;
using testing::Not;
using Arrays = std::vector<Array>;

const Mesh& mesh8() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({8}, {"x"}));
  return mesh;
}
const Mesh& mesh42() {
  static const Mesh& mesh = *new Mesh(Mesh::abstract({4, 2}, {"x", "y"}));
  return mesh;
}

// Returns index vectors; some may be outside or occur twice.
Array indices_of(const std::vector<int64_t>& values, int64_t width, DType dtype) {
  Literal literal(int64, {static_cast<int64_t>(values.size()) / width, width});
  std::copy(values.begin(), values.end(), literal.mutable_data<int64_t>());
  return Array(convert_literal(literal, dtype));
}

constexpr IndexMode kModes[] = {IndexMode::kFill, IndexMode::kClip, IndexMode::kPromiseInBounds};
const IndexDims& rows() {
  static const IndexDims& dims = *new IndexDims{{1}, {0}, {0}};
  return dims;
}

TEST(IndexedShards, RowsOfATable) {
  for (const DType dtype : {float32, bfloat16, complex64, int32, uint8, bool_})
    for (const DType of_index : {int8, uint8, int32, int64, uint64})
      for (const int64_t n : {64, 61, 8, 5})
        for (const IndexMode mode : kModes) {
          SCOPED_TRACE(fmt::format("{} of {} by {}", dtype, n, of_index));
          const Partitioned p =
              partition_and_check(mesh8(), {{{n, 4}, P("x"), dtype}}, [&](const Arrays& x) {
                const Array at = indices_of({0, n - 1, 3, 3, -1, n, 4, 60, 127, -128}, 1, of_index);
                return Arrays{lax::gather(x[0], at, rows(), {1, 4}, mode)};
              });
          EXPECT_THAT(communication(p), Not(HasSubstr("all_gather")));
        }
}

// A vocabulary is sharded over devices: the rows that are read are added up, and the table is not
// moved.
TEST(IndexedShards, WhatIsTakenIsSummed) {
  const auto taken = [](const Arrays& x) {
    return Arrays{lax::gather(x[0], x[1], rows(), {1, 64})};
  };
  const Input table{{512, 64}, P("x")}, few{{3, 1}, P(), int32}, many{{512, 1}, P(), int32};
  const Partitioned p = partition_and_check(mesh8(), {table, few}, taken);
  EXPECT_EQ(communication(p), "all_reduce x");
  EXPECT_EQ(bytes_sent(p), 2 * 3 * 64 * 4 * 7 / 8);
  // If many rows are read, it is cheaper to shard the table along the other dimension first.
  EXPECT_EQ(communication(partition_and_check(mesh8(), {table, many}, taken, {P("x")})),
            "reduce_scatter x");
  EXPECT_EQ(communication(partition_and_check(mesh8(), {table, many}, taken, {P()})),
            "all_to_all x; all_gather x");
}

TEST(IndexedShards, SeveralIndexedDimensions) {
  for (const auto& spec : {P("x", "y"), P("y", "x"), P("x"), P(None, "y"), P(None, None, "x")})
    for (const IndexMode mode : kModes)
      partition_and_check(mesh42(), {{{8, 6, 12}, spec}}, [&](const Arrays& x) {
        const Array at = indices_of({0, 0, 7, 5, 3, -1, 8, 2, 2, 6, 4, 4}, 2, int32);
        return Arrays{lax::gather(x[0], at, {{1}, {0, 1}, {0, 1}}, {1, 1, 12}, mode),
                      lax::gather(x[0], at, {{1, 2}, {0}, {0, 1}}, {1, 3, 12}, mode),
                      lax::gather(x[0], at, {{1, 2}, {0}, {1, 0}}, {1, 1, 12}, mode)};
      });
}

TEST(IndexedShards, BatchesOfIndices) {
  for (const auto& spec : {P("x", "y"), P(None, ("x")), P("y", "x")})
    partition_and_check(mesh42(), {{{8, 16}, spec}}, [](const Arrays& x) {
      return Arrays{lax::take_along(x[0], lax::iota(int32, {8, 3}, 0), 1),
                    lax::take_along(x[0], lax::iota(int32, {8, 3}, 1), 1, IndexMode::kFill)};
    });
}

TEST(IndexedShards, UpdatesOfRows) {
  for (const ScatterKind kind : {ScatterKind::kSet, ScatterKind::kAdd, ScatterKind::kMul,
                                 ScatterKind::kMin, ScatterKind::kMax})
    for (const DType of_index : {int8, int32, uint64})
      for (const int64_t n : {64, 61, 8, 5}) {
        SCOPED_TRACE(fmt::format("{} of {} by {}", enum_names(kind)[static_cast<size_t>(kind)], n,
                                 of_index));
        const Partitioned p = partition_and_check(
            mesh8(), {{{n, 4}, P("x")}, {{10, 4}, P()}},
            [&](const Arrays& x) {
              const Array at = indices_of({0, n - 1, 3, 3, -1, n, 4, 60, 127, -128}, 1, of_index);
              return Arrays{lax::scatter(x[0], at, x[1], rows(), kind)};
            },
            {P("x")});
        EXPECT_EQ(communication(p), "");
      }
}

// Both the table and the updates are sharded.
TEST(IndexedShards, UpdatesOfSeveralDevices) {
  for (const ScatterKind kind : {ScatterKind::kAdd, ScatterKind::kMul, ScatterKind::kMax}) {
    const Partitioned p = partition_and_check(
        mesh42(), {{{16, 4}, P("x")}, {{10, 4}, P("y")}},
        [&](const Arrays& x) {
          const Array at = indices_of({0, 15, 3, 3, -1, 16, 4, 11, 127, -128}, 1, int32);
          return Arrays{lax::scatter(x[0], at, x[1], rows(), kind)};
        },
        {P("x")});
    EXPECT_EQ(communication(p), "all_reduce y");
  }
}

TEST(IndexedShards, ScattersOfSeveralIndexedDimensions) {
  for (const auto& spec : {P("x", "y"), P("y", "x"), P(None, "y")})
    partition_and_check(
        mesh42(), {{{8, 6, 4}, spec}, {{6, 4}, P()}, {{6, 3, 4}, P()}}, [&](const Arrays& x) {
          const Array at = indices_of({0, 0, 7, 5, 3, -1, 8, 2, 2, 6, 3, 3}, 2, int32);
          return Arrays{lax::scatter(x[0], at, x[1], {{1}, {0, 1}, {0, 1}}, ScatterKind::kSet),
                        lax::scatter(x[0], at, x[2], {{1, 2}, {0}, {0, 1}}, ScatterKind::kAdd)};
        });
}

// Windows have a whole dimension, which is sharded, and their indices have an entry for it: only
// zero is inside. Of 8 columns, each device has a single one of the operand and of the updates.
TEST(IndexedShards, WholeWindowsWithAnIndex) {
  for (const ScatterKind kind : {ScatterKind::kSet, ScatterKind::kAdd, ScatterKind::kMul,
                                 ScatterKind::kMin, ScatterKind::kMax})
    for (const int64_t columns : {8, 16, 5}) {
      SCOPED_TRACE(
          fmt::format("{} of {} columns", enum_names(kind)[static_cast<size_t>(kind)], columns));
      const Partitioned p = partition_and_check(
          mesh8(), {{{4, columns}, P(None, "x")}, {{5, columns}, P(None, "x")}},
          [&](const Arrays& x) {
            const Array at = indices_of({3, 0, 0, 0, 1, 1, 2, -1, 4, 0}, 2, int32);
            return Arrays{lax::scatter(x[0], at, x[1], {{1}, {0}, {0, 1}}, kind)};
          },
          {P(None, "x")});
      EXPECT_EQ(communication(p), "");
    }
}

// Two arrays with one body, in which each gets the other's update: each device updates its own
// rows.
TEST(IndexedShards, SeveralArraysWithOneBody) {
  Function body;
  const Type scalar{float32, {}};
  for (int k = 0; k < 4; ++k) body.add_input(scalar);
  const auto bound = [&](const OpDef& op, size_t x, size_t y) {
    return body.add_op(op, op.params, {body.inputs[x], body.inputs[y]}, std::vector{scalar})[0];
  };
  body.outputs = {bound(ops::add_op, 0, 3), bound(ops::max_op, 1, 2)};
  const ops::ScatterParams p{{1},
                             {0},
                             {},
                             {},
                             {0},
                             1,
                             ScatterKind::kCustom,
                             std::make_shared<const Function>(std::move(body))};
  for (const auto& spec : {P("x"), P("x", "y"), P(None, "y")}) {
    const Partitioned made = partition_and_check(
        mesh42(), {{{16, 4}, spec}, {{16, 4}, spec}, {{10, 4}, P()}, {{10, 4}, P()}},
        [&](const Arrays& x) {
          const Array at = indices_of({0, 15, 3, 3, -1, 16, 4, 11, 127, -128}, 1, int32);
          const Arrays operands{x[0], x[1], at, x[2], x[3]};
          return bind_op(ops::scatter_op, p, std::span<const Array>(operands));
        },
        {spec, spec});
    EXPECT_EQ(communication(made), "");
  }
}

}  // namespace
}  // namespace tessera::indexed_shards_test
