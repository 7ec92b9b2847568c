// Collectives that move or combine data, by reading the memory of other instances in parallel. A
// collective whose result is a view of memory has no code (storage_plan.cc).
#include "tessera/runtime/collectives/collective_code.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/error.h"
#include "tessera/base/thread_pool.h"
#include "tessera/runtime/collectives/rank_map.h"
#include "tessera/runtime/collectives/reduce_blocks.h"
#include "tessera/runtime/copy.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

// Runs all_reduce and reduce_scatter: out = the fold over the group of a slice of each operand. The
// slice consists of `rows` runs of `run` elements, at distance `row`, of which the first starts at
// run * position. The slice of an all_reduce is the whole operand, as one row.
class ReduceCode final : public StepCode {
 public:
  ReduceCode(const CollectiveStep& c, const Schedule& s)
      : ranks_(s, slot_at(s, c.out), slot_at(s, c.in), c),
        block_(block_reducer(slot_at(s, c.out).dtype, c.reduce)),
        itemsize_(itemsize(slot_at(s, c.out).dtype)),
        instances_(slot_at(s, c.out).instances),
        in_(c.in),
        out_(c.out) {
    const Slot& in = slot_at(s, c.in);
    if (c.kind == CollectiveKind::kAllReduce) {
      run_ = row_ = in.shape.elements();
    } else {
      rows_ = product(in.shape, 0, c.dim);
      row_ = product(in.shape, c.dim, in.shape.rank());
      TESSERA_CHECK(row_ % ranks_.group_size() == 0, "reduce_scatter of {} along {} over {}",
                    in.shape, c.dim, ranks_.group_size());
      run_ = row_ / ranks_.group_size();
      scatter_ = true;
    }
    TESSERA_CHECK(slot_at(s, c.out).shape.elements() == rows_ * run_,
                  "the result of a reduction over devices: {} of {}", slot_at(s, c.out).shape,
                  in.shape);
    blocks_ = ceil_div(run_, kReduceBlock);
    const double bytes =
        static_cast<double>(instances_ * rows_ * run_ * itemsize_ * (ranks_.group_size() + 1));
    inline_ = bytes * 0.05 < kInlineNs;
    units_ =
        std::max<int64_t>(1, 4 * kReduceBlock / std::max<int64_t>(1, std::min(run_, kReduceBlock)) /
                                 ranks_.group_size());
  }

  void run(const SlotRef* slots, std::byte*) const override {
    const int64_t total = instances_ * rows_ * blocks_;
    auto range = [&](int64_t begin, int64_t end) {
      std::vector<const std::byte*> sources;
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t o = unit / (rows_ * blocks_), row = unit / blocks_ % rows_,
                      first = unit % blocks_ * kReduceBlock;
        const int64_t from = row * row_ + (scatter_ ? ranks_.position(o) * run_ : 0) + first;
        const int64_t group = ranks_.group_size(o);
        sources.resize(static_cast<size_t>(group));
        for (int64_t g = 0; g < group; ++g)
          sources[static_cast<size_t>(g)] = slots[in_].at(ranks_.source(o, g)) + from * itemsize_;
        block_(slots[out_].at(o) + (row * run_ + first) * itemsize_, sources,
               std::min(kReduceBlock, run_ - first));
      }
    };
    if (inline_) {
      range(0, total);
    } else {
      parallel_for_ranges(total, units_, range);
    }
  }

 private:
  RankMap ranks_;
  BlockReducer block_;
  int64_t itemsize_, instances_, rows_ = 1, row_ = 0, run_ = 0, blocks_ = 0, units_ = 1;
  int in_, out_;
  bool scatter_ = false, inline_ = false;
};

