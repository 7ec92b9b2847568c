// The transpose of scan, and the transposition back to its uses (transform/uses.h).
#include "tessera/control/index_of.h"
#include "tessera/control/make_control_flow.h"
#include "tessera/control/scan_parts.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/batch.h"
#include "tessera/transform/derivative.h"
#include "tessera/transform/uses.h"

namespace tessera::control {
namespace {

// The scan in reverse. It carries the cotangents of the carry, and the sums of the cotangents of
// the constants in `summed`. All carries of a linear scan are linear, even one that starts at a
// constant zero.
class ReverseScan {
 public:
  ReverseScan(std::span<const Array> cotangents, std::span<const Array> operands,
              const std::vector<bool>& linear, const std::vector<size_t>& summed,
              const ScanParams& p)
      : parts_(p), linear_(linear), summed_(summed), types_(p.body->input_types()) {
    for (size_t c = 0; c < parts_.carry; ++c) linear_[parts_.consts + c] = true;
    spec_ = {.length = p.length, .reverse = !p.reverse};
    for (size_t k = 0; k < parts_.consts; ++k)
      if (!linear_[k]) spec_.consts.push_back(operands[k]);
    for (size_t c = 0; c < parts_.carry; ++c)
      spec_.carry.push_back(cotangents[c].defined()
                                ? cast_varying(cotangents[c], types_[parts_.consts + c].varying)
                                : zero_of(types_[parts_.consts + c]));
    for (size_t k : summed_) spec_.carry.push_back(zero_of(types_[k]));
    for (size_t k = parts_.consts + parts_.carry; k < parts_.operands(); ++k)
      if (!linear_[k]) spec_.xs.push_back(operands[k]);
    ct_at_.assign(parts_.ys, -1);
    for (size_t y = 0; y < parts_.ys; ++y) {
      if (!cotangents[parts_.carry + y].defined()) continue;
      ct_at_[y] = static_cast<int>(spec_.xs.size());
      spec_.xs.push_back(cotangents[parts_.carry + y]);
    }
  }

  const ScanSpec& spec() const { return spec_; }
  const Parts& parts() const { return parts_; }
  const std::vector<bool>& linear() const { return linear_; }

  // The operands of the body in one trip (undefined if linear), and the cotangents of its results.
  struct Trip {
    std::vector<Array> operands, cotangents;
  };
  Trip trip(const std::vector<Array>& inputs) const {
    const size_t carry_at = spec_.consts.size(), xs_at = carry_at + spec_.carry.size();
    Trip out{std::vector<Array>(parts_.operands()), slice(inputs, carry_at, parts_.carry)};
    size_t next_const = 0, next_xs = xs_at;
    for (size_t k = 0; k < parts_.operands(); ++k)
      if (!linear_[k])
        out.operands[k] = k < parts_.consts ? inputs[next_const++] : inputs[next_xs++];
    for (size_t y = 0; y < parts_.ys; ++y)
      out.cotangents.push_back(ct_at_[y] < 0 ? Array()
                                             : inputs[xs_at + static_cast<size_t>(ct_at_[y])]);
    return out;
  }
  // Returns the results of a trip: the carry after it, then the cotangents of the scanned operands
  // in `stacked`. `back` are the cotangents of the body's operands.
  std::vector<Array> results(const std::vector<Array>& inputs, const std::vector<Array>& back,
                             const std::vector<size_t>& stacked) const {
    std::vector<Array> out;
    auto defined = [&](size_t k) { return back[k].defined() ? back[k] : zero_of(types_[k]); };
    for (size_t c = 0; c < parts_.carry; ++c) out.push_back(defined(parts_.consts + c));
    for (size_t i = 0; i < summed_.size(); ++i) {
      const Array& sum = inputs[spec_.consts.size() + parts_.carry + i];
      const Array& ct = back[summed_[i]];
      out.push_back(ct.defined() ? lax::add(sum, ct) : sum);
    }
    for (size_t k : stacked) out.push_back(defined(k));
    return out;
  }
  // Returns the cotangents of the scan's operands, which are the first results of the loop.
  std::vector<Array> cotangents(const std::vector<Array>& some,
                                const std::vector<size_t>& stacked) const {
    std::vector<Array> out(parts_.operands());
    size_t next = 0;
    for (size_t c = 0; c < parts_.carry; ++c) out[parts_.consts + c] = some[next++];
    for (size_t k : summed_) out[k] = some[next++];
    for (size_t k : stacked) out[k] = some[next++];
    return out;
  }

 private:
  const Parts parts_;
  std::vector<bool> linear_;
  const std::vector<size_t> summed_;
  const std::vector<Type> types_;
  ScanSpec spec_;
  std::vector<int> ct_at_;  // for each y: where its cotangent is among the scanned operands
};

}  // namespace

std::vector<Array> transpose_scan(std::span<const Array> cotangents,
                                  std::span<const Array> operands, const std::vector<bool>& linear,
                                  const ScanParams& p) {
  const Parts parts(p);
  std::vector<size_t> summed, stacked;
  for (size_t k = 0; k < parts.operands(); ++k) {
    if (!linear[k] || parts.is_carry(k)) continue;
    (k < parts.consts ? summed : stacked).push_back(k);
  }
  const ReverseScan reverse(cotangents, operands, linear, summed, p);
  const std::vector<Array> some = make_scan(reverse.spec(), [&](const std::vector<Array>& inputs) {
    const ReverseScan::Trip trip = reverse.trip(inputs);
    return reverse.results(
        inputs, transpose_function(*p.body, reverse.linear(), trip.operands, trip.cotangents),
        stacked);
  });
  return reverse.cotangents(some, stacked);
}

namespace {

// An array that a use in the body reads, as it is after the loop: either the arrays of all trips,
// [length, ...], or one array that all trips read.
struct Kept {
  Array array;
  int dim = -1;     // 0 if it holds the arrays of all trips
  int result = -1;  // which result of the loop it is; -1 if none
};

// Collects the uses in the body while the loop is traced, with their operands and cotangents.
class KeptUses {
 public:
  explicit KeptUses(const ScanSpec& spec) : spec_(spec) {}

