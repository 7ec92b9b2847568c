// MadeOnce: maps keys to values, each of which is made by the first thread that asks for its key.
//
// A value is made outside of the lock: meanwhile, threads that ask for the same key wait, and
// others do not. If making it throws, all waiting threads get the exception, and the next thread
// that asks tries again.
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
  // Returns the value of the key. If there is none yet, it is the result of make(). make() must not
  // ask for the same key.
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
