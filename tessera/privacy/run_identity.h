// What tells one run of private training from another: its plan, optimizer, loss and data. For
// trainer.h.
//
// Noise that two runs share is taken away by the difference of their results, so the keys of a run
// are made of fresh entropy and of all that tells runs apart, and a state goes on in its own run
// alone. There are three digests (digest.h), kept in a state as 8 words each:
//
//   fingerprint  the plan and the optimizer's numbers; from init() on
//   program      what is run (program_digest.h): the loss, the transform of its gradients and the
//                optimizer's update, with the types of their arguments; from the first step on, which
//                folds the key of the noise with it
//   contents     the data; from the first step on
//
// Words of 0 stand for a digest that is not known yet.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/compile/erased_call.h"
#include "tessera/privacy/plan.h"
#include "tessera/random/key.h"

namespace tessera::privacy {

// Whether one key may make the noise of runs on different data or from different parameters.
//   kRefused  a step of the second one is an error
//   kAllowed  it is not: for tests of neighbours, which look at the difference
enum class KeyReuse : uint8_t { kRefused, kAllowed };

// A seed that makes a run the same each time: for tests, and for data that is public. Whoever knows
// the key can subtract the noise.
struct Reproducible {
  random::Key key;
  KeyReuse reuse = KeyReuse::kRefused;
};
inline Reproducible reproducible(random::Key key, KeyReuse reuse = KeyReuse::kRefused) {
  return {std::move(key), reuse};
}

// What a run gives up that goes on although step() refuses it (Trainer::rebound).
//   kSameLoss  the gradients of all steps are of one loss: what the run learnt before is under another
//   kSameData  the data of all steps are the same: epsilon(state) holds for examples that have the
//              same index in all the sets of data, and for no example that is in them at two indices
enum class GivesUp : uint8_t { kSameLoss, kSameData, kSameLossAndData };

namespace internal {

// A digest as words, uint32 [8], and words as a digest.
Array digest_words(const std::string& digest);
std::string digest_of_words(const Array& words);
Array no_digest_words();
bool is_digest(const std::string& digest);  // not all 0

// The key folded with each word of a digest, which is text or, inside a program, words.
random::Key fold_in_digest(const random::Key& key, const std::string& digest);
random::Key fold_in_digest(const random::Key& key, const Array& words);

// Inside a program: the key of a run's noise, which is folded with the program's words where those
// that the state has are 0.
random::Key begun_key(const random::Key& key, const Array& known, const Array& program);

// A key of the operating system's entropy, the same in all processes of a cluster, which all call
// this. UserError kTrace inside a trace.
random::Key fresh_key();
// The key folded with such a key.
random::Key refresh_key(const random::Key& key);

// What is run, erased, with its arguments: the leaves of the parameters and of the optimizer's state,
// then those of examples, [any number, ...].
struct LossCall {
  const tessera::internal::ErasedCall& call;
  const void* types;    // as jit's: identifies the C++ types of the arguments
  std::string statics;  // what is static about them
  std::vector<Array> leaves;
  size_t num_parameters = 0;  // of leaves that are not of examples
  bool keep_batch_dim = true;
  // A captured array as long as all the data is an error, unless captures may be shared.
  int64_t num_examples = 0;
  bool shared_captures = false;
};

// The digests of what a trainer runs. A cache, of one thread: a loss is traced again, and data are
// read again, only if they are others.
class RunIdentity {
 public:
  RunIdentity(std::string fingerprint, bool unchecked_data_contents)
      : fingerprint_(std::move(fingerprint)), unchecked_data_contents_(unchecked_data_contents) {}

  const std::string& fingerprint() const { return fingerprint_; }
  // The key of a run: of fresh entropy; of a key and the entropy of this object, so that equal keys
  // give equal runs here and other ones elsewhere; of a key alone.
  random::Key run_key() const;
  random::Key run_key(const random::Key& key);
  random::Key run_key(const Reproducible& key) const;

  const std::string& program(const LossCall& loss);
  // The digest of arrays and of the digests of sources. Nothing if contents are not checked, as
  // those of arrays that do not lie in this process as a whole are not.
  std::optional<std::string> contents(const std::vector<Array>& data,
                                      const std::vector<std::string>& sources);

 private:
  std::string fingerprint_;
  bool unchecked_data_contents_;
  std::optional<random::Key> entropy_;
  std::map<std::string, std::string> programs_;  // by what they are traced with
  std::vector<Array> data_;                      // of contents_
  std::vector<std::string> sources_;
  std::string contents_;
};

// Says that the key of noise is of a reproducible run, and whether others may have it too.
void name_reproducible(const random::Key& noise, KeyReuse reuse);
// What a run begins with.
struct RunBeginning {
  std::string program;
  std::optional<std::string> contents;  // of the data; nothing if they are not checked
  std::string sources;  // of each argument of the data: 's' for a source, 'a' for arrays
  std::vector<Array> parameters;
};
// Claims the noise of a key and program for the run that begins so. If another run of this process has
// claimed it with other data or parameters, whoever sees what both give sees their difference without
// noise: UserError (kValue) for a reproducible key unless its reuse is allowed, a warning for another,
// and for data of which some are arrays here and a source there, which cannot be compared. Called
// before the first step of a run; a run whose data are not checked claims nothing.
void claim_noise(const random::Key& noise, const RunBeginning& run);

// UserError unless the state is of this plan and optimizer.
void expect_same_run(const TrainingPlan& plan, const std::string& fingerprint, const Array& words);
// UserError if the state has begun with another loss, or other types of data.
void expect_same_program(const std::string& program, const Array& words);
// The digest to keep in the state: that of the data, or what is there if they are not checked.
// UserError if the state has begun with other data.
std::string expect_same_contents(const std::optional<std::string>& contents, const Array& words);

}  // namespace internal
}  // namespace tessera::privacy
