// Keeps libraries from starting threads of their own when one of many tasks calls them.
#pragma once

#include "tessera/base/namespaces.h"

namespace tessera::runtime {

// oneDNN asks OpenMP how many threads the calling thread may use. While this object lives, the
// answer is one.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace tessera::runtime
