#include "tessera/runtime/conv_library.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <string_view>

#include "tessera/base/buffer.h"
#include "tessera/base/error.h"
#include "tessera/base/per_thread.h"
#include "tessera/base/thread_pool.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/dnnl_versions.h"
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

const dnnl::engine& engine() {
  static const auto& cpu = *new dnnl::engine(dnnl::engine::kind::cpu, 0);
  return cpu;
}
struct Stream {
  dnnl::stream of_thread{engine()};
};
dnnl::stream& stream() { return per_thread<Stream, Stream>().of_thread; }

memory::data_type type_of(DType dtype) {
  return dtype == bfloat16 ? memory::data_type::bf16 : memory::data_type::f32;
}
int64_t bytes_of(const memory::desc& desc) {
  return ceil_div(static_cast<int64_t>(desc.get_size()), 64) * 64;
}

// Returns a tensor of a tile as it is stored in the user's memory, batch and features first.
memory::desc desc_of(const ConvTensor& x, const memory::dims& dims, DType dtype) {
  memory::dims strides{x.major, x.minor};
  strides.insert(strides.end(), x.spatial.begin(), x.spatial.end());
  // It uses a tag if the strides are those of one: the strides of extents of 1 are arbitrary, but
  // the library compares them.
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

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr out;
  // The library's own scratchpad belongs to the thread that made the primitive.
  out.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return out;
}

// Converts a tensor from one layout to another; does nothing if they are the same.
struct Reorder {
  memory::desc from, to, scratchpad;
  dnnl::reorder primitive;
  int64_t scratch = 0;
  bool needed = false;

  Reorder() = default;
  Reorder(const memory::desc& from, const memory::desc& to) : from(from), to(to) {
    needed = from != to;
    if (!needed) return;
    const dnnl::reorder::primitive_desc description(engine(), from, engine(), to,
                                                    user_scratchpad());
    primitive = dnnl::reorder(description);
    scratchpad = description.scratchpad_desc();
    scratch = bytes_of(scratchpad);
  }
  void run(const void* in, void* out, std::byte* work) const {
    memory x(from, engine(), const_cast<void*>(in)), y(to, engine(), out),
        w(scratchpad, engine(), work);
    primitive.execute(stream(), {{DNNL_ARG_FROM, x}, {DNNL_ARG_TO, y}, {DNNL_ARG_SCRATCHPAD, w}});
  }
};

// The primitive of all tiles of one kind, and how its tensors are converted.
struct Variant {
  dnnl::primitive primitive;
  memory::desc src, weights, dst, scratchpad;  // as the primitive needs them
  Reorder src_reorder, weights_reorder, dst_reorder;
  int64_t src_bytes = 0, dst_bytes = 0, scratch_bytes = 0;
};

struct VariantKey {
  int64_t batches, groups, inputs, outputs;
  std::vector<int64_t> slices;
  auto operator<=>(const VariantKey&) const = default;
};

// Copies with some spatial dimensions reversed, keeping the layout.
void reverse_copy(const std::byte* in, std::byte* out, const Shape& shape,
                  const std::vector<bool>& reversed, int64_t itemsize) {
  int64_t inner = shape.rank();
  while (inner > 0 && !reversed[inner - 1]) --inner;
  int64_t rows = 1, row = itemsize;
  for (int64_t d = 0; d < shape.rank(); ++d) (d < inner ? rows : row) *= shape[d];
  parallel_for_ranges(rows, std::max<int64_t>(1, 65536 / std::max<int64_t>(1, row)),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t r = begin; r < end; ++r) {
                          int64_t rest = r, from = 0, scale = 1;
                          for (int64_t d = inner; d-- > 0;) {
                            const int64_t i = rest % shape[d];
                            rest /= shape[d];
                            from += (reversed[d] ? shape[d] - 1 - i : i) * scale;
                            scale *= shape[d];
                          }
                          std::memcpy(out + r * row, in + from * row, static_cast<size_t>(row));
                        }
                      });
}

