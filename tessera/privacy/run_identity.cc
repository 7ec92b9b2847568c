#include "tessera/privacy/run_identity.h"

#include <algorithm>
#include <mutex>

#include "tessera/base/fork.h"
#include "tessera/base/format.h"
#include "tessera/base/warning.h"
#include "tessera/cluster/joint_step.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/index.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/placement.h"
#include "tessera/numpy/reduce.h"
#include "tessera/privacy/digest.h"
#include "tessera/privacy/noise/leaf_keys.h"
#include "tessera/privacy/program_digest.h"
#include "tessera/trace/example_scope.h"
#include "tessera/trace/trace.h"

namespace tessera::privacy::internal {
namespace {

constexpr const char* kRunIdentityOp = "privacy::Trainer";
constexpr int64_t kWords = 8;

std::vector<uint32_t> words_of_hex(const std::string& text) {
  std::vector<uint32_t> out;
  for (size_t i = 0; i + 8 <= text.size(); i += 8)
    out.push_back(static_cast<uint32_t>(std::stoul(text.substr(i, 8), nullptr, 16)));
  return out;
}

// Returns the type of one example of a leaf, without its sharding.
ir::Type example_type(const Array& leaf, bool is_data, bool keep_batch_dim) {
  ir::Type out;
  out.dtype = leaf.dtype();
  out.shape = leaf.shape();
  out.weak = leaf.weak_type();
  if (!is_data) return out;
  if (keep_batch_dim) {
    out.shape[0] = 1;
  } else {
    out.shape.erase(out.shape.begin());
  }
  return out;
}

std::vector<ir::Type> example_types(const LossCall& loss) {
  std::vector<ir::Type> out;
  for (size_t i = 0; i < loss.leaves.size(); ++i)
    out.push_back(example_type(loss.leaves[i], i >= loss.num_parameters, loss.keep_batch_dim));
  return out;
}

void expect_no_captured_data(const LossCall& loss, const std::vector<Array>& captures) {
  if (loss.shared_captures || loss.num_examples <= 1) return;
  for (const Array& x : captures)
    if (x.ndim() > 0 && x.shape()[0] == loss.num_examples)
      value_error(
          kRunIdentityOp,
          "expected all data as arguments of step(), got an array of {} captured by the "
          "loss, as long as the {} examples: every example sees all of it; give it to step() "
          "after the other data, or set .shared_captures = true in TrainerOptions if it is "
          "no data",
          describe(x.type()), loss.num_examples);
}

std::string traced_program(const LossCall& loss) {
  tracing::TracedFunction traced = tracing::trace_function(
      [&](const std::vector<Array>& inputs) {
        std::optional<tracing::ExampleScope> scope;
        if (loss.keep_batch_dim) scope.emplace();
        return loss.call(inputs).leaves;
      },
      example_types(loss), "example");
  expect_no_captured_data(loss, traced.captures);
  traced.function = ir::remove_dead_ops(traced.function);
  return program_digest(traced);
}

bool same_arrays(const std::vector<Array>& a, const std::vector<Array>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Array& x, const Array& y) { return x.data() == y.data(); });
}

}  // namespace

Array digest_words(const std::string& digest) { return from_host(words_of_hex(digest), {kWords}); }

std::string digest_of_words(const Array& words) {
  std::string out;
  for (uint32_t word : to_vector<uint32_t>(words)) out += fmt::format("{:08x}", word);
  return out;
}

Array no_digest_words() { return zeros({kWords}, uint32); }

bool is_digest(const std::string& digest) {
  return std::any_of(digest.begin(), digest.end(), [](char c) { return c != '0'; });
}

random::Key fold_in_digest(const random::Key& key, const std::string& digest) {
  random::Key out = key;
  for (uint32_t word : words_of_hex(digest)) out = random::fold_in(out, word);
  return out;
}

random::Key fold_in_digest(const random::Key& key, const Array& words) {
  random::Key out = key;
  for (int64_t i = 0; i < kWords; ++i) out = random::fold_in(out, index_in_dim(words, i, 0, false));
  return out;
}

random::Key begun_key(const random::Key& key, const Array& known, const Array& program) {
  const Array begins = all(known == uint32_t{0});
  return random::wrap_key_data(where(begins, fold_in_digest(key, program).data, key.data));
}

namespace {

std::string hex_of(const random::Key& key) {
  std::string out;
  for (uint32_t word : to_vector<uint32_t>(key.data)) out += fmt::format("{:08x}", word);
  return out;
}

}  // namespace

random::Key fresh_key() {
  const std::string text =
      cluster::joint_step([] { return std::string(kRunIdentityOp); },
                          [] { return hex_of(key_of_entropy(kRunIdentityOp)); })[0];
  return random::wrap_key_data(from_host(words_of_hex(text), {2}));
}

random::Key refresh_key(const random::Key& key) { return fold_in_digest(key, hex_of(fresh_key())); }

random::Key RunIdentity::run_key() const { return fold_in_digest(fresh_key(), fingerprint_); }

random::Key RunIdentity::run_key(const random::Key& key) {
  if (!entropy_) entropy_ = fresh_key();
  return fold_in_digest(fold_in_digest(*entropy_, hex_of(checked_key(kRunIdentityOp, key))),
                        fingerprint_);
}

