// MadeOnce: values by key, each made by the first thread that asks for it.
//
// A value is made outside of the lock: who asks for the same key meanwhile waits for it, who asks for
// another one does not. If making it fails, all who wait get the exception, and who asks later makes
// it again.
#pragma once

#include <exception>
#include <future>
#include <map>
#include <mutex>
#include <utility>

namespace tessera {

template <class Key, class Value>
class MadeOnce {
 public:
  // Returns the value of the key; make() gives it where there is none yet. It must not ask for the
  // same key.
  template <class F>
  Value get(const Key& key, F&& make) {
    std::promise<Value> promise;
    std::shared_future<Value> value;
    bool is_first = false;
    {
      const std::lock_guard lock(mutex_);
      const auto [at, is_new] = values_.try_emplace(key);
      is_first = is_new;
      if (is_first) at->second = promise.get_future().share();
      value = at->second;
    }
    if (is_first) fulfil(key, promise, std::forward<F>(make));
    return value.get();
  }

 private:
  template <class F>
  void fulfil(const Key& key, std::promise<Value>& promise, F&& make) {
    try {
      promise.set_value(make());
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        values_.erase(key);
      }
      promise.set_exception(std::current_exception());
    }
  }

  std::mutex mutex_;
  std::map<Key, std::shared_future<Value>> values_;
};

}  // namespace tessera
