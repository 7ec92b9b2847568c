#include "tessera/runtime/convolution_code.h"

#include <memory>
#include <utility>

#include "tessera/base/buffer.h"
#include "tessera/base/thread_pool.h"
#include "tessera/codegen/library_gate.h"
#include "tessera/runtime/conv_library.h"
#include "tessera/runtime/conv_shape.h"
#include "tessera/runtime/conv_windows.h"
#include "tessera/runtime/halves.h"
#include "tessera/runtime/step_code.h"

namespace tessera::runtime {
namespace {

constexpr int64_t kConvertGrain = 32768;

Buffer widened(DType dtype, const void* in, int64_t n) {
  Buffer out = Buffer::allocate(n * static_cast<int64_t>(sizeof(float)));
  auto* to = reinterpret_cast<float*>(out.data());
  parallel_for_ranges(n, kConvertGrain, [&](int64_t begin, int64_t end) {
    if (dtype == float16) {
      widen(static_cast<const Float16*>(in) + begin, to + begin, end - begin);
    } else {
      widen(static_cast<const Bfloat16*>(in) + begin, to + begin, end - begin);
    }
  });
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

// Computes in float32, whatever the dtypes of the operands and the result.
HostCall in_float32(std::shared_ptr<const ConvLibrary> code, const Type& lhs, const Type& rhs,
                    const Type& result) {
  return [=, code = std::move(code), from = lhs.dtype, to = result.dtype, ln = lhs.elements(),
          rn = rhs.elements(),
          n = result.elements()](std::span<const void* const> in, std::span<void* const> out) {
    Buffer x, w, y;
    if (from != float32) {
      x = widened(from, in[0], ln);
      w = widened(from, in[1], rn);
    }
    if (to != float32) y = Buffer::allocate(n * static_cast<int64_t>(sizeof(float)));
    code->run(x ? x.data() : in[0], w ? w.data() : in[1], y ? y.data() : out[0]);
    if (y) narrow_all(reinterpret_cast<const float*>(y.data()), to, out[0], n);
  };
}

HostCall convolution_call(const ConvolutionParams& params, const Type& lhs, const Type& rhs,
                          const Type& result) {
  const DType in = lhs.dtype, out = result.dtype;
  if (result.elements() == 0) return [](auto, auto) {};
  const ConvShape shape = conv_shape(params, lhs.shape, rhs.shape, result.shape);
  const bool single = (in == float32 || is_half(in)) && (out == float32 || is_half(out));
  if (in == bfloat16 && (out == bfloat16 || out == float32)) {
    if (std::shared_ptr<const ConvLibrary> code = ConvLibrary::make(shape, {in, out}))
      return [code](std::span<const void* const> x, std::span<void* const> y) {
        code->run(x[0], x[1], y[0]);
      };
  }
  if (single) {
    if (std::shared_ptr<const ConvLibrary> code = ConvLibrary::make(shape, {float32, float32}))
      return in_float32(std::move(code), lhs, rhs, result);
  }
  const auto code = std::make_shared<const ConvWindows>(shape, in, out);
  return [code](std::span<const void* const> x, std::span<void* const> y) {
    code->run(x[0], x[1], y[0]);
  };
}

class ConvolutionCode final : public StepCode {
 public:
  ConvolutionCode(const ConvolutionStep& step, const Schedule& s)
      : lhs_(use(step, s, step.lhs)),
        rhs_(use(step, s, step.rhs)),
        out_(use(step, s, step.out)),
        call_(
            make_convolution(step.params, type(s, step.lhs), type(s, step.rhs), type(s, step.out))),
        instances_(instance_count(s, step.axes)) {}

  // Each instance is worth a task; a lone one uses all threads.
  void run(const SlotRef* slots, std::byte*) const override {
    const auto call = [&](int64_t i) {
      const void* const in[] = {slots[lhs_.slot].at(lhs_.map(i)), slots[rhs_.slot].at(rhs_.map(i))};
      void* const out[] = {slots[out_.slot].at(out_.map(i))};
      call_(in, out);
    };
    instances_ == 1 ? call(0) : parallel_for(instances_, call);
  }

 private:
  struct Use {
    int slot;
    InstanceMap map;
  };
  static const Slot& slot(const Schedule& s, int i) { return s.slots[static_cast<size_t>(i)]; }
  static Use use(const ConvolutionStep& step, const Schedule& s, int i) {
    return {i, InstanceMap(s, step.axes, slot(s, i).axes)};
  }
  static Type type(const Schedule& s, int i) {
    return {.dtype = slot(s, i).dtype, .shape = slot(s, i).shape};
  }

  Use lhs_, rhs_, out_;
  HostCall call_;
  int64_t instances_;
};

}  // namespace

std::unique_ptr<StepCode> make_convolution_code(const ConvolutionStep& step,
                                                const Schedule& schedule) {
  return std::make_unique<ConvolutionCode>(step, schedule);
}

HostCall make_convolution(const ConvolutionParams& params, const Type& lhs, const Type& rhs,
                          const Type& result) {
  const codegen::LibraryGate::Pass making;
  return [call = convolution_call(params, lhs, rhs, result)](std::span<const void* const> x,
                                                             std::span<void* const> y) {
    const codegen::LibraryGate::Pass pass;
    call(x, y);
  };
}

}  // namespace tessera::runtime
