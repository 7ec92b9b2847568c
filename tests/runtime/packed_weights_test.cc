// Packed forms of arrays: when they are made, kept and freed, and how programs read them.
#include "tessera/runtime/products/packed_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "tests/runtime/schedules.h"

namespace tessera::packed_weights_test {

using namespace runtime;

namespace {

// A form that adds `added` to each of `size` bytes.
class Added final : public PackedForm {
 public:
  Added(int added, int64_t size) : added_(added), size_(size) {}
  int64_t bytes() const override { return size_; }
  void pack(const std::byte* from, std::byte* to) const override {
    if (fails) throw std::runtime_error("as asked");
    for (int64_t i = 0; i < size_; ++i)
      to[i] = static_cast<std::byte>(static_cast<int>(from[i]) + added_);
  }
  mutable bool fails = false;

 private:
  size_t hash() const override { return 7; }  // equal for all, so that equals() decides
  bool equals(const PackedForm& form) const override {
    const auto* other = dynamic_cast<const Added*>(&form);
    return other && other->added_ == added_ && other->size_ == size_;
  }
  int added_;
  int64_t size_;
};
PackedFormRef added(int value, int64_t size = 4096) {
  return shared_form(std::make_shared<Added>(value, size));
}

struct Elements {
  std::vector<std::byte> bytes = std::vector<std::byte>(1 << 20, std::byte{5});
  const std::byte* data() const { return bytes.data(); }
};

int64_t times_packed() { return packing_stats().packed; }
int64_t kept() { return packing_stats().kept; }

// Restores the limit on the forms that are kept.
struct Limit {
  int64_t before = buffer_cache_limit();
  ~Limit() { set_buffer_cache_limit(before); }
};

TEST(PackedWeights, EqualFormsAreOne) {
  const PackedFormRef one = added(1), same = added(1), other = added(2);
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
  std::weak_ptr<const PackedForm> gone = added(3);
  EXPECT_TRUE(gone.expired());
  EXPECT_NE(added(3), nullptr);
}

TEST(PackedWeights, AnArgumentIsKeptFromItsSecondUse) {
  const Elements x;
  const PackedFormRef form = added(1);
  PackedWeights weights(KeepPacked::kSecondUse);
  const int64_t packed = times_packed(), before = kept();
  EXPECT_EQ(weights.get(form, x.data()).data()[17], std::byte{6});
  EXPECT_EQ(kept(), before);
  const Buffer second = weights.get(form, x.data());
  EXPECT_EQ(kept(), before + 1);
  EXPECT_EQ(weights.bytes(), second.capacity());
  EXPECT_TRUE(weights.get(form, x.data()) == second);
  EXPECT_EQ(times_packed(), packed + 2);
  // Other elements, and other forms, are packed separately.
  EXPECT_EQ(weights.get(form, x.data() + 64).data()[0], std::byte{6});
  EXPECT_EQ(weights.get(added(2), x.data()).data()[0], std::byte{7});
  EXPECT_EQ(times_packed(), packed + 4);
  weights.clear();
  EXPECT_EQ(kept(), before);
  EXPECT_EQ(weights.bytes(), 0);
}

TEST(PackedWeights, AConstantIsKeptFromItsFirstUse) {
  const Elements x;
  const int64_t packed = times_packed(), before = kept();
  {
    const LazyPackedWeights weights(KeepPacked::kFirstUse);
    EXPECT_EQ(weights.bytes(), 0);
    for (int i = 0; i < 3; ++i) tessera::runtime::packed(added(1), x.data(), &weights);
    EXPECT_EQ(times_packed(), packed + 1);
    EXPECT_EQ(kept(), before + 1);
    // Another array with the same memory shares the forms, and keeps them.
    const LazyPackedWeights alias(weights.get());
    EXPECT_EQ(alias.bytes(), weights.bytes());
    tessera::runtime::packed(added(1), x.data(), &alias);
    EXPECT_EQ(times_packed(), packed + 1);
  }
  EXPECT_EQ(kept(), before);
  // Without an array nothing keeps the form.
  for (int i = 0; i < 2; ++i) tessera::runtime::packed(added(1), x.data(), nullptr);
  EXPECT_EQ(times_packed(), packed + 3);
  EXPECT_EQ(kept(), before);
}

TEST(PackedWeights, CountAsLiveMemory) {
  const Elements x;
  const int64_t size = 1 << 20;
  PackedWeights weights(KeepPacked::kFirstUse);
  const int64_t live = memory_stats().live_bytes;
  weights.get(added(1, size), x.data());
  EXPECT_GE(memory_stats().live_bytes, live + size);
  EXPECT_GE(packing_stats().kept_bytes, size);
  weights.clear();
  EXPECT_LT(memory_stats().live_bytes, live + size);
}

TEST(PackedWeights, TheLastUsedStayWithinTheLimit) {
  const Limit limit;
  const int64_t size = 1 << 16;
  const Elements x;
  set_buffer_cache_limit(0);
  PackedWeights a(KeepPacked::kFirstUse), b(KeepPacked::kFirstUse);
  const PackedFormRef one = added(1, size), two = added(2, size), three = added(3, size);
  // A form that is larger than the limit is packed for each use.
  a.get(one, x.data());
  EXPECT_EQ(kept(), 0);
  set_buffer_cache_limit(5 * size / 2);
  const Buffer first = a.get(one, x.data());
  b.get(two, x.data());
  EXPECT_EQ(kept(), 2);
  a.get(one, x.data());
  b.get(three, x.data());
  EXPECT_EQ(kept(), 2);
  const int64_t packed = times_packed();
  a.get(one, x.data());
  b.get(three, x.data());
  EXPECT_EQ(times_packed(), packed);
  // The form that was removed is packed again, and the one that was used longest ago is removed.
  b.get(two, x.data());
  EXPECT_EQ(times_packed(), packed + 1);
  b.get(three, x.data());
  EXPECT_EQ(times_packed(), packed + 1);
  set_buffer_cache_limit(0);
  EXPECT_EQ(kept(), 0);
  // A form stays as long as a buffer refers to it.
  EXPECT_EQ(first.data()[size - 1], std::byte{6});
}

TEST(PackedWeights, AreGivenBackWhenTheSystemHasNoMemory) {
  const Elements x;
  PackedWeights weights(KeepPacked::kFirstUse);
  weights.get(added(1), x.data());
  EXPECT_GT(kept(), 0);
  EXPECT_THROW(Buffer::allocate(int64_t{1} << 60), RuntimeError);
  EXPECT_EQ(kept(), 0);
  EXPECT_EQ(weights.get(added(1), x.data()).data()[0], std::byte{6});
}

TEST(PackedWeights, AFailureLeavesNothing) {
  const Elements x;
  const PackedFormRef form = added(9);
  PackedWeights weights(KeepPacked::kFirstUse);
  const int64_t before = kept();
  static_cast<const Added&>(*form).fails = true;
  EXPECT_THROW(weights.get(form, x.data()), std::runtime_error);
  EXPECT_EQ(kept(), before);
  static_cast<const Added&>(*form).fails = false;
  EXPECT_EQ(weights.get(form, x.data()).data()[0], std::byte{14});
  EXPECT_EQ(kept(), before + 1);
}

TEST(PackedWeights, SeveralThreads) {
  const Limit limit;
  const Elements x;
  const LazyPackedWeights weights(KeepPacked::kSecondUse);
  const int64_t before = kept();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const int value = 1 + i % 3;
        const Buffer got = packed(added(value), x.data() + 64 * (i % 2), &weights);
        EXPECT_EQ(got.data()[4095], static_cast<std::byte>(5 + value));
        if (t == 0 && i % 50 == 49) weights.clear();
        if (t == 1 && i % 50 == 49) set_buffer_cache_limit(i % 100 == 99 ? limit.before : 8192);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_LE(kept(), before + 6);
  weights.clear();
  EXPECT_EQ(kept(), before);
}

// --- Forms in programs ---

Literal convolved_by(const DeviceArrayRef& x, const DeviceArrayRef& w) {
  return convolved(x->to_literal(), w->to_literal());
}
void add_one(void* const* buffers, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    static_cast<float*>(buffers[1])[i] = static_cast<const float*>(buffers[0])[i] + 1;
}

// Returns the program (x, w) -> x convolved with w.
std::unique_ptr<Program> convolution() {
  ScheduleBuilder b{Mesh()};
  const int x = b.input(float32, kImage, {}), w = b.input(float32, kKernel, {}),
            y = b.output(float32, kImage, {});
  b.add(ConvolutionStep{.params = convolution_windows(), .lhs = x, .rhs = w, .out = y});
  return b.program({spec_of(kImage), spec_of(kKernel)}, {spec_of(kImage)});
}

TEST(PackedWeights, ProgramsShareTheFormsOfAnArgument) {
  const auto program = convolution(), other = convolution();
  const DeviceArrayRef x = array_of(kImage, 1), w = array_of(kKernel, 2);
  const Literal want = convolved_by(x, w);
  const int64_t packed = times_packed(), before = kept();
  EXPECT_EQ(program->run({x, w})[0]->to_literal(), want);
  EXPECT_EQ(times_packed(), packed + 1);
  EXPECT_EQ(kept(), before);
  EXPECT_EQ(other->run({x, w})[0]->to_literal(), want);
  EXPECT_EQ(times_packed(), packed + 2);
  EXPECT_EQ(kept(), before + 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(program->run({x, w})[0]->to_literal(), want);
    EXPECT_EQ(other->run({x, w})[0]->to_literal(), want);
  }
  EXPECT_EQ(times_packed(), packed + 2);
}

TEST(PackedWeights, AnArrayInTheSameMemorySharesThem) {
  const auto program = convolution();
  const DeviceArrayRef x = array_of(kImage, 1), w = array_of(kKernel, 2);
  const NamedSharding named(test_mesh({1}, {"x"}), P());
  const DeviceArrayRef alias = reshard(w, named);
  ASSERT_TRUE(alias->buffer() == w->buffer());
  const int64_t packed = times_packed();
  for (int i = 0; i < 3; ++i) {
    program->run({x, w});
    program->run({x, reshard(w, named)});
  }
  EXPECT_EQ(times_packed(), packed + 2);
}

// Borrowed memory is not written to before it is released.
TEST(PackedWeights, OfBorrowedMemoryEndWithItsArray) {
  const auto program = convolution();
  const DeviceArrayRef x = array_of(kImage, 1), owned = array_of(kKernel, 2);
  const Literal memory = random_literal(float32, kKernel, 2);
  bool released = false;
  auto w = std::make_shared<DeviceArray>(
      owned->type, owned->layout(),
      Buffer::borrow(memory.raw(), memory.bytes(), [&] { released = true; }), owned->offsets());
  const int64_t before = kept(), packed = times_packed();
  const Literal want = convolved_by(x, w);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(program->run({x, w})[0]->to_literal(), want);
  EXPECT_EQ(times_packed(), packed + 2);
  EXPECT_EQ(kept(), before + 1);
  w.reset();
  EXPECT_TRUE(released);
  EXPECT_EQ(kept(), before);
}

TEST(PackedWeights, EndWithTheirArray) {
  const auto program = convolution();
  const DeviceArrayRef x = array_of(kImage, 1);
  const int64_t before = kept(), packed = times_packed();
  {
    const DeviceArrayRef w = array_of(kKernel, 2);
    for (int i = 0; i < 2; ++i) program->run({x, w});
    EXPECT_EQ(kept(), before + 1);
  }
  EXPECT_EQ(kept(), before);
  // Each step of a training has new weights, of which no form is kept.
  for (int i = 0; i < 4; ++i) program->run({x, array_of(kKernel, i)});
  EXPECT_EQ(kept(), before);
  EXPECT_EQ(times_packed(), packed + 6);
}

// The memory of a donated array belongs to the result, which has its own forms.
TEST(PackedWeights, AreNotStaleAfterDonation) {
  const auto program = convolution();
  ScheduleBuilder b{Mesh()};
  const int w0 = b.input(float32, kKernel, {}), w1 = b.output(float32, kKernel, {});
  b.kernel({w0, w1}, {}, add_one);
  const auto update = b.program({spec_of(kKernel)}, {spec_of(kKernel)});
  const DeviceArrayRef x = array_of(kImage, 1);
  DeviceArrayRef w = array_of(kKernel, 2);
  const int64_t before = kept();
  for (int step = 0; step < 3; ++step) {
    const Literal want = convolved_by(x, w);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(program->run({x, w})[0]->to_literal(), want);
    EXPECT_EQ(kept(), before + 1);
    const uint8_t donate[] = {1};
    const std::byte* memory = w->buffer().data();
    DeviceArrayRef updated = update->run({w}, donate)[0];
    EXPECT_TRUE(w->is_deleted());
    EXPECT_EQ(updated->buffer().data(), memory);
    EXPECT_EQ(kept(), before);
    w = updated;
  }
}

// A schedule with the inputs (x, w, rows). It can convolve with w and replace the first rows of w.
struct UpdatedWeights {
  ScheduleBuilder b{Mesh()};
  int x = b.input(float32, kImage, {}), w = b.input(float32, kKernel, {}),
      rows = b.input(float32, kRows, {});
  static inline const Shape kRows{1, 3, 32, 32};

