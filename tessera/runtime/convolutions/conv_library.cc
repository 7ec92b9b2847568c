#include "tessera/runtime/convolutions/conv_library.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

#include "tessera/base/buffer.h"
#include "tessera/base/error.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/convolutions/conv_kernels.h"
#include "tessera/runtime/convolutions/dnnl_memory.h"
#include "tessera/runtime/one_thread.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

using dnnl::memory;
using dnnl_versions::describe;
using dnnl_versions::describe_gradient;
using dnnl_versions::dims_of;
using dnnl_versions::strides_of;
using dnnl_versions::type_of;
using Tag = memory::format_tag;

memory::data_type type_of(DType dtype) {
  return dtype == bfloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}
// Describes a tensor of a tile as it is stored in the user's memory. The dimensions are the batch,
// the features and the spatial dimensions.
memory::desc desc_of(const ConvTensor& x, const memory::dims& dims, DType dtype) {
  memory::dims strides{x.major, x.minor};
  strides.insert(strides.end(), x.spatial.begin(), x.spatial.end());
  // If the strides are equivalent to those of a tag, the description uses the tag: the strides of
  // dimensions of extent 1 are arbitrary, but the library compares them.
  static constexpr Tag kLast[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc},
                       kFirst[] = {Tag::ncw, Tag::nchw, Tag::ncdhw};
  const size_t rank = dims.size();
  for (const Tag tag : {kLast[rank - 3], kFirst[rank - 3]}) {
    const memory::desc named(dims, type_of(dtype), tag);
    const memory::dims strides_of_tag = strides_of(named);
    bool same = true;
    for (size_t d = 0; d < rank; ++d) same &= dims[d] == 1 || strides_of_tag[d] == strides[d];
    if (same) return named;
  }
  return memory::desc(dims, type_of(dtype), strides);
}
bool is_channels_last(const memory::desc& desc) {
  static constexpr Tag kLast[] = {Tag::nwc, Tag::nhwc, Tag::ndhwc};
  const memory::dims dims = dims_of(desc);
  return desc == memory::desc(dims, type_of(desc), kLast[dims.size() - 3]);
}
memory::desc any_like(const memory::desc& desc) {
  return memory::desc(dims_of(desc), type_of(desc), Tag::any);
}
memory::desc weights_desc(const ConvTensor& x, const memory::dims& dims, DType dtype,
                          bool grouped) {
  memory::dims strides;
  if (grouped) strides.push_back(x.group);
  strides.insert(strides.end(), {x.major, x.minor});
  strides.insert(strides.end(), x.spatial.begin(), x.spatial.end());
  return memory::desc(dims, type_of(dtype), strides);
}

// The primitive for all tiles of one kind, and the conversions of its tensors.
struct Variant {
  dnnl::primitive primitive;
  memory::desc src, weights, dst, scratchpad;  // the layouts that the primitive reads and writes
  DnnlReorder src_reorder, weights_reorder, dst_reorder;
  int64_t src_bytes = 0, dst_bytes = 0, scratch_bytes = 0;
};

struct VariantKey {
  int64_t batches, groups, inputs, outputs;
  std::vector<int64_t> slices;
  auto operator<=>(const VariantKey&) const = default;
};

class ConvLibraryCode final : public ConvLibrary {
 public:
  ConvLibraryCode(const LibraryConv& conv, const ConvShape& shape, Types types)
      : conv_(conv), types_(types), rhs_{types.in, shape.rhs_shape, {}} {
    for (size_t d = 0; d < shape.rhs_dims.size(); ++d) {
      if (!conv.reversed[d]) continue;
      rhs_.reversed.resize(rhs_.shape.size());
      rhs_.reversed[static_cast<size_t>(shape.rhs_dims[d])] = true;
    }
    // Sums of parts are computed in float32.
    if (sums()) types_.out = float32;
    result_ = types.out;
    tiles_ = conv_tiles(conv_);
    ranges_ = result_ranges(conv_, tiles_);
  }

