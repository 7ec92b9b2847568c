#include "tessera/control/region_memo.h"

#include <boost/pfr.hpp>
#include <functional>
#include <optional>
#include <unordered_map>

#include "tessera/ir/axis_env.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/batch.h"

namespace tessera::control {
namespace {

enum class Transform : uint8_t { kJvp, kLinearize, kBatch };

// The named axes, which rules may read when they are called. A transformed region depends on them.
struct Axes {
  Mesh mesh, mesh_with_mapped;
  AxisNames manual, mapped;
  bool check_vma = true;
  std::optional<BatchAxis> batch;

  static Axes current() {
    const AxisEnv& env = AxisEnv::current();
    Axes out{.mesh = env.mesh(),
             .mesh_with_mapped = env.mesh_of(env.mapped_axes()),
             .manual = env.manual_axes(),
             .mapped = env.mapped_axes(),
             .check_vma = env.check_vma(),
             .batch = std::nullopt};
    if (const BatchAxis* axis = BatchAxis::current_if_any()) out.batch = *axis;
    return out;
  }
  friend bool operator==(const Axes& a, const Axes& b) {
    return a.mesh == b.mesh && a.mesh_with_mapped == b.mesh_with_mapped && a.manual == b.manual &&
           a.mapped == b.mapped && a.check_vma == b.check_vma &&
           a.batch.has_value() == b.batch.has_value() &&
           (!a.batch || boost::pfr::eq_fields(*a.batch, *b.batch));
  }
};

struct Key {
  Transform transform;
  FunctionRef region;      // compared by identity
  std::vector<int> marks;  // one per operand: 1 if it has a tangent, or its mapped dimension
  std::vector<Type> inputs;
  Axes axes;

  friend bool operator==(const Key& a, const Key& b) {
    return a.transform == b.transform && a.region.get() == b.region.get() && a.marks == b.marks &&
           a.inputs == b.inputs && a.axes == b.axes;
  }
};

// A transformed region.
struct Transformed {
  // Its results are those of the region. For kJvp the nonzero tangents follow, for kLinearize the
  // residuals.
  TracedFunction whole;
  std::vector<bool> nonzero;  // kJvp and kLinearize: which results have a tangent
  Function linear;            // kLinearize: the tangent program
  std::vector<int> dims;      // kBatch: the mapped dimensions of the results

  // Returns the results of `whole` for these operands.
  std::vector<Array> at(std::vector<Array> operands) const {
    operands.insert(operands.end(), whole.captures.begin(), whole.captures.end());
    return inline_function(whole.function, operands);
  }
};
using TransformedRef = std::shared_ptr<const Transformed>;

thread_local RegionMemo* current_memo = nullptr;

}  // namespace

class RegionMemo {
 public:
  // Returns the entry with this key. If there is none, it calls `make` first, which may call this
  // function itself.
  TransformedRef find_or_make(const Key& key, const std::function<Transformed()>& make) {
    const auto [first, last] = kept_.equal_range(key.region.get());
    for (auto it = first; it != last; ++it)
      if (it->second.first == key) return it->second.second;
    auto made = std::make_shared<const Transformed>(make());
    kept_.emplace(key.region.get(), std::pair(key, made));
    return made;
  }