  void convolve(int image, int weights, int out) {
    b.add(
        ConvolutionStep{.params = convolution_windows(), .lhs = image, .rhs = weights, .out = out});
  }
  void update(int out) {
    const int first = b.constant(Literal::scalar(int32_t{0}));
    b.add(UpdateStep{.in = w, .update = rows, .out = out, .starts = {first, first, first, first}});
  }
};
Literal with_rows(Literal w, const Literal& rows) {
  std::memcpy(w.mutable_raw(), rows.raw(), static_cast<size_t>(rows.bytes()));
  return w;
}

// A program convolves with a donated argument, updates it in place, and convolves with it again.
// The second convolution must not use the form that earlier runs packed from the old elements.
TEST(PackedWeights, AreNotOfWhatAStepUpdates) {
  UpdatedWeights u;
  const int between = u.b.slot(float32, kImage, {}), updated = u.b.output(float32, kKernel, {}),
            y = u.b.output(float32, kImage, {});
  u.convolve(u.x, u.w, between);
  u.update(updated);
  u.convolve(between, updated, y);
  const auto program = u.b.program({spec_of(kImage), spec_of(kKernel), spec_of(u.kRows)},
                                   {spec_of(kKernel), spec_of(kImage)});
  const DeviceArrayRef x = array_of(kImage, 1), rows = array_of(u.kRows, 3);
  for (int runs = 0; runs < 4; ++runs) {
    const DeviceArrayRef w = array_of(kKernel, 2);
    const Literal now = with_rows(w->to_literal(), rows->to_literal()),
                  want = convolved(convolved_by(x, w), now);
    for (int i = 0; i < runs; ++i) EXPECT_EQ(program->run({x, w, rows})[1]->to_literal(), want);
    const std::byte* memory = w->buffer().data();
    const uint8_t donate[] = {0, 1, 0};
    const std::vector<DeviceArrayRef> out = program->run({x, w, rows}, donate);
    EXPECT_EQ(out[0]->buffer().data(), memory);
    EXPECT_EQ(out[0]->to_literal(), now);
    EXPECT_EQ(out[1]->to_literal(), want);
    EXPECT_EQ(program->run({x, out[0], rows})[1]->to_literal(),
              convolved(convolved(x->to_literal(), now), now));
  }
}

// The same in every trip of a loop that carries the weights.
TEST(PackedWeights, AreNotOfWhatALoopCarries) {
  UpdatedWeights body;
  const int y = body.b.output(float32, kImage, {}), updated = body.b.output(float32, kKernel, {});
  body.convolve(body.x, body.w, y);
  body.update(updated);
  // The rows become the first input, because they are a constant of the loop.
  std::rotate(body.b.schedule.inputs.begin(), body.b.schedule.inputs.begin() + 2,
              body.b.schedule.inputs.end());
  for (size_t i = 0; i < 3; ++i)
    body.b.schedule.slots[static_cast<size_t>(body.b.schedule.inputs[i])].index =
        static_cast<int>(i);
  ScheduleBuilder b{Mesh()};
  const int x = b.input(float32, kImage, {}), w = b.input(float32, kKernel, {}),
            rows = b.input(float32, UpdatedWeights::kRows, {});
  LoopStep loop{.body = std::make_shared<Schedule>(body.b.schedule), .trip_count = 3};
  loop.consts = {rows};
  loop.in = {x, w};
  loop.out = {b.output(float32, kImage, {}), b.output(float32, kKernel, {})};
  b.add(loop);
  const auto program =
      b.program({spec_of(kImage), spec_of(kKernel), spec_of(UpdatedWeights::kRows)},
                {spec_of(kImage), spec_of(kKernel)});
  const DeviceArrayRef image = array_of(kImage, 1), new_rows = array_of(UpdatedWeights::kRows, 3);
  for (int runs = 0; runs < 4; ++runs) {
    const DeviceArrayRef kernel = array_of(kKernel, 2);
    const Literal now = with_rows(kernel->to_literal(), new_rows->to_literal()),
                  want = convolved(convolved(convolved_by(image, kernel), now), now);
    // From the second run on, a packed form of the argument is kept.
    for (int i = 0; i < runs; ++i) convolution()->run({image, kernel});
    for (int i = 0; i < runs; ++i)
      EXPECT_EQ(program->run({image, kernel, new_rows})[0]->to_literal(), want);
    const uint8_t donate[] = {0, 1, 0};
    const std::vector<DeviceArrayRef> out = program->run({image, kernel, new_rows}, donate);
    EXPECT_EQ(out[0]->to_literal(), want);
    EXPECT_EQ(out[1]->to_literal(), now);
  }
}

TEST(PackedWeights, ConstantsArePackedWithTheProgram) {
  const DeviceArrayRef x = array_of(kImage, 1);
  const Literal kernel = random_literal(float32, kKernel, 2);
  const int64_t packed = times_packed(), before = kept();
  {
    ScheduleBuilder b{Mesh()};
    const int image = b.input(float32, kImage, {}), y = b.output(float32, kImage, {});
    b.add(ConvolutionStep{
        .params = convolution_windows(), .lhs = image, .rhs = b.constant(kernel), .out = y});
    const auto program = b.program({spec_of(kImage)}, {spec_of(kImage)});
    EXPECT_EQ(times_packed(), packed + 1);
    EXPECT_EQ(kept(), before + 1);
    EXPECT_GE(program->code_bytes(), 2 * kernel.bytes());
    const Literal want = convolved_by(x, device_array(kernel, one_device()));
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] { EXPECT_EQ(program->run({x})[0]->to_literal(), want); });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(times_packed(), packed + 1);
  }
  EXPECT_EQ(kept(), before);
}

