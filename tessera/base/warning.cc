#include "tessera/base/warning.h"

#include <cstdio>
#include <set>
#include <utility>

#include "tessera/base/fork.h"

namespace tessera {
namespace {

struct State {
  ForkSafeMutex mutex;
  WarningHandler handler;
  std::set<std::string> printed;
};
State& state() {
  static State& instance = *new State;  // never destroyed: warnings may come while the process ends
  return instance;
}

}  // namespace

WarningHandler set_warning_handler(WarningHandler handler) {
  const std::lock_guard lock(state().mutex);
  return std::exchange(state().handler, std::move(handler));
}

void warn(const std::string& text) {
  WarningHandler handler;
  {
    const std::lock_guard lock(state().mutex);
    handler = state().handler;
    if (!handler && !state().printed.insert(text).second) return;
  }
  if (handler) return handler(text);
  std::fprintf(stderr, "tessera: warning: %s\n", text.c_str());
}

}  // namespace tessera
