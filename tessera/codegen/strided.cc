// Loads lanes a few elements apart by whole vectors and shuffles: a gather of a vector takes as
// long as one load for every lane. Short rows that are apart are loaded row by row, for the same
// reason: see piece_length.
//
// Example: every third element from a[1] on, with 4 lanes, is a[1], a[4], a[7], a[10]. The vectors
// a[0:4], a[4:8] and a[7:11] have them. The last vector begins at a[7] so that nothing after a[10]
// is read.
#include <algorithm>
#include <bit>
#include <numeric>

#include "tessera/codegen/canonical.h"
#include "tessera/codegen/emitter.h"

namespace tessera::codegen {

using llvm::Value;

// The largest distance of lanes that are loaded by whole vectors.
constexpr int64_t kMostInWholeVectors = 16;

// Returns whether load_apart and store_columns can be used. Masks must be those of the first lanes.
bool Memory::takes_whole_vectors(DType dtype, int64_t stride, const LaneMask& mask) const {
  if (stride < 2 || stride > kMostInWholeVectors || is_complex(dtype) || mask.any) return false;
  // This is required without a mask, too: whole and masked vectors of a loop load from the same
  // address (phase_of).
  if (!maskable(storage(dtype))) return false;
  return !mask.lanes || mask.count;
}

// Returns the mask of vector `part` of several of `lanes` lanes each that have `wanted` elements
// together.
LaneMask Memory::part_of_mask(Value* wanted, int part, int lanes) {
  auto& b = ir_.builder;
  Value* rest = b.CreateSub(wanted, b.getInt64(static_cast<uint64_t>(part) * lanes));
  rest = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, rest, b.getInt64(lanes));
  rest = b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, rest, b.getInt64(0));
  llvm::Type* type = b.getIntNTy(static_cast<unsigned>(ir_.target.vector_bytes * 8 / lanes));
  std::vector<llvm::Constant*> numbers;
  for (int i = 0; i < lanes; ++i) numbers.push_back(llvm::ConstantInt::get(type, i));
  Value* limit = b.CreateVectorSplat(lanes, b.CreateIntCast(rest, type, false));
  return {.lanes = b.CreateICmpULT(llvm::ConstantVector::get(numbers), limit),
          .count = rest,
          .any = b.CreateICmpSGT(rest, b.getInt64(0))};
}

// Returns one column of the rows that are in `parts` one after the other, as many vectors as a row
// has columns. A step takes every second element of each pair of vectors, as long as there is an
// even number of them; columns have their first steps in common, which LLVM computes once. So 8
// columns take 24 shuffles instead of 7 each, and 12 columns 48 instead of 11 each.
//
// If the number is odd, the elements of a column are in different lanes of the vectors, because it
// has no factor in common with the number of lanes: selecting lanes collects them, and one shuffle
// puts them in order. Example with 4 lanes and column 1 of rows of 3: of the vectors
// a[0:4], a[4:8], a[8:12] the lanes with a[4], a[1], a[10] and a[7], which are then ordered.
Value* Memory::column_of_parts(std::vector<Value*> parts, int64_t column) {
  auto& b = ir_.builder;
  const int64_t lanes = ir_.lanes;
  for (; parts.size() % 2 == 0; column /= 2) {
    std::vector<int> picks;
    for (int64_t i = 0; i < lanes; ++i) picks.push_back(static_cast<int>(2 * i + column % 2));
    for (size_t q = 0; 2 * q < parts.size(); ++q)
      parts[q] = b.CreateShuffleVector(parts[2 * q], parts[2 * q + 1], picks);
    parts.resize(parts.size() / 2);
  }
  const auto columns = static_cast<int64_t>(parts.size());
  Value* all = parts[0];
  for (int64_t part = 1; part < columns; ++part) {
    std::vector<int> picks;
    for (int64_t i = 0; i < lanes; ++i) {
      const bool here = (part * lanes + i) % columns == column;
      picks.push_back(static_cast<int>(here ? lanes + i : i));
    }
    all = b.CreateShuffleVector(all, parts[static_cast<size_t>(part)], picks);
  }
  if (columns == 1) return all;
  std::vector<int> order;
  for (int64_t i = 0; i < lanes; ++i)
    order.push_back(static_cast<int>((i * columns + column) % lanes));
  return b.CreateShuffleVector(all, order);
}