class ConvLibraryCode final : public ConvLibrary {
 public:
  ConvLibraryCode(const LibraryConv& conv, const ConvShape& shape, Types types)
      : conv_(conv), types_(types), rhs_shape_(shape.rhs_shape) {
    for (size_t d = 0; d < shape.rhs_dims.size(); ++d) {
      if (!conv.reversed[d]) continue;
      reversed_.resize(rhs_shape_.size());
      reversed_[static_cast<size_t>(shape.rhs_dims[d])] = true;
    }
    // Sums of parts are computed in float32.
    if (sums()) types_.out = float32;
    result_ = types.out;
    const auto side_by_side = [&](const ConvTensor& x, int64_t features) {
      return conv.groups == 1 || features == 1 ? true : x.group == features * x.minor;
    };
    ConvTensor *src = &conv_.src, *dst = &conv_.dst;
    // If a group has one feature, the distance of features is that of groups.
    if (conv.groups > 1 && conv.inputs == 1) src->minor = src->group;
    if (conv.groups > 1 && conv.outputs == 1) dst->minor = dst->group;
    tiles_ = split_into_tiles(
        conv_, !side_by_side(*src, conv.inputs) || !side_by_side(*dst, conv.outputs));
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
    return true;
  }

  void run(const void* lhs, const void* rhs, void* out) const override {
    const auto* x = static_cast<const std::byte*>(lhs);
    const auto* w = static_cast<const std::byte*>(rhs);
    Buffer reversed;
    if (!reversed_.empty()) {
      const int64_t item = itemsize(types_.in);
      reversed = Buffer::allocate(rhs_shape_.elements() * item);
      reverse_copy(w, reversed.data(), rhs_shape_, reversed_, item);
      w = reversed.data();
    }
    auto* y = static_cast<std::byte*>(out);
    Buffer kernels = Buffer::allocate(kernel_bytes_);
    const auto each = [&](int64_t n, auto&& task) {
      if (flops_ * 0.01 < kInlineNs) {
        for (int64_t i = 0; i < n; ++i) task(i);
      } else {
        parallel_for(n, task);
      }
    };
    if (sums()) {
      each(count(work_), [&](int64_t i) { run_tile(i, x, kernels.data(), w); });
      each(count(kernels_), [&](int64_t k) { finish_sum(k, kernels.data(), y); });
      return;
    }
    each(count(kernels_), [&](int64_t k) { bring_kernel(k, w, kernels.data()); });
    const bool forward = conv_.direction == ConvDirection::kForward;
    each(count(work_), [&](int64_t i) {
      const Kernel& kernel = kernel_of(work_[static_cast<size_t>(i)]);
      std::byte* weights = kernel.offset < 0 ? const_cast<std::byte*>(w) + kernel.byte_offset
                                             : kernels.data() + kernel.offset;
      if (forward) {
        run_tile(i, x, weights, y);
      } else {
        run_tile(i, y, weights, x);
      }
    });
  }

 private:
  // What the tiles of a forward convolution read as their kernel, in the library's layout; for the
  // other directions the sum that they make.
  struct Kernel {
    int variant;
    int64_t byte_offset;  // in rhs, or in the result; bytes
    int64_t offset = -1;  // in the memory of a run; -1: rhs has the library's layout itself
    int64_t bytes = 0;
    int64_t first = 0, parts = 0;  // the tiles that are its parts
  };