  // Returns whether the library has fast code for every tile.
  bool prepare() {
    const OneThread one_thread;
    std::map<VariantKey, int> known;
    for (const ConvTile& t : tiles_) {
      VariantKey key{t.batches, t.groups, t.inputs, t.outputs, {}};
      const std::vector<ConvSlice> slices = slices_of(t);
      for (const ConvSlice& c : slices)
        key.slices.insert(key.slices.end(), {c.in, c.low, c.high, c.out});
      const auto [at, fresh] =
          known.try_emplace(std::move(key), static_cast<int>(variants_.size()));
      if (fresh) {
        Variant v;
        if (!make_variant(t, slices, v)) return false;
        variants_.push_back(std::move(v));
      }
      int64_t src =
                  t.batch * conv_.src.major + t.group * conv_.src.group + t.input * conv_.src.minor,
              dst = t.batch * conv_.dst.major + t.group * conv_.dst.group +
                    t.output * conv_.dst.minor + t.row * conv_.dst.spatial[0];
      for (size_t d = 0; d < slices.size(); ++d) src += slices[d].begin * conv_.src.spatial[d];
      work_.push_back({at->second, 0, src * itemsize(src_type()), dst * itemsize(dst_type())});
    }
    find_kernels();
    flops_ = conv_flops(conv_);
    ns_ = conv_ns(conv_);
    return true;
  }

  const PackedFormRef& packed_rhs() const override { return packed_rhs_; }

  void run(const void* lhs, const std::byte* rhs, void* out) const override {
    auto* x = static_cast<std::byte*>(const_cast<void*>(lhs));
    auto* y = static_cast<std::byte*>(out);
    auto* w = const_cast<std::byte*>(rhs);
    if (sums()) {
      Buffer parts = Buffer::allocate(parts_bytes_);
      each(count(work_), [&](int64_t i) {
        const Work& tile = work_[static_cast<size_t>(i)];
        run_tile(i, x + tile.src, parts.data(), w + tile.dst);
      });
      each(count(kernels_), [&](int64_t k) { finish_sum(k, parts.data(), y); });
      return;
    }
    if (conv_.direction == ConvDirection::kBackwardData) std::swap(x, y);
    each(count(work_), [&](int64_t i) {
      const Work& tile = work_[static_cast<size_t>(i)];
      run_tile(i, x + tile.src, w + kernel_of(tile).offset, y + tile.dst);
    });
  }

  bool has_ranges() const override { return !ranges_.empty(); }

  void run_in_tiles(const void* lhs, const std::byte* rhs, const TileReader& read) const override {
    auto* x = static_cast<std::byte*>(const_cast<void*>(lhs));
    each(count(work_), [&](int64_t i) {
      const Work& tile = work_[static_cast<size_t>(i)];
      const auto [begin, elements] = ranges_[static_cast<size_t>(i)];
      const Workspace<std::byte> result(elements * itemsize(types_.out));
      run_tile(i, x + tile.src, const_cast<std::byte*>(rhs) + kernel_of(tile).offset,
               result.data());
      read(result.data(), begin, elements);
    });
  }

 private:
  // An array of weights that several tiles share: the kernel that they read or, for
  // kBackwardWeights, the sum that they compute parts of. It is in the library's layout.
  struct Kernel {
    int variant;
    int64_t byte_offset;  // of the kernel in rhs, or of the sum in the result
    // In bytes: of the kernel in packed rhs (in rhs if that is not packed), or of the sum's first
    // part in the memory of parts.
    int64_t offset = 0;
    int64_t bytes = 0;
    int64_t first = 0, parts = 0;  // the first tile that uses it, and the number of these tiles
  };

  // A tile: its primitive, its kernel or sum, and its offsets in src and dst in bytes.
  struct Work {
    int variant, kernel;
    int64_t src, dst;
  };
  const Variant& variant_of(const Work& w) const {
    return variants_[static_cast<size_t>(w.variant)];
  }
  const Variant& variant_of(const Kernel& k) const {
    return variants_[static_cast<size_t>(k.variant)];
  }
  const Kernel& kernel_of(const Work& w) const { return kernels_[static_cast<size_t>(w.kernel)]; }

  template <class T>
  static int64_t count(const std::vector<T>& x) {
    return static_cast<int64_t>(x.size());
  }
  bool sums() const { return conv_.direction == ConvDirection::kBackwardWeights; }