// Prefetches what is kAhead bytes behind a pointer. The CPU does not see early enough that whole
// rows are read one after the other, because the loads of a block are far from in order: of 64 MB
// in rows of 12, the sums take 0.7 of the time.
void Memory::prefetch_ahead(Value* pointer) {
  constexpr int64_t kAhead = 2048;
  constexpr int kIntoFirstLevel = 3, kData = 1;
  auto& b = ir_.builder;
  Value* ahead = b.CreateGEP(b.getInt8Ty(), pointer, b.getInt64(kAhead));
  b.CreateIntrinsic(llvm::Intrinsic::prefetch, {ahead->getType()},
                    {ahead, b.getInt32(0), b.getInt32(kIntoFirstLevel), b.getInt32(kData)});
}

Val Memory::load_apart(DType dtype, Value* pointer, int64_t stride, int64_t phase, bool whole_rows,
                       const LaneMask& mask) {
  auto& b = ir_.builder;
  const int64_t lanes = ir_.lanes, last_phase = whole_rows ? stride - 1 : phase;
  llvm::Type* element = storage(dtype);
  Value* wanted = nullptr;
  if (mask.lanes)
    wanted = b.CreateAdd(b.CreateMul(b.CreateSub(mask.count, b.getInt64(1)),
                                     b.getInt64(static_cast<uint64_t>(stride))),
                         b.getInt64(static_cast<uint64_t>(last_phase + 1)));
  const auto load_part = [&](int64_t part, int64_t begin) {
    Value* from = b.CreateGEP(element, pointer, b.getInt64(static_cast<uint64_t>(begin)));
    if (whole_rows && phase == 0 && !mask.lanes) prefetch_ahead(from);
    const LaneMask part_mask =
        mask.lanes ? part_of_mask(wanted, static_cast<int>(part), ir_.lanes) : LaneMask{};
    return load_lanes(element, from, static_cast<int>(lanes), part_mask);
  };
  if (whole_rows) {
    std::vector<Value*> parts;
    for (int64_t part = 0; part < stride; ++part) parts.push_back(load_part(part, part * lanes));
    return from_storage(dtype, column_of_parts(std::move(parts), phase));
  }
  const int64_t last = (lanes - 1) * stride + last_phase;
  Value* all = nullptr;
  for (int64_t part = 0; part < stride; ++part) {
    const int64_t begin = mask.lanes ? part * lanes : std::min(part * lanes, last + 1 - lanes);
    std::vector<int> picks;
    bool any_here = false;
    for (int64_t i = 0; i < lanes; ++i) {
      const int64_t at = i * stride + phase;
      const bool here = at / lanes == part;
      any_here = any_here || here;
      picks.push_back(static_cast<int>(here ? (all ? lanes : 0) + at - begin : all ? i : -1));
    }
    if (!any_here) continue;
    Value* vector = load_part(part, begin);
    all = b.CreateShuffleVector(all ? all : vector, vector, picks);
  }
  return from_storage(dtype, all);
}

// Returns the columns' lanes one row after the other, divided into vectors of `width` elements.
std::vector<Value*> Memory::rows_of_columns(std::vector<Value*> columns, int width) {
  auto& b = ir_.builder;
  const int lanes = ir_.lanes, stride = static_cast<int>(columns.size());
  std::vector<Value*> parts;
  if (std::has_single_bit(columns.size())) {
    // Columns c and c + half are interleaved, until there is one vector.
    for (int length = lanes; columns.size() > 1; length *= 2) {
      std::vector<int> picks;
      for (int i = 0; i < length; ++i) picks.insert(picks.end(), {i, length + i});
      const size_t half = columns.size() / 2;
      for (size_t c = 0; c < half; ++c)
        columns[c] = b.CreateShuffleVector(columns[c], columns[c + half], picks);
      columns.resize(half);
    }
    for (int begin = 0; begin < lanes * stride; begin += width) {
      std::vector<int> picks(static_cast<size_t>(width));
      std::iota(picks.begin(), picks.end(), begin);
      parts.push_back(b.CreateShuffleVector(columns[0], picks));
    }
    return parts;
  }
  TESSERA_CHECK(width == lanes, "parts of {} elements", width);
  for (int part = 0; part < stride; ++part) {
    Value* vector = columns[0];
    for (int c = 1; c < stride; ++c) {
      std::vector<int> picks;
      for (int i = 0; i < lanes; ++i) {
        const int at = part * lanes + i, column = at % stride, lane = at / stride;
        const int earlier = c == 1 ? lane : i;
        picks.push_back(column == c ? lanes + lane : column < c ? earlier : -1);
      }
      vector = b.CreateShuffleVector(vector, columns[static_cast<size_t>(c)], picks);
    }
    parts.push_back(vector);
  }
  return parts;
}

