// Ops that StableHLO calls deprecated, because others express them: broadcast, dot, einsum,
// unary_einsum and torch_index_select.
#include <algorithm>
#include <map>

#include "tessera/interchange/foreign/foreign.h"
#include "tessera/interchange/foreign/insert_traced.h"
#include "tessera/ops/indexing/gather.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::interchange::foreign {
namespace {

// The labels of the dimensions of an einsum's operands and result, as in "ab,bc->ac".
struct Labels {
  std::vector<std::string> operands;
  std::string result;
};
Labels read_labels(OpReader& reader, size_t operands) {
  const auto config = reader.text.take("einsum_config");
  const auto* text = config ? config->get<std::string>() : nullptr;
  const size_t arrow = text ? text->find("->") : std::string::npos;
  if (arrow == std::string::npos)
    reader.error("expected einsum_config to be a string such as \"ab,bc->ac\"");
  Labels out{.operands = {""}, .result = text->substr(arrow + 2)};
  for (const char c : text->substr(0, arrow))
    if (c == ',')
      out.operands.emplace_back();
    else
      out.operands.back() += c;
  if (out.operands.size() != operands)
    reader.error(fmt::format("expected labels of {} operands in einsum_config, got \"{}\"",
                             operands, *text));
  return out;
}

// Throws UserError unless each dimension of each operand has a label of its own, equal labels have
// equal extents, and the result's labels are some of these.
void check_labels(OpReader& reader, const Labels& labels) {
  std::map<char, int64_t> extents;
  for (size_t k = 0; k < labels.operands.size(); ++k) {
    const std::string& own = labels.operands[k];
    const Shape& shape = reader.type(reader.operands[k]).shape;
    if (static_cast<int64_t>(own.size()) != shape.rank() || own.find('.') != std::string::npos)
      reader.error(
          fmt::format("expected a label for each of the {} dimensions of operand {}, got "
                      "\"{}\"; write one letter a dimension",
                      shape.rank(), k, own));
    for (size_t d = 0; d < own.size(); ++d) {
      if (own.find(own[d]) != d)
        reader.error(fmt::format("expected labels that an operand has once, got \"{}\"", own));
      const auto [it, is_new] = extents.emplace(own[d], shape[static_cast<int64_t>(d)]);
      if (it->second != shape[static_cast<int64_t>(d)])
        reader.error(fmt::format("expected equal extents of the dimensions '{}', got {} and {}",
                                 own[d], it->second, shape[static_cast<int64_t>(d)]));
    }
  }
  for (size_t d = 0; d < labels.result.size(); ++d)
    if (!extents.count(labels.result[d]) || labels.result.find(labels.result[d]) != d)
      reader.error(
          fmt::format("expected labels of the operands in the result, each once, got "
                      "\"{}\"",
                      labels.result));
}

bool has(const std::string& labels, char c) { return labels.find(c) != std::string::npos; }

// Sums x over the dimensions whose labels are not among `kept`, and removes those labels.
Array sum_unless(const Array& x, std::string& labels, const std::string& kept) {
  Dims dims;
  std::string left;
  for (size_t d = 0; d < labels.size(); ++d)
    if (has(kept, labels[d])) {
      left += labels[d];
    } else {
      dims.push_back(static_cast<int64_t>(d));
    }
  labels = left;
  return dims.empty() ? x : lax::reduce_sum(x, dims);
}

Array in_order(const Array& x, const std::string& labels, const std::string& wanted) {
  Dims permutation;
  for (const char c : wanted) permutation.push_back(static_cast<int64_t>(labels.find(c)));
  return lax::transpose(x, permutation);
}

std::optional<DType> written_dtype(const OpReader& reader) {
  return reader.result_types.empty() ? std::nullopt : std::optional(reader.result_types[0].dtype);
}

}  // namespace

Values broadcast(OpReader& reader) {
  expect_count(reader, 1);
  const Dims sizes = reader.require_dims("broadcast_sizes");
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; }))
    reader.error("expected sizes from 0 on");
  const Type& type = reader.type(reader.operands[0]);
  Shape shape(sizes.begin(), sizes.end());
  shape.insert(shape.end(), type.shape.begin(), type.shape.end());
  Dims dims;
  for (int64_t d = 0; d < type.rank(); ++d) dims.push_back(static_cast<int64_t>(sizes.size()) + d);
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) {
        return std::vector{lax::broadcast_in_dim(x[0], shape, dims)};
      },
      "broadcast");
}

