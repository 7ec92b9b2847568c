// Transport: what carries bytes between the processes of a cluster. The one there is, MPI, is a
// library of its own (transports/mpi.cc) that is loaded when several processes were started, so
// that a process alone neither loads MPI nor calls it.
//
// Messages of one sender with one tag arrive in the order they were sent. Nothing here waits: who
// waits, and for how long, is decided in processes.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera::cluster {

class Transport {
 public:
  // A transfer in progress; 0: none.
  using Request = uint64_t;

  virtual ~Transport() = default;
  virtual int index() const = 0;
  virtual int count() const = 0;
  // `data` stays as it is until the transfer is done. RuntimeError where the other process cannot
  // be reached.
  virtual Request send(int to, int tag, const std::byte* data, int64_t bytes) = 0;
  virtual Request receive(int from, int tag, std::byte* data, int64_t bytes) = 0;
  // Whether it is done; then the number is no longer valid.
  virtual bool test(Request request) = 0;
  // A transfer that nobody waits for any more.
  virtual void forget(Request request) = 0;
  // After the last transfer; waits for the other processes to come here too.
  virtual void finish() = 0;
  // Ends all processes of the job at once.
  [[noreturn]] virtual void abort(int status) = 0;
};

// What a transport's library exports as tessera_transport. Returns null and sets `error` where the
// processes cannot talk to each other.
using OpenTransport = Transport*(std::string& error);
inline constexpr const char* kOpenTransport = "tessera_open_transport";

}  // namespace tessera::cluster