void Memory::store_columns(DType dtype, Value* pointer, std::span<const Val> columns,
                           const LaneMask& mask, bool streaming) {
  auto& b = ir_.builder;
  const int lanes = ir_.lanes, stride = static_cast<int>(columns.size());
  llvm::Type* element = storage(dtype);
  std::vector<Value*> bits;
  for (const Val& column : columns) bits.push_back(to_storage(dtype, column.re, column.rounded));
  Value* wanted = nullptr;
  if (mask.lanes) wanted = b.CreateMul(mask.count, b.getInt64(static_cast<uint64_t>(stride)));
  // Elements that are narrower than the kernel's widest ones fill whole vectors only together.
  const int full = ir_.target.vector_bytes * 8 / static_cast<int>(element->getScalarSizeInBits());
  const int width = std::has_single_bit(columns.size()) ? std::min(full, lanes * stride) : lanes;
  const std::vector<Value*> parts = rows_of_columns(std::move(bits), width);
  for (int part = 0; part < static_cast<int>(parts.size()); ++part) {
    LaneMask part_mask;
    if (mask.lanes) part_mask = part_of_mask(wanted, part, width);
    part_mask.full = mask.full;
    Value* to = b.CreateGEP(element, pointer, b.getInt64(static_cast<uint64_t>(part) * width));
    if (part_mask.any) to = b.CreateSelect(part_mask.any, to, zeros());  // no lane is stored
    store_lanes(parts[static_cast<size_t>(part)], to, part_mask, streaming);
  }
}

Val Memory::load_pieces(DType dtype, std::span<Value* const> pointers, int length, bool same,
                        const LaneMask& mask) {
  auto& b = ir_.builder;
  llvm::Type* element = storage(dtype);
  const int parts = is_complex(dtype) ? 2 : 1;  // of an element
  const LaneMask all = parts == 2 ? mask_of_pairs(mask) : mask;
  std::vector<Value*> pieces;
  for (size_t q = 0; q < pointers.size(); ++q) {
    std::vector<int> picks(static_cast<size_t>(length) * parts);
    std::iota(picks.begin(), picks.end(), static_cast<int>(q * picks.size()));
    LaneMask part;
    if (all.lanes) {
      part.lanes = b.CreateShuffleVector(all.lanes, picks);
      part.any = b.CreateOrReduce(part.lanes);
    }
    if (same) {
      const LaneMask one{.any = part.any};
      for (size_t i = 0; i < picks.size(); ++i) picks[i] = static_cast<int>(i) % parts;
      Value* piece = b.CreateShuffleVector(load_lanes(element, pointers[q], parts, one), picks);
      if (part.lanes)
        piece = b.CreateSelect(part.lanes, piece, llvm::Constant::getNullValue(piece->getType()));
      pieces.push_back(piece);
    } else {
      pieces.push_back(load_lanes(element, pointers[q], length * parts, part));
    }
  }
  Value* lanes = joined(std::move(pieces));
  return parts == 2 ? parts_of_pairs(lanes) : from_storage(dtype, lanes);
}

// Decides whether lanes run over the flat index. They do if rows are shorter than two vectors,
// unless a load is whole in each row, but in flat mode would be a gather: for rows of kLeastRow
// elements and more, the gather takes longer than the lanes beyond the end of the row.
//
// Example: rows of 20 floats are scaled, x[20*p0 + p1] * s[p0]. In flat mode s is gathered, 16
// lanes at a time. Row by row, s[p0] is one number, and x two vectors of which 12 lanes are unused.
void KernelEmitter::choose_lanes() {
  constexpr int64_t kLeastRow = 10;
  const bool is_short =
      along_parallel_ && k_.parallel.size() > 1 && k_.parallel.back() < 2 * lanes_;
  flat_ = is_short;
  if (!is_short || k_.parallel.back() < kLeastRow) return;
  flat_ = false;
  find_node_scopes();
  const auto is_whole = [&](const KernelNode& load) {
    const int64_t step = load.address.parallel.back();
    return (step == 0 || step == 1) &&
           std::none_of(load.dynamic.begin(), load.dynamic.end(),
                        [&](const auto& position) { return by_lane_[position.first]; });
  };
  std::vector<const KernelNode*> whole;
  for (const KernelNode& node : k_.nodes)
    if (node.kind == NodeKind::kLoad && is_whole(node)) whole.push_back(&node);
  flat_ = true;
  flat_ = std::none_of(whole.begin(), whole.end(), [&](const KernelNode* load) {
    const bool gathered =
        !load->dynamic.empty() || lane_kind(load->address) == LaneKind::kScattered;
    return gathered && piece_length(*load) == 0;
  });
}