Values dot(OpReader& reader) {
  expect_count(reader, 2);
  for (const char* hint : {"precision", "precision_config"}) reader.text.take(hint);
  const auto dtype = written_dtype(reader);
  return insert_traced(
      reader, [&](const std::vector<Array>& x) { return std::vector{lax::dot(x[0], x[1], dtype)}; },
      "dot");
}

Values einsum(OpReader& reader) {
  expect_count(reader, 2);
  const Labels labels = read_labels(reader, 2);
  check_labels(reader, labels);
  const auto dtype = written_dtype(reader);
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) {
        std::string lhs = labels.operands[0], rhs = labels.operands[1];
        const Array a = sum_unless(x[0], lhs, rhs + labels.result);
        const Array b = sum_unless(x[1], rhs, lhs + labels.result);
        lax::DotDims dims;
        std::string batch, free;
        for (size_t d = 0; d < lhs.size(); ++d) {
          const size_t other = rhs.find(lhs[d]);
          const bool kept = has(labels.result, lhs[d]);
          if (other == std::string::npos) {
            free += lhs[d];
            continue;
          }
          (kept ? dims.lhs_batch : dims.lhs_contract).push_back(static_cast<int64_t>(d));
          (kept ? dims.rhs_batch : dims.rhs_contract).push_back(static_cast<int64_t>(other));
          if (kept) batch += lhs[d];
        }
        for (const char c : rhs)
          if (!has(lhs, c)) free += c;
        return std::vector{
            in_order(lax::dot_general(a, b, dims, dtype), batch + free, labels.result)};
      },
      "einsum");
}

Values unary_einsum(OpReader& reader) {
  expect_count(reader, 1);
  const Labels labels = read_labels(reader, 1);
  check_labels(reader, labels);
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) {
        std::string left = labels.operands[0];
        const Array sum = sum_unless(x[0], left, labels.result);
        return std::vector{in_order(sum, left, labels.result)};
      },
      "unary_einsum");
}

// Takes the slices of the first operand along `dim` at the positions that the second one holds. The
// first batch_dims dimensions of both are a batch.
Values torch_index_select(OpReader& reader) {
  expect_count(reader, 2);
  const int64_t dim = reader.require_int("dim"), batch = reader.require_int("batch_dims");
  const Shape operand = reader.type(reader.operands[0]).shape;
  const Type index = reader.type(reader.operands[1]);
  if (batch < 0 || batch > dim || dim >= operand.rank() || batch > index.rank())
    reader.error(
        fmt::format("expected 0 <= batch_dims <= dim < {}, and batch_dims <= {}, got batch_dims {} "
                    "and dim {}",
                    operand.rank(), index.rank(), batch, dim));
  if (!is_integer(index.dtype))
    reader.error(fmt::format("expected positions of an integer dtype, got {}", index));
  for (int64_t d = 0; d < batch; ++d)
    if (operand[d] != index.shape[d])
      reader.error(fmt::format("expected equal extents of dimension {} of the batch, got {} and {}",
                               d, operand[d], index.shape[d]));
  IndexDims dims{.collapsed_slice_dims = {dim}, .start_index_map = {dim}};
  Shape window = operand;
  window[dim] = 1;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (d < batch) {
      dims.operand_batching_dims.push_back(d);
      dims.start_indices_batching_dims.push_back(d);
      window[d] = 1;
    } else if (d != dim) {
      dims.offset_dims.push_back(d < dim ? d : d + index.rank() - batch - 1);
    }
  }
  return insert_traced(
      reader,
      [&](const std::vector<Array>& x) {
        const Array positions = lax::expand_dims(x[1], {index.rank()});
        return std::vector{lax::gather(x[0], positions, dims, window, IndexMode::kClip)};
      },
      "torch_index_select");
}

}  // namespace tessera::interchange::foreign
