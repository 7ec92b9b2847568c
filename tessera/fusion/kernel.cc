#include "tessera/fusion/kernel.h"

#include <algorithm>
#include <iterator>

#include "tessera/fusion/kernels/kernel_body.h"

namespace tessera::fusion {
namespace {

void append_affine(std::string& out, const Affine& address) {
  auto it = std::back_inserter(out);
  fmt::format_to(it, "{}", address.offset);
  for (size_t d = 0; d < address.parallel.size(); ++d) {
    if (address.parallel[d]) fmt::format_to(it, "+{}*p{}", address.parallel[d], d);
  }
  for (size_t d = 0; d < address.inner.size(); ++d) {
    if (address.inner[d]) fmt::format_to(it, "+{}*i{}", address.inner[d], d);
  }
}

void append_immediate(std::string& out, DType dtype, const std::array<std::byte, 16>& bytes) {
  out += "0x";
  for (int64_t i = itemsize(dtype) - 1; i >= 0; --i) {
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned>(bytes[i]));
  }
}

template <class Args>
void append_args(std::string& out, const Args& args) {
  for (size_t k = 0; k < args.size(); ++k) {
    fmt::format_to(std::back_inserter(out), "{}%{}", k ? ", " : " ", args[k]);
  }
}

void append_body(std::string& out, const Function& body) {
  const ScalarProgram program = record_body(body);
  out += " {";
  for (size_t i = 0; i < program.nodes.size(); ++i) {
    const ScalarNode& node = program.nodes[i];
    auto it = std::back_inserter(out);
    fmt::format_to(it, " %{}: {} = ", i, dtype_name(node.dtype));
    switch (node.kind) {
      case ScalarNode::Kind::kInput:
        out += "input";
        break;
      case ScalarNode::Kind::kConstant:
        append_immediate(out, node.dtype, node.immediate);
        break;
      case ScalarNode::Kind::kOp:
        out += scalar_op_name(node.op);
        append_args(out, node.args);
        break;
    }
    out += ';';
  }
  out += " return";
  append_args(out, program.outputs);
  out += " }";
}

void append_node(std::string& out, const KernelNode& node) {
  auto it = std::back_inserter(out);
  switch (node.kind) {
    case NodeKind::kConstant:
      append_immediate(out, node.dtype, node.immediate);
      return;
    case NodeKind::kIndex:
      fmt::format_to(it, "index l{} ", node.loop);
      append_affine(out, node.address);
      return;
    case NodeKind::kLoad:
      fmt::format_to(it, "load l{} b{}[", node.loop, node.buffer);
      append_affine(out, node.address);
      for (const auto& [index, stride] : node.dynamic) {
        fmt::format_to(it, "+{}*%{}", stride, index);
      }
      out += ']';
      if (node.guard >= 0) fmt::format_to(it, " if %{}", node.guard);
      return;
    case NodeKind::kScalarOp:
      out += scalar_op_name(node.op);
      append_args(out, node.args);
      return;
    case NodeKind::kReduced:
      fmt::format_to(it, "reduced l{} #{}", node.loop, node.reduction);
      return;
  }
}

void append_loop(std::string& out, const KernelLoop& loop) {
  auto it = std::back_inserter(out);
  for (const KernelReduction& r : loop.reductions) {
    fmt::format_to(it, "    reduce {} {}", enum_names(r.kind)[static_cast<size_t>(r.kind)],
                   dtype_name(r.accumulate));
    append_args(out, r.nodes);
    out += " init";
    append_args(out, r.init);
    if (r.kind >= ReduceKind::kArgMin) append_body(out, *r.body);
    out += '\n';
  }
  for (const KernelStore& store : loop.stores) {
    fmt::format_to(it, "    store b{}[", store.buffer);
    append_affine(out, store.address);
    fmt::format_to(it, "] = %{}", store.node);
    if (store.guard >= 0) fmt::format_to(it, " if %{}", store.guard);
    out += '\n';
  }
}

// Finds the loop on whose indices each node depends (-1: none), and checks the rules of kernel.h.
class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : k_(kernel), loop_of_(kernel.nodes.size(), -1), after_(kernel.nodes.size(), -1) {}

