// Workspace: uninitialised memory for the time of a call, aligned to 64 bytes. A thread keeps what
// it gave back for its next calls, up to a bound, since fresh pages cost as much as a transform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace tessera::ops::fourier {

class RawWorkspace {
 public:
  explicit RawWorkspace(int64_t bytes);
  ~RawWorkspace();
  RawWorkspace(const RawWorkspace&) = delete;
  RawWorkspace& operator=(const RawWorkspace&) = delete;
  void* data() const { return data_; }

 private:
  void* data_;
  int64_t bytes_;
};

template <class T>
class Workspace : RawWorkspace {
 public:
  explicit Workspace(int64_t count) : RawWorkspace(count * static_cast<int64_t>(sizeof(T))) {}
  T* data() const { return static_cast<T*>(RawWorkspace::data()); }
};

// An array of fixed size with the same alignment: tables.
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
