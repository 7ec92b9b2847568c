// The identity of a run of private training: digests of its plan, optimizer, loss and data.
// trainer_program.h uses it.
//
// Noise that two runs share cancels in the difference of their results. So the keys of a run are
// made from fresh entropy and from everything that distinguishes runs, and a state can continue
// only its own run. A state has three digests (digest.h), each as 8 words:
//
//   fingerprint  the plan and the optimizer's numbers; known from init() on
//   program      the functions that run (program_digest.h): the loss, the transform of its
//                gradients and the optimizer's update, with the types of their arguments; known
//                from the first step on, which folds it into the key of the noise
//   contents     the data; known from the first step on
//
// Words of 0 represent a digest that is not known yet.
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
//   kRefused  a step of the second run is an error
//   kAllowed  it is not: for tests of neighbours, which compare the two
enum class KeyReuse : uint8_t { kRefused, kAllowed };

// A seed with which a run is the same each time. It is for tests and for public data, because
// anybody who knows the key can subtract the noise.
struct Reproducible {
  random::Key key;
  KeyReuse reuse = KeyReuse::kRefused;
};
inline Reproducible reproducible(random::Key key, KeyReuse reuse = KeyReuse::kRefused) {
  return {std::move(key), reuse};
}

// The property that a run loses if it continues although step() refuses to (Trainer::rebound).
//   kSameLoss  that the gradients of all steps are of one loss: earlier steps used another one
//   kSameData  that the data of all steps are the same: epsilon(state) holds for examples that have
//              the same index in all the sets of data, and for no example that has two indices
enum class GivesUp : uint8_t { kSameLoss, kSameData, kSameLossAndData };

namespace internal {

// digest_words returns a digest as words, uint32 [8]; digest_of_words is the inverse.
Array digest_words(const std::string& digest);
std::string digest_of_words(const Array& words);
Array no_digest_words();
bool is_digest(const std::string& digest);  // not all 0

// Returns the key folded with each word of a digest. Inside a program the digest is given as words.
random::Key fold_in_digest(const random::Key& key, const std::string& digest);
random::Key fold_in_digest(const random::Key& key, const Array& words);

// Returns the key of a run's noise, for use inside a program: `key`, folded with the words of
// `program` if the words in the state (`known`) are 0.
random::Key begun_key(const random::Key& key, const Array& known, const Array& program);

// Returns a key from the operating system's entropy. All processes of a cluster must call this, and
// get the same key. Throws UserError kTrace inside a trace.
random::Key fresh_key();
// Returns the key folded with a fresh_key().
random::Key refresh_key(const random::Key& key);

// A type-erased function and its arguments: the leaves of the parameters and of the optimizer's
// state, then those of examples, [any number, ...].
struct LossCall {
  const tessera::internal::ErasedCall& call;
  const void* types;    // as in jit: identifies the C++ types of the arguments
  std::string statics;  // the static parts of the arguments
  std::vector<Array> leaves;
  size_t num_parameters = 0;  // the number of leaves that are not of examples
  bool keep_batch_dim = true;
  // A captured array as long as all the data is an error, unless captures may be shared.
  int64_t num_examples = 0;
  bool shared_captures = false;
};

// Computes the digests of a trainer's run, and caches them. A loss is traced again, and data are
// read again, only if they changed. It is for one thread.
class RunIdentity {
 public:
  RunIdentity(std::string fingerprint, bool unchecked_data_contents)
      : fingerprint_(std::move(fingerprint)), unchecked_data_contents_(unchecked_data_contents) {}

  const std::string& fingerprint() const { return fingerprint_; }
  // Return the key of a run. It is made from fresh entropy; or from a key and the entropy of this
  // object, so that equal keys make equal runs with this object and other runs with other objects;
  // or from a key alone.
  random::Key run_key() const;
  random::Key run_key(const random::Key& key);
  random::Key run_key(const Reproducible& key) const;

  const std::string& program(const LossCall& loss);
  // Returns the digest of arrays and of the digests of sources. Returns nullopt if contents are not
  // checked, for example because this process does not have all of an array.
  std::optional<std::string> contents(const std::vector<Array>& data,
                                      const std::vector<std::string>& sources);

 private:
  std::string fingerprint_;
  bool unchecked_data_contents_;
  std::optional<random::Key> entropy_;
  std::map<std::string, std::string> programs_;  // by the keys of their traces
  std::vector<Array> data_;                      // the data of contents_
  std::vector<std::string> sources_;
  std::string contents_;
};

// Records that the key of noise belongs to a reproducible run, and whether other runs may use it,
// too.
void name_reproducible(const random::Key& noise, KeyReuse reuse);
// The data with which a run begins.
struct RunBeginning {
  std::string program;
  std::optional<std::string> contents;  // digest of the data; nullopt if not checked
  std::string sources;  // for each argument of the data: 's' for a source, 'a' for arrays
  std::vector<Array> parameters;
};
// Claims the noise of a key and program for this run. It is called before the first step of a run.
// If another run of this process has claimed the noise with other data or parameters, the
// difference of their results has no noise. So this throws UserError (kValue) if the key is
// reproducible and its reuse is not allowed. It warns for other keys, and if data are arrays in one
// run and a source in the other, which cannot be compared. A run whose data are not checked claims
// nothing.
void claim_noise(const random::Key& noise, const RunBeginning& run);

// Throws UserError unless the state belongs to this plan and optimizer.
void expect_same_run(const Plan& plan, const std::string& fingerprint, const Array& words);
// Throws UserError if the run of the state began with another loss, or with other types of data.
void expect_same_program(const std::string& program, const Array& words);
// Returns the digest to keep in the state: that of the data, or the state's own if data are not
// checked. Throws UserError if the run of the state began with other data.
std::string expect_same_contents(const std::optional<std::string>& contents, const Array& words);

}  // namespace internal
}  // namespace tessera::privacy
