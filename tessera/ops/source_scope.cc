#include "tessera/ops/source_scope.h"

namespace tessera {
namespace {

thread_local std::string source;

}  // namespace

SourceScope::SourceScope(std::string_view what) : saved_length_(source.size()) {
  if (!source.empty()) source += '/';
  source += what;
}

SourceScope::~SourceScope() { source.resize(saved_length_); }

const std::string& SourceScope::current() { return source; }

}  // namespace tessera
