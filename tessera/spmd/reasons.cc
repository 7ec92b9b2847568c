#include "tessera/spmd/reasons.h"

#include "tessera/ir/control_flow.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/spmd/cost.h"

namespace tessera::spmd {
namespace {

// Returns a text for messages: "dot_general (step.cc:12): dot_general sums over dimension 1 of
// operand 0, ...".
std::string cause(const Reason& reason) {
  std::string out = reason.op;
  if (!reason.source.empty() && reason.source != reason.op) out += " (" + reason.source + ")";
  return reason.text.empty() ? out : out + ": " + reason.text;
}

class Lister {
 public:
  Lister(const Mesh& mesh, const std::vector<Reason>& reasons) : mesh_(mesh), reasons_(reasons) {}

  void visit(Function& f, int64_t times) {
    for (Op& op : f.ops) {
      if (is_control_flow(op)) {
        const ControlFlow flow = control_flow_of(op);
        const int64_t trips = flow.is_loop() ? flow.trip_count.value_or(-1) : 1;
        const int64_t inside = trips < 0 || times < 0 ? -1 : trips * times;
        op.params = map_control_regions(op, [&](Function region) {
          visit(region, inside);
          return region;
        });
        continue;
      }
      if (const auto* lowering = std::get_if<CollectiveLowering>(&op.def->lower);
          lowering && lowering->kind != CollectiveKind::kAxisIndex &&
          lowering->kind != CollectiveKind::kCast)
        add(f, op, times);
      if (op.reason == 0) continue;
      op.source = cause(reasons_.at(static_cast<size_t>(op.reason - 1)));
      op.reason = 0;
    }
  }
  std::vector<Collective> take() { return std::move(out_); }

 private:
  void add(const Function& f, const Op& op, int64_t times) {
    const CollectiveInfo info = collective_info(op);
    Collective c;
    c.name = op.def->name;
    c.axes = info.axes;
    c.group_size = group_size(info.mesh, info.axes, info.groups);
    std::vector<int64_t> bytes;
    for (ValueId v : op.operands) bytes.push_back(collective_bytes_per_device(info, f.types[v]));
    for (int64_t one : bytes) c.bytes_per_device += one;
    c.seconds = seconds_of_collective(mesh_, info, c.bytes_per_device);
    c.times = times;
    if (op.reason > 0) {
      const Reason& reason = reasons_.at(static_cast<size_t>(op.reason - 1));
      c.op = reason.op;
      c.source = reason.source;
      c.reason = reason.text;
      for (size_t k = 0; k < reason.parts.size(); ++k) {
        CollectivePart& part = c.parts.emplace_back(CollectivePart{bytes.at(k)});
        if (reason.parts[k] == 0) continue;
        const Reason& own = reasons_.at(static_cast<size_t>(reason.parts[k] - 1));
        part.op = own.op;
        part.source = own.source;
        part.reason = own.text;
      }
    }
    out_.push_back(std::move(c));
  }

  const Mesh& mesh_;
  const std::vector<Reason>& reasons_;
  std::vector<Collective> out_;
};

}  // namespace

std::vector<Collective> list_collectives(Function& function, const Mesh& mesh,
                                         const std::vector<Reason>& reasons) {
  Lister lister(mesh, reasons);
  lister.visit(function, 1);
  return lister.take();
}

}  // namespace tessera::spmd