  void run() {
    TESSERA_CHECK(!k_.loops.empty(), "a kernel without loops");
    for (int64_t extent : k_.parallel) TESSERA_CHECK(extent >= 0, "parallel {}", k_.parallel);
    for (size_t i = 0; i < k_.nodes.size(); ++i) node(static_cast<int>(i));
    for (size_t l = 0; l < k_.loops.size(); ++l) loop(static_cast<int>(l));
  }

 private:
  void affine(const Affine& address, int l) const {
    TESSERA_CHECK(l >= 0 && l < static_cast<int>(k_.loops.size()), "loop {}", l);
    TESSERA_CHECK(address.parallel.size() == k_.parallel.size(), "{} coefficients for parallel {}",
                  address.parallel.size(), k_.parallel);
    TESSERA_CHECK(address.inner.size() == k_.loops[l].extents.size(),
                  "{} coefficients for loop {} of extents {}", address.inner.size(), l,
                  k_.loops[l].extents);
  }
  void merge(int id, int other) {
    after_[id] = std::max(after_[id], after_[other]);
    const int from = loop_of_[other];
    if (from < 0) return;
    TESSERA_CHECK(loop_of_[id] < 0 || loop_of_[id] == from,
                  "node {} depends on the indices of loops {} and {}", id, loop_of_[id], from);
    loop_of_[id] = from;
  }
  void argument(int id, int arg) {
    TESSERA_CHECK(arg >= 0 && arg < id, "node {} reads node {}", id, arg);
    merge(id, arg);
  }
  void own_loop(int id, const KernelNode& n) {
    affine(n.address, n.loop);
    const auto& inner = n.address.inner;
    if (std::any_of(inner.begin(), inner.end(), [](int64_t c) { return c != 0; })) {
      loop_of_[id] = n.loop;
    }
  }
  void node(int id);
  void loop(int l);
  // Checks that loop `l` may read the node.
  void usable(int id, int l) const {
    TESSERA_CHECK(id >= 0 && id < static_cast<int>(k_.nodes.size()), "node {}", id);
    TESSERA_CHECK(loop_of_[id] < 0 || loop_of_[id] == l, "loop {} reads node {} of loop {}", l, id,
                  loop_of_[id]);
    TESSERA_CHECK(after_[id] < l, "loop {} reads a result of loop {}", l, after_[id]);
  }

  const Kernel& k_;
  std::vector<int> loop_of_;
  std::vector<int> after_;  // for each node, the last loop whose results it depends on
};

void Verifier::node(int id) {
  const KernelNode& n = k_.nodes[id];
  switch (n.kind) {
    case NodeKind::kConstant:
      return;
    case NodeKind::kIndex:
      TESSERA_CHECK(is_integer(n.dtype), "index as {}", n.dtype);
      own_loop(id, n);
      return;
    case NodeKind::kLoad:
      TESSERA_CHECK(n.buffer >= 0 && n.buffer < static_cast<int>(k_.buffers.size()), "buffer {}",
                    n.buffer);
      TESSERA_CHECK(k_.buffers[n.buffer].dtype == n.dtype, "load of {} as {}",
                    k_.buffers[n.buffer].dtype, n.dtype);
      own_loop(id, n);
      for (const auto& [index, stride] : n.dynamic) {
        argument(id, index);
        const DType dtype = k_.nodes[index].dtype;
        TESSERA_CHECK(dtype == int32 || dtype == int64, "dynamic index of {}", dtype);
      }
      if (n.guard >= 0) {
        argument(id, n.guard);
        TESSERA_CHECK(k_.nodes[n.guard].dtype == bool_, "guard {}", n.guard);
      }
      return;
    case NodeKind::kScalarOp: {
      boost::container::small_vector<DType, 3> dtypes;
      for (int arg : n.args) {
        argument(id, arg);
        dtypes.push_back(k_.nodes[arg].dtype);
      }
      verify_scalar_op(n.op, n.dtype, dtypes);
      return;
    }
    case NodeKind::kReduced: {
      TESSERA_CHECK(n.loop >= 0 && n.loop < static_cast<int>(k_.loops.size()), "loop {}", n.loop);
      size_t results = 0;
      for (const KernelReduction& r : k_.loops[n.loop].reductions) results += r.nodes.size();
      TESSERA_CHECK(n.reduction >= 0 && n.reduction < static_cast<int>(results), "result {} of {}",
                    n.reduction, results);
      after_[id] = n.loop;
      return;
    }
  }
}

