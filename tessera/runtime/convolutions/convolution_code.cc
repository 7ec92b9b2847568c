#include "tessera/runtime/convolutions/convolution_code.h"

#include <boost/container/flat_map.hpp>
#include <boost/container/small_vector.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "tessera/base/buffer.h"
#include "tessera/base/hash.h"
#include "tessera/base/thread_pool.h"
#include "tessera/codegen/machine_code/library_gate.h"
#include "tessera/runtime/convolutions/conv_library.h"
#include "tessera/runtime/convolutions/conv_product.h"
#include "tessera/runtime/convolutions/conv_shape.h"
#include "tessera/runtime/convolutions/conv_windows.h"
#include "tessera/runtime/convolutions/result_kernel.h"
#include "tessera/runtime/convolutions/weights_kernel.h"
#include "tessera/runtime/halves.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

constexpr int64_t kConvertGrain = 32768;

void widen_all(DType dtype, const void* in, float* out, int64_t n) {
  parallel_for_ranges(n, kConvertGrain, [&](int64_t begin, int64_t end) {
    if (dtype == float16) {
      widen(static_cast<const Float16*>(in) + begin, out + begin, end - begin);
    } else {
      widen(static_cast<const Bfloat16*>(in) + begin, out + begin, end - begin);
    }
  });
}
Buffer widened(DType dtype, const void* in, int64_t n) {
  Buffer out = Buffer::allocate(n * static_cast<int64_t>(sizeof(float)));
  widen_all(dtype, in, reinterpret_cast<float*>(out.data()), n);
  return out;
}
void narrow_all(const float* in, DType dtype, void* out, int64_t n) {
  parallel_for_ranges(n, kConvertGrain, [&](int64_t begin, int64_t end) {
    if (dtype == float16) {
      narrow(in + begin, static_cast<Float16*>(out) + begin, end - begin);
    } else {
      narrow(in + begin, static_cast<Bfloat16*>(out) + begin, end - begin);
    }
  });
}

// The kernel converted to float32 and, if `then_` is not null, packed by it.
class WidenedForm final : public PackedForm {
 public:
  static PackedFormRef make(DType from, int64_t elements, PackedFormRef then) {
    return shared_form(PackedFormRef(new WidenedForm(from, elements, std::move(then))));
  }
  int64_t bytes() const override {
    return then_ ? then_->bytes() : elements_ * static_cast<int64_t>(sizeof(float));
  }
  void pack(const std::byte* from, std::byte* to) const override {
    if (!then_) return widen_all(from_, from, reinterpret_cast<float*>(to), elements_);
    then_->pack(widened(from_, from, elements_).data(), to);
  }

 private:
  WidenedForm(DType from, int64_t elements, PackedFormRef then)
      : from_(from), elements_(elements), then_(std::move(then)) {}
  size_t hash() const override {
    return hash_combine(std::hash<const void*>()(then_.get()), static_cast<size_t>(elements_));
  }
  bool equals(const PackedForm& form) const override {
    const auto* other = dynamic_cast<const WidenedForm*>(&form);
    return other && other->from_ == from_ && other->elements_ == elements_ && other->then_ == then_;
  }

  DType from_;
  int64_t elements_;
  PackedFormRef then_;  // null: not packed
};

// Computes the whole result in memory of its own before it is read.
class WholeCall : public ConvolutionCall {
 public:
  explicit WholeCall(const Type& result)
      : elements_(result.elements()), itemsize_(itemsize(result.dtype)) {}
  void run_in_tiles(const void* lhs, const std::byte* rhs, const TileReader& read) const override {
    const Buffer whole = Buffer::allocate(elements_ * itemsize_);
    run(lhs, rhs, whole.data());
    parallel_for_ranges(elements_, kConvertGrain, [&](int64_t begin, int64_t end) {
      read(whole.data() + begin * itemsize_, begin, end - begin);
    });
  }

 private:
  int64_t elements_, itemsize_;
};

