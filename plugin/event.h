// Events. What a function of the plugin does is done when it returns, so most events are ready; the
// others say when memory of the host is no longer used, or are JAX's own, which it sets itself.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "plugin/error.h"

namespace tessera::plugin {

// What may happen once. Handles of it come and go on both sides.
class Happening {
 public:
  // Later calls change nothing.
  void set(std::optional<Failure> error = std::nullopt);
  bool ready() const;
  void wait() const;
  std::optional<Failure> error() const;
  // Calls f(error or null) when it happens, at once where it has; f owns the error.
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