// Each iteration of a loop reads the weights of a layer: always the same ones, or one of many.
TEST(PackedWeights, LoopsReadThoseOfTheirArguments) {
  for (const bool slices : {false, true}) {
    ScheduleBuilder body{Mesh()}, b{Mesh()};
    const int kernel = slices ? -1 : body.input(float32, kKernel, {});
    const int in = body.input(float32, kImage, {});
    const int w = slices ? body.input(float32, kKernel, {}) : kernel;
    const int out = body.output(float32, kImage, {});
    body.add(ConvolutionStep{.params = convolution_windows(), .lhs = in, .rhs = w, .out = out});
    const Shape stacked = slices ? Shape{3, 3, 3, 32, 32} : kKernel;
    const int x = b.input(float32, kImage, {}), all = b.input(float32, stacked, {}),
              y = b.output(float32, kImage, {});
    LoopStep loop{.body = std::make_shared<Schedule>(body.schedule), .trip_count = 3};
    loop.in = {x};
    loop.out = {y};
    (slices ? loop.xs : loop.consts) = {all};
    b.add(loop);
    const auto program = b.program({spec_of(kImage), spec_of(stacked)}, {spec_of(kImage)});
    const DeviceArrayRef weights = array_of(stacked, 2), ones = array_of(kImage, 5);
    const int64_t packed = times_packed();
    const Literal want = program->run({ones, weights})[0]->to_literal();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(program->run({ones, weights})[0]->to_literal(), want);
    EXPECT_EQ(times_packed(), packed + (slices ? 6 : 2));
    // The same iterations, one by one.
    const auto one = convolution();
    DeviceArrayRef step = ones;
    for (int64_t trip = 0; trip < 3; ++trip) {
      Literal layer(float32, kKernel);
      std::memcpy(layer.mutable_raw(), weights->instance(0) + (slices ? trip * layer.bytes() : 0),
                  static_cast<size_t>(layer.bytes()));
      step = one->run({step, device_array(layer, one_device())})[0];
    }
    EXPECT_EQ(step->to_literal(), want);
  }
}

// A kernel that all devices read is packed once for all of them.
TEST(PackedWeights, DevicesShareThem) {
  const Mesh mesh = test_mesh({4}, {"x"});
  ScheduleBuilder b{mesh};
  const int x = b.input(float32, kImage, {0}), w = b.input(float32, kKernel, {}),
            y = b.output(float32, kImage, {0});
  b.add(
      ConvolutionStep{.params = convolution_windows(), .lhs = x, .rhs = w, .out = y, .axes = {0}});
  const NamedSharding rows(mesh, P("x")), whole(mesh, P());
  const Shape all{8, 6, 6, 32};
  const auto program =
      b.program({{float32, all, rows}, {float32, kKernel, whole}}, {{float32, all, rows}});
  const DeviceArrayRef image = device_array(random_literal(float32, all, 1), rows),
                       kernel = device_array(random_literal(float32, kKernel, 2), whole);
  const int64_t packed = times_packed();
  const Literal first = program->run({image, kernel})[0]->to_literal();
  EXPECT_EQ(times_packed(), packed + 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program->run({image, kernel})[0]->to_literal(), first);
  EXPECT_EQ(times_packed(), packed + 2);
}

}  // namespace
}  // namespace tessera::packed_weights_test