  // A tile: its primitive, its kernel or sum, and its position in bytes.
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
    // All parts of a sum have one layout.
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
    v.src_reorder = to_src ? Reorder(v.src, src) : Reorder(src, v.src);
    v.dst_reorder = to_dst ? Reorder(v.dst, dst) : Reorder(dst, v.dst);
    v.weights_reorder = sums() ? Reorder(v.weights, plain) : Reorder(plain, v.weights);
    v.src_bytes = v.src_reorder.needed ? bytes_of(v.src) : 0;
    v.dst_bytes = v.dst_reorder.needed ? bytes_of(v.dst) : 0;
    v.scratch_bytes = std::max({bytes_of(v.scratchpad), v.src_reorder.scratch,
                                v.dst_reorder.scratch, v.weights_reorder.scratch, int64_t{64}});
    return true;
  }

  template <class Description>
  static bool take(const Description& description, Variant& v) {
    // The reference code of the library is a hundred times slower than its own.
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
    const auto forward = describe<convolution_forward>(engine(), attr, kind, kDirect, src, weights,
                                                       dst, strides, dilations, low, high);
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
            engine(), attr, forward, kDirect, src, weights, dst, strides, dilations, low, high);
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
            engine(), attr, forward, kDirect, src, weights, dst, strides, dilations, low, high);
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

  // Finds which tiles share a kernel or a sum, and the positions of these in the memory of a run.
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
            .bytes = bytes_of(v.weights),
            .first = static_cast<int64_t>(i)};
        kernels_.push_back(kernel);
      }
      ++kernels_[static_cast<size_t>(found)].parts;
      work_[i].kernel = found;
    }
    for (Kernel& k : kernels_) {
      if (!sums() && !variant_of(k).weights_reorder.needed) continue;
      k.offset = kernel_bytes_;
      kernel_bytes_ += k.bytes * (sums() ? k.parts : 1);
    }
  }

  void bring_kernel(int64_t i, const std::byte* rhs, std::byte* kernels) const {
    const Kernel& k = kernels_[static_cast<size_t>(i)];
    if (k.offset < 0) return;
    const OneThread one_thread;
    const Variant& v = variant_of(k);
    const Workspace<std::byte> scratch(v.scratch_bytes);
    v.weights_reorder.run(rhs + k.byte_offset, kernels + k.offset, scratch.data());
  }

  // `weights`: the kernel; for a sum, the memory of all parts.
  void run_tile(int64_t i, const void* src_data, std::byte* weights, const void* dst_data) const {
    const OneThread one_thread;
    const Work& tile = work_[static_cast<size_t>(i)];
    const Variant& v = variant_of(tile);
    const Workspace<std::byte> scratch(v.scratch_bytes + v.src_bytes + v.dst_bytes);
    std::byte* work = scratch.data();
    std::byte *src_work = work + v.scratch_bytes, *dst_work = src_work + v.src_bytes;
    auto* src = static_cast<std::byte*>(const_cast<void*>(src_data)) + tile.src;
    auto* dst = static_cast<std::byte*>(const_cast<void*>(dst_data)) + tile.dst;
    if (sums()) {
      const Kernel& k = kernel_of(tile);
      weights += k.offset + (i - k.first) * k.bytes;
    }
    const bool to_src = conv_.direction == ConvDirection::kBackwardData;
    const bool to_dst = conv_.direction == ConvDirection::kForward;
    if (v.src_reorder.needed && !to_src) v.src_reorder.run(src, src_work, work);
    if (v.dst_reorder.needed && !to_dst) v.dst_reorder.run(dst, dst_work, work);
    memory x(v.src, engine(), v.src_reorder.needed ? src_work : src),
        w(v.weights, engine(), weights), y(v.dst, engine(), v.dst_reorder.needed ? dst_work : dst),
        s(v.scratchpad, engine(), work);
    v.primitive.execute(stream(), {{to_src ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, x},
                                   {sums() ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, w},
                                   {to_dst ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, y},
                                   {DNNL_ARG_SCRATCHPAD, s}});
    if (v.src_reorder.needed && to_src) v.src_reorder.run(src_work, src, work);
    if (v.dst_reorder.needed && to_dst) v.dst_reorder.run(dst_work, dst, work);
  }

  // Adds the parts, each to its neighbour, and converts the sum to the result's layout.
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
  Shape rhs_shape_;
  std::vector<bool> reversed_;  // the dimensions of rhs to reverse; empty: none
  DType result_;
  std::vector<ConvTile> tiles_;
  std::vector<Work> work_;  // of each tile
  std::vector<Variant> variants_;
  std::vector<Kernel> kernels_;
  int64_t kernel_bytes_ = 0;
  double flops_ = 0;
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
