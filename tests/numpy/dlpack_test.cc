// Tensors of other libraries, which are made here. Deleters free memory at once, so that the
// address sanitizer finds later uses.
#include "tessera/numpy/dlpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tessera/numpy/creation.h"
#include "tessera/numpy/host_memory.h"
#include "tests/errors.h"

namespace tessera::dlpack_test {
namespace {

using test::expect_error;
using ::testing::ElementsAre;

// A tensor f32[2, 3] of 0, 1, ... that counts how often it is deleted.
template <class Managed>
struct Producer {
  Producer() {
    std::iota(data.get(), data.get() + 6, 0.f);
    tensor.dl_tensor = {.data = data.get(),
                        .device = {dlpack::kCpu, 0},
                        .ndim = 2,
                        .dtype = {dlpack::kFloat, 32, 1},
                        .shape = shape.data(),
                        .strides = nullptr,
                        .byte_offset = 0};
    tensor.manager_ctx = this;
    tensor.deleter = [](Managed* self) {
      auto* producer = static_cast<Producer*>(self->manager_ctx);
      ++producer->deleted;
      producer->data.reset();
    };
  }
  std::unique_ptr<float[]> data{new float[6]};
  std::array<int64_t, 2> shape{2, 3}, strides{1, 2};
  int deleted = 0;
  Managed tensor{};
};

struct Versioned : Producer<dlpack::ManagedTensorVersioned> {
  Versioned() { tensor.version = {1, 0}; }
};

TEST(Dlpack, ImportsShareMemoryAndDeleteTheTensorOnce) {
  Versioned producer;
  const float* data = producer.data.get();
  {
    const Array x = from_dlpack(&producer.tensor);
    EXPECT_EQ(x.shape(), (Shape{2, 3}));
    EXPECT_EQ(view<float>(x).data(), data);
    EXPECT_EQ(producer.deleted, 0);
  }
  EXPECT_EQ(producer.deleted, 1);
}

TEST(Dlpack, ImportsOfOlderVersions) {
  Producer<dlpack::ManagedTensor> producer;
  {
    const Array x = from_dlpack(&producer.tensor);
    EXPECT_THAT(to_vector<float>(x), ElementsAre(0, 1, 2, 3, 4, 5));
  }
  EXPECT_EQ(producer.deleted, 1);
}

TEST(Dlpack, OffsetsAndStrides) {
  Versioned producer;
  producer.shape = {1, 3};
  producer.tensor.dl_tensor.byte_offset = 12;
  EXPECT_THAT(to_vector<float>(from_dlpack(&producer.tensor)), ElementsAre(3, 4, 5));
  EXPECT_EQ(producer.deleted, 1);
  Versioned columns;
  columns.tensor.dl_tensor.strides = columns.strides.data();
  expect_error([&] { from_dlpack(&columns.tensor); },
               "[from_dlpack] expected dense memory in row-major order");
  EXPECT_EQ(columns.deleted, 0);
  EXPECT_THAT(to_vector<float>(from_dlpack(&columns.tensor, {.copy = true})),
              ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_EQ(columns.deleted, 1);
}

TEST(Dlpack, ImportErrors) {
  Versioned producer;
  dlpack::ManagedTensorVersioned& t = producer.tensor;
  expect_error([] { from_dlpack(static_cast<dlpack::ManagedTensorVersioned*>(nullptr)); },
               "[from_dlpack] expected a tensor, got a null pointer");
  expect_error([] { from_dlpack(static_cast<dlpack::ManagedTensor*>(nullptr)); },
               "[from_dlpack] expected a tensor, got a null pointer");
  t.version.major = 2;
  expect_error([&] { from_dlpack(&t); },
               "[from_dlpack] expected a tensor of DLPack 1, got version 2.0");
  t.version.major = 1;
  t.dl_tensor.device = {2, 1};
  expect_error([&] { from_dlpack(&t); }, "got device type 2 with id 1; copy it to the host first");
  t.dl_tensor.device = {dlpack::kCpu, 0};
  t.dl_tensor.dtype.lanes = 4;
  expect_error([&] { from_dlpack(&t); }, "got code 2 with 32 bits and 4 lanes");
  t.dl_tensor.dtype = {3, 64, 1};
  expect_error([&] { from_dlpack(&t); }, "got code 3 with 64 bits and 1 lanes");
  t.dl_tensor.dtype = {dlpack::kFloat, 64, 1};
  expect_error([&] { from_dlpack(&t); },
               "[from_dlpack] expected elements of at most 32 bits while x64 is disabled");
  t.dl_tensor.dtype = {dlpack::kFloat, 32, 1};
  t.dl_tensor.byte_offset = 2;
  expect_error([&] { from_dlpack(&t); }, "[from_dlpack] expected memory aligned to 4 bytes");
  t.dl_tensor.byte_offset = 0;
  t.dl_tensor.shape = nullptr;
  expect_error([&] { from_dlpack(&t); }, "[from_dlpack] expected a shape of 2 sizes, got none");
  EXPECT_EQ(producer.deleted, 0);
  t.deleter(&t);
}

TEST(Dlpack, ExportsAreReadOnlyViewsThatKeepTheMemory) {
  std::optional<Array> x = from_host(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  DlpackTensor tensor = to_dlpack(*x);
  EXPECT_EQ(tensor->version.major, 1u);
  EXPECT_EQ(tensor->flags, dlpack::kReadOnly);
  EXPECT_EQ(tensor->dl_tensor.device.device_type, dlpack::kCpu);
  EXPECT_EQ(tensor->dl_tensor.data, view<float>(*x).data());
  EXPECT_THAT(std::span(tensor->dl_tensor.shape, 2), ElementsAre(2, 3));
  EXPECT_THAT(std::span(tensor->dl_tensor.strides, 2), ElementsAre(3, 1));
  EXPECT_EQ(tensor->dl_tensor.dtype.code, dlpack::kFloat);
  EXPECT_EQ(tensor->dl_tensor.dtype.bits, 32);
  x.reset();
  EXPECT_THAT(std::span(static_cast<const float*>(tensor->dl_tensor.data), 6),
              ElementsAre(1, 2, 3, 4, 5, 6));
  // The array is exported again.
  const void* data = tensor->dl_tensor.data;
  const Array again = from_dlpack(std::move(tensor));
  EXPECT_EQ(tensor, nullptr);
  EXPECT_EQ(view<float>(again).data(), data);
}

TEST(Dlpack, ExportedCopiesMayBeWritten) {
  const Array x = from_host(std::vector<float>{1, 2});
  const DlpackTensor tensor = to_dlpack(x, {.copy = true});
  EXPECT_EQ(tensor->flags, dlpack::kIsCopied);
  static_cast<float*>(tensor->dl_tensor.data)[0] = 7;
  EXPECT_THAT(to_vector<float>(x), ElementsAre(1, 2));
}

TEST(Dlpack, EveryDtypeThatBothHaveComesBack) {
  enable_x64(true);
  for (const DType dtype :
       {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
        float64, complex64, complex128, float8_e4m3fn, float8_e5m2}) {
    const Array x = ones({3}, dtype);
    const Array y = from_dlpack(to_dlpack(x));
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_EQ(to_host(y), to_host(x));
  }
  enable_x64(false);
  expect_error([] { to_dlpack(ones({3}, int4)); }, "[to_dlpack] expected elements of a dtype");
}

}  // namespace
}  // namespace tessera::dlpack_test
