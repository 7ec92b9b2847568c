// ExampleScope: marks that the traced function is the loss of one example, whose gradient is
// clipped. Layers that compute statistics over a batch throw there, because there is no batch.
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
