// Tells the libraries that they are called from one of many tasks: they must not start threads of
// their own.
#pragma once

namespace tessera::runtime {

// oneDNN asks OpenMP how many threads the calling thread may use; for the life of this object the
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
