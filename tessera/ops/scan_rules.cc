// Derivatives, transpose and batching of scan.
#include <algorithm>

#include "tessera/ops/batch_axis.h"
#include "tessera/ops/broadcast.h"
#include "tessera/ops/constant.h"
#include "tessera/ops/control_flow_rules.h"
#include "tessera/ops/elementwise.h"
#include "tessera/ops/reshape.h"

namespace tessera::control_flow {
namespace {

// The operands of a scan by their part.
struct Parts {
  size_t consts, carry, xs, ys;
  explicit Parts(const ScanParams& p)
      : consts(static_cast<size_t>(p.num_consts)),
        carry(static_cast<size_t>(p.num_carry)),
        xs(p.body->inputs.size() - consts - carry),
        ys(p.body->outputs.size() - carry) {}
  size_t operands() const { return consts + carry + xs; }
  bool is_carry(size_t k) const { return k >= consts && k < consts + carry; }
};

template <class T>
void append(std::vector<T>& to, std::span<const T> from) {
  to.insert(to.end(), from.begin(), from.end());
}
template <class T>
std::vector<T> slice(const std::vector<T>& from, size_t begin, size_t count) {
  const auto at = from.begin() + static_cast<int64_t>(begin);
  return {at, at + static_cast<int64_t>(count)};
}

// The types that the body sees of these operands.
std::vector<Type> body_types(std::span<const Array> operands, const Parts& parts) {
  std::vector<Type> out;
  for (size_t k = 0; k < operands.size(); ++k) {
    Type t = traced_type(operands[k]);
    if (k >= parts.consts + parts.carry) t.shape.erase(t.shape.begin());
    out.push_back(std::move(t));
  }
  return out;
}

// Which operands have a tangent once those that the body gives the carry count too.
std::vector<bool> with_carry_tangents(std::span<const Array> primals, std::vector<bool> mask,
                                      const ScanParams& p) {
  const Parts parts(p);
  const std::vector<Type> types = body_types(primals, parts);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<bool> nonzero;
    regions().trace(
        [&](const std::vector<Array>& x) {
          LinearizedFunction at = regions().linearize(*p.body, x, mask);
          nonzero = at.nonzero;
          return at.primals;
        },
        types, "body");
    for (size_t c = 0; c < parts.carry; ++c) {
      if (!nonzero[c] || mask[parts.consts + c]) continue;
      mask[parts.consts + c] = true;
      changed = true;
    }
  }
  return mask;
}

int index_of(const Array& x, const std::vector<Array>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].data() == x.data()) return static_cast<int>(i);
  return -1;
}

// Axes that every array varies over.
AxisNames common_variance(std::span<const Type> types) {
  if (types.empty()) return {};
  AxisNames common = types[0].varying;
  for (const Type& t : types) common = axis_difference(common, axis_difference(common, t.varying));
  return common;
}

}  // namespace

