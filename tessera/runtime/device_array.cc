#include "tessera/runtime/device_array.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "tessera/base/error.h"
#include "tessera/base/thread_pool.h"
#include "tessera/ir/format.h"
#include "tessera/runtime/collectives/cross_moves.h"
#include "tessera/runtime/copy.h"

namespace tessera::runtime {
namespace {

// A range of one dimension that a shard of `dst` and a shard of `src` have in common, and where the
// range begins in each.
struct Overlap {
  int64_t dst_shard, src_shard, dst_start, src_start, size;
};

std::vector<Overlap> overlaps(int64_t extent, int64_t dst_shards, int64_t src_shards) {
  std::vector<Overlap> out;
  for (int64_t d = 0, s = 0; d < dst_shards && s < src_shards;) {
    const IndexRange a = shard_range(extent, dst_shards, d), b = shard_range(extent, src_shards, s);
    const int64_t start = std::max(a.start, b.start), stop = std::min(a.stop, b.stop);
    if (stop > start) out.push_back({d, s, start - a.start, start - b.start, stop - start});
    a.stop <= b.stop ? ++d : ++s;
  }
  return out;
}

// A region that two shardings of one global array have in common.
struct Region {
  int64_t dst_instance, src_instance, dst_offset, src_offset;
  CopyPattern pattern;
};

// The grid of an array's shards: `shards` parts of shape `local` in storage.
struct ShardGrid {
  Dims shards;
  Shape local;
};
std::vector<Region> common_regions(const Shape& global, int64_t itemsize, const ShardGrid& dst,
                                   const ShardGrid& src) {
  std::vector<Region> out;
  if (global.elements() == 0) return out;
  const int64_t rank = global.rank();
  std::vector<std::vector<Overlap>> dims;
  int64_t regions = 1;
  for (int64_t d = 0; d < rank; ++d) {
    dims.push_back(overlaps(global[d], dst.shards[d], src.shards[d]));
    regions *= static_cast<int64_t>(dims.back().size());
  }
  const Dims dst_strides = byte_strides(dst.local, itemsize),
             src_strides = byte_strides(src.local, itemsize);
  const Dims dst_grid = row_major_strides(dst.shards), src_grid = row_major_strides(src.shards);
  out.reserve(static_cast<size_t>(regions));
  for (int64_t r = 0; r < regions; ++r) {
    int64_t rest = r, dst_instance = 0, src_instance = 0, dst_offset = 0, src_offset = 0;
    Shape extents(static_cast<size_t>(rank), 0);
    for (int64_t d = rank - 1; d >= 0; --d) {
      const auto& list = dims[static_cast<size_t>(d)];
      const Overlap& o = list[static_cast<size_t>(rest % static_cast<int64_t>(list.size()))];
      rest /= static_cast<int64_t>(list.size());
      dst_instance += o.dst_shard * dst_grid[d];
      src_instance += o.src_shard * src_grid[d];
      dst_offset += o.dst_start * dst_strides[d];
      src_offset += o.src_start * src_strides[d];
      extents[d] = o.size;
    }
    out.push_back({dst_instance, src_instance, dst_offset, src_offset,
                   make_copy_pattern(extents, dst_strides, src_strides, itemsize)});
  }
  return out;
}

ShardGrid grid_of(const ArrayLayout& layout) { return {layout.shards, layout.local}; }
ShardGrid whole(const Shape& global) { return {Dims(global.size(), 1), global}; }

// One side of a transfer: the address of each instance, by number; null for an instance that is
// elsewhere.
struct Side {
  ShardGrid grid;
  std::function<std::byte*(int64_t instance)> instance;
};

// Copies every region for which this process holds both sides.
void transfer(const Shape& global, int64_t itemsize, const Side& dst, const Side& src) {
  std::vector<RegionCopy> copies;
  for (const Region& r : common_regions(global, itemsize, dst.grid, src.grid)) {
    std::byte *to = dst.instance(r.dst_instance), *from = src.instance(r.src_instance);
    if (to && from) copies.push_back({r.pattern, to + r.dst_offset, from + r.src_offset});
  }
  run_copies(copies);
}

Side side_of(const ArrayLayout& layout, std::byte* base, int64_t stride) {
  return {grid_of(layout), [&layout, base, stride](int64_t i) -> std::byte* {
            const int64_t held_index = layout.held_index(i);
            return held_index < 0 ? nullptr : base + held_index * stride;
          }};
}
// The cast is safe, since the transfer only reads from this side; it saves a second type.
Side side_of(const DeviceArray& array) {
  return {grid_of(*array.layout()), [&array](int64_t i) -> std::byte* {
            return array.layout()->held_index(i) < 0 ? nullptr
                                                     : const_cast<std::byte*>(array.instance(i));
          }};
}
Side host_side(const Shape& global, const std::byte* data) {
  return {whole(global), [data](int64_t) { return const_cast<std::byte*>(data); }};
}

// Returns dense memory for an array. Padding, which no region covers, is zero.
Buffer allocate_dense(const ArrayLayout& layout) {
  const int64_t bytes = layout.held_count() * layout.local_bytes;
  Buffer buffer = Buffer::allocate(bytes);
  if (!layout.even()) std::memset(buffer.data(), 0, static_cast<size_t>(bytes));
  return buffer;
}

// Returns the Holding of an array with parts in several processes.
Holding holding(const ArrayLayout& layout) {
  const cluster::Processes& processes = *cluster::Processes::current();
  std::vector<int> everybody(static_cast<size_t>(processes.count()));
  std::iota(everybody.begin(), everybody.end(), 0);
  Holding out{layout.holders, {}};
  if (out.holders.empty()) out.holders.assign(static_cast<size_t>(layout.instances), everybody);
  for (int64_t i = 0; i < layout.instances; ++i)
    out.held_index.push_back(static_cast<int32_t>(layout.held_index(i)));
  return out;
}

// Returns the moves of all regions that `to` and `from` have in common, in any process.
CrossMoves cross_moves(const Shape& global, int64_t itemsize, const ShardGrid& to_grid,
                       const Holding& to, const ShardGrid& from_grid, const Holding& from) {
  std::vector<CopyPattern> patterns;
  std::vector<Move> moves;
  for (Region& r : common_regions(global, itemsize, to_grid, from_grid)) {
    moves.push_back({static_cast<int32_t>(patterns.size()), static_cast<int32_t>(r.src_instance),
                     static_cast<int32_t>(r.dst_instance), r.src_offset, r.dst_offset});
    patterns.push_back(std::move(r.pattern));
  }
  return CrossMoves(std::move(patterns), moves, from, to, cluster::Processes::current()->index());
}

// Returns a text that includes the devices, since meshes with another order of devices are
// different. (A single device is different in each process.)
std::string with_devices(const Sharding& sharding) {
  if (!sharding.is_named()) return "one device";
  return fmt::format("{} of devices {}", sharding, fmt::join(sharding.device_ids(), ","));
}

// Runs the moves. All processes that hold a part on either side take part.
void run_cross_moves(const CrossMoves& moves, const std::string& what, const Holding& from,
                     const Holding& to, const CrossMoves::AddressOf& src,
                     const CrossMoves::AddressOf& dst) {
  cluster::Processes& processes = *cluster::Processes::current();
  cluster::CallIdentity identity{std::hash<std::string>()(what), what, [&] { return what; }, {}};
  for (const Holding* side : {&from, &to})
    for (const std::vector<int>& list : side->holders)
      identity.members.insert(identity.members.end(), list.begin(), list.end());
  std::vector<int>& members = identity.members;
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (!std::binary_search(members.begin(), members.end(), processes.index())) return;
  // The workspace is declared before the call, so that the call, whose transfers use it, ends
  // first.
  const Buffer workspace = Buffer::allocate(std::max<int64_t>(1, moves.workspace_bytes()));
  cluster::Processes::Call call(processes, identity);
  const cluster::Round round = moves.begin(src, dst, workspace.data());
  processes.exchange(
      round.out, round.in, [&] { return what; }, [&] { moves.copy_local(src, dst); });
  moves.end(dst, workspace.data());
  call.complete();
}

DeviceArrayRef make_dense(const ArrayLayoutRef& layout, Buffer buffer, bool weak) {
  return std::make_shared<DeviceArray>(device_array_type(*layout, weak), layout, std::move(buffer),
                                       InstanceOffsets{.stride = layout->local_bytes});
}

}  // namespace

Type device_array_type(const ArrayLayout& layout, bool weak) {
  Type type;
  type.dtype = layout.dtype;
  type.shape = layout.global;
  type.weak = weak;
  type.sharding = layout.named;
  return type;
}

void DeviceArray::throw_deleted() const {
  value_error(
      "array",
      "expected a live array, got {}, whose memory was donated; keep a copy, or do not donate it",
      describe(type));
}

bool ArrayUse::donate() {
  const uint32_t before = array_->state_.fetch_or(DeviceArray::kDeleted);
  if ((before & DeviceArray::kDeleted) != 0) array_->throw_deleted();
  return before == 1;
}
void ArrayUse::keep() { array_->state_.fetch_and(~DeviceArray::kDeleted); }

namespace {

class UseDonation final : public Donation {
 public:
  explicit UseDonation(const DeviceArray& array) : use_(array) { use_.donate(); }
  ~UseDonation() override {
    if (!committed_) use_.keep();
  }
  void commit() override { committed_ = true; }