// Returns the length of the pieces by which a load is done in flat mode; 0 if it is not. The lanes
// of a piece are a row of the kernel. In memory they are neighbours, or all the same element. A
// vector consists of few whole rows.
//
// Example: the gradient of average pooling repeats rows of 8 channels, parallel (n, 2, 8), and
// loads x[8*p0 + p2]. With 16 lanes, a vector is two pieces: each is loaded from the row's address,
// which takes two divisions by constants for two loads, instead of 16 of both.
int KernelEmitter::piece_length(const KernelNode& load) const {
  // There are no gathers of 8 and 16 bits, so their lanes would be loaded one by one.
  const int64_t most_pieces = itemsize(load.dtype) < 4 ? 16 : 4;
  if (!flat_ || !aligned_ || load.kind != NodeKind::kLoad || !load.dynamic.empty() ||
      lane_kind(load.address) != LaneKind::kScattered)
    return 0;
  const Dims& inner = load.address.inner;
  if (std::any_of(inner.begin(), inner.end(), [](int64_t c) { return c != 0; })) return 0;
  const int64_t row = k_.parallel.back(), step = load.address.parallel.back();
  if ((step != 0 && step != 1) || lanes_ % row != 0 || lanes_ / row > most_pieces) return 0;
  return static_cast<int>(row);
}

// Returns how many pieces all loads of a vector have.
int KernelEmitter::pieces() const {
  int count = 0;
  for (const KernelNode& node : k_.nodes)
    if (const int length = piece_length(node)) count += lanes_ / length;
  return count;
}

// Returns the addresses of the pieces of vector u.
std::vector<Value*> KernelEmitter::piece_pointers(const KernelNode& load, int length, int u) {
  const int count = lanes_ / length;
  const size_t rank = k_.parallel.size();
  auto& known = scopes_[2].piece_indices;
  use_scope(2);
  std::vector<Value*> pointers;
  for (int q = u * count; q < (u + 1) * count; ++q) {
    if (static_cast<int>(known.size()) <= q) known.resize(static_cast<size_t>(q) + 1);
    std::vector<Value*>& indices = known[static_cast<size_t>(q)];
    if (indices.empty()) {
      indices.resize(rank - 1);
      Value* row =
          b_.CreateUDiv(b_.CreateAdd(scopes_[2].index, i64(int64_t{q} * length)), i64(length));
      for (size_t d = rank - 1; d-- > 1;) {
        Value* quotient = b_.CreateUDiv(row, i64(k_.parallel[d]));
        indices[d] = b_.CreateSub(row, b_.CreateMul(quotient, i64(k_.parallel[d])));
        row = quotient;
      }
      indices[0] = row;
    }
    Value* at = i64(load.address.offset);
    for (size_t d = 0; d + 1 < rank; ++d)
      if (load.address.parallel[d] != 0)
        at = b_.CreateAdd(at, b_.CreateMul(indices[d], i64(load.address.parallel[d])));
    pointers.push_back(memory_.advance(load.dtype, buffers_[load.buffer], at));
  }
  return pointers;
}

// Returns how many elements before lane 0 the load's vectors begin. It is chosen such that the
// loads of all columns of a row begin at the same element, and are the same loads.
int64_t KernelEmitter::phase_of(const KernelNode& load, int64_t stride) const {
  const Affine& address = load.address;
  const auto is_row = [&](int64_t c) { return c >= 0 && c % stride == 0; };
  const bool rows = load.dynamic.empty() && address.offset >= 0 &&
                    std::all_of(address.parallel.begin(), address.parallel.end(), is_row) &&
                    std::all_of(address.inner.begin(), address.inner.end(), is_row);
  return rows ? address.offset % stride : 0;
}