// Runs all_gather and all_to_all: every instance of the result takes one box from each member of
// its group. All boxes have the same shape.
class ExchangeCode final : public StepCode {
 public:
  ExchangeCode(const CollectiveStep& c, const Schedule& s)
      : ranks_(s, slot_at(s, c.out), slot_at(s, c.in), c),
        instances_(slot_at(s, c.out).instances),
        in_(c.in),
        out_(c.out) {
    const Slot &in = slot_at(s, c.in), &out = slot_at(s, c.out);
    const int64_t size = itemsize(in.dtype), group = ranks_.group_size();
    if (c.kind == CollectiveKind::kAllGather) {
      // If the result has a new dimension of the group's size before `dim`, this is right, too.
      const int64_t rows = product(in.shape, 0, c.dim),
                    run = product(in.shape, c.dim, in.shape.rank()) * size;
      pattern_ = make_copy_pattern({rows, run}, {run * group, 1}, {run, 1}, 1);
      dst_step_ = run;
    } else {
      TESSERA_CHECK(in.shape[c.dim] % group == 0, "all_to_all of {} along {} over {}", in.shape,
                    c.dim, group);
      Shape box = in.shape;
      box[c.dim] /= group;
      Shape result = box;
      result[c.concat_dim] *= group;
      TESSERA_CHECK(result == out.shape, "all_to_all of {} is {}, not {}", in.shape, result,
                    out.shape);
      const Dims src_strides = byte_strides(in.shape, size),
                 dst_strides = byte_strides(out.shape, size);
      pattern_ = make_copy_pattern(box, dst_strides, src_strides, size);
      src_step_ = box[c.dim] * src_strides[c.dim];
      dst_step_ = box[c.concat_dim] * dst_strides[c.concat_dim];
    }
    TESSERA_CHECK(out.bytes() == in.bytes() * (c.kind == CollectiveKind::kAllGather ? group : 1),
                  "{} of {}", out.shape, in.shape);
    const int64_t bytes = out.bytes() * instances_;
    inline_ = static_cast<double>(bytes) * 0.1 < kInlineNs;
    streaming_ = bytes >= kStreamingBytes;
    pieces_ = copy_pieces(pattern_);
    grain_ = std::max<int64_t>(1, kCopyGrain / std::max<int64_t>(1, pattern_.bytes()));
  }

  void run(const SlotRef* slots, std::byte*) const override {
    const int64_t group = ranks_.group_size();
    auto range = [&](int64_t begin, int64_t end) {
      for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t o = unit / (group * pieces_), g = unit / pieces_ % group;
        const std::byte* src = slots[in_].at(ranks_.source(o, g)) + ranks_.position(o) * src_step_;
        copy_piece(pattern_, slots[out_].at(o) + g * dst_step_, src, unit % pieces_, streaming_);
      }
    };
    const int64_t total = instances_ * group * pieces_;
    if (inline_) {
      range(0, total);
    } else {
      parallel_for_ranges(total, grain_, range);
    }
  }

 private:
  RankMap ranks_;
  CopyPattern pattern_;
  int64_t instances_, src_step_ = 0, dst_step_ = 0, pieces_ = 0, grain_ = 1;
  int in_, out_;
  bool inline_ = false, streaming_ = false;
};

// Runs a collective_permute in which some ranks are not a target: those get zeros.
class PermuteCode final : public StepCode {
 public:
  PermuteCode(const CollectiveStep& c, const Schedule& s)
      : bytes_(slot_at(s, c.out).bytes()), in_(c.in), out_(c.out) {
    const RankMap ranks(s, slot_at(s, c.out), slot_at(s, c.in), c);
    std::vector<int64_t> source(static_cast<size_t>(ranks.ranks()), -1);
    for (const Dims& pair : c.pairs) source[static_cast<size_t>(pair[1])] = pair[0];
    for (int64_t o = 0; o < slot_at(s, c.out).instances; ++o) {
      const int64_t r = source[static_cast<size_t>(ranks.rank(o))];
      sources_.push_back(r < 0 ? -1 : ranks.source_of_rank(o, r));
    }
  }
  void run(const SlotRef* slots, std::byte*) const override {
    std::vector<RegionCopy> copies;
    const CopyPattern whole = make_copy_pattern({bytes_}, {1}, {1}, 1);
    for (size_t o = 0; o < sources_.size(); ++o) {
      std::byte* dst = slots[out_].at(static_cast<int64_t>(o));
      if (sources_[o] < 0) {
        std::memset(dst, 0, static_cast<size_t>(bytes_));
      } else {
        copies.push_back({whole, dst, slots[in_].at(sources_[o])});
      }
    }
    run_copies(copies);
  }

 private:
  std::vector<int64_t> sources_;
  int64_t bytes_;
  int in_, out_;
};

