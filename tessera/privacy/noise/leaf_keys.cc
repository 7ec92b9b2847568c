#include "tessera/privacy/noise/leaf_keys.h"

#include <random>

#include "tessera/ir/axis_env.h"
#include "tessera/ir/format.h"
#include "tessera/numpy/collectives.h"

namespace tessera::privacy::internal {

using namespace ir;

namespace {

void expect_typed_variance(std::string_view op) {
  const AxisEnv& env = AxisEnv::current();
  if (!env.manual_axes().empty() && !env.check_vma())
    trace_error(op,
                "expected a shard_map with check_vma, got one without: there it is not known which "
                "leaves are shards of their own, and shards must not share noise; leave "
                "check_vma = true, or add noise outside");
}

}  // namespace

std::vector<random::Key> leaf_keys(std::string_view op, const random::Key& key,
                                   const std::vector<Array>& leaves) {
  expect_typed_variance(op);
  std::vector<random::Key> out;
  if (leaves.empty()) return out;
  const random::Key keys = random::split(key, static_cast<int64_t>(leaves.size()));
  for (size_t i = 0; i < leaves.size(); ++i) {
    random::Key own = keys[static_cast<int64_t>(i)];
    const AxisNames& axes = leaves[i].type().varying;
    if (!axes.empty()) own = random::fold_in(own, axis_index(axes));
    out.push_back(own);
  }
  return out;
}

StepKeys step_keys(std::string_view op, const random::Key& key, const std::vector<Array>& leaves) {
  const auto [next, sub] = random::split<2>(key);
  return {next, leaf_keys(op, sub, leaves)};
}

void expect_real(std::string_view op, const std::vector<Array>& leaves) {
  for (const Array& leaf : leaves)
    if (!is_floating(leaf.dtype()))
      type_error(op, "expected real floating-point leaves, got {}; convert them with astype",
                 describe(leaf.type()));
}

random::Key key_of_entropy(std::string_view op) {
  if (Trace::current())
    trace_error(op,
                "expected a key: one drawn inside a trace would be a constant of the program, the "
                "same in every call; give .key, or make the privatizer outside");
  std::random_device entropy;
  const uint32_t words[] = {entropy(), entropy()};
  return random::wrap_key_data(Array(Literal::from<uint32_t>(words, {2})));
}

random::Key checked_key(std::string_view op, const std::optional<random::Key>& key,
                        RandomSource source) {
  if (source == RandomSource::kSystem) {
    if (key)
      value_error(op,
                  "expected no key with RandomSource::kSystem, whose noise nobody can repeat, got "
                  "one; leave the key out, or take RandomSource::kKey");
    const uint32_t zeros[] = {0, 0};
    return random::wrap_key_data(Array(Literal::from<uint32_t>(zeros, {2})));
  }
  const random::Key out = key ? *key : key_of_entropy(op);
  if (out.ndim() != 0)
    shape_error(op, "expected a single key, got an array of keys of shape {}; index it",
                out.shape());
  return out;
}

OptionalDType checked_dtype(std::string_view op, OptionalDType dtype) {
  if (!dtype) return dtype;
  if (!is_floating(*dtype))
    type_error(op, "expected a floating-point dtype for the result, got {}", *dtype);
  return canonical_dtype(*dtype);
}

}  // namespace tessera::privacy::internal
