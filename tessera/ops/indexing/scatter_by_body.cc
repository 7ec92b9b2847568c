#include "tessera/ops/indexing/scatter_by_body.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "tessera/ops/core/op.h"

namespace tessera::ops {
namespace {

constexpr int64_t kBlock = 2048;        // windows that are looked up together
constexpr int64_t kTogether = 1 << 15;  // elements that the body is evaluated on together

std::vector<DType> array_dtypes(std::span<const Type> types) {
  std::vector<DType> out;
  for (const Type& type : types) out.push_back(type.dtype);
  return out;
}

}  // namespace

ScatterByBody::ScatterByBody(const ScatterParams& p, std::span<const Type> operands)
    : ScatterByBody(
          p,
          scatter_windows(p, operands[0].shape, operands[scatter_arrays(operands.size())].shape,
                          operands.back().shape),
          operands) {}

ScatterByBody::ScatterByBody(const ScatterParams& p, const IndexedWindows& windows,
                             std::span<const Type> operands)
    : body_(p.body),
      dtypes_(array_dtypes(operands.first(scatter_arrays(operands.size())))),
      addresses_(windows, operands[dtypes_.size()].dtype),
      runs_(windows.runs()),
      window_(runs_.run * static_cast<int64_t>(runs_.in_operand.size())),
      unique_(p.unique_indices),
      disjoint_(windows.disjoint()) {}

void ScatterByBody::run(std::span<const void* const> in, std::span<void* const> out) const {
  const void* indices = in[dtypes_.size()];
  std::vector<int64_t> at(kBlock), from(kBlock);
  for (int64_t begin = 0; begin < addresses_.count(); begin += kBlock) {
    const int64_t end = std::min(addresses_.count(), begin + kBlock);
    addresses_.find(indices, begin, end, at.data());
    addresses_.find_updates(begin, end, from.data());
    size_t inside = 0;
    for (size_t i = 0; i < static_cast<size_t>(end - begin); ++i) {
      if (at[i] < 0) continue;
      at[inside] = at[i];
      from[inside++] = from[i];
    }
    fold(std::span(at).first(inside), std::span(from).first(inside), in, out);
  }
}

// Folds windows in order, several at once if they have no element in common. For example, if
// windows of one element begin at 3, 5, 3 and 3, the body is evaluated on 3 and 5, then on 3, then
// on 3.
void ScatterByBody::fold(std::span<const int64_t> at, std::span<const int64_t> from,
                         std::span<const void* const> in, std::span<void* const> out) const {
  const auto most = static_cast<size_t>(std::max<int64_t>(1, kTogether / window_));
  std::unordered_set<int64_t> starts;
  for (size_t begin = 0; begin < at.size();) {
    size_t end = begin + 1;
    if (unique_) {
      end = std::min(at.size(), begin + most);
    } else if (disjoint_) {
      starts.clear();
      starts.insert(at[begin]);
      while (end < at.size() && end - begin < most && starts.insert(at[end]).second) ++end;
    }
    fold_together(at.subspan(begin, end - begin), from.subspan(begin, end - begin), in, out);
    begin = end;
  }
}

void ScatterByBody::fold_together(std::span<const int64_t> at, std::span<const int64_t> from,
                                  std::span<const void* const> in,
                                  std::span<void* const> out) const {
  const size_t n = dtypes_.size();
  const Shape shape{static_cast<int64_t>(at.size()) * window_};
  // Calls f(byte in the array or in the updates, byte in the literal, number of bytes) for each
  // run.
  const auto for_each_run = [&](std::span<const int64_t> starts, const std::vector<int64_t>& runs,
                                int64_t item, auto&& f) {
    int64_t to = 0;
    for (const int64_t start : starts)
      for (const int64_t run : runs) {
        f((start + run) * item, to, static_cast<size_t>(runs_.run * item));
        to += runs_.run * item;
      }
  };
  std::vector<Literal> args;
  for (const bool update : {false, true})
    for (size_t k = 0; k < n; ++k) {
      const auto* source = static_cast<const std::byte*>(update ? in[n + 1 + k] : out[k]);
      std::byte* arg = args.emplace_back(dtypes_[k], shape).mutable_raw();
      for_each_run(update ? from : at, update ? runs_.in_windows : runs_.in_operand,
                   itemsize(dtypes_[k]), [&](int64_t element, int64_t to, size_t bytes) {
                     std::memcpy(arg + to, source + element, bytes);
                   });
    }
  const std::vector<Literal> results = evaluate_function(*body_, args);
  for (size_t k = 0; k < n; ++k) {
    auto* target = static_cast<std::byte*>(out[k]);
    for_each_run(at, runs_.in_operand, itemsize(dtypes_[k]),
                 [&](int64_t element, int64_t to, size_t bytes) {
                   std::memcpy(target + element, results[k].raw() + to, bytes);
                 });
  }
}

}  // namespace tessera::ops