 private:
  ArrayUse use_;
  bool committed_ = false;
};

}  // namespace

std::unique_ptr<Donation> DeviceArray::donate() const {
  return std::make_unique<UseDonation>(*this);
}

void ArrayUse::end() {
  // No use of a deleted array begins, so the last use is the only one.
  if (array_->state_.fetch_sub(1) != (DeviceArray::kDeleted | 1)) return;
  array_->packed_->clear();
  array_->buffer_ = Buffer();
}

Literal gather_literal(const DeviceArray& array) {
  const ArrayLayout& layout = *array.layout();
  if (layout.holders.empty()) return array.to_literal();
  const ArrayUse use(array);
  Literal out = Literal::uninitialized(layout.dtype, layout.global);
  std::vector<int> everybody(static_cast<size_t>(cluster::Processes::current()->count()));
  std::iota(everybody.begin(), everybody.end(), 0);
  const Holding to{{everybody}, {0}}, from = holding(layout);
  const CrossMoves moves = cross_moves(layout.global, itemsize(layout.dtype), whole(layout.global),
                                       to, grid_of(layout), from);
  run_cross_moves(
      moves,
      fmt::format("the host's copy of {} on {}", describe(array.type),
                  with_devices(layout.sharding)),
      from, to,
      [&](int64_t k) {
        return const_cast<std::byte*>(array.buffer().data()) + array.offsets().at(k);
      },
      [&](int64_t) { return out.mutable_raw(); });
  return out;
}

Literal DeviceArray::to_literal() const {
  // If some parts are elsewhere, all processes take part, even one that has all parts.
  if (!layout()->holders.empty() && cluster::Processes::options().gather_reads)
    return gather_literal(*this);
  if (!layout()->is_whole()) {
    value_error("array",
                "expected an array that is in this process as a whole, got {} on {}, of which "
                "process {} holds {} of {} parts; call process_allgather(x, true) in all "
                "processes, or look at addressable_shards(x)",
                describe(type), layout()->sharding, cluster::Processes::current()->index(),
                layout()->held_count(), layout()->instances);
  }
  const ArrayUse use(*this);
  // The instances in order are the array, perhaps followed by padding.
  if (dense() && layout()->holders.empty() && layout()->linear())
    return Literal::view(layout()->dtype, layout()->global, buffer_, offsets_.at(0));
  Literal out = Literal::uninitialized(layout()->dtype, layout()->global);
  transfer(layout()->global, itemsize(layout()->dtype),
           host_side(layout()->global, out.mutable_raw()), side_of(*this));
  return out;
}

std::vector<Shard> DeviceArray::addressable_shards() const {
  const ArrayUse use(*this);
  const int64_t size = itemsize(layout()->dtype);
  std::vector<Literal> data;
  for (int64_t held_index = 0; held_index < layout()->held_count(); ++held_index) {
    const int64_t i = layout()->number(held_index);
    Shape shape;
    for (const IndexRange& range : layout()->index(i)) shape.push_back(range.size());
    const CopyPattern pattern = make_copy_pattern(shape, byte_strides(shape, size),
                                                  byte_strides(layout()->local, size), size);
    if (pattern.runs() <= 1) {  // the shard is dense already
      data.push_back(Literal::view(layout()->dtype, shape, buffer_, offsets_.at(held_index)));
      continue;
    }
    Literal literal = Literal::uninitialized(layout()->dtype, shape);
    run_copies({{pattern, literal.mutable_raw(), instance(i)}});
    data.push_back(std::move(literal));
  }
  std::vector<Shard> out;
  const std::vector<Device> devices = layout()->sharding.devices();
  for (size_t p = 0; p < devices.size(); ++p) {
    const int64_t i = layout()->device_instances[p], held_index = layout()->held_index(i);
    const cluster::Processes* processes = cluster::Processes::current();
    const bool here = !processes || !layout()->sharding.is_named() ||
                      devices[p].process_index == processes->index();
    if (here)
      out.push_back({devices[p], layout()->index(i), data[static_cast<size_t>(held_index)]});
  }
  return out;
}

DeviceArrayRef device_array(const Literal& literal, const Sharding& sharding, bool weak) {
  const ArrayLayoutRef layout = array_layout(literal.dtype(), literal.shape(), sharding);
  // The instances in order are the literal, so its memory is shared. Nothing writes to it
  // meanwhile.
  if (layout->holders.empty() && layout->even() && layout->linear())
    return std::make_shared<DeviceArray>(
        device_array_type(*layout, weak), layout, literal.buffer(),
        InstanceOffsets{.offset = literal.offset(), .stride = layout->local_bytes});
  Buffer buffer = allocate_dense(*layout);
  transfer(layout->global, itemsize(layout->dtype),
           side_of(*layout, buffer.data(), layout->local_bytes),
           host_side(layout->global, literal.raw()));
  return make_dense(layout, std::move(buffer), weak);
}

DeviceArrayRef device_array_from_callback(DType dtype, const Shape& global,
                                          const Sharding& sharding,
                                          const std::function<Literal(const ShardIndex&)>& data) {
  constexpr std::string_view kOp = "make_array_from_callback";
  const ArrayLayoutRef layout = array_layout(dtype, global, sharding, kOp);
  Buffer buffer = allocate_dense(*layout);
  const int64_t size = itemsize(dtype);
  for (int64_t held_index = 0; held_index < layout->held_count(); ++held_index) {
    const ShardIndex index = layout->index(layout->number(held_index));
    Shape shape;
    for (const IndexRange& range : index) shape.push_back(range.size());
    const Literal part = data(index);
    if (part.dtype() != dtype || part.shape() != shape)
      shape_error(kOp, "expected {}{} from the callback for index [{}], got {}{}", dtype, shape,
                  fmt::join(index, ", "), part.dtype(), part.shape());
    copy_all(make_copy_pattern(shape, byte_strides(layout->local, size), byte_strides(shape, size),
                               size),
             buffer.data() + held_index * layout->local_bytes, part.raw());
  }
  return make_dense(layout, std::move(buffer), false);
}

namespace {

DeviceArrayRef reshard_over_processes(const DeviceArray& array, const ArrayLayoutRef& to) {
  const ArrayLayout& from = *array.layout();
  const Holding source = holding(from), target = holding(*to);
  const CrossMoves moves =
      cross_moves(from.global, itemsize(from.dtype), grid_of(*to), target, grid_of(from), source);
  Buffer buffer = allocate_dense(*to);
  if (moves.crosses()) {
    run_cross_moves(
        moves,
        fmt::format("device_put of {} from {} to {}", describe(array.type),
                    with_devices(from.sharding), with_devices(to->sharding)),
        source, target,
        [&](int64_t k) {
          return const_cast<std::byte*>(array.buffer().data()) + array.offsets().at(k);
        },
        [&](int64_t o) { return buffer.data() + o * to->local_bytes; });
  } else {
    transfer(from.global, itemsize(from.dtype), side_of(*to, buffer.data(), to->local_bytes),
             side_of(array));
  }
  return make_dense(to, std::move(buffer), array.type.weak);
}

}  // namespace

DeviceArrayRef reshard(const DeviceArrayRef& array, const Sharding& sharding) {
  const ArrayLayout& from = *array->layout();
  const ArrayUse use(*array);
  const ArrayLayoutRef to = array_layout(from.dtype, from.global, sharding);
  if (to == array->layout()) return array;
  const bool weak = array->type.weak;
  if (!from.holders.empty() || !to->holders.empty()) return reshard_over_processes(*array, to);
  // Both shardings have the same parts, perhaps on other devices.
  if (from.shards == to->shards)
    return std::make_shared<DeviceArray>(device_array_type(*to, weak), to, *array,
                                         array->offsets());
  // The bytes are the same in the same order. The buffer must include the padding of the new
  // shards, which must contain numbers.
  const bool padding_fits =
      to->even() || to->instances * to->local_bytes <= from.instances * from.local_bytes;
  if (array->dense() && from.linear() && to->linear() && padding_fits)
    return std::make_shared<DeviceArray>(
        device_array_type(*to, weak), to, *array,
        InstanceOffsets{.offset = array->offsets().at(0), .stride = to->local_bytes});
  Buffer buffer = allocate_dense(*to);
  transfer(from.global, itemsize(from.dtype), side_of(*to, buffer.data(), to->local_bytes),
           side_of(*array));
  return make_dense(to, std::move(buffer), weak);
}

}  // namespace tessera::runtime