// Computes in the dtype of the operands.
class LibraryCall final : public WholeCall {
 public:
  LibraryCall(std::unique_ptr<const ConvLibrary> code, const Type& result)
      : WholeCall(result), code_(std::move(code)) {}
  PackedFormRef packed_rhs() const override { return code_->packed_rhs(); }
  void run(const void* lhs, const std::byte* rhs, void* out) const override {
    const codegen::LibraryGate::Pass pass;
    code_->run(lhs, rhs, out);
  }

 private:
  std::unique_ptr<const ConvLibrary> code_;
};

// Computes in float32, whatever the dtypes of the operands and the result.
class Float32Call final : public WholeCall {
 public:
  Float32Call(std::unique_ptr<const ConvLibrary> code, const Type& lhs, const Type& rhs,
              const Type& result)
      : WholeCall(result),
        code_(std::move(code)),
        packed_rhs_(lhs.dtype == float32
                        ? code_->packed_rhs()
                        : WidenedForm::make(lhs.dtype, rhs.elements(), code_->packed_rhs())),
        from_(lhs.dtype),
        to_(result.dtype),
        lhs_elements_(lhs.elements()),
        elements_(result.elements()) {}
  PackedFormRef packed_rhs() const override { return packed_rhs_; }
  void run(const void* lhs, const std::byte* rhs, void* out) const override {
    const codegen::LibraryGate::Pass pass;
    Buffer x, y;
    if (from_ != float32) x = widened(from_, lhs, lhs_elements_);
    if (to_ != float32) y = Buffer::allocate(elements_ * static_cast<int64_t>(sizeof(float)));
    code_->run(x ? x.data() : lhs, rhs, y ? y.data() : out);
    if (y) narrow_all(reinterpret_cast<const float*>(y.data()), to_, out, elements_);
  }
  void run_in_tiles(const void* lhs, const std::byte* rhs, const TileReader& read) const override {
    if (from_ != float32 || to_ != float32 || !code_->has_ranges())
      return WholeCall::run_in_tiles(lhs, rhs, read);
    const codegen::LibraryGate::Pass pass;
    code_->run_in_tiles(lhs, rhs, read);
  }

 private:
  std::unique_ptr<const ConvLibrary> code_;
  PackedFormRef packed_rhs_;
  DType from_, to_;
  int64_t lhs_elements_, elements_;
};

class WindowsCall final : public WholeCall {
 public:
  WindowsCall(const ConvShape& shape, DType in, const Type& result)
      : WholeCall(result), code_(shape, in, result.dtype) {}
  void run(const void* lhs, const std::byte* rhs, void* out) const override {
    const codegen::LibraryGate::Pass pass;
    code_.run(lhs, rhs, out);
  }

 private:
  ConvWindows code_;
};

class ProductCall final : public WholeCall {
 public:
  ProductCall(ConvProduct code, const Type& result) : WholeCall(result), code_(code) {}
  void run(const void* lhs, const std::byte* rhs, void* out) const override {
    code_.run(static_cast<const float*>(lhs), reinterpret_cast<const float*>(rhs),
              static_cast<float*>(out));
  }

 private:
  ConvProduct code_;
};

// The result has no elements.
class EmptyCall final : public ConvolutionCall {
 public:
  void run(const void*, const std::byte*, void*) const override {}
  void run_in_tiles(const void*, const std::byte*, const TileReader&) const override {}
};

class ConvolutionCode final : public StepCode {
 public:
  ConvolutionCode(const ConvolutionStep& step, const Schedule& s, const ConvolutionWeights& weights,
                  std::optional<ResultKernel> reader)
      : lhs_(use(step, s, step.lhs)),
        rhs_(use(step, s, weights.kernel ? weights.source : step.rhs)),
        out_(use(step, s, step.out)),
        call_(
            make_convolution(step.params, type(s, step.lhs), type(s, step.rhs), type(s, step.out))),
        packed_rhs_(call_->packed_rhs()),
        instances_(instance_count(s, step.axes)),
        reader_(std::move(reader)),
        kernel_bytes_(weights.code.bytes + (reader_ ? reader_->code_bytes() : 0)) {
    if (weights.kernel)
      packed_rhs_ = weights_kernel_form(*weights.kernel, weights.code, std::move(packed_rhs_));
  }

