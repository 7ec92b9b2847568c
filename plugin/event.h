// Events. What the plugin does is done when its functions return, so its events are ready; JAX may
// make others, which it sets itself.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "plugin/error.h"

struct PJRT_Event {
  // Ready where `error` is given or by default.
  std::mutex mutex;
  std::condition_variable changed;
  bool ready = true;
  std::optional<PJRT_Error> error;
  std::vector<std::function<void(PJRT_Error*)>> waiting;
};

namespace tessera::plugin {

PJRT_Event* ready_event();

void add_events(PJRT_Api& api);

}  // namespace tessera::plugin