  std::vector<ConvSlice> slices_of(const ConvTile& t) const {
    std::vector<ConvSlice> out;
    for (size_t d = 0; d < conv_.dims.size(); ++d) {
      const LibraryConv::Dim& dim = conv_.dims[d];
      if (conv_.direction == ConvDirection::kBackwardData) {
        const int64_t extent = (dim.window - 1) * dim.dilation + 1;
        out.push_back({0, dim.in, dim.low,
                       std::max<int64_t>(0, (dim.out - 1) * dim.stride + extent - dim.low - dim.in),
                       dim.out});
      } else {
        out.push_back(d == 0 ? slice_conv(dim, t.row, t.rows) : slice_conv(dim, 0, dim.out));
      }
    }
    return out;
  }

  DType src_type() const {
    return conv_.direction == ConvDirection::kBackwardData ? types_.out : types_.in;
  }
  DType dst_type() const {
    return conv_.direction == ConvDirection::kForward ? types_.out : types_.in;
  }
  DType weights_type() const { return sums() ? float32 : types_.in; }

  bool make_variant(const ConvTile& t, const std::vector<ConvSlice>& slices, Variant& v) const {
    memory::dims src_dims{t.batches, t.groups * t.inputs},
        dst_dims{t.batches, t.groups * t.outputs}, weights_dims{t.outputs, t.inputs}, strides,
        dilations, low, high;
    const bool grouped = t.groups > 1;
    if (grouped) weights_dims.insert(weights_dims.begin(), t.groups);
    for (size_t d = 0; d < slices.size(); ++d) {
      const LibraryConv::Dim& dim = conv_.dims[d];
      src_dims.push_back(slices[d].in);
      dst_dims.push_back(slices[d].out);
      weights_dims.push_back(dim.window);
      strides.push_back(dim.stride);
      dilations.push_back(dim.dilation - 1);
      low.push_back(slices[d].low);
      high.push_back(slices[d].high);
    }
    const memory::desc src = desc_of(conv_.src, src_dims, src_type()),
                       dst = desc_of(conv_.dst, dst_dims, dst_type());
    const memory::desc plain =
        weights_desc(conv_.weights, weights_dims, sums() ? result_ : types_.in, grouped);
    // All parts of a sum have the same layout.
    memory::desc any(weights_dims, type_of(weights_type()), Tag::any);
    for (const Variant& other : variants_)
      if (sums() && dims_of(other.weights) == weights_dims) any = other.weights;
    const auto find = [&](const memory::desc& s, const memory::desc& w, const memory::desc& d) {
      return find_primitive(s, w, d, strides, dilations, low, high, v);
    };
    const bool in_place = is_channels_last(src) || is_channels_last(dst);
    const memory::desc s = is_channels_last(src) ? src : any_like(src),
                       d = is_channels_last(dst) ? dst : any_like(dst);
    if (!find(s, any, d) && !(in_place && find(any_like(src), any, any_like(dst)))) return false;

    const bool to_src = conv_.direction == ConvDirection::kBackwardData;
    const bool to_dst = conv_.direction == ConvDirection::kForward;
    v.src_reorder = to_src ? DnnlReorder(v.src, src) : DnnlReorder(src, v.src);
    v.dst_reorder = to_dst ? DnnlReorder(v.dst, dst) : DnnlReorder(dst, v.dst);
    v.weights_reorder = sums() ? DnnlReorder(v.weights, plain) : DnnlReorder(plain, v.weights);
    v.src_bytes = v.src_reorder.needed ? dnnl_bytes(v.src) : 0;
    v.dst_bytes = v.dst_reorder.needed ? dnnl_bytes(v.dst) : 0;
    v.scratch_bytes = std::max({dnnl_bytes(v.scratchpad), v.src_reorder.scratch,
                                v.dst_reorder.scratch, v.weights_reorder.scratch, int64_t{64}});
    return true;
  }

  template <class Description>
  static bool take(const Description& description, Variant& v) {
    // The library's reference code is a hundred times slower than its code for known cases.
    if (!description ||
        std::string_view(description.impl_info_str()).find("ref") != std::string_view::npos)
      return false;
    v.scratchpad = description.scratchpad_desc();
    return true;
  }

