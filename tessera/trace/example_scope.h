// Whether the function that is traced is that of one example, whose gradients are clipped. Layers
// that compute statistics over a batch throw there, since there is no batch.
#pragma once

#include "tessera/base/namespaces.h"

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
