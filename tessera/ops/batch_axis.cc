#include "tessera/ops/batch_axis.h"

#include "tessera/base/error.h"

namespace tessera {
namespace {
thread_local const BatchAxis* innermost = nullptr;
}  // namespace

const BatchAxis& BatchAxis::current() {
  TESSERA_CHECK(innermost != nullptr, "a batching rule outside of vmap");
  return *innermost;
}

BatchAxis::Scope::Scope(BatchAxis axis) : saved_(innermost), axis_(std::move(axis)) {
  innermost = &axis_;
}
BatchAxis::Scope::~Scope() { innermost = saved_; }

}  // namespace tessera