  int64_t code_bytes() const override { return kernel_bytes_; }

  void pack_constants(const SlotRef* constants) const override {
    if (packed_rhs_ && constants[rhs_.slot].base) pack(constants[rhs_.slot]);
  }

  // Each instance is a task of its own; a single instance uses all threads.
  void run(const SlotRef* slots, std::byte*) const override {
    const Kernels kernels = packed_rhs_ ? pack(slots[rhs_.slot]) : Kernels();
    const auto call = [&](int64_t i) {
      const std::byte* rhs = slots[rhs_.slot].at(rhs_.map(i));
      if (packed_rhs_) rhs = kernels.at(rhs).data();
      const std::byte* lhs = slots[lhs_.slot].at(lhs_.map(i));
      if (!reader_) return call_->run(lhs, rhs, slots[out_.slot].at(out_.map(i)));
      call_->run_in_tiles(lhs, rhs, [&](const std::byte* tile, int64_t begin, int64_t count) {
        reader_->run(slots, i, tile, begin, count);
      });
    };
    instances_ == 1 ? call(0) : parallel_for(instances_, call);
  }

 private:
  struct Use {
    int slot;
    InstanceMap map;
  };
  // The packed kernels of a run, by the address of what was packed.
  using Kernels = boost::container::flat_map<
      const std::byte*, Buffer, std::less<>,
      boost::container::small_vector<std::pair<const std::byte*, Buffer>, 1>>;

  // Packs the kernels of all instances; one that several instances read is packed once.
  Kernels pack(const SlotRef& rhs) const {
    const codegen::LibraryGate::Pass pass;
    Kernels kernels;
    for (int64_t i = 0; i < instances_; ++i) {
      const std::byte* data = rhs.at(rhs_.map(i));
      if (!kernels.contains(data)) kernels.emplace(data, packed(packed_rhs_, data, rhs.packed));
    }
    return kernels;
  }

  static const Slot& slot(const Schedule& s, int i) { return s.slots[static_cast<size_t>(i)]; }
  static Use use(const ConvolutionStep& step, const Schedule& s, int i) {
    return {i, InstanceMap(s, step.axes, slot(s, i).axes)};
  }
  static Type type(const Schedule& s, int i) {
    return {.dtype = slot(s, i).dtype, .shape = slot(s, i).shape};
  }

  Use lhs_, rhs_, out_;
  std::unique_ptr<const ConvolutionCall> call_;
  PackedFormRef packed_rhs_;
  int64_t instances_;
  std::optional<ResultKernel> reader_;
  int64_t kernel_bytes_;  // the size of the machine code of both kernels
};

}  // namespace

std::unique_ptr<StepCode> make_convolution_code(const ConvolutionStep& step,
                                                const Schedule& schedule,
                                                const ConvolutionWeights& weights,
                                                std::optional<ResultKernel> reader) {
  return std::make_unique<ConvolutionCode>(step, schedule, weights, std::move(reader));
}

std::unique_ptr<const ConvolutionCall> make_convolution(const ConvolutionParams& params,
                                                        const Type& lhs, const Type& rhs,
                                                        const Type& result) {
  const codegen::LibraryGate::Pass making;
  const DType in = lhs.dtype, out = result.dtype;
  if (result.elements() == 0) return std::make_unique<EmptyCall>();
  const ConvShape shape = conv_shape(params, lhs.shape, rhs.shape, result.shape);
  if (in == float32 && out == float32)
    if (const auto product = ConvProduct::make(shape))
      return std::make_unique<ProductCall>(*product, result);
  const bool single = (in == float32 || is_half(in)) && (out == float32 || is_half(out));
  if (in == bfloat16 && (out == bfloat16 || out == float32)) {
    if (auto code = ConvLibrary::make(shape, {in, out}))
      return std::make_unique<LibraryCall>(std::move(code), result);
  }
  if (single) {
    if (auto code = ConvLibrary::make(shape, {float32, float32}))
      return std::make_unique<Float32Call>(std::move(code), lhs, rhs, result);
  }
  return std::make_unique<WindowsCall>(shape, in, result);
}

}  // namespace tessera::runtime
