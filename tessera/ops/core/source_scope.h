// SourceScope: names what the library is doing while it binds ops, for messages and explain().
// Operators of Array cannot know their caller, so functions that bind several ops name themselves:
// `SourceScope scope("psum");`.
#pragma once

#include <string>
#include <string_view>

namespace tessera::ops {

// As long as a scope exists, it is the source of this thread's ops, unless it is empty. The names
// of nested scopes are joined: "softmax/max".
class SourceScope {
 public:
  explicit SourceScope(std::string_view what);
  ~SourceScope();
  SourceScope(const SourceScope&) = delete;
  SourceScope& operator=(const SourceScope&) = delete;

  // Returns the source of an op that is bound now; empty if there is no scope.
  static const std::string& current();

 private:
  size_t saved_length_;
};

}  // namespace tessera::ops
