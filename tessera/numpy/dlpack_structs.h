// The structs of DLPack's C ABI, versions 1.0 and 1.1 (dmlc.github.io/dlpack). They have the layout
// of those in <dlpack/dlpack.h>, so a pointer to one of these may be cast to a pointer to the
// struct there.
#pragma once

#include <cstdint>

namespace tessera::dlpack {

inline constexpr uint32_t kMajorVersion = 1, kMinorVersion = 1;

// The DLPack device types that have host memory.
inline constexpr int32_t kCpu = 1, kCudaHost = 3, kRocmHost = 11;

// Codes of element types. The float8 codes and flags for padding are new in version 1.1.
inline constexpr uint8_t kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6,
                         kFloat8E3M4 = 7, kFloat8E4M3 = 8, kFloat8E4M3B11FNUZ = 9,
                         kFloat8E4M3FN = 10, kFloat8E4M3FNUZ = 11, kFloat8E5M2 = 12,
                         kFloat8E5M2FNUZ = 13, kFloat8E8M0FNU = 14;

inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2;

struct Device {
  int32_t device_type;
  int32_t device_id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major and dense
  uint64_t byte_offset;
};

struct Version {
  uint32_t major;
  uint32_t minor;
};

// DLManagedTensorVersioned
struct ManagedTensorVersioned {
  Version version;
  void* manager_ctx;
  void (*deleter)(ManagedTensorVersioned* self);
  uint64_t flags;
  Tensor dl_tensor;
};

// DLManagedTensor, of versions before 1.0.
struct ManagedTensor {
  Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(ManagedTensor* self);
};

}  // namespace tessera::dlpack
