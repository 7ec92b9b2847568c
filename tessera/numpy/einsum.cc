// einsum. The subscripts are parsed into one list of labels for each operand. Labels that only one
// operand has are summed, and labels that an operand repeats become diagonals. Then pairs of
// operands are contracted by dot_general, the cheapest pair first.
//
//   einsum("bij,bjk->ik", {x, y})   labels {b, i, j} {b, j, k} -> {i, k}
//     b and j are in both operands and not in the result: both contract; one dot_general, no
//     transpose
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "tessera/base/namespaces.h"
#include "tessera/compile/composite.h"
#include "tessera/numpy/linear.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera {

using namespace runtime;

namespace {

// A label is a letter, or 256 + k for the k-th dimension of an ellipsis, counted from its last one.
using Label = int64_t;
using Labels = Dims;

bool has(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}
int64_t position(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

struct Term {
  Array array;
  Labels labels;  // one for each dimension
};

struct Subscripts {
  std::vector<Labels> inputs;
  Labels output;
};

[[noreturn]] void bad_subscripts(std::string_view subscripts, std::string_view problem) {
  value_error("einsum",
              "expected subscripts such as \"ij,jk->ik\" (letters, `...`, one list an operand), "
              "got \"{}\": {}",
              subscripts, problem);
}

// Returns the labels of one operand or of the result. `rank` is the operand's.
Labels parse_list(std::string_view all, std::string_view list, int64_t ellipsis_rank) {
  Labels out;
  bool ellipsis = false;
  for (size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (list.substr(i, 3) == "...") {
      if (ellipsis) bad_subscripts(all, "a list has two `...`");
      ellipsis = true;
      for (int64_t k = ellipsis_rank; k-- > 0;) out.push_back(256 + k);
      i += 2;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      out.push_back(c);
    } else {
      bad_subscripts(all, fmt::format("'{}' is no letter", c));
    }
  }
  return out;
}

Subscripts parse(std::string_view given, std::span<const Array> operands) {
  std::string text;
  for (char c : given)
    if (c != ' ') text += c;
  const size_t arrow = text.find("->");
  const std::string_view inputs = std::string_view(text).substr(0, arrow);
  std::vector<std::string_view> lists;
  for (size_t start = 0;;) {
    const size_t comma = inputs.find(',', start);
    lists.push_back(inputs.substr(start, comma == inputs.npos ? inputs.npos : comma - start));
    if (comma == inputs.npos) break;
    start = comma + 1;
  }
  if (lists.size() != operands.size())
    bad_subscripts(given, fmt::format("{} lists for {} operands", lists.size(), operands.size()));
  Subscripts out;
  int64_t widest = 0;
  for (size_t k = 0; k < lists.size(); ++k) {
    const bool ellipsis = lists[k].find("...") != lists[k].npos;
    const int64_t letters = static_cast<int64_t>(lists[k].size()) - (ellipsis ? 3 : 0),
                  rank = operands[k].ndim();
    if (ellipsis ? letters > rank : letters != rank)
      bad_subscripts(given, fmt::format("\"{}\" has {} labels, operand {} is {}", lists[k], letters,
                                        k, describe(operands[k].type())));
    out.inputs.push_back(parse_list(given, lists[k], rank - letters));
    widest = std::max(widest, ellipsis ? rank - letters : 0);
  }
  if (arrow != text.npos) {
    out.output = parse_list(given, std::string_view(text).substr(arrow + 2), widest);
    for (Label label : out.output) {
      if (std::count(out.output.begin(), out.output.end(), label) > 1)
        bad_subscripts(given, "the result names a label twice");
      if (std::none_of(out.inputs.begin(), out.inputs.end(),
                       [&](const Labels& in) { return has(in, label); }))
        bad_subscripts(
            given, fmt::format("no operand has the result's label '{}'", static_cast<char>(label)));
    }
    return out;
  }
  // Without "->" the result has the ellipsis, followed by the labels that occur once.
  for (int64_t k = widest; k-- > 0;) out.output.push_back(256 + k);
  std::map<Label, int> times;
  for (const Labels& in : out.inputs)
    for (Label label : in)
      if (label < 256) ++times[label];
  for (const auto& [label, n] : times)
    if (n == 1) out.output.push_back(label);
  return out;
}

// Returns the extent of each label. An extent of 1 broadcasts.
std::map<Label, int64_t> label_extents(std::string_view subscripts, const Subscripts& parsed,
                                       std::span<const Array> operands) {
  std::map<Label, int64_t> out;
  for (size_t k = 0; k < operands.size(); ++k) {
    for (int64_t d = 0; d < operands[k].ndim(); ++d) {
      const Label label = parsed.inputs[k][d];
      const int64_t extent = operands[k].shape()[d];
      const auto [at, is_new] = out.emplace(label, extent);
      if (is_new || at->second == extent || extent == 1) continue;
      if (at->second != 1)
        shape_error(
            "einsum", "expected one extent for each label of \"{}\", got {} and {} for {}",
            subscripts, at->second, extent,
            label < 256 ? fmt::format("'{}'", static_cast<char>(label)) : "a dimension of `...`");
      at->second = extent;
    }
  }
  return out;
}

// Returns the term with each repeated label replaced by a diagonal.
Term without_repeats(Term term) {
  for (int64_t d = 0; d < term.labels.rank(); ++d) {
    const int64_t first = position(term.labels, term.labels[d]);
    if (first == d) continue;
    const Label label = term.labels[d];
    term.array = diagonal(term.array, {.axis1 = first, .axis2 = d});
    term.labels.erase(term.labels.begin() + d);
    term.labels.erase(term.labels.begin() + first);
    term.labels.push_back(label);
    d = -1;
  }
  return term;
}

// Sums over the labels that nothing else needs. A dimension of extent 1 whose label is longer in
// other operands is dropped instead, since it broadcasts.
Term summed(Term term, const std::map<Label, int64_t>& extents, const auto& is_needed) {
  Dims sums, gone;
  Labels kept;
  for (int64_t d = 0; d < term.labels.rank(); ++d) {
    const bool broadcast = term.array.shape()[d] == 1 && extents.at(term.labels[d]) != 1;
    if (broadcast) {
      gone.push_back(d);
    } else if (!is_needed(term.labels[d])) {
      sums.push_back(d);
    } else {
      kept.push_back(term.labels[d]);
    }
  }
  if (!gone.empty()) {
    term.array = lax::squeeze(term.array, gone);
    for (int64_t& s : sums)
      s -= std::count_if(gone.begin(), gone.end(), [&](int64_t g) { return g < s; });
  }
  if (!sums.empty())
    term.array = term.array.dtype() == bool_ ? lax::reduce_or(term.array, sums)
                                             : lax::reduce_sum(term.array, sums);
  term.labels = kept;
  return term;
}

// The labels of the product of a and b. `result` has batch labels, those of a alone, then those of
// b alone, in the order of dot_general.
struct Contraction {
  Labels batch, contract, result;
};
Contraction plan(const Labels& a, const Labels& b, const auto& is_needed) {
  Contraction out;
  for (Label label : a)
    if (has(b, label)) (is_needed(label) ? out.batch : out.contract).push_back(label);
  out.result = out.batch;
  for (Label label : a)
    if (!has(b, label)) out.result.push_back(label);
  for (Label label : b)
    if (!has(a, label)) out.result.push_back(label);
  return out;
}

double work(const Labels& a, const Labels& b, const std::map<Label, int64_t>& extents) {
  double out = 1;
  for (const auto& [label, extent] : extents)
    if (has(a, label) || has(b, label)) out *= static_cast<double>(extent);
  return out;
}

Term contracted(const Term& a, const Term& b, const auto& is_needed, OptionalDType preferred) {
  const Contraction c = plan(a.labels, b.labels, is_needed);
  lax::DotDims dims;
  for (Label label : c.batch) {
    dims.lhs_batch.push_back(position(a.labels, label));
    dims.rhs_batch.push_back(position(b.labels, label));
  }
  for (Label label : c.contract) {
    dims.lhs_contract.push_back(position(a.labels, label));
    dims.rhs_contract.push_back(position(b.labels, label));
  }
  return {lax::dot_general(a.array, b.array, dims, preferred), c.result};
}

Array run_einsum(std::vector<Term> terms, const Subscripts& parsed,
                 const std::map<Label, int64_t>& extents, OptionalDType preferred) {
  const auto needed_beside = [&](size_t i, size_t j) {
    return [&, i, j](Label label) {
      if (has(parsed.output, label)) return true;
      for (size_t k = 0; k < terms.size(); ++k)
        if (k != i && k != j && has(terms[k].labels, label)) return true;
      return false;
    };
  };
  for (size_t i = 0; i < terms.size(); ++i)
    terms[i] = summed(without_repeats(terms[i]), extents, needed_beside(i, i));
  while (terms.size() > 1) {
    size_t best_i = 0, best_j = 1;
    double least = -1;
    for (size_t i = 0; i < terms.size(); ++i)
      for (size_t j = i + 1; j < terms.size(); ++j)
        if (const double cost = work(terms[i].labels, terms[j].labels, extents);
            least < 0 || cost < least) {
          least = cost;
          best_i = i;
          best_j = j;
        }
    // Only the last product may have the wider dtype, because the operands of a product have the
    // same dtype.
    const Term product = contracted(terms[best_i], terms[best_j], needed_beside(best_i, best_j),
                                    terms.size() == 2 ? preferred : std::nullopt);
    terms.erase(terms.begin() + static_cast<int64_t>(best_j));
    terms[best_i] = product;
  }
  Array out = terms[0].array;
  if (preferred) out = as_dtype(out, *preferred);
  // Labels whose extent is 1 in every operand that has them were dropped. Broadcasting adds them
  // again.
  Dims order;
  Labels present;
  Shape shape;
  for (Label label : parsed.output) {
    shape.push_back(extents.at(label));
    if (!has(terms[0].labels, label)) continue;
    order.push_back(position(terms[0].labels, label));
    present.push_back(label);
  }
  out = lax::transpose(out, order);
  if (out.shape() == shape) return out;
  Shape narrow(shape.size(), 1);
  for (size_t d = 0; d < shape.size(); ++d)
    if (has(present, parsed.output[d])) narrow[d] = shape[d];
  return broadcast_array("einsum", lax::reshape(out, narrow), shape);
}

}  // namespace

Array einsum(std::string_view subscripts, const std::vector<Array>& operands,
             OptionalDType preferred) {
  if (operands.empty()) value_error("einsum", "expected at least one operand, got none");
  if (preferred) preferred = canonical_dtype(*preferred);
  struct EinsumParams {
    std::string subscripts;
    OptionalDType preferred;
  };
  return composite("einsum", EinsumParams{std::string(subscripts), preferred}, operands,
                   [](const EinsumParams& p, std::span<const Array> args) {
                     const Subscripts parsed = parse(p.subscripts, args);
                     const auto extents = label_extents(p.subscripts, parsed, args);
                     const std::vector<Array> promoted = promote_dtypes(args);
                     std::vector<Term> terms;
                     for (size_t k = 0; k < promoted.size(); ++k)
                       terms.push_back({promoted[k], parsed.inputs[k]});
                     return run_einsum(std::move(terms), parsed, extents, p.preferred);
                   });
}

}  // namespace tessera