  // Records the uses of a trip whose operands are `inputs`, and appends the arrays that the loop
  // must return to the trip's results.
  void keep(std::vector<Use> uses, const std::vector<Array>& inputs, std::vector<Array>& results) {
    uses_ = std::move(uses);
    kept_.clear();
    for (const Use& use : uses_) {
      std::vector<Kept>& list = kept_.emplace_back();
      for (const std::vector<Array>* arrays : {&use.operands, &use.cotangents})
        for (const Array& x : *arrays) list.push_back(keep_operand(x, inputs, results));
    }
  }

  // Returns each use as one over all trips, with inputs that are operands of the scan.
  std::vector<Use> over_all_trips(const std::vector<Array>& loop_results,
                                  std::span<const Array> operands, const Parts& parts) {
    std::vector<Use> out;
    for (size_t u = 0; u < uses_.size(); ++u) {
      for (Kept& k : kept_[u])
        if (k.result >= 0) k.array = loop_results[static_cast<size_t>(k.result)];
      for (Use& use : widened(uses_[u], kept_[u], operands, parts)) {
        for (size_t& input : use.inputs) input = uses_[u].inputs[input];
        out.push_back(std::move(use));
      }
    }
    return out;
  }

 private:
  Kept keep_operand(const Array& x, const std::vector<Array>& inputs,
                    std::vector<Array>& results) const {
    const int k = index_of(x, inputs);
    const auto at = static_cast<size_t>(k);
    const size_t xs_at = spec_.consts.size() + spec_.carry.size();
    if (k >= 0 && at < spec_.consts.size()) return {spec_.consts[at], -1, -1};
    if (k >= 0 && at >= xs_at) return {spec_.xs[at - xs_at], 0, -1};
    results.push_back(x);
    return {Array(), 0, static_cast<int>(results.size()) - 1};
  }

  std::vector<Use> widened(const Use& use, const std::vector<Kept>& kept,
                           std::span<const Array> operands, const Parts& parts) const {
    std::vector<Type> types;
    std::vector<int> dims;
    std::vector<Sharing> sharing;
    for (size_t k : use.inputs) {
      types.push_back(traced_type(operands[k]));
      dims.push_back(k < parts.consts ? -1 : 0);
      sharing.push_back(Sharing::kSharedLinear);
    }
    std::vector<Array> given(use.inputs.size()), cotangents;
    for (size_t i = 0; i < kept.size(); ++i) {
      if (i >= use.operands.size()) {
        cotangents.push_back(lax::with_batch_first(kept[i].array, kept[i].dim, spec_.length));
        continue;
      }
      types.push_back(traced_type(kept[i].array));
      dims.push_back(kept[i].dim);
      sharing.push_back(Sharing::kExample);
      given.push_back(kept[i].array);
    }
    const BatchAxis::Scope scope({.size = spec_.length, .indivisible = Indivisible::kReplicate});
    const TracedFunction all = trace_function(
        [&](const std::vector<Array>& x) {
          BatchResult out = batch_function(use.apply, x, dims);
          for (size_t r = 0; r < out.results.size(); ++r)
            out.results[r] = lax::with_batch_first(out.results[r], out.dims[r], spec_.length);
          return out.results;
        },
        types, "use");
    return transpose_to_uses(all.function, sharing, given, cotangents).uses;
  }

  const ScanSpec& spec_;
  std::vector<Use> uses_;
  std::vector<std::vector<Kept>> kept_;
};

}  // namespace

// Returns the uses of the body as uses over all trips. A trip does not add up products: it returns
// what its uses read and their cotangents, which are stacked. Scanned operands and constants of the
// loop are not stacked again.
Uses uses_scan(std::span<const Array> cotangents, std::span<const Array> operands,
               const std::vector<Sharing>& sharing, const ScanParams& p) {
  const Parts parts(p);
  std::vector<bool> linear;
  std::vector<size_t> summed, stacked;
  std::vector<Sharing> in_body = sharing;
  for (size_t k = 0; k < parts.operands(); ++k) {
    linear.push_back(is_linear(sharing[k]));
    if (parts.is_carry(k)) {
      in_body[k] = Sharing::kExampleLinear;
    } else if (sharing[k] == Sharing::kExampleLinear) {
      (k < parts.consts ? summed : stacked).push_back(k);
    }
  }
  const ReverseScan reverse(cotangents, operands, linear, summed, p);
  KeptUses kept(reverse.spec());
  const std::vector<Array> some = make_scan(reverse.spec(), [&](const std::vector<Array>& inputs) {
    const ReverseScan::Trip trip = reverse.trip(inputs);
    Uses body = transpose_to_uses(*p.body, in_body, trip.operands, trip.cotangents);
    std::vector<Array> results = reverse.results(inputs, body.cotangents, stacked);
    kept.keep(std::move(body.uses), inputs, results);
    return results;
  });
  Uses out{kept.over_all_trips(some, operands, parts), reverse.cotangents(some, stacked)};
  // Initial carries may be shared between examples, too.
  for (size_t k = parts.consts; k < parts.consts + parts.carry; ++k) {
    if (sharing[k] == Sharing::kExampleLinear) continue;
    if (sharing[k] == Sharing::kSharedLinear)
      out.uses.push_back(identity_use(k, out.cotangents[k]));
    out.cotangents[k] = Array();
  }
  return out;
}

}  // namespace tessera::control
