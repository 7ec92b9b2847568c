#include "tessera/numpy/dlpack.h"

#include <array>

#include "tessera/ir/format.h"
#include "tessera/numpy/host_memory.h"

namespace tessera {

using namespace ir;

namespace {

struct DlpackElement {
  DType dtype;
  uint8_t code, bits;
};

constexpr std::array kElements{
    DlpackElement{bool_, dlpack::kBool, 8},
    DlpackElement{int8, dlpack::kInt, 8},
    DlpackElement{int16, dlpack::kInt, 16},
    DlpackElement{int32, dlpack::kInt, 32},
    DlpackElement{int64, dlpack::kInt, 64},
    DlpackElement{uint8, dlpack::kUint, 8},
    DlpackElement{uint16, dlpack::kUint, 16},
    DlpackElement{uint32, dlpack::kUint, 32},
    DlpackElement{uint64, dlpack::kUint, 64},
    DlpackElement{float16, dlpack::kFloat, 16},
    DlpackElement{bfloat16, dlpack::kBfloat, 16},
    DlpackElement{float32, dlpack::kFloat, 32},
    DlpackElement{float64, dlpack::kFloat, 64},
    DlpackElement{complex64, dlpack::kComplex, 64},
    DlpackElement{complex128, dlpack::kComplex, 128},
    DlpackElement{float8_e3m4, dlpack::kFloat8E3M4, 8},
    DlpackElement{float8_e4m3, dlpack::kFloat8E4M3, 8},
    DlpackElement{float8_e4m3b11fnuz, dlpack::kFloat8E4M3B11FNUZ, 8},
    DlpackElement{float8_e4m3fn, dlpack::kFloat8E4M3FN, 8},
    DlpackElement{float8_e4m3fnuz, dlpack::kFloat8E4M3FNUZ, 8},
    DlpackElement{float8_e5m2, dlpack::kFloat8E5M2, 8},
    DlpackElement{float8_e5m2fnuz, dlpack::kFloat8E5M2FNUZ, 8},
    DlpackElement{float8_e8m0fnu, dlpack::kFloat8E8M0FNU, 8},
};

DType dtype_of_tensor(const dlpack::DataType& type) {
  if (type.lanes == 1)
    for (const DlpackElement& e : kElements)
      if (e.code == type.code && e.bits == type.bits) return e.dtype;
  type_error("from_dlpack",
             "expected elements of one lane and of a dtype that Tessera has, got code {} with {} "
             "bits and {} lanes; convert the tensor first",
             type.code, type.bits, type.lanes);
}

dlpack::DataType type_of_array(const Array& x) {
  for (const DlpackElement& e : kElements)
    if (e.dtype == x.dtype()) return {e.code, e.bits, 1};
  type_error("to_dlpack",
             "expected elements of a dtype that DLPack has, got {}; convert the array with astype",
             describe(x.type()));
}

// A tensor and the memory and arrays that it points to.
struct Export {
  dlpack::ManagedTensorVersioned tensor{};
  Literal memory;
  Dims shape, strides;
};

template <class Managed>
Array imported(Managed* managed, const DlpackOptions& options) {
  constexpr std::string_view kOp = "from_dlpack";
  const dlpack::Tensor& tensor = managed->dl_tensor;
  const int32_t device = tensor.device.device_type;
  if (device != dlpack::kCpu && device != dlpack::kCudaHost && device != dlpack::kRocmHost)
    value_error(kOp,
                "expected a tensor in memory of the host (device type 1, 3 or 11), got device type "
                "{} with id {}; copy it to the host first",
                device, tensor.device.device_id);
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr))
    shape_error(kOp, "expected a shape of {} sizes, got none", tensor.ndim);
  const Dims shape(tensor.shape, tensor.shape + tensor.ndim);
  BorrowOptions borrow{.copy = options.copy};
  if (tensor.strides) borrow.strides = Dims(tensor.strides, tensor.strides + tensor.ndim);
  const auto* data = static_cast<const std::byte*>(tensor.data);
  return internal::borrowed(
      kOp, data ? data + tensor.byte_offset : nullptr, dtype_of_tensor(tensor.dtype), shape,
      [managed] {
        if (managed->deleter) managed->deleter(managed);
      },
      borrow);
}

}  // namespace

DlpackTensor to_dlpack(const Array& x, const DlpackOptions& options) {
  const dlpack::DataType type = type_of_array(x);
  auto out = std::make_unique<Export>();
  out->memory = options.copy ? x.to_host() : internal::viewed("to_dlpack", x);
  // Memory that is shared is copied before it may be written to.
  const std::byte* data = options.copy ? out->memory.mutable_raw() : out->memory.raw();
  out->shape = out->memory.shape();
  out->strides = row_major_strides(out->shape);
  out->tensor = {.version = {dlpack::kMajorVersion, dlpack::kMinorVersion},
                 .manager_ctx = out.get(),
                 .deleter =
                     [](dlpack::ManagedTensorVersioned* self) {
                       delete static_cast<Export*>(self->manager_ctx);
                     },
                 .flags = options.copy ? dlpack::kIsCopied : dlpack::kReadOnly,
                 .dl_tensor = {.data = const_cast<std::byte*>(data),
                               .device = {dlpack::kCpu, 0},
                               .ndim = static_cast<int32_t>(out->shape.size()),
                               .dtype = type,
                               .shape = out->shape.data(),
                               .strides = out->strides.data(),
                               .byte_offset = 0}};
  return DlpackTensor(&out.release()->tensor);
}

Array from_dlpack(dlpack::ManagedTensorVersioned* tensor, const DlpackOptions& options) {
  if (!tensor) value_error("from_dlpack", "expected a tensor, got a null pointer");
  if (tensor->version.major != dlpack::kMajorVersion)
    value_error("from_dlpack",
                "expected a tensor of DLPack 1, got version {}.{}; ask its producer for version 1",
                tensor->version.major, tensor->version.minor);
  return imported(tensor, options);
}

Array from_dlpack(DlpackTensor&& tensor, const DlpackOptions& options) {
  Array out = from_dlpack(tensor.get(), options);
  (void)tensor.release();
  return out;
}

Array from_dlpack(dlpack::ManagedTensor* tensor, const DlpackOptions& options) {
  if (!tensor) value_error("from_dlpack", "expected a tensor, got a null pointer");
  return imported(tensor, options);
}

}  // namespace tessera
