// SourceScope: names what the library is doing while it binds ops, for messages and explain().
// Operators of Array cannot know their caller, so functions that are made of other ops name
// themselves: `SourceScope scope("psum");`.
#pragma once

#include <string>
#include <string_view>

namespace tessera::ops {

// While one exists, ops of this thread have this source, unless it is empty; scopes nest as
// "softmax/max".
class SourceScope {
 public:
  explicit SourceScope(std::string_view what);
  ~SourceScope();
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

  // Returns the source of an op that is bound now; empty outside every scope.
  static const std::string& current();

 private:
  size_t saved_length_;
};

}  // namespace tessera::ops