random::Key RunIdentity::run_key(const Reproducible& given) const {
  return fold_in_digest(checked_key(kRunIdentityOp, given.key), fingerprint_);
}

const std::string& RunIdentity::program(const LossCall& loss) {
  std::string key = fmt::format("{} {}:{}", loss.types, loss.statics.size(), loss.statics);
  for (const ir::Type& type : example_types(loss))
    key += fmt::format(" {}{}", type, type.weak ? " weak" : "");
  if (x64_enabled()) key += " x64";
  const auto known = programs_.find(key);
  if (known != programs_.end()) return known->second;
  return programs_[key] = traced_program(loss);
}

std::optional<std::string> RunIdentity::contents(const std::vector<Array>& data,
                                                 const std::vector<std::string>& sources) {
  if (unchecked_data_contents_ || !std::all_of(data.begin(), data.end(), is_fully_addressable))
    return std::nullopt;
  if (contents_.empty() || !same_arrays(data, data_) || sources != sources_) {
    Digest digest;
    for (const Array& leaf : data) digest.add(leaf);
    for (const std::string& source : sources) digest.add(source);
    contents_ = digest.hex();
    data_ = data;
    sources_ = sources;
  }
  return contents_;
}

namespace {

// The beginnings of runs of each key and program. They are never destroyed, because threads may ask
// for them while the process ends.
struct Beginnings {
  ForkSafeMutex mutex;
  struct Run {
    std::string sources, digest;
  };
  std::map<std::string, Run> runs;
  std::map<std::string, KeyReuse> reuse;  // how each reproducible key was used
};
Beginnings& beginnings() {
  static Beginnings& instance = *new Beginnings;
  return instance;
}

// Returns the digest of the data and of the parameters. Parameters are left out if this process
// does not have every shard of them.
std::string digest_of(const RunBeginning& run) {
  Digest digest;
  digest.add(*run.contents);
  for (const Array& leaf : run.parameters)
    if (is_fully_addressable(leaf)) digest.add(leaf);
  return digest.hex();
}

}  // namespace

void name_reproducible(const random::Key& noise, KeyReuse reuse) {
  Beginnings& all = beginnings();
  const std::lock_guard lock(all.mutex);
  all.reuse[hex_of(noise)] = reuse;
}

void claim_noise(const random::Key& noise, const RunBeginning& run) {
  if (!run.contents) return;
  const std::string key = hex_of(noise), digest = digest_of(run);
  std::optional<KeyReuse> reuse;
  {
    Beginnings& all = beginnings();
    const std::lock_guard lock(all.mutex);
    const Beginnings::Run& first =
        all.runs.emplace(key + run.program, Beginnings::Run{run.sources, digest}).first->second;
    if (first.digest == digest) return;
    const auto told = all.reuse.find(key);
    if (told != all.reuse.end() &&
        (first.sources == run.sources || told->second == KeyReuse::kAllowed))
      reuse = told->second;
  }
  if (!reuse)
    warn(
        "privacy: two runs of one key have begun on different data or from different parameters; "
        "the "
        "difference of their results shows the data without noise: take init(params), which draws "
        "a "
        "key for each, unless this is a test");
  if (reuse == KeyReuse::kRefused)
    value_error(
        kRunIdentityOp,
        "expected one run of a reproducible key, got a second one on other data or from other "
        "parameters: the difference of their results shows the data without noise; take "
        "init(params), which draws a key for each run, or another key; in a test of "
        "neighbours, which needs the same noise, init(params, privacy::reproducible(key, "
        "privacy::KeyReuse::kAllowed))");
}

void expect_same_run(const Plan& plan, const std::string& fingerprint, const Array& words) {
  const std::string got = digest_of_words(words);
  if (got == fingerprint) return;
  value_error(
      kRunIdentityOp,
      "expected a state of this plan and optimizer ({:.16}: {}), got one of another "
      "({:.16}); its guarantee and its noise are that one's: go on with it, or begin anew "
      "from its parameters with init(), whose epsilon is spent in addition to what they have spent",
      fingerprint, to_string(plan), got);
}

void expect_same_program(const std::string& program, const Array& words) {
  const std::string got = digest_of_words(words);
  if (!is_digest(got) || got == program) return;
  value_error(
      kRunIdentityOp,
      "expected the loss and the types of data that this state has begun with ({:.16}), got "
      "others ({:.16}); two losses that share noise show the data in their difference: go on "
      "with the same, begin anew from its parameters with init(), or take "
      "state = trainer.rebound(state, privacy::GivesUp::kSameLoss)",
      got, program);
}

std::string expect_same_contents(const std::optional<std::string>& contents, const Array& words) {
  const std::string got = digest_of_words(words);
  if (!contents) return got;
  if (!is_digest(got) || got == *contents) return *contents;
  value_error(
      kRunIdentityOp,
      "expected the data that this state has begun with ({:.16}), got others ({:.16}), whose "
      "examples have spent other epsilons: go on with the same, begin anew from its "
      "parameters with init(), or take state = trainer.rebound(state, "
      "privacy::GivesUp::kSameData); if data are made anew for each step, say "
      "unchecked_data_contents in TrainerOptions",
      got, *contents);
}

}  // namespace tessera::privacy::internal