JvpResult jvp_scan(std::span<const Array> primals, std::span<const Array> tangents,
                   const ScanParams& p) {
  const Parts parts(p);
  std::vector<bool> given;
  for (const Array& t : tangents) given.push_back(t.defined());
  const std::vector<bool> mask = with_carry_tangents(primals, given, p);
  // Each part: its values, then its tangents.
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
    JvpResult out = regions().jvp(*p.body, x, t);
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

// Values and residuals of every step in one scan, tangents in another. A residual that is a
// constant or a slice of a scanned operand is read again, not stacked.
LinearizeResult linearize_scan(std::span<const Array> operands,
                               const std::vector<bool>& has_tangent, const ScanParams& p) {
  struct Step {
    LinearizedFunction at;
    std::vector<Array> const_residuals, scanned_residuals;
    // Of every residual: whether it is a constant, and which of these or of the scanned ones.
    std::vector<std::pair<bool, size_t>> places;
    std::vector<bool> mask;
    std::vector<Array> primals;  // of the scan
  };
  const Parts parts(p);
  auto step = std::make_shared<Step>();
  step->mask = with_carry_tangents(operands, has_tangent, p);
  // A constant's cotangent is summed over devices once, after the loop, where all that comes out of
  // the loop differs between them: then the loop takes each device's copy.
  const AxisNames copied = common_variance(scan_op.infer(traced_types(operands), p));
  std::vector<Array> primals(operands.begin(), operands.end());
  for (size_t k = 0; k < parts.consts; ++k)
    if (step->mask[k]) primals[k] = cast_varying(primals[k], copied);
  ScanSpec spec{.length = p.length, .reverse = p.reverse};
  append<Array>(spec.consts, slice(primals, 0, parts.consts));
  append<Array>(spec.carry, slice(primals, parts.consts, parts.carry));
  append<Array>(spec.xs, slice(primals, parts.consts + parts.carry, parts.xs));
  std::vector<size_t> stacked;  // scanned residuals that are results of the first scan
  const FlatFn body = [&](const std::vector<Array>& inputs) {
    step->at = regions().linearize(*p.body, inputs, step->mask);
    step->const_residuals.clear();
    step->scanned_residuals.clear();
    step->places.clear();
    stacked.clear();
    std::vector<Array> out = step->at.primals;
    for (const Array& residual : step->at.residuals) {
      const int k = index_of(residual, inputs);
      if (k >= 0 && static_cast<size_t>(k) < parts.consts) {
        step->places.emplace_back(true, step->const_residuals.size());
        step->const_residuals.push_back(primals[static_cast<size_t>(k)]);
        continue;
      }
      step->places.emplace_back(false, step->scanned_residuals.size());
      if (k >= 0 && !parts.is_carry(static_cast<size_t>(k))) {
        step->scanned_residuals.push_back(primals[static_cast<size_t>(k)]);
      } else {
        stacked.push_back(step->scanned_residuals.size());
        step->scanned_residuals.emplace_back();
        out.push_back(residual);
      }
    }
    return out;
  };
  std::vector<Array> results = make_scan(spec, body);
  for (size_t i = 0; i < stacked.size(); ++i)
    step->scanned_residuals[stacked[i]] = results[parts.carry + parts.ys + i];
  results.resize(parts.carry + parts.ys);
  step->primals = results;
  step->primals.insert(step->primals.end(), primals.begin(), primals.end());

  auto tangents = [step, p, parts, copied](std::span<const Array> given) {
    const std::vector<bool>& mask = step->mask;
    const size_t num_results = parts.carry + parts.ys;
    bool any = false;
    for (size_t r = 0; r < num_results; ++r)
      any = any || (r < parts.carry ? mask[parts.consts + r] : step->at.nonzero[r]);
    ScanSpec linear{.length = p.length, .reverse = p.reverse};
    for (size_t k = 0; k < parts.consts; ++k)
      if (mask[k]) linear.consts.push_back(cast_varying(given[k], copied));
    const size_t const_tangents = linear.consts.size();
    append<Array>(linear.consts, step->const_residuals);
    for (size_t c = 0; c < parts.carry; ++c) {
      const size_t k = parts.consts + c;
      if (mask[k])
        linear.carry.push_back(given[k].defined() ? given[k]
                                                  : zero_of(step->primals[num_results + k].type()));
    }
    const size_t carry_tangents = linear.carry.size();
    for (size_t k = parts.consts + parts.carry; k < parts.operands(); ++k)
      if (mask[k]) linear.xs.push_back(given[k]);
    const size_t xs_tangents = linear.xs.size();
    append<Array>(linear.xs, step->scanned_residuals);
    const FlatFn body = [&](const std::vector<Array>& inputs) {
      const size_t carry_at = linear.consts.size(), xs_at = carry_at + carry_tangents;
      std::vector<Array> x = slice(inputs, 0, const_tangents);
      append<Array>(x, slice(inputs, carry_at, carry_tangents));
      append<Array>(x, slice(inputs, xs_at, xs_tangents));
      for (const auto& [is_const, place] : step->places)
        x.push_back(inputs[is_const ? const_tangents + place : xs_at + xs_tangents + place]);
      const std::vector<Array> some = regions().apply(step->at.linear, x);
      std::vector<Array> out;
      size_t next = 0, carry = 0;
      for (size_t r = 0; r < num_results; ++r) {
        const bool is_carry = r < parts.carry;
        const bool has = step->at.nonzero[r];
        if (has) {
          out.push_back(some[next++]);
        } else if (is_carry && mask[parts.consts + r]) {
          out.push_back(zero_of(inputs[carry_at + carry].type()));
        }
        if (is_carry && mask[parts.consts + r]) ++carry;
      }
      return out;
    };
    std::vector<Array> out(num_results);
    if (!any) return out;
    const std::vector<Array> some = make_scan(linear, body);
    size_t next = 0;
    for (size_t r = 0; r < num_results; ++r)
      if (r < parts.carry ? mask[parts.consts + r] : step->at.nonzero[r]) out[r] = some[next++];
    return out;
  };
  return {std::move(results), std::move(tangents)};
}

// The other way: cotangents are carried, those of constants added up beside them.
std::vector<Array> transpose_scan(std::span<const Array> cotangents,
                                  std::span<const Array> operands, const std::vector<bool>& linear,
                                  const ScanParams& p) {
  const Parts parts(p);
  // A carry that starts at a constant zero is one all the same.
  std::vector<bool> body_linear = linear;
  for (size_t c = 0; c < parts.carry; ++c) body_linear[parts.consts + c] = true;
  const std::vector<Type> types = p.body->input_types();
  ScanSpec spec{.length = p.length, .reverse = !p.reverse};
  std::vector<size_t> linear_consts, linear_xs;
  for (size_t k = 0; k < parts.consts; ++k) {
    if (linear[k]) {
      linear_consts.push_back(k);
    } else {
      spec.consts.push_back(operands[k]);
    }
  }
  for (size_t c = 0; c < parts.carry; ++c)
    spec.carry.push_back(cotangents[c].defined()
                             ? cast_varying(cotangents[c], types[parts.consts + c].varying)
                             : zero_of(types[parts.consts + c]));
  for (size_t k : linear_consts) spec.carry.push_back(zero_of(types[k]));
  for (size_t k = parts.consts + parts.carry; k < parts.operands(); ++k) {
    if (linear[k]) {
      linear_xs.push_back(k);
    } else {
      spec.xs.push_back(operands[k]);
    }
  }
  const size_t residual_xs = spec.xs.size();
  std::vector<int> ct_at(parts.ys, -1);
  for (size_t y = 0; y < parts.ys; ++y) {
    if (!cotangents[parts.carry + y].defined()) continue;
    ct_at[y] = static_cast<int>(spec.xs.size());
    spec.xs.push_back(cotangents[parts.carry + y]);
  }
  const FlatFn body = [&](const std::vector<Array>& inputs) {
    const size_t carry_at = spec.consts.size(), xs_at = carry_at + spec.carry.size();
    std::vector<Array> x(parts.operands()), ct = slice(inputs, carry_at, parts.carry);
    size_t next_const = 0, next_xs = xs_at;
    for (size_t k = 0; k < parts.operands(); ++k) {
      if (body_linear[k]) continue;
      x[k] = k < parts.consts ? inputs[next_const++] : inputs[next_xs++];
    }
    TESSERA_CHECK(next_xs == xs_at + residual_xs, "scan: residuals");
    for (size_t y = 0; y < parts.ys; ++y)
      ct.push_back(ct_at[y] < 0 ? Array() : inputs[xs_at + static_cast<size_t>(ct_at[y])]);
    const std::vector<Array> back = regions().transpose(*p.body, body_linear, x, ct);
    auto defined = [&](size_t k) { return back[k].defined() ? back[k] : zero_of(types[k]); };
    std::vector<Array> out;
    for (size_t c = 0; c < parts.carry; ++c) out.push_back(defined(parts.consts + c));
    for (size_t i = 0; i < linear_consts.size(); ++i) {
      const Array& sum = inputs[carry_at + parts.carry + i];
      const Array& ct_const = back[linear_consts[i]];
      out.push_back(ct_const.defined() ? lax::add(sum, ct_const) : sum);
    }
    for (size_t k : linear_xs) out.push_back(defined(k));
    return out;
  };
  const std::vector<Array> some = make_scan(spec, body);
  std::vector<Array> out(parts.operands());
  size_t next = 0;
  for (size_t c = 0; c < parts.carry; ++c) out[parts.consts + c] = some[next++];
  for (size_t k : linear_consts) out[k] = some[next++];
  for (size_t k : linear_xs) out[k] = some[next++];
  return out;
}

// Slices are mapped in front, so scanned operands at dimension 1.
BatchResult batch_scan(std::span<const Array> operands, std::span<const int> dims,
                       const ScanParams& p) {
  const Parts parts(p);
  const int64_t size = BatchAxis::current().size;
  std::vector<char> mapped;
  for (int d : dims) mapped.push_back(d >= 0);
  ScanSpec spec{.length = p.length, .reverse = p.reverse};
  std::vector<int> y_dims;
  std::vector<Array> results;
  // A carry that the body maps is mapped from the start.
  for (bool changed = true; changed;) {
    changed = false;
    spec.consts.clear(), spec.carry.clear(), spec.xs.clear();
    std::vector<int> body_dims;
    for (size_t k = 0; k < parts.operands(); ++k) {
      body_dims.push_back(mapped[k] ? 0 : -1);
      if (k < parts.consts) {
        spec.consts.push_back(dims[k] >= 0 ? lax::move_to_front(operands[k], dims[k])
                                           : operands[k]);
      } else if (parts.is_carry(k)) {
        spec.carry.push_back(mapped[k] ? lax::with_batch_first(operands[k], dims[k], size)
                                       : operands[k]);
      } else {
        spec.xs.push_back(dims[k] >= 0 ? lax::move_dim(operands[k], dims[k], 1) : operands[k]);
      }
    }
    std::vector<char> grown(parts.carry, false);
    results = make_scan(spec, [&](const std::vector<Array>& x) {
      BatchResult out = regions().batch(*p.body, x, body_dims);
      y_dims.clear();
      for (size_t r = 0; r < out.results.size(); ++r) {
        const bool is_carry = r < parts.carry;
        if (is_carry && out.dims[r] >= 0 && !mapped[parts.consts + r]) {
          grown[r] = true;
          out.results[r] = x[parts.consts + r];  // this trace is thrown away
        } else if (is_carry && mapped[parts.consts + r]) {
          out.results[r] = lax::with_batch_first(out.results[r], out.dims[r], size);
        } else if (out.dims[r] >= 0) {
          out.results[r] = lax::move_to_front(out.results[r], out.dims[r]);
        }
        if (!is_carry) y_dims.push_back(out.dims[r] >= 0 ? 1 : -1);
      }
      return out.results;
    });
    for (size_t c = 0; c < parts.carry; ++c) {
      if (!grown[c]) continue;
      mapped[parts.consts + c] = true;
      changed = true;
    }
  }
  BatchResult out{.results = std::move(results)};
  for (size_t c = 0; c < parts.carry; ++c) out.dims.push_back(mapped[parts.consts + c] ? 0 : -1);
  out.dims.insert(out.dims.end(), y_dims.begin(), y_dims.end());
  return out;
}

}  // namespace tessera::control_flow
