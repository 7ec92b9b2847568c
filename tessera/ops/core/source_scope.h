// SourceScope: names what the library is doing while it binds ops, for messages and explain().
// Operators of Array cannot see their caller, so functions that stand for something say so:
// `SourceScope scope("psum");`.
#pragma once

#include <string>
#include <string_view>

namespace tessera::ops {

// While alive, ops of this thread have this source, if it has any; scopes nest as "softmax/max".
class SourceScope {
 public:
  explicit SourceScope(std::string_view what);
  ~SourceScope();
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

  // The source of an op bound now; empty outside every scope.
  static const std::string& current();

 private:
  size_t saved_length_;
};

}  // namespace tessera::ops
