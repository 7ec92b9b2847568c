#include "plugin/event.h"

namespace tessera::plugin {

PJRT_Event* ready_event() { return new PJRT_Event; }

namespace {

PJRT_Error* error_of(const PJRT_Event& event) {
  return event.error ? new PJRT_Error(*event.error) : nullptr;
}

}  // namespace

void add_events(PJRT_Api& api) {
  api.PJRT_Event_Destroy = [](auto* a) -> PJRT_Error* {
    delete a->event;
    return nullptr;
  };
  api.PJRT_Event_IsReady = [](auto* a) -> PJRT_Error* {
    std::lock_guard lock(a->event->mutex);
    a->is_ready = a->event->ready;
    return nullptr;
  };
  api.PJRT_Event_Error = [](auto* a) -> PJRT_Error* {
    std::lock_guard lock(a->event->mutex);
    return error_of(*a->event);
  };
  api.PJRT_Event_Await = [](auto* a) -> PJRT_Error* {
    std::unique_lock lock(a->event->mutex);
    a->event->changed.wait(lock, [&] { return a->event->ready; });
    return error_of(*a->event);
  };
  api.PJRT_Event_OnReady = [](PJRT_Event_OnReady_Args* a) -> PJRT_Error* {
    std::unique_lock lock(a->event->mutex);
    if (!a->event->ready) {
      a->event->waiting.push_back(
          [call = a->callback, arg = a->user_arg](PJRT_Error* error) { call(error, arg); });
      return nullptr;
    }
    PJRT_Error* error = error_of(*a->event);
    lock.unlock();
    a->callback(error, a->user_arg);
    return nullptr;
  };
  api.PJRT_Event_Create = [](auto* a) -> PJRT_Error* {
    a->event = new PJRT_Event;
    a->event->ready = false;
    return nullptr;
  };
  api.PJRT_Event_Set = [](PJRT_Event_Set_Args* a) -> PJRT_Error* {
    std::vector<std::function<void(PJRT_Error*)>> waiting;
    std::optional<PJRT_Error> error;
    {
      std::lock_guard lock(a->event->mutex);
      a->event->ready = true;
      if (a->error_code != PJRT_Error_Code_OK)
        a->event->error = PJRT_Error{a->error_code, {a->error_message, a->error_message_size}};
      waiting.swap(a->event->waiting);
      error = a->event->error;
      // Under the lock: whoever waits may destroy the event next.
      a->event->changed.notify_all();
    }
    for (const auto& call : waiting) call(error ? new PJRT_Error(*error) : nullptr);
    return nullptr;
  };
}

}  // namespace tessera::plugin
