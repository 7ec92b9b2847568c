#include "tessera/base/error_calls.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

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

// Returns the address where the library or program that contains the code is loaded; null if none
// does.
const void* module_of(uintptr_t code, Dl_info& info) {
  return dladdr(reinterpret_cast<const void*>(code), &info) ? info.dli_fbase : nullptr;
}

// The walk from a throw to the user's code: the module of this library, and the last function in
// it.
struct WalkInside {
  const void* library = nullptr;
  const char* symbol = nullptr;
};

_Unwind_Reason_Code visit_inside(_Unwind_Context* context, void* data) {
  WalkInside& walk = *static_cast<WalkInside*>(data);
  int is_exact = 0;
  const uintptr_t address = _Unwind_GetIPInfo(context, &is_exact);
  Dl_info info = {};
  const void* module = address ? module_of(is_exact ? address : address - 1, info) : nullptr;
  if (!walk.library) walk.library = module;
  if (!module || module != walk.library) return _URC_END_OF_STACK;
  walk.symbol = info.dli_sname;
  return _URC_NO_REASON;
}

// The namespaces of functions that users call, below `tessera` (docs/architecture.md).
constexpr std::array<std::string_view, 13> kPublicNamespaces = {
    "lax",   "linalg", "fft", "image",        "random", "scipy", "experimental",
    "debug", "tree",   "nn",  "initializers", "optim",  "ffi"};

}  // namespace

std::string public_function(std::string_view signature) {
  const size_t open = signature.find('(');
  constexpr std::string_view kRoot = "tessera::";
  if (open == std::string_view::npos || !signature.starts_with(kRoot)) return {};
  if (signature.ends_with(" const")) return {};  // a member
  std::string_view path = signature.substr(kRoot.size(), open - kRoot.size());
  const std::string_view operands = signature.substr(open + 1);
  // Such functions throw errors in the name of their caller.
  for (std::string_view told : {"std::basic_string_view<", "char const*", "tessera::ErrorKind"})
    if (operands.starts_with(told)) return {};
  // The modules of scipy are namespaces too.
  const bool in_scipy = path.starts_with("scipy::");
  for (size_t end = path.find("::"); end != std::string_view::npos; end = path.find("::")) {
    const std::string_view around = path.substr(0, end);
    const bool is_public = std::find(kPublicNamespaces.begin(), kPublicNamespaces.end(), around) !=
                           kPublicNamespaces.end();
    if (!is_public && (!in_scipy || around == "internal")) return {};
    path.remove_prefix(end + 2);
  }
  const bool is_name = std::all_of(path.begin(), path.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  return is_name && !path.starts_with("operator") ? std::string(path) : std::string();
}

std::string called_function() {
  WalkInside walk;
  _Unwind_Backtrace(visit_inside, &walk);
  if (!walk.symbol) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name(
      abi::__cxa_demangle(walk.symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 && name ? public_function(name.get()) : std::string();
}

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