 private:
  // Entries by region. Their keys own the regions.
  std::unordered_multimap<const Function*, std::pair<Key, TransformedRef>> kept_;
};

RegionMemoScope::RegionMemoScope() {
  if (current_memo) return;
  mine_ = std::make_unique<RegionMemo>();
  current_memo = mine_.get();
}

RegionMemoScope::~RegionMemoScope() {
  if (mine_) current_memo = nullptr;
}

namespace {

TransformedRef find_or_make(const Key& key, const std::function<Transformed()>& make) {
  TESSERA_CHECK(current_memo, "{}: a region is transformed outside a scope", key.region->name);
  return current_memo->find_or_make(key, make);
}

TracedFunction traced(const FlatFn& body, const Key& key) {
  TracedFunction out = trace_function(body, key.inputs, key.region->name);
  out.function = remove_dead_ops(out.function);
  return out;
}

std::vector<Array> front(const std::vector<Array>& from, size_t count) {
  return {from.begin(), from.begin() + static_cast<int64_t>(count)};
}

std::vector<int> marks_of(const std::vector<bool>& mask) { return {mask.begin(), mask.end()}; }

// `inputs` are the types of the primals, then those of the tangents of operands in `mask`.
TransformedRef jvp_once(const FunctionRef& region, std::vector<Type> inputs,
                        const std::vector<bool>& mask) {
  const Key key{Transform::kJvp, region, marks_of(mask), std::move(inputs), Axes::current()};
  return find_or_make(key, [&] {
    Transformed out;
    out.whole = traced(
        [&](const std::vector<Array>& in) {
          std::vector<Array> t(mask.size());
          size_t next = mask.size();
          for (size_t k = 0; k < mask.size(); ++k)
            if (mask[k]) t[k] = in[next++];
          const JvpResult at = jvp_function(*region, front(in, mask.size()), t);
          std::vector<Array> results = at.primals;
          for (const Array& tangent : at.tangents) {
            out.nonzero.push_back(tangent.defined());
            if (tangent.defined()) results.push_back(tangent);
          }
          return results;
        },
        key);
    return out;
  });
}

TransformedRef linearize_once(const FunctionRef& region, std::vector<Type> inputs,
                              const std::vector<bool>& mask) {
  const Key key{Transform::kLinearize, region, marks_of(mask), std::move(inputs), Axes::current()};
  return find_or_make(key, [&] {
    Transformed out;
    out.whole = traced(
        [&](const std::vector<Array>& in) {
          LinearizedFunction at = linearize_function(*region, in, mask);
          out.nonzero = std::move(at.nonzero);
          out.linear = std::move(at.linear);
          std::vector<Array> results = std::move(at.primals);
          results.insert(results.end(), at.residuals.begin(), at.residuals.end());
          return results;
        },
        key);
    return out;
  });
}

TransformedRef batch_once(const FunctionRef& region, std::vector<Type> inputs,
                          std::span<const int> dims) {
  const Key key{
      Transform::kBatch, region, {dims.begin(), dims.end()}, std::move(inputs), Axes::current()};
  return find_or_make(key, [&] {
    Transformed out;
    out.whole = traced(
        [&](const std::vector<Array>& in) {
          BatchResult at = batch_function(*region, in, dims);
          out.dims = std::move(at.dims);
          return std::move(at.results);
        },
        key);
    return out;
  });
}

}  // namespace

JvpResult jvp_region(const FunctionRef& region, std::span<const Array> primals,
                     std::span<const Array> tangents) {
  std::vector<bool> mask;
  std::vector<Array> operands(primals.begin(), primals.end());
  for (const Array& t : tangents) {
    mask.push_back(t.defined());
    if (t.defined()) operands.push_back(t);
  }
  const TransformedRef jvp = jvp_once(region, traced_types(operands), mask);
  const std::vector<Array> results = jvp->at(operands);
  JvpResult out{front(results, jvp->nonzero.size()), {}};
  size_t next = jvp->nonzero.size();
  for (bool nonzero : jvp->nonzero) out.tangents.push_back(nonzero ? results[next++] : Array());
  return out;
}

LinearizedFunction linearize_region(const FunctionRef& region, std::span<const Array> primals,
                                    const std::vector<bool>& has_tangent) {
  const TransformedRef linearized = linearize_once(region, traced_types(primals), has_tangent);
  LinearizedFunction out{.linear = linearized->linear, .nonzero = linearized->nonzero};
  out.primals = linearized->at({primals.begin(), primals.end()});
  const auto first = out.primals.begin() + static_cast<int64_t>(region->outputs.size());
  out.residuals.assign(first, out.primals.end());
  out.primals.erase(first, out.primals.end());
  return out;
}

BatchResult batch_region(const FunctionRef& region, std::span<const Array> operands,
                         std::span<const int> dims) {
  const TransformedRef batched = batch_once(region, traced_types(operands), dims);
  return {batched->at({operands.begin(), operands.end()}), batched->dims};
}

std::vector<bool> jvp_nonzero(const FunctionRef& region, std::span<const Type> types,
                              const std::vector<bool>& has_tangent) {
  std::vector<Type> inputs(types.begin(), types.end());
  for (size_t k = 0; k < has_tangent.size(); ++k)
    if (has_tangent[k]) inputs.push_back(types[k]);
  return jvp_once(region, std::move(inputs), has_tangent)->nonzero;
}

RegionTangents region_tangents(const FunctionRef& region, std::span<const Type> types,
                               const std::vector<bool>& has_tangent) {
  const TransformedRef at = linearize_once(region, {types.begin(), types.end()}, has_tangent);
  RegionTangents out{.nonzero = at->nonzero, .residuals = at->whole.function.output_types()};
  out.residuals.erase(out.residuals.begin(),
                      out.residuals.begin() + static_cast<int64_t>(region->outputs.size()));
  return out;
}

std::vector<int> batched_dims(const FunctionRef& region, std::span<const Type> types,
                              std::span<const int> dims) {
  return batch_once(region, {types.begin(), types.end()}, dims)->dims;
}

}  // namespace tessera::control
