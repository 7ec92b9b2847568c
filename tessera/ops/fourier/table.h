// Table: an array of fixed size, aligned to 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tessera::ops::fourier {

template <class T>
class Table {
 public:
  Table() = default;
  explicit Table(int64_t count)
      : data_(static_cast<T*>(::operator new(static_cast<size_t>(count) * sizeof(T), kAlign))) {}
  const T* data() const { return data_.get(); }
  T* data() { return data_.get(); }

 private:
  static constexpr std::align_val_t kAlign{64};
  struct Free {
    void operator()(T* p) const { ::operator delete(p, kAlign); }
  };
  std::unique_ptr<T, Free> data_;
};

}  // namespace tessera::ops::fourier
