// Schedules that the tests of this folder build by hand: slots, kernels written in C++, and random
// data.
#pragma once

#include <functional>
#include <random>
#include <vector>

#include "tessera/base/visit_dtype.h"
#include "tessera/runtime/program.h"
#include "tessera/runtime/routine_code.h"

namespace tessera {

using namespace runtime;

// Returns `count` emulated devices with ids 0, 1, ...
inline std::vector<Device> test_devices(int64_t count) {
  std::vector<Device> out(static_cast<size_t>(count));
  for (size_t i = 0; i < out.size(); ++i) out[i].id = static_cast<int64_t>(i);
  return out;
}
inline Mesh test_mesh(const Shape& sizes, const std::vector<std::string>& names) {
  return Mesh(DeviceMesh{sizes, test_devices(sizes.elements())}, names);
}

inline SingleDeviceSharding one_device() { return SingleDeviceSharding(test_devices(1)[0]); }
inline ArraySpec spec_of(const Shape& shape, DType dtype = float32) {
  return {dtype, shape, one_device()};
}

struct ScheduleBuilder {
  explicit ScheduleBuilder(Mesh mesh) { schedule.mesh = std::move(mesh); }

  int slot(DType dtype, Shape shape, AxisList axes, Slot::Kind kind = Slot::Kind::kTemporary) {
    const int64_t instances = axes_size(schedule.mesh, axes);
    schedule.slots.push_back({dtype, std::move(shape), std::move(axes), instances, kind});
    return static_cast<int>(schedule.slots.size()) - 1;
  }
  int input(DType dtype, Shape shape, AxisList axes) {
    const int s = slot(dtype, std::move(shape), std::move(axes), Slot::Kind::kInput);
    schedule.slots.back().index = static_cast<int>(schedule.inputs.size());
    schedule.inputs.push_back(s);
    return s;
  }
  int output(DType dtype, Shape shape, AxisList axes) {
    const int s = slot(dtype, std::move(shape), std::move(axes), Slot::Kind::kOutput);
    schedule.slots.back().index = static_cast<int>(schedule.outputs.size());
    schedule.outputs.push_back(s);
    return s;
  }
  int constant(Literal literal) {
    const int s = slot(literal.dtype(), literal.shape(), {}, Slot::Kind::kConstant);
    schedule.slots.back().literal = std::move(literal);
    return s;
  }
  // Adds an elementwise kernel over the elements of the last of `slots`: fn(pointers, begin, end).
  void kernel(std::vector<int> slots, AxisList axes, KernelFn fn) {
    KernelStep step;
    const Slot& out = schedule.slots[static_cast<size_t>(slots.back())];
    step.kernel.parallel = {out.shape.elements()};
    step.kernel.loops.push_back({});
    for (size_t i = 0; i < slots.size(); ++i) {
      const Slot& s = schedule.slots[static_cast<size_t>(slots[i])];
      const bool last = i + 1 == slots.size();
      step.kernel.buffers.push_back(
          {s.dtype, last ? BufferKind::kOutput : BufferKind::kInput, s.shape.elements()});
      const Affine address{0, {s.shape.elements() == out.shape.elements() ? 1 : 0}, {}};
      if (last) {
        step.kernel.loops[0].stores.push_back({static_cast<int>(i), address, 0, -1});
      } else {
        KernelNode load{NodeKind::kLoad, s.dtype};
        load.buffer = static_cast<int>(i);
        load.address = address;
        step.kernel.nodes.push_back(load);
      }
    }
    if (step.kernel.nodes.empty()) step.kernel.nodes.push_back({NodeKind::kConstant, out.dtype});
    step.slots = std::move(slots);
    step.axes = std::move(axes);
    schedule.steps.push_back(std::move(step));
    functions.push_back(fn);
  }
  void add(Step step) { schedule.steps.push_back(std::move(step)); }

  KernelSource source() const {
    return [fns = functions](std::span<const Kernel* const> kernels) {
      TESSERA_CHECK(kernels.size() == fns.size());
      std::vector<KernelCode> codes;
      for (KernelFn fn : fns) codes.push_back({fn});
      return codes;
    };
  }
  std::unique_ptr<Program> program(std::vector<ArraySpec> inputs,
                                   std::vector<ArraySpec> outputs) const {
    verify(schedule);
    const InterpretLoops interpret;  // kernels are functions of the tests
    return std::make_unique<Program>(schedule, std::move(inputs), std::move(outputs), source());
  }

  Schedule schedule;
  std::vector<KernelFn> functions;
};

// Returns integers from -8 to 8 in any dtype (bool: both values), so that sums are exact.
inline Literal random_literal(DType dtype, const Shape& shape, int seed) {
  std::mt19937 rng(static_cast<unsigned>(seed));
  Literal out(dtype, shape);
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    T* data = out.mutable_data<T>();
    for (int64_t i = 0; i < out.elements(); ++i) {
      const int value = static_cast<int>(rng() % 17) - 8;
      if constexpr (std::is_same_v<T, bool>) {
        data[i] = value > 0;
      } else if constexpr (std::is_unsigned_v<T>) {
        data[i] = static_cast<T>(value + 8);
      } else if constexpr (std::is_arithmetic_v<T>) {
        data[i] = static_cast<T>(value);
      } else if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>) {
        data[i] = T(static_cast<float>(value));
      } else {
        using R = typename T::value_type;
        data[i] = T(static_cast<R>(value), static_cast<R>(static_cast<int>(rng() % 17) - 8));
      }
    }
  });
  return out;
}

inline DeviceArrayRef array_of(const Shape& shape, int seed, DType dtype = float32) {
  return device_array(random_literal(dtype, shape, seed), one_device());
}

// A convolution of images (batch, height, width, features) by windows of 3 x 3. oneDNN reads its
// weights in packed form.
inline const Shape kImage{2, 6, 6, 32}, kKernel{3, 3, 32, 32};
inline ConvolutionParams convolution_windows() {
  ConvolutionParams p{.strides = {1, 1},
                      .low = {1, 1},
                      .high = {1, 1},
                      .lhs_dilation = {1, 1},
                      .rhs_dilation = {1, 1},
                      .reversal = {0, 0}};
  p.lhs_spec = p.out_spec = {0, 3, 1, 2};
  p.rhs_spec = {3, 2, 0, 1};
  return p;
}
inline Literal convolved(const Literal& image, const Literal& kernel) {
  const std::vector<Literal> operands{image, kernel};
  return convolution_op.evaluate(operands, convolution_windows())[0];
}

}  // namespace tessera
