// per_thread: one object a thread, which can be used at any time, also in destructors of statics,
// which run after the main thread's thread_locals have been destroyed.
#pragma once

#include <utility>

namespace tessera {

// Returns the thread's T of this Tag. T() makes it at the first call, and it is destroyed with the
// thread. A later call makes a new one, which lasts until the process ends.
template <class T, class Tag>
T& per_thread() {
  static thread_local T* object = nullptr;
  static thread_local bool ended = false;
  struct End {
    ~End() {
      ended = true;
      delete std::exchange(object, nullptr);
    }
  };
  if (!object) {
    object = new T();
    if (!ended) {
      static thread_local const End end;
      static_cast<void>(end);
    }
  }
  return *object;
}

}  // namespace tessera
