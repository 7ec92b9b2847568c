// per_thread: one object per thread, which can be used at any time, even in destructors of static
// objects, which run after the main thread's thread_locals have been destroyed.
#pragma once

#include <utility>

namespace tessera {

// Returns this thread's T for this Tag. The first call makes it with T(), and it is destroyed with
// the thread. A call after that makes a new one, which lasts until the process ends.
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
