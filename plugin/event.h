// Events. A function of the plugin has done its work when it returns, so most events are ready.
// Others become ready when memory of the host is no longer used, or are JAX's own, which JAX sets.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "plugin/error.h"

namespace tessera::plugin {

// Something that happens once. The plugin and JAX both create and destroy handles of it.
class Happening {
 public:
  // Makes it happen. Only the first call has an effect.
  void set(std::optional<Failure> error = std::nullopt);
  bool ready() const;
  void wait() const;
  std::optional<Failure> error() const;
  // Calls f(error or null) when it happens, or at once if it has happened. f owns the error.
  void then(std::function<void(PJRT_Error*)> f);

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  bool ready_ = false;
  std::optional<Failure> error_;
  std::vector<std::function<void(PJRT_Error*)>> waiting_;
};

PJRT_Event* ready_event();
PJRT_Event* new_event(std::shared_ptr<Happening> happening);

void add_events(PJRT_Api& api);

}  // namespace tessera::plugin

struct PJRT_Event {
  std::shared_ptr<tessera::plugin::Happening> happening;
};