  bool find_primitive(const memory::desc& src, const memory::desc& weights, const memory::desc& dst,
                      const memory::dims& strides, const memory::dims& dilations,
                      const memory::dims& low, const memory::dims& high, Variant& v) const {
    using dnnl::convolution_backward_data;
    using dnnl::convolution_backward_weights;
    using dnnl::convolution_forward;
    constexpr auto kDirect = dnnl::algorithm::convolution_direct;
    const dnnl::primitive_attr attr = user_scratchpad();
    const auto kind = conv_.direction == ConvDirection::kForward
                          ? dnnl::prop_kind::forward_inference
                          : dnnl::prop_kind::forward_training;
    const auto forward = describe<convolution_forward>(dnnl_engine(), attr, kind, kDirect, src,
                                                       weights, dst, strides, dilations, low, high);
    switch (conv_.direction) {
      case ConvDirection::kForward:
        if (!take(forward, v)) return false;
        v.src = forward.src_desc();
        v.weights = forward.weights_desc();
        v.dst = forward.dst_desc();
        v.primitive = convolution_forward(forward);
        return true;
      case ConvDirection::kBackwardData: {
        if (!forward) return false;
        const auto data = describe_gradient<convolution_backward_data>(
            dnnl_engine(), attr, forward, kDirect, src, weights, dst, strides, dilations, low,
            high);
        if (!take(data, v)) return false;
        v.src = data.diff_src_desc();
        v.weights = data.weights_desc();
        v.dst = data.diff_dst_desc();
        v.primitive = convolution_backward_data(data);
        return true;
      }
      case ConvDirection::kBackwardWeights: {
        if (!forward) return false;
        const auto sum = describe_gradient<convolution_backward_weights>(
            dnnl_engine(), attr, forward, kDirect, src, weights, dst, strides, dilations, low,
            high);
        if (!take(sum, v)) return false;
        v.src = sum.src_desc();
        v.weights = sum.diff_weights_desc();
        v.dst = sum.diff_dst_desc();
        v.primitive = convolution_backward_weights(sum);
        return true;
      }
    }
    return false;
  }

  // Finds which tiles share a kernel or a sum, and the offsets of kernels and sums in memory.
  void find_kernels() {
    const int64_t item = itemsize(sums() ? result_ : types_.in);
    std::map<std::array<int64_t, 4>, std::vector<int>> known;
    for (size_t i = 0; i < tiles_.size(); ++i) {
      const ConvTile& t = tiles_[i];
      const Variant& v = variant_of(work_[i]);
      int found = -1;
      std::vector<int>& same = known[{t.group, t.input, t.output, t.outputs}];
      for (int k : same)
        if (variant_of(kernels_[static_cast<size_t>(k)]).weights == v.weights) found = k;
      if (found < 0) {
        found = static_cast<int>(kernels_.size());
        same.push_back(found);
        const ConvTensor& w = conv_.weights;
        Kernel kernel{
            .variant = work_[i].variant,
            .byte_offset = (t.group * w.group + t.output * w.major + t.input * w.minor) * item,
            .bytes = dnnl_bytes(v.weights),
            .first = static_cast<int64_t>(i)};
        kernels_.push_back(kernel);
      }
      ++kernels_[static_cast<size_t>(found)].parts;
      work_[i].kernel = found;
    }
    sums() ? place_parts() : pack_kernels();
  }

  void place_parts() {
    for (Kernel& k : kernels_) {
      k.offset = parts_bytes_;
      parts_bytes_ += k.bytes * k.parts;
    }
  }

  // Decides how rhs is packed, if the primitives need that.
  void pack_kernels() {
    bool needed = !rhs_.reversed.empty();
    for (const Kernel& k : kernels_) needed |= variant_of(k).weights_reorder.needed;
    std::vector<ConvKernels::Part> parts;
    int64_t offset = 0;
    for (Kernel& k : kernels_) {
      k.offset = needed ? std::exchange(offset, offset + k.bytes) : k.byte_offset;
      parts.push_back({k.byte_offset, k.offset, variant_of(k).weights_reorder});
    }
    if (needed) packed_rhs_ = ConvKernels::make(std::move(rhs_), std::move(parts), offset);
  }

  // Calls task(0), ..., task(n - 1), on all threads if the convolution is large enough.
  template <class Task>
  void each(int64_t n, const Task& task) const {
    ThreadPool& pool = thread_pool();
    if (n > 1 && flops_ * 0.01 >= kInlineNs) {
      pool.parallel_for(n, task);
    } else if (n > 1 && ns_ >= kInlineNs && pool.awake()) {
      pool.parallel_for_awake(n, task);
    } else {
      for (int64_t i = 0; i < n; ++i) task(i);
    }
  }

