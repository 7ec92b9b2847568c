// What distinguishes one run of private training from another: its plan, optimizer, loss and data.
// For trainer.h.
//
// Noise that two runs share cancels in the difference of their results. So the keys of a run are
// made of fresh entropy and of everything that distinguishes runs, and a state continues only in
// its own run. There are three digests (digest.h), kept in a state as 8 words each:
//
//   fingerprint  the plan and the optimizer's numbers; from init() on
//   program      what is run (program_digest.h): the loss, the transform of its gradients and the
//                optimizer's update, with the types of their arguments; from the first step on, which
//                folds it into the key of the noise
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
//   kRefused  a step of the second run is an error
//   kAllowed  it is not: for tests of neighbours, which compare the two
enum class KeyReuse : uint8_t { kRefused, kAllowed };

// A seed that makes a run the same each time: for tests, and for data that is public. Anybody who
// knows the key can subtract the noise.
struct Reproducible {
  random::Key key;
  KeyReuse reuse = KeyReuse::kRefused;
};
inline Reproducible reproducible(random::Key key, KeyReuse reuse = KeyReuse::kRefused) {
  return {std::move(key), reuse};
}

// What a run gives up if it continues although step() refuses to (Trainer::rebound).
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

// Returns the key folded with each word of a digest, which is text or, inside a program, words.
random::Key fold_in_digest(const random::Key& key, const std::string& digest);
random::Key fold_in_digest(const random::Key& key, const Array& words);

// Inside a program: returns the key of a run's noise, which is folded with the program's words if
// those in the state are 0.
random::Key begun_key(const random::Key& key, const Array& known, const Array& program);

// Returns a key of the operating system's entropy, the same in all processes of a cluster, which
// must all call this. Throws UserError kTrace inside a trace.
random::Key fresh_key();
// Returns the key folded with such a key.
random::Key refresh_key(const random::Key& key);

// The function that is run, type-erased, with its arguments: the leaves of the parameters and of
// the optimizer's state, then those of examples, [any number, ...].
struct LossCall {
  const tessera::internal::ErasedCall& call;
  const void* types;    // as jit's: identifies the C++ types of the arguments
  std::string statics;  // the static parts of them
  std::vector<Array> leaves;
  size_t num_parameters = 0;  // the number of leaves that are not of examples
  bool keep_batch_dim = true;
  // A captured array as long as all the data is an error, unless captures may be shared.
  int64_t num_examples = 0;
  bool shared_captures = false;
};

// The digests of what a trainer runs. It caches them, for one thread: a loss is traced again, and
// data are read again, only if they changed.
class RunIdentity {
 public:
  RunIdentity(std::string fingerprint, bool unchecked_data_contents)
      : fingerprint_(std::move(fingerprint)), unchecked_data_contents_(unchecked_data_contents) {}

  const std::string& fingerprint() const { return fingerprint_; }
  // Returns the key of a run: made of fresh entropy; or of a key and the entropy of this object, so
  // that equal keys mean equal runs here and other ones elsewhere; or of a key alone.
  random::Key run_key() const;
  random::Key run_key(const random::Key& key);
  random::Key run_key(const Reproducible& key) const;

  const std::string& program(const LossCall& loss);
  // Returns the digest of arrays and of the digests of sources. nullopt if contents are not
  // checked, as for arrays that are not completely in this process.
  std::optional<std::string> contents(const std::vector<Array>& data,
                                      const std::vector<std::string>& sources);

 private:
  std::string fingerprint_;
  bool unchecked_data_contents_;
  std::optional<random::Key> entropy_;
  std::map<std::string, std::string> programs_;  // by the key of their trace
  std::vector<Array> data_;                      // of contents_
  std::vector<std::string> sources_;
  std::string contents_;
};

// Records that the key of noise belongs to a reproducible run, and whether other runs may have it,
// too.
void name_reproducible(const random::Key& noise, KeyReuse reuse);
// The beginning of a run.
struct RunBeginning {
  std::string program;
  std::optional<std::string> contents;  // of the data; nullopt if they are not checked
  std::string sources;  // of each argument of the data: 's' for a source, 'a' for arrays
  std::vector<Array> parameters;
};
// Claims the noise of a key and program for the run that begins so. If another run of this process
// has claimed it with other data or parameters, anybody who sees the results of both sees their
// difference without noise. So this throws UserError (kValue) for a reproducible key unless its
// reuse is allowed; it warns for another key, and for data of which some are arrays here and a
// source there, which cannot be compared. It is called before the first step of a run; a run whose
// data are not checked claims nothing.
void claim_noise(const random::Key& noise, const RunBeginning& run);

// Throws UserError unless the state is of this plan and optimizer.
void expect_same_run(const Plan& plan, const std::string& fingerprint, const Array& words);
// Throws UserError if the state has begun with another loss, or other types of data.
void expect_same_program(const std::string& program, const Array& words);
// Returns the digest to keep in the state: that of the data, or the state's own if they are not
// checked. Throws UserError if the state has begun with other data.
std::string expect_same_contents(const std::optional<std::string>& contents, const Array& words);

}  // namespace internal
}  // namespace tessera::privacy