// Returns whether the kernel reads more than half of the columns of the load's rows. These share
// loads of whole vectors.
bool KernelEmitter::reads_most_of_rows(const KernelNode& load, int64_t stride) const {
  int64_t columns = 0;
  for (const KernelNode& other : k_.nodes) {
    if (other.kind != NodeKind::kLoad || other.buffer != load.buffer || other.guard >= 0) continue;
    Affine address = other.address;
    address.offset += load.address.offset - other.address.offset;
    columns +=
        address == load.address && other.address.offset / stride == load.address.offset / stride;
  }
  return 2 * columns > stride;
}

// Returns whether the kernel also reads the last columns of the rows to which the load belongs.
// Then it may read the rows whole, and all columns read the same vectors.
bool KernelEmitter::reads_rows_to_the_end(const KernelNode& load, int64_t stride) const {
  if (load.loop != 0 || !load.address.inner.empty()) return false;
  Affine last = load.address;
  last.offset += stride - 1 - phase_of(load, stride);
  if (last.offset % stride != stride - 1) return false;
  return std::any_of(k_.nodes.begin(), k_.nodes.end(), [&](const KernelNode& other) {
    return other.kind == NodeKind::kLoad && other.buffer == load.buffer && other.guard < 0 &&
           other.dynamic.empty() && other.loop == 0 && other.address == last;
  });
}

// Returns whether the kernel has a load whose lanes are a few elements apart and which whole
// vectors can read. Masked vectors cost much more for such a load.
bool KernelEmitter::loads_apart() const {
  for (size_t i = 0; i < k_.nodes.size(); ++i) {
    const KernelNode& node = k_.nodes[i];
    if (node.kind == NodeKind::kLoad && by_lane_[i] && node.guard < 0 && node.dynamic.empty() &&
        lane_kind(node.address) == LaneKind::kStrided &&
        memory_.takes_whole_vectors(node.dtype, lane_stride(node.address), {}))
      return true;
  }
  return false;
}

int64_t KernelEmitter::columns_of_rows() const {
  int64_t most = 1;
  const auto count = [&](const Affine& address) {
    if (lane_kind(address) != LaneKind::kStrided) return;
    const int64_t stride = lane_stride(address);
    if (stride <= kMostInWholeVectors) most = std::max(most, stride);
  };
  for (size_t i = 0; i < k_.nodes.size(); ++i)
    if (k_.nodes[i].kind == NodeKind::kLoad && by_lane_[i]) count(k_.nodes[i].address);
  for (const KernelLoop& loop : k_.loops)
    for (const KernelStore& store : loop.stores) count(store.address);
  return most;
}

bool KernelEmitter::gathers_lanes() const {
  return std::any_of(k_.nodes.begin(), k_.nodes.end(), [&](const KernelNode& node) {
    return node.kind == NodeKind::kLoad &&
           std::any_of(node.dynamic.begin(), node.dynamic.end(),
                       [&](const auto& term) { return by_lane_[term.first]; });
  });
}

// How many of the stores from `first` on are the columns of whole rows, one after the other; 0 if
// there are none.
size_t KernelEmitter::columns_from(const std::vector<KernelStore>& stores, size_t first) const {
  if (!along_parallel_ || single_ || flat_) return 0;
  const KernelStore& store = stores[first];
  const int64_t stride = lane_stride(store.address);
  const auto count = static_cast<size_t>(std::max<int64_t>(stride, 0));
  if (stride > kMostInWholeVectors ||
      !memory_.takes_whole_vectors(k_.buffers[store.buffer].dtype, stride, mask_of(0)) ||
      first + count > stores.size())
    return 0;
  for (size_t c = 0; c < count; ++c) {
    const KernelStore& other = stores[first + c];
    Affine expected = store.address;
    expected.offset += static_cast<int64_t>(c);
    if (other.buffer != store.buffer || other.guard >= 0 || other.address != expected) return 0;
  }
  return count;
}

void KernelEmitter::emit_columns_of_rows(std::span<const KernelStore> stores, int id) {
  const KernelStore& first = stores[0];
  const KernelBuffer& buffer = k_.buffers[first.buffer];
  for (int u = 0; u < unroll_; ++u) {
    std::vector<Val> columns;
    for (const KernelStore& store : stores) columns.push_back(value(store.node, u));
    Value* pointer = pointer_to(first.buffer, first.address, id, top(), u);
    use_scope(top());
    for (Val& column : columns) column = broadcast_val(ir_, column);
    memory_.store_columns(buffer.dtype, pointer, columns, mask_of(u),
                          k_.streaming_stores && buffer.kind == BufferKind::kOutput);
    keep_scope(top());
  }
}

}  // namespace tessera::codegen
