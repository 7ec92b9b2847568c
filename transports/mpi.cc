// The transport over MPI (Open MPI of the distribution). It is a library of its own, which
// tessera/cluster/processes.cc loads if several processes were started.
#include <mpi.h>

#include <algorithm>
#include <exception>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/cluster/transport.h"

namespace tessera::cluster {
namespace {

std::string error_text(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<size_t>(length)};
}

void expect_success(int code, const char* call) {
  if (code != MPI_SUCCESS)
    throw RuntimeError(std::string("[cluster] expected ") + call +
                       " to succeed, got: " + error_text(code));
}

class MpiTransport final : public Transport {
 public:
  explicit MpiTransport(MPI_Comm comm) : comm_(comm) {
    MPI_Comm_rank(comm_, &index_);
    MPI_Comm_size(comm_, &count_);
  }
  int index() const override { return index_; }
  int count() const override { return count_; }

  Request send(int to, int tag, const std::byte* data, int64_t bytes) override {
    return begin(bytes, [&](int64_t at, int count, MPI_Request* piece) {
      expect_success(MPI_Isend(data + at, count, MPI_BYTE, to, tag, comm_, piece), "MPI_Isend");
    });
  }
  Request receive(int from, int tag, std::byte* data, int64_t bytes) override {
    return begin(bytes, [&](int64_t at, int count, MPI_Request* piece) {
      expect_success(MPI_Irecv(data + at, count, MPI_BYTE, from, tag, comm_, piece), "MPI_Irecv");
    });
  }
  bool test(Request request) override {
    Pieces& pieces = open_[request - 1];
    int done = 0;
    expect_success(
        MPI_Testall(static_cast<int>(pieces.size()), pieces.data(), &done, MPI_STATUSES_IGNORE),
        "MPI_Testall");
    if (done) free_.push_back(request);
    return done != 0;
  }
  void forget(Request request) override {
    for (MPI_Request& piece : open_[request - 1]) {
      if (piece == MPI_REQUEST_NULL) continue;
      MPI_Cancel(&piece);  // its memory may be freed from now on
      MPI_Request_free(&piece);
    }
    free_.push_back(request);
  }
  void finish() override {
    int finalized = 0;
    MPI_Finalized(&finalized);
    if (!finalized) MPI_Finalize();
  }
  [[noreturn]] void abort(int status) override {
    MPI_Abort(MPI_COMM_WORLD, status);
    std::terminate();
  }

 private:
  using Pieces = std::vector<MPI_Request>;
  static constexpr int64_t kPiece = int64_t{1} << 30;  // MPI counts bytes in an int

  template <class F>
  Request begin(int64_t bytes, const F& piece) {
    if (free_.empty()) {
      open_.emplace_back();
      free_.push_back(open_.size());
    }
    const Request id = free_.back();
    Pieces& pieces = open_[id - 1];
    pieces.clear();
    for (int64_t at = 0; at == 0 || at < bytes; at += kPiece)
      piece(at, static_cast<int>(std::min(bytes - at, kPiece)),
            &pieces.emplace_back(MPI_REQUEST_NULL));
    free_.pop_back();
    return id;
  }

  MPI_Comm comm_;
  int index_ = 0, count_ = 1;
  // The pieces of request n are at n - 1; those in `free_` are done.
  std::vector<Pieces> open_;
  std::vector<Request> free_;
};

}  // namespace
}  // namespace tessera::cluster

extern "C" tessera::cluster::Transport* tessera_open_transport(std::string& error) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    // Threads call MPI one at a time (Processes::Call).
    int provided = 0;
    if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS) {
      error = "MPI_Init_thread failed";
      return nullptr;
    }
    if (provided < MPI_THREAD_SERIALIZED) {
      error = "this MPI does not let threads take turns (MPI_THREAD_SERIALIZED)";
      return nullptr;
    }
  }
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return new tessera::cluster::MpiTransport(comm);
}
