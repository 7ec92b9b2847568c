#include "tessera/base/error_calls.h"

#include <unwind.h>

namespace tessera::internal {
namespace {

thread_local ErrorCalls* innermost = nullptr;

// A recursion may make more calls. Then the innermost ones are noted.
constexpr size_t kMostCalls = 256;

struct Walk {
  uintptr_t end;
  std::vector<uintptr_t>& calls;
};

// Notes one call. Stacks grow downwards: the frames of outer calls have larger addresses than those
// of inner calls.
_Unwind_Reason_Code visit(_Unwind_Context* context, void* data) {
  Walk& walk = *static_cast<Walk*>(data);
  if (_Unwind_GetCFA(context) > walk.end || walk.calls.size() == kMostCalls)
    return _URC_END_OF_STACK;
  int is_exact = 0;
  const uintptr_t address = _Unwind_GetIPInfo(context, &is_exact);
  // A call returns to the instruction after it, which may be on another line.
  if (address) walk.calls.push_back(is_exact ? address : address - 1);
  return _URC_NO_REASON;
}

}  // namespace

// The frames of functions that the constructor's caller calls later begin at the same address as
// this frame.
[[gnu::noinline]] ErrorCalls::ErrorCalls()
    : around_(innermost), end_(reinterpret_cast<uintptr_t>(__builtin_dwarf_cfa())) {
  innermost = this;
}
ErrorCalls::~ErrorCalls() { innermost = around_; }

std::span<const uintptr_t> ErrorCalls::of(std::string_view message) const {
  if (calls_.empty() || !message.starts_with(message_)) return {};
  return calls_;
}

void ErrorCalls::note(const std::string& message) {
  if (!innermost) return;
  innermost->message_ = message;
  innermost->calls_.clear();
  Walk walk{innermost->end_, innermost->calls_};
  _Unwind_Backtrace(visit, &walk);
}

}  // namespace tessera::internal