// Runs ragged_all_to_all: rank r sends send_sizes[j] rows of its operand, from row input_offsets[j]
// on, to rank j, where they begin at row output_offsets[j].
class RaggedCode final : public StepCode {
 public:
  RaggedCode(const CollectiveStep& c, const Schedule& s)
      : ranks_(s, slot_at(s, c.out), slot_at(s, c.in), c),
        instances_(slot_at(s, c.out).instances),
        in_(c.in),
        out_(c.out),
        sizes_(c.sizes) {
    TESSERA_CHECK(sizes_.size() == 4 || sizes_.size() == 5, "ragged_all_to_all with {} slots",
                  sizes_.size());
    const Slot &in = slot_at(s, c.in), &out = slot_at(s, c.out);
    TESSERA_CHECK(in.shape.rank() > 0 && in.shape.rank() == out.shape.rank());
    in_rows_ = in.shape[0];
    out_rows_ = out.shape[0];
    row_bytes_ = product(in.shape, 1, in.shape.rank()) * itemsize(in.dtype);
    for (size_t i = 0; i < 4; ++i) {
      const Slot& table = slot_at(s, sizes_[i]);
      TESSERA_CHECK((table.dtype == int32 || table.dtype == int64) &&
                    table.shape.elements() == ranks_.group_size());
      tables_.push_back({sizes_[i], table.dtype == int64, RankMap(s, out, table, c)});
    }
    if (sizes_.size() == 5) initial_ = instance_map(s, out.axes, slot_at(s, sizes_[4]).axes);
  }

  void run(const SlotRef* slots, std::byte*) const override {
    parallel_for(instances_, [&](int64_t o) {
      std::byte* dst = slots[out_].at(o);
      if (sizes_.size() == 5) {
        std::memcpy(dst, slots[sizes_[4]].at(initial_[static_cast<size_t>(o)]),
                    static_cast<size_t>(out_rows_ * row_bytes_));
      } else {
        std::memset(dst, 0, static_cast<size_t>(out_rows_ * row_bytes_));
      }
      const int64_t me = ranks_.position(o);
      for (int64_t g = 0; g < ranks_.group_size(); ++g) {
        const int64_t from = tables_[0].read(slots, o, g, me),
                      to = tables_[2].read(slots, o, g, me);
        // Sizes are data, so they may be wrong: rows that do not exist are neither read nor
        // written.
        const int64_t rows =
            std::min({tables_[1].read(slots, o, g, me), in_rows_ - from, out_rows_ - to});
        if (from < 0 || to < 0 || rows <= 0) continue;
        std::memcpy(dst + to * row_bytes_, slots[in_].at(ranks_.source(o, g)) + from * row_bytes_,
                    static_cast<size_t>(rows * row_bytes_));
      }
    });
  }

 private:
  struct Table {
    int slot;
    bool wide;
    RankMap ranks;
    // Returns entry `index` of the table of the g-th member of the group of `o`.
    int64_t read(const SlotRef* slots, int64_t o, int64_t g, int64_t index) const {
      const std::byte* data = slots[slot].at(ranks.source(o, g));
      if (wide) {
        int64_t value;
        std::memcpy(&value, data + index * 8, 8);
        return value;
      }
      int32_t value;
      std::memcpy(&value, data + index * 4, 4);
      return value;
    }
  };
  RankMap ranks_;
  int64_t instances_, in_rows_, out_rows_, row_bytes_;
  int in_, out_;
  std::vector<int> sizes_;
  std::vector<Table> tables_;
  std::vector<int32_t> initial_;
};

class AxisIndexCode final : public StepCode {
 public:
  AxisIndexCode(const CollectiveStep& c, const Schedule& s)
      : ranks_(instance_map(s, slot_at(s, c.out).axes, c.over)), out_(c.out) {
    TESSERA_CHECK(slot_at(s, c.out).dtype == int32 && slot_at(s, c.out).shape.elements() == 1,
                  "axis_index of {}", slot_at(s, c.out).dtype);
  }
  void run(const SlotRef* slots, std::byte*) const override {
    for (size_t o = 0; o < ranks_.size(); ++o)
      std::memcpy(slots[out_].at(static_cast<int64_t>(o)), &ranks_[o], 4);
  }

 private:
  std::vector<int32_t> ranks_;
  int out_;
};

}  // namespace

std::unique_ptr<StepCode> make_collective_code(const CollectiveStep& step,
                                               const Schedule& schedule) {
  if (step.crosses) return make_cross_collective_code(step, schedule);
  switch (step.kind) {
    case CollectiveKind::kAllReduce:
    case CollectiveKind::kReduceScatter:
      return std::make_unique<ReduceCode>(step, schedule);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kAllToAll:
      return std::make_unique<ExchangeCode>(step, schedule);
    case CollectiveKind::kPermute:
      return std::make_unique<PermuteCode>(step, schedule);
    case CollectiveKind::kRaggedAllToAll:
      return std::make_unique<RaggedCode>(step, schedule);
    case CollectiveKind::kAxisIndex:
      return std::make_unique<AxisIndexCode>(step, schedule);
    case CollectiveKind::kBroadcast:
    case CollectiveKind::kCast:
      break;
  }
  TESSERA_CHECK(false, "a broadcast or a cast that is no view");
  return nullptr;
}

}  // namespace tessera::runtime
