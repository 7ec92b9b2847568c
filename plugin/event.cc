#include "plugin/event.h"

namespace tessera::plugin {

void Happening::set(std::optional<Failure> error) {
  std::vector<std::function<void(PJRT_Error*)>> waiting;
  {
    const std::lock_guard lock(mutex_);
    if (ready_) return;
    ready_ = true;
    error_ = error;
    waiting.swap(waiting_);
    changed_.notify_all();
  }
  for (const auto& call : waiting) call(error ? new_error(*error) : nullptr);
}

bool Happening::ready() const {
  const std::lock_guard lock(mutex_);
  return ready_;
}

void Happening::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ready_; });
}

std::optional<Failure> Happening::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void Happening::then(std::function<void(PJRT_Error*)> f) {
  std::unique_lock lock(mutex_);
  if (!ready_) {
    waiting_.push_back(std::move(f));
    return;
  }
  const std::optional<Failure> error = error_;
  lock.unlock();
  f(error ? new_error(*error) : nullptr);
}

PJRT_Event* new_event(std::shared_ptr<Happening> happening) {
  return new PJRT_Event{std::move(happening)};
}

PJRT_Event* ready_event() {
  static const std::shared_ptr<Happening>& done = *[] {
    auto* out = new std::shared_ptr<Happening>(std::make_shared<Happening>());
    (*out)->set();
    return out;
  }();
  return new_event(done);
}

namespace {

PJRT_Error* error_of(const PJRT_Event& event) {
  const std::optional<Failure> error = event.happening->error();
  return error ? new_error(*error) : nullptr;
}

}  // namespace

void add_events(PJRT_Api& api) {
  api.PJRT_Event_Destroy = [](auto* a) -> PJRT_Error* {
    delete a->event;
    return nullptr;
  };
  api.PJRT_Event_IsReady = [](auto* a) -> PJRT_Error* {
    a->is_ready = a->event->happening->ready();
    return nullptr;
  };
  api.PJRT_Event_Error = [](auto* a) { return error_of(*a->event); };
  api.PJRT_Event_Await = [](auto* a) {
    a->event->happening->wait();
    return error_of(*a->event);
  };
  api.PJRT_Event_OnReady = [](PJRT_Event_OnReady_Args* a) -> PJRT_Error* {
    // The calls may destroy the event.
    const std::shared_ptr<Happening> happening = a->event->happening;
    happening->then([call = a->callback, arg = a->user_arg](PJRT_Error* e) { call(e, arg); });
    return nullptr;
  };
  api.PJRT_Event_Create = [](auto* a) -> PJRT_Error* {
    a->event = new_event(std::make_shared<Happening>());
    return nullptr;
  };
  api.PJRT_Event_Set = [](PJRT_Event_Set_Args* a) -> PJRT_Error* {
    const std::shared_ptr<Happening> happening = a->event->happening;
    std::optional<Failure> error;
    if (a->error_code != PJRT_Error_Code_OK)
      error = Failure{a->error_code, {a->error_message, a->error_message_size}};
    happening->set(std::move(error));
    return nullptr;
  };
}

}  // namespace tessera::plugin
