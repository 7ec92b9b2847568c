// DotPlan: how a dot step is computed: its tiles, the copies of its operands, the dtypes, and the
// memory. It depends on the step's shapes alone, and one thread computes each tile in a fixed
// order, so results do not depend on the number of threads.
//
// dot_code.cc computes it; memory_plan.h reads `workspace`.
#pragma once

#include <vector>

#include "tessera/runtime/products/dot_operand.h"

namespace tessera::runtime {

struct DotPlan {
  DotPlan(const DotStep& step, const Schedule& schedule);

  // Rows [i, i + m) and columns [j, j + n) of a result.
  struct Tile {
    int64_t i, j, m, n;
    bool mirror = false;    // its transpose is stored, too
    bool diagonal = false;  // it is symmetric
  };

  // Returns whether the result must have the same bits wherever its rows are computed (DotSum).
  bool invariant() const { return sum != ops::DotSum::kAny; }

  DotOperandCode lhs, rhs;
  int lhs_slot, out, bias;  // slots; bias is -1 if there is none
  bool relu;
  ops::DotSum sum;
  DType one = float32;  // the dtype of one example's product, for DotSum::kGrid
  // The elements of k that belong to one example, if the examples' sums are separate; otherwise 0.
  int64_t example = 0;
  GemmTypes types{};
  DType out_dtype{};
  int64_t batch = 1, m = 1, n = 1, k = 1;  // the sizes of each product
  int64_t instances = 1;                   // the instances of the result
  int64_t products = 1;                    // of all instances and batches; it determines the tiles
  int64_t summed = 1;                      // the number of products that are added to one result
  int64_t bias_period = 1, out_bytes = 0;
  InstanceMap out_map, bias_map;
  std::vector<Tile> tiles;
  // Whether all instances are one taller product if their data turns out to be in order.
  bool can_merge = false;
  std::vector<Tile> merged_tiles;
  // The number of partial products along k, with split_k elements each.
  int64_t splits = 1, split_k = 0;
  // The bytes of the workspace, and the offsets in it of the copies of rhs and of the partial
  // products.
  int64_t workspace = 0, rhs_work = 0, partials = 0;

 private:
  DotPlan(const DotStep& step, const Schedule& schedule, const DotShape& shape);
  void choose_types(DType in, DType result);
  void choose_sum_of_examples(const DotStep& step, const Shape& lhs_shape, DType dtype);
  bool divides_finely() const;
  void join_sums();
  void choose_tiles(const DotStep& step);
  void choose_splits();
  int64_t parts_of_matrix(bool along_k) const;
};

}  // namespace tessera::runtime
