#include "tessera/ops/core/source_scope.h"

#include "tessera/base/per_thread.h"

namespace tessera::ops {
namespace {

std::string& source() { return per_thread<std::string, SourceScope>(); }

}  // namespace

SourceScope::SourceScope(std::string_view what) : saved_length_(source().size()) {
  if (what.empty()) return;
  std::string& all = source();
  if (!all.empty()) all += '/';
  all += what;
}

SourceScope::~SourceScope() { source().resize(saved_length_); }

const std::string& SourceScope::current() { return source(); }

}  // namespace tessera::ops
