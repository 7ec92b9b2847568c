// Transport: carries bytes between the processes of a cluster. Each transport (MPI, UCX) is a
// separate library (transports/), which is loaded if several processes were started. So a single
// process neither loads MPI nor calls it.
//
// Messages from one sender with one tag arrive in the order in which they were sent. No function
// here waits, except finish(): processes.h decides how long to wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::cluster {

class Transport {
 public:
  // A transfer in progress; 0 means none.
  using Request = uint64_t;

  virtual ~Transport() = default;
  virtual int index() const = 0;
  virtual int count() const = 0;
  // Begins to send `data`, which must not change until the transfer is done. Throws RuntimeError if
  // the other process cannot be reached.
  virtual Request send(int to, int tag, const std::byte* data, int64_t bytes) = 0;
  virtual Request receive(int from, int tag, std::byte* data, int64_t bytes) = 0;
  // Returns whether the transfer is done. If it is, the request is no longer valid.
  virtual bool test(Request request) = 0;
  // Releases a transfer for which no thread waits any more.
  virtual void forget(Request request) = 0;
  // Is called after the last transfer; waits until the other processes call it too.
  virtual void finish() = 0;
  // Ends all processes of the job at once.
  [[noreturn]] virtual void abort(int status) = 0;
};

// The function that a transport's library exports by the name kOpenTransport. It returns null and
// sets `error` if the processes cannot communicate.
using OpenTransport = Transport*(std::string& error);
inline constexpr const char* kOpenTransport = "tessera_open_transport";

}  // namespace tessera::cluster
