#include "tessera/spmd/reasons.h"

#include <charconv>

#include "tessera/ops/control_flow.h"
#include "tessera/spmd/cost.h"

namespace tessera {
namespace {

// Nothing that a user calls a source.
constexpr std::string_view kMark = "\x01reason ";

class Lister {
 public:
  Lister(const Mesh& mesh, const std::vector<Reason>& reasons) : mesh_(mesh), reasons_(reasons) {}

  void visit(Function& f, int64_t times) {
    for (Op& op : f.ops) {
      if (is_control_flow(op)) {
        const int64_t trips = op.def == &scan_op    ? op.params.as<ScanParams>().length
                              : op.def == &while_op ? -1
                                                    : 1;
        const int64_t inside = trips < 0 || times < 0 ? -1 : trips * times;
        op.params = map_control_regions(op, [&](Function region) {
          visit(region, inside);
          return region;
        });
        continue;
      }
      const Reason* reason = reason_of(op);
      const auto* lowering = std::get_if<CollectiveLowering>(&op.def->lower);
      if (lowering && lowering->kind != CollectiveKind::kAxisIndex &&
          lowering->kind != CollectiveKind::kCast)
        add(f, op, lowering->kind, times, reason);
      if (reason) op.source = reason->op;
    }
  }
  std::vector<Collective> take() { return std::move(out_); }

 private:
  const Reason* reason_of(const Op& op) const {
    const size_t mark = op.source.rfind(kMark);
    if (mark == std::string::npos) return nullptr;
    size_t number = 0;
    std::from_chars(op.source.data() + mark + kMark.size(), op.source.data() + op.source.size(),
                    number);
    return number > 0 && number <= reasons_.size() ? &reasons_[number - 1] : nullptr;
  }

  void add(const Function& f, const Op& op, CollectiveKind kind, int64_t times,
           const Reason* reason) {
    Collective c;
    c.name = op.def->name;
    int64_t n = 1;
    for (const Attribute& field : op.params.fields()) {
      if (const auto* axes = std::get_if<std::vector<std::string>>(&field)) c.axes = *axes;
      if (const auto* groups = std::get_if<std::vector<Dims>>(&field);
          groups && !groups->empty() && kind != CollectiveKind::kPermute)
        n = static_cast<int64_t>(groups->front().size());
    }
    if (n == 1)
      for (const std::string& axis : c.axes) n *= mesh_.axis_size(axis);
    c.group_size = n;
    for (ValueId v : op.operands) c.bytes_per_device += bytes_sent(kind, n, f.types[v]);
    c.seconds =
        seconds_to_send(mesh_, c.bytes_per_device, kind == CollectiveKind::kPermute ? 1 : n - 1);
    c.times = times;
    if (reason) {
      c.op = reason->op;
      c.source = reason->source;
      c.reason = reason->text;
    }
    out_.push_back(std::move(c));
  }

  const Mesh& mesh_;
  const std::vector<Reason>& reasons_;
  std::vector<Collective> out_;
};

}  // namespace

std::string reason_mark(size_t number) { return std::string(kMark) + std::to_string(number); }

std::vector<Collective> list_collectives(Function& function, const Mesh& mesh,
                                         const std::vector<Reason>& reasons) {
  Lister lister(mesh, reasons);
  lister.visit(function, 1);
  return lister.take();
}

}  // namespace tessera
