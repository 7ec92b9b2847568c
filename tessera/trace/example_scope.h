// Whether what is traced is the function of one example, of which the gradients are clipped: layers
// that take statistics over a batch have none there.
#pragma once

namespace tessera::tracing {

class ExampleScope {
 public:
  ExampleScope() : outer_(active_) { active_ = true; }
  ~ExampleScope() { active_ = outer_; }
  ExampleScope(const ExampleScope&) = delete;
  ExampleScope& operator=(const ExampleScope&) = delete;
  static bool active() { return active_; }

 private:
  bool outer_;
  static thread_local bool active_;
};

}  // namespace tessera::tracing
