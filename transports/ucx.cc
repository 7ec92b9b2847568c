// The transport over UCX, which has one interface for shared memory, TCP and InfiniBand. It needs
// no launcher: processes connect by addresses that they exchange (tessera/cluster/rendezvous.h).
//
// What is sent to a process that has died is lost without an error, and what it should have sent
// never arrives. tessera/cluster/processes.h, which knows what this process waits for, finds out
// that a process gives no sign of life. UCX can also report lost connections, but then it uses no
// shared memory, so it is asked to do that only between machines.
#include <ucp/api/ucp.h>

#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/cluster/rendezvous.h"

namespace tessera::cluster {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// The longest time for a transfer that nobody waits for, and for the last messages of a process.
constexpr milliseconds kForgottenEnds{100}, kLastMessages{5000};

constexpr ucp_request_param_t kPlain{};

void expect_success(ucs_status_t status, const char* call) {
  if (status != UCS_OK)
    throw RuntimeError(std::string("[cluster] expected ") + call +
                       " to succeed, got: " + ucs_status_string(status));
}

struct Cleanup {
  void operator()(ucp_context* context) const { ucp_cleanup(context); }
  void operator()(ucp_worker* worker) const { ucp_worker_destroy(worker); }
};
using Context = std::unique_ptr<ucp_context, Cleanup>;
using Worker = std::unique_ptr<ucp_worker, Cleanup>;

Context make_context(int count) {
  ucp_config_t* config = nullptr;
  expect_success(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS;
  params.features = UCP_FEATURE_TAG;
  params.estimated_num_eps = static_cast<size_t>(count);
  ucp_context_h context = nullptr;
  const ucs_status_t status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  expect_success(status, "ucp_init");
  return Context(context);
}

Worker make_worker(const Context& context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // threads take turns (Processes::Call)
  ucp_worker_h worker = nullptr;
  expect_success(ucp_worker_create(context.get(), &params, &worker), "ucp_worker_create");
  return Worker(worker);
}

std::string address_of(const Worker& worker) {
  ucp_address_t* address = nullptr;
  size_t size = 0;
  expect_success(ucp_worker_get_address(worker.get(), &address, &size), "ucp_worker_get_address");
  std::string out(reinterpret_cast<const char*>(address), size);
  ucp_worker_release_address(worker.get(), address);
  return out;
}

class UcxTransport final : public Transport {
 public:
  explicit UcxTransport(const Rendezvous& rendezvous)
      : index_(rendezvous.index),
        context_(make_context(rendezvous.count)),
        worker_(make_worker(context_)),
        peers_(static_cast<size_t>(rendezvous.count)) {
    const std::vector<std::string> addresses = rendezvous.exchange(address_of(worker_));
    const std::string& here = rendezvous.machines.at(static_cast<size_t>(index_));
    for (int p = 0; p < count(); ++p) {
      if (p == index_) continue;
      peer(p).near = rendezvous.machines.at(static_cast<size_t>(p)) == here;
      connect(peer(p), addresses.at(static_cast<size_t>(p)));
    }
  }
  // Endpoints must be closed before their worker is destroyed.
  ~UcxTransport() override { close_all(); }

  int index() const override { return index_; }
  int count() const override { return static_cast<int>(peers_.size()); }

  Request send(int to, int tag, const std::byte* data, int64_t bytes) override {
    if (peer(to).lost) return add({.peer = to});
    ucs_status_ptr_t request = ucp_tag_send_nbx(peer(to).endpoint, data, static_cast<size_t>(bytes),
                                                full_tag(index_, tag), &kPlain);
    if (UCS_PTR_IS_ERR(request)) {
      peer(to).lost = true;
      request = nullptr;
    }
    return add({.request = request, .peer = to});
  }
  Request receive(int from, int tag, std::byte* data, int64_t bytes) override {
    const ucs_status_ptr_t request =
        ucp_tag_recv_nbx(worker_.get(), data, static_cast<size_t>(bytes), full_tag(from, tag),
                         ~uint64_t{0}, &kPlain);
    if (UCS_PTR_IS_ERR(request)) expect_success(UCS_PTR_STATUS(request), "ucp_tag_recv_nbx");
    return add({.request = request, .peer = from, .receives = true});
  }
  bool test(Request id) override {
    Operation& operation = operations_[id - 1];
    if (operation.request) progress();
    if (!is_over(operation)) return false;
    // A message that a lost process has sent only in part never arrives.
    if (operation.failure != UCS_OK && peer(operation.peer).lost) return false;
    if (operation.failure != UCS_OK)
      throw RuntimeError("[cluster] expected a message from process " +
                         std::to_string(operation.peer) +
                         " to arrive, got: " + ucs_status_string(operation.failure));
    free_.push_back(id);
    return true;
  }
  void forget(Request id) override {
    Operation& operation = operations_[id - 1];
    if (operation.request && operation.receives)
      ucp_request_cancel(worker_.get(), operation.request);
    // Its memory may be freed from now on. If the transfer still uses it, the connection is closed
    // or, on this machine, all connections stop.
    if (!progress_until([&] { return is_over(operation); }, kForgottenEnds)) {
      if (peer(operation.peer).near) {
        stopped_ = true;
      } else {
        close(peer(operation.peer));
      }
      ucp_request_free(operation.request);
    }
    free_.push_back(id);
  }
  void finish() override {
    // The other processes have ended, too. They only need the last messages of this process.
    ucs_status_ptr_t request = ucp_worker_flush_nbx(worker_.get(), &kPlain);
    wait_for(request, kLastMessages);
    close_all();
  }
  // There is no launcher that ends the others: they find out that this process is gone.
  [[noreturn]] void abort(int status) override { std::_Exit(status); }

 private:
  struct Peer {
    ucp_ep_h endpoint = nullptr;
    bool near = false;  // on this machine
    bool lost = false;  // nothing can be sent to it any more
  };
  struct Operation {
    void* request = nullptr;  // null: it is done
    int peer = 0;
    bool receives = false;
    ucs_status_t failure = UCS_OK;  // the reason why a message did not arrive
  };

  // Messages from different processes have different tags.
  static uint64_t full_tag(int sender, int tag) {
    return uint64_t{static_cast<uint32_t>(sender)} << 32 | static_cast<uint32_t>(tag);
  }
  Peer& peer(int p) { return peers_[static_cast<size_t>(p)]; }

  void connect(Peer& peer, const std::string& address) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(address.data());
    params.err_mode = peer.near ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler = {
        .cb = [](void* lost, ucp_ep_h, ucs_status_t) { static_cast<Peer*>(lost)->lost = true; },
        .arg = &peer};
    expect_success(ucp_ep_create(worker_.get(), &params, &peer.endpoint), "ucp_ep_create");
  }

  Request add(const Operation& operation) {
    if (free_.empty()) {
      operations_.emplace_back();
      free_.push_back(operations_.size());
    }
    const Request id = free_.back();
    free_.pop_back();
    operations_[id - 1] = operation;
    return id;
  }

  // Returns whether a transfer is done, successfully or not. Sending to a lost process is done.
  bool is_over(Operation& operation) {
    if (!operation.request) return true;
    const ucs_status_t status = ucp_request_check_status(operation.request);
    const bool lost = peer(operation.peer).lost;
    if (status == UCS_INPROGRESS && (operation.receives || !lost)) return false;
    ucp_request_free(std::exchange(operation.request, nullptr));
    if (operation.receives) operation.failure = status;
    return true;
  }

  void progress() {
    if (!stopped_) ucp_worker_progress(worker_.get());
  }
  template <class F>
  bool progress_until(const F& finished, milliseconds limit) {
    const Clock::time_point begin = Clock::now();
    while (!finished()) {
      if (Clock::now() - begin > limit) return false;
      progress();
    }
    return true;
  }
  void wait_for(ucs_status_ptr_t request, milliseconds limit) {
    if (!UCS_PTR_IS_PTR(request)) return;
    progress_until([&] { return ucp_request_check_status(request) != UCS_INPROGRESS; }, limit);
    ucp_request_free(request);
  }

  // Closes the connection. Between machines this is immediate, even in the middle of a message.
  void close(Peer& peer) {
    peer.lost = true;
    if (!peer.endpoint) return;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = peer.near ? 0 : UCP_EP_CLOSE_FLAG_FORCE;
    wait_for(ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &param), kForgottenEnds);
  }
  void close_all() {
    for (Peer& peer : peers_) close(peer);
  }

  const int index_;
  Context context_;
  Worker worker_;
  bool stopped_ = false;     // nothing is sent or received any more
  std::vector<Peer> peers_;  // UCX's error handlers have pointers to these
  // Request n is at n - 1; those in `free_` are done.
  std::vector<Operation> operations_;
  std::vector<Request> free_;
};

}  // namespace
}  // namespace tessera::cluster

extern "C" tessera::cluster::Transport* tessera_open_transport_at(
    const tessera::cluster::Rendezvous& rendezvous, std::string& error) {
  try {
    return new tessera::cluster::UcxTransport(rendezvous);
  } catch (const tessera::RuntimeError& failure) {
    error = failure.what();
    return nullptr;
  }
}
