// Derivatives and batching of scan; scan_transpose.cc has its transpose.
#include <algorithm>

#include "tessera/control/control_flow_rules.h"
#include "tessera/control/index_of.h"
#include "tessera/control/make_control_flow.h"
#include "tessera/control/region_memo.h"
#include "tessera/control/scan_parts.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/derivative.h"

namespace tessera::control {
namespace {

// Returns which results of a body have a tangent if the inputs in `mask` have one.
using NonzeroFn = std::vector<bool>(const FunctionRef& body, std::span<const Type> types,
                                    const std::vector<bool>& mask);

std::vector<bool> linearize_nonzero(const FunctionRef& body, std::span<const Type> types,
                                    const std::vector<bool>& mask) {
  return region_tangents(body, types, mask).nonzero;
}

// Returns which operands have a tangent, including carries that get one in the body.
std::vector<bool> with_carry_tangents(std::span<const Array> primals, std::vector<bool> mask,
                                      const ScanParams& p, NonzeroFn* nonzero_results) {
  const Parts parts(p);
  const std::vector<Type> types = body_types(primals, parts);
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<bool> nonzero = nonzero_results(p.body, types, mask);
    for (size_t c = 0; c < parts.carry; ++c) {
      if (!nonzero[c] || mask[parts.consts + c]) continue;
      mask[parts.consts + c] = true;
      changed = true;
    }
  }
  return mask;
}

// Returns the axes over which all these types vary.
AxisNames common_variance(std::span<const Type> types) {
  if (types.empty()) return {};
  AxisNames common = types[0].varying;
  for (const Type& t : types) common = axis_difference(common, axis_difference(common, t.varying));
  return common;
}

// The linearization of a scan at given primals: a scan of values, and a scan of tangents, which
// reads residuals of the first one.
class LinearizedScan {
 public:
  LinearizedScan(std::span<const Array> operands, const std::vector<bool>& has_tangent,
                 const ScanParams& p)
      : p_(p),
        parts_(p),
        mask_(with_carry_tangents(operands, has_tangent, p, linearize_nonzero)),
        copied_(common_variance(scan_op.infer(traced_types(operands), p))),
        primals_(operands.begin(), operands.end()) {
    for (size_t k = 0; k < parts_.consts; ++k)
      if (mask_[k]) primals_[k] = cast_varying(primals_[k], copied_);
  }

  // Binds the scan of values, which also returns residuals, and returns the results of the original
  // scan.
  std::vector<Array> run() {
    ScanSpec spec{.length = p_.length, .reverse = p_.reverse};
    append<Array>(spec.consts, slice(primals_, 0, parts_.consts));
    append<Array>(spec.carry, slice(primals_, parts_.consts, parts_.carry));
    append<Array>(spec.xs, slice(primals_, parts_.consts + parts_.carry, parts_.xs));
    std::vector<Array> results =
        make_scan(spec, [&](const std::vector<Array>& inputs) { return trip(inputs); });
    for (size_t i = 0; i < stacked_.size(); ++i)
      scanned_residuals_[stacked_[i]] = results[num_results() + i];
    results.resize(num_results());
    return results;
  }

  std::vector<Array> tangents(std::span<const Array> given) const {
    std::vector<Array> out(num_results());
    if (!any_tangent()) return out;
    const TangentScan scan = tangent_scan(given);
    const std::vector<Array> some = make_scan(
        scan.spec, [&](const std::vector<Array>& inputs) { return tangent_trip(scan, inputs); });
    size_t next = 0;
    for (size_t r = 0; r < out.size(); ++r)
      if (has_result_tangent(r)) out[r] = some[next++];
    return out;
  }

 private:
  // The operands of the scan of tangents. Constants and scanned operands are tangents, then
  // residuals; the carry consists of tangents only.
  struct TangentScan {
    ScanSpec spec;
    size_t const_tangents = 0, xs_tangents = 0;
  };
  // Where a trip of the scan of tangents finds a residual.
  struct ResidualSource {
    bool is_const;
    size_t index;  // into const_residuals_ or scanned_residuals_
  };

  size_t num_results() const { return parts_.carry + parts_.ys; }
  // Returns whether result r, a carry or a stacked y, has a tangent.
  bool has_result_tangent(size_t r) const {
    return r < parts_.carry ? mask_[parts_.consts + r] : at_.nonzero[r];
  }
  bool any_tangent() const {
    for (size_t r = 0; r < num_results(); ++r)
      if (has_result_tangent(r)) return true;
    return false;
  }

  // A trip of the scan of values: returns the results of the body, then the residuals that are not
  // operands. It may be traced several times.
  std::vector<Array> trip(const std::vector<Array>& inputs) {
    at_ = linearize_region(p_.body, inputs, mask_);
    const_residuals_.clear();
    scanned_residuals_.clear();
    residual_sources_.clear();
    stacked_.clear();
    std::vector<Array> out = at_.primals;
    for (const Array& residual : at_.residuals) {
      const int k = index_of(residual, inputs);
      if (k >= 0 && static_cast<size_t>(k) < parts_.consts) {
        residual_sources_.push_back({true, const_residuals_.size()});
        const_residuals_.push_back(primals_[static_cast<size_t>(k)]);
        continue;
      }
      residual_sources_.push_back({false, scanned_residuals_.size()});
      if (k >= 0 && !parts_.is_carry(static_cast<size_t>(k))) {
        scanned_residuals_.push_back(primals_[static_cast<size_t>(k)]);
      } else {
        stacked_.push_back(scanned_residuals_.size());
        scanned_residuals_.emplace_back();
        out.push_back(residual);
      }
    }
    return out;
  }