void Verifier::loop(int l) {
  const KernelLoop& loop = k_.loops[l];
  for (int64_t extent : loop.extents) TESSERA_CHECK(extent >= 0, "extents {}", loop.extents);
  for (const KernelReduction& r : loop.reductions) {
    TESSERA_CHECK(!r.nodes.empty() && r.nodes.size() == r.init.size(),
                  "{} nodes, {} initial values", r.nodes.size(), r.init.size());
    TESSERA_CHECK(r.kind < ReduceKind::kArgMin ? r.nodes.size() == 1 : r.body != nullptr,
                  "a reduction without a body");
    for (size_t i = 0; i < r.nodes.size(); ++i) {
      usable(r.nodes[i], l);
      usable(r.init[i], l);
      TESSERA_CHECK(loop_of_[r.init[i]] < 0, "initial value {} depends on the loop", r.init[i]);
      TESSERA_CHECK(k_.nodes[r.init[i]].dtype == k_.nodes[r.nodes[i]].dtype,
                    "initial value of {} for elements of {}", k_.nodes[r.init[i]].dtype,
                    k_.nodes[r.nodes[i]].dtype);
    }
  }
  for (const KernelStore& s : loop.stores) {
    TESSERA_CHECK(s.buffer >= 0 && s.buffer < static_cast<int>(k_.buffers.size()), "buffer {}",
                  s.buffer);
    const KernelBuffer& buffer = k_.buffers[s.buffer];
    TESSERA_CHECK(buffer.kind != BufferKind::kInput, "store to input {}", s.buffer);
    affine(s.address, l);
    usable(s.node, l);
    TESSERA_CHECK(buffer.dtype == k_.nodes[s.node].dtype, "store of {} into {}",
                  k_.nodes[s.node].dtype, buffer.dtype);
    if (s.guard >= 0) {
      usable(s.guard, l);
      TESSERA_CHECK(k_.nodes[s.guard].dtype == bool_, "guard {}", s.guard);
    }
  }
}

}  // namespace

std::string to_string(const Kernel& kernel) {
  static constexpr std::string_view kKinds[] = {"input", "output", "scratch"};
  std::string out;
  auto it = std::back_inserter(out);
  fmt::format_to(it, "kernel parallel {} lanes along {}{}\n", kernel.parallel,
                 kernel.vectorize == Kernel::Vectorize::kParallel ? "parallel" : "inner",
                 kernel.streaming_stores ? ", streaming" : "");
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const KernelBuffer& buffer = kernel.buffers[b];
    fmt::format_to(it, "  b{}: {} {}[{}]\n", b, kKinds[static_cast<size_t>(buffer.kind)],
                   dtype_name(buffer.dtype), buffer.elements);
  }
  for (size_t i = 0; i < kernel.nodes.size(); ++i) {
    fmt::format_to(it, "  %{}: {} = ", i, dtype_name(kernel.nodes[i].dtype));
    append_node(out, kernel.nodes[i]);
    out += '\n';
  }
  for (size_t l = 0; l < kernel.loops.size(); ++l) {
    fmt::format_to(it, "  loop {} {}\n", l, kernel.loops[l].extents);
    append_loop(out, kernel.loops[l]);
  }
  return out;
}

void verify(const Kernel& kernel) { Verifier(kernel).run(); }

}  // namespace tessera::fusion
