// per_thread: an object of each thread that can be used at any time, also in destructors of
// statics, which run after the main thread's thread_locals are gone.
#pragma once

#include <utility>

namespace tessera {

// The thread's T of this Tag, made by T() when it is first asked for and destroyed with the thread.
// What is asked for after that is made anew, and lasts until the process ends.
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