  TangentScan tangent_scan(std::span<const Array> given) const {
    TangentScan out{.spec = {.length = p_.length, .reverse = p_.reverse}};
    for (size_t k = 0; k < parts_.consts; ++k)
      if (mask_[k]) out.spec.consts.push_back(cast_varying(given[k], copied_));
    out.const_tangents = out.spec.consts.size();
    append<Array>(out.spec.consts, const_residuals_);
    for (size_t k = parts_.consts; k < parts_.consts + parts_.carry; ++k)
      if (mask_[k])
        out.spec.carry.push_back(given[k].defined() ? given[k] : zero_of(primals_[k].type()));
    for (size_t k = parts_.consts + parts_.carry; k < parts_.operands(); ++k)
      if (mask_[k]) out.spec.xs.push_back(given[k]);
    out.xs_tangents = out.spec.xs.size();
    append<Array>(out.spec.xs, scanned_residuals_);
    return out;
  }

  std::vector<Array> tangent_trip(const TangentScan& scan, const std::vector<Array>& inputs) const {
    const size_t carry_at = scan.spec.consts.size(), xs_at = carry_at + scan.spec.carry.size();
    std::vector<Array> x = slice(inputs, 0, scan.const_tangents);
    append<Array>(x, slice(inputs, carry_at, scan.spec.carry.size()));
    append<Array>(x, slice(inputs, xs_at, scan.xs_tangents));
    for (const ResidualSource& source : residual_sources_)
      x.push_back(inputs[source.is_const ? scan.const_tangents + source.index
                                         : xs_at + scan.xs_tangents + source.index]);
    const std::vector<Array> some = inline_function(at_.linear, x);
    std::vector<Array> out;
    size_t next = 0, carry = carry_at;
    for (size_t r = 0; r < num_results(); ++r) {
      const bool is_carry = r < parts_.carry && mask_[parts_.consts + r];
      if (at_.nonzero[r]) {
        out.push_back(some[next++]);
      } else if (is_carry) {
        out.push_back(zero_of(inputs[carry].type()));
      }
      if (is_carry) ++carry;
    }
    return out;
  }

  const ScanParams p_;
  const Parts parts_;
  const std::vector<bool> mask_;  // which operands have a tangent
  // The axes over which all results of the loop vary. Constants are cast to vary over them, so that
  // their cotangents are summed over devices once, after the loop, and not in every trip.
  const AxisNames copied_;
  std::vector<Array> primals_;
  LinearizedFunction at_;
  std::vector<Array> const_residuals_, scanned_residuals_;
  std::vector<ResidualSource> residual_sources_;  // one for each residual
  std::vector<size_t> stacked_;  // scanned residuals that the scan of values returns
};

}  // namespace

JvpResult jvp_scan(std::span<const Array> primals, std::span<const Array> tangents,
                   const ScanParams& p) {
  const RegionMemoScope scope;
  const Parts parts(p);
  std::vector<bool> given;
  for (const Array& t : tangents) given.push_back(t.defined());
  // jvp_nonzero makes no linear program, which loops in the body may not have.
  const std::vector<bool> mask = with_carry_tangents(primals, given, p, jvp_nonzero);
  // Each part of the operands is its values, then its tangents.
  ScanSpec spec{.length = p.length, .reverse = p.reverse};
  std::vector<std::pair<std::vector<Array>*, size_t>> part{
      {&spec.consts, parts.consts}, {&spec.carry, parts.carry}, {&spec.xs, parts.xs}};
  size_t at = 0;
  for (auto& [list, count] : part) {
    append(*list, primals.subspan(at, count));
    for (size_t k = at; k < at + count; ++k)
      if (mask[k])
        list->push_back(tangents[k].defined() ? tangents[k] : zero_of(primals[k].type()));
    at += count;
  }
  std::vector<bool> nonzero_ys(parts.ys);
  const FlatFn body = [&](const std::vector<Array>& inputs) {
    std::vector<Array> x, t;
    size_t next = 0, first = 0;
    for (const auto& [list, count] : part) {
      const size_t tangent = next + count;
      size_t k_tangent = tangent;
      for (size_t k = first; k < first + count; ++k) {
        x.push_back(inputs[next + k - first]);
        t.push_back(mask[k] ? inputs[k_tangent++] : Array());
      }
      next = k_tangent;
      first += count;
    }
    JvpResult out = jvp_region(p.body, x, t);
    std::vector<Array> results = slice(out.primals, 0, parts.carry);
    for (size_t c = 0; c < parts.carry; ++c)
      if (mask[parts.consts + c])
        results.push_back(out.tangents[c].defined() ? out.tangents[c]
                                                    : zero_of(out.primals[c].type()));
    append<Array>(results, slice(out.primals, parts.carry, parts.ys));
    for (size_t y = 0; y < parts.ys; ++y) {
      nonzero_ys[y] = out.tangents[parts.carry + y].defined();
      if (nonzero_ys[y]) results.push_back(out.tangents[parts.carry + y]);
    }
    return results;
  };
  const std::vector<Array> results = make_scan(spec, body);
  JvpResult out;
  size_t next = 0;
  auto take = [&](size_t count, const std::vector<bool>& has_tangent) {
    append<Array>(out.primals, slice(results, next, count));
    next += count;
    for (size_t k = 0; k < count; ++k)
      out.tangents.push_back(has_tangent[k] ? results[next++] : Array());
  };
  take(parts.carry, slice(mask, parts.consts, parts.carry));
  take(parts.ys, nonzero_ys);
  return out;
}