  // Computes tile i. `weights` is the tile's kernel or, for a sum, the memory of all parts.
  void run_tile(int64_t i, std::byte* src, std::byte* weights, std::byte* dst) const {
    const OneThread one_thread;
    const Work& tile = work_[static_cast<size_t>(i)];
    const Variant& v = variant_of(tile);
    const Workspace<std::byte> scratch(v.scratch_bytes + v.src_bytes + v.dst_bytes);
    std::byte* work = scratch.data();
    std::byte *src_work = work + v.scratch_bytes, *dst_work = src_work + v.src_bytes;
    if (sums()) {
      const Kernel& k = kernel_of(tile);
      weights += k.offset + (i - k.first) * k.bytes;
    }
    const bool to_src = conv_.direction == ConvDirection::kBackwardData;
    const bool to_dst = conv_.direction == ConvDirection::kForward;
    if (v.src_reorder.needed && !to_src) v.src_reorder.run(src, src_work, work);
    if (v.dst_reorder.needed && !to_dst) v.dst_reorder.run(dst, dst_work, work);
    memory x(v.src, dnnl_engine(), v.src_reorder.needed ? src_work : src),
        w(v.weights, dnnl_engine(), weights),
        y(v.dst, dnnl_engine(), v.dst_reorder.needed ? dst_work : dst),
        s(v.scratchpad, dnnl_engine(), work);
    v.primitive.execute(dnnl_stream(), {{to_src ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x},
                                        {sums() ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, w},
                                        {to_dst ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y},
                                        {DNNL_ARG_SCRATCHPAD, s}});
    if (v.src_reorder.needed && to_src) v.src_reorder.run(src_work, src, work);
    if (v.dst_reorder.needed && to_dst) v.dst_reorder.run(dst_work, dst, work);
  }

  // Adds up the parts of sum i in pairs, pairs of pairs and so on, and converts the sum to the
  // result's layout.
  void finish_sum(int64_t i, std::byte* parts, std::byte* out) const {
    const Kernel& k = kernels_[static_cast<size_t>(i)];
    const Variant& v = variant_of(k);
    const int64_t n = k.bytes / static_cast<int64_t>(sizeof(float));
    auto* sums = reinterpret_cast<float*>(parts + k.offset);
    parallel_for_ranges(n, 16384, [&](int64_t begin, int64_t end) {
      for (int64_t width = 1; width < k.parts; width *= 2)
        for (int64_t p = 0; p + width < k.parts; p += 2 * width) {
          float* a = sums + p * n;
          const float* b = a + width * n;
          for (int64_t e = begin; e < end; ++e) a[e] += b[e];
        }
    });
    const OneThread one_thread;
    if (v.weights_reorder.needed) {
      const Workspace<std::byte> scratch(v.scratch_bytes);
      v.weights_reorder.run(sums, out + k.byte_offset, scratch.data());
    } else {
      std::memcpy(out + k.byte_offset, sums, v.weights.get_size());
    }
  }

  LibraryConv conv_;
  Types types_;
  ConvKernels::Source rhs_;
  PackedFormRef packed_rhs_;  // null: rhs is read as it is
  DType result_;
  std::vector<ConvTile> tiles_;
  std::vector<std::pair<int64_t, int64_t>> ranges_;  // of the result, one for each tile
  std::vector<Work> work_;                           // one for each tile
  std::vector<Variant> variants_;
  std::vector<Kernel> kernels_;
  int64_t parts_bytes_ = 0;
  double flops_ = 0, ns_ = 0;  // of all tiles
};

std::atomic<int64_t> libraries_made{0};

}  // namespace

std::unique_ptr<const ConvLibrary> ConvLibrary::make(const ConvShape& shape, Types types) {
  const std::optional<LibraryConv> conv = library_conv(shape);
  if (!conv) return nullptr;
  auto out = std::make_unique<ConvLibraryCode>(*conv, shape, types);
  ++libraries_made;
  if (!out->prepare()) return nullptr;
  return out;
}

int64_t ConvLibrary::num_made() { return libraries_made; }

}  // namespace tessera::runtime