// Returns values and residuals of every trip from one scan, and tangents from another. A residual
// that is a constant or a slice of a scanned operand is passed to the second scan again, not
// stacked.
LinearizeResult linearize_scan(std::span<const Array> operands,
                               const std::vector<bool>& has_tangent, const ScanParams& p) {
  const RegionMemoScope scope;
  auto scan = std::make_shared<LinearizedScan>(operands, has_tangent, p);
  std::vector<Array> results = scan->run();
  return {std::move(results),
          [scan](std::span<const Array> given) { return scan->tangents(given); }};
}

namespace {

// Returns the operands of a mapped scan, of which those marked in `mapped` are mapped. They are
// mapped at dimension 0; scanned operands at dimension 1, so that their slices are mapped at 0.
ScanSpec batched_spec(std::span<const Array> operands, std::span<const int> dims,
                      const std::vector<char>& mapped, const ScanParams& p) {
  const Parts parts(p);
  const int64_t size = BatchAxis::current().size;
  ScanSpec spec{.length = p.length, .reverse = p.reverse};
  for (size_t k = 0; k < parts.operands(); ++k) {
    if (k < parts.consts) {
      spec.consts.push_back(dims[k] >= 0 ? lax::move_to_front(operands[k], dims[k]) : operands[k]);
    } else if (parts.is_carry(k)) {
      spec.carry.push_back(mapped[k] ? lax::with_batch_first(operands[k], dims[k], size)
                                     : operands[k]);
    } else {
      spec.xs.push_back(dims[k] >= 0 ? lax::move_dim(operands[k], dims[k], 1) : operands[k]);
    }
  }
  return spec;
}

// Returns the types of the inputs of a mapped scan's body.
std::vector<Type> batched_types(std::span<const Array> operands, const std::vector<char>& mapped,
                                const ScanParams& p) {
  std::vector<Type> types = p.body->input_types();
  for (size_t k = 0; k < types.size(); ++k) {
    const Type operand = traced_type(operands[k]);
    types[k].varying = operand.varying;
    types[k].weak = operand.weak;
    if (mapped[k]) types[k].shape.insert(types[k].shape.begin(), BatchAxis::current().size);
  }
  return types;
}

}  // namespace

BatchResult batch_scan(std::span<const Array> operands, std::span<const int> dims,
                       const ScanParams& p) {
  const RegionMemoScope scope;
  const Parts parts(p);
  const int64_t size = BatchAxis::current().size;
  std::vector<char> mapped;
  for (int d : dims) mapped.push_back(d >= 0);
  auto body_dims = [&] {
    std::vector<int> out;
    for (char m : mapped) out.push_back(m ? 0 : -1);
    return out;
  };
  // A carry that is mapped when the body returns it must be mapped from the start.
  for (bool changed = true; changed;) {
    changed = false;
    const std::vector<int> results =
        batched_dims(p.body, batched_types(operands, mapped, p), body_dims());
    for (size_t c = 0; c < parts.carry; ++c) {
      if (results[c] < 0 || mapped[parts.consts + c]) continue;
      mapped[parts.consts + c] = true;
      changed = true;
    }
  }
  std::vector<int> y_dims;
  std::vector<Array> results =
      make_scan(batched_spec(operands, dims, mapped, p), [&](const std::vector<Array>& x) {
        BatchResult out = batch_region(p.body, x, body_dims());
        y_dims.clear();
        for (size_t r = 0; r < out.results.size(); ++r) {
          const bool is_carry = r < parts.carry;
          if (is_carry && mapped[parts.consts + r]) {
            out.results[r] = lax::with_batch_first(out.results[r], out.dims[r], size);
          } else if (out.dims[r] >= 0) {
            out.results[r] = lax::move_to_front(out.results[r], out.dims[r]);
          }
          if (!is_carry) y_dims.push_back(out.dims[r] >= 0 ? 1 : -1);
        }
        return out.results;
      });
  BatchResult out{.results = std::move(results)};
  for (size_t c = 0; c < parts.carry; ++c) out.dims.push_back(mapped[parts.consts + c] ? 0 : -1);
  out.dims.insert(out.dims.end(), y_dims.begin(), y_dims.end());
  return out;
}

}  // namespace tessera::control
