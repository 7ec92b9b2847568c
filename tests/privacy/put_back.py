#!/usr/bin/env python3
"""Puts causes of broken guarantees back into the code, one at a time, and checks that a test fails for each.

usage: tests/privacy/put_back.py [d3 d10 ...]    these causes alone
       tests/privacy/put_back.py --check         only whether what is to be replaced stands in the sources

It runs in a checkout whose build/release is configured, and rebuilds privacy_tests for each cause: a source file or two and a
link. First the tests must pass as the code stands. A source that was changed is restored whatever happens: a copy of it lies in
build/release/put_back meanwhile, which the next run restores if this one is killed.
"""
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPIES = ROOT / "build/release/put_back"
BUILD = ["ninja", "-C", "build/release", "privacy_tests"]
TESTS = "build/release/tests/privacy_tests"


@dataclasses.dataclass
class Cause:
    number: str  # that issues and the proof know it by
    what: str
    file: str
    stands: str
    back: str
    tests: str  # a gtest filter


CAUSES = [
    # A decision that reads the batch.
    Cause("d1", "one example that is not finite leaves all others out", "tessera/privacy/clipping/clipped_sum.cc",
          "lax::bitwise_not(lax::is_finite(of_group))", "lax::bitwise_not(lax::is_finite(of_group + sum(of_group)))",
          "Neighbours.*"),
    Cause("d1", "examples that are not finite are summed", "tessera/privacy/clipping/clipped_sum.cc",
          "if (options.nan_safe != NanSafe::kExample) return padding;",
          "if (options.nan_safe != NanSafe::kNo) return padding;", "Neighbours.*:ClippedGrad.*"),
    Cause("d1", "padding reaches the loss", "tessera/privacy/clipping/example_arguments.cc",
          "if (out.dims[i] >= 0) out.operands[i] = without_padding(", "if (out.dims[i] > 0) out.operands[i] = without_padding(",
          "ClippedGrad.*"),
    Cause("d2", "the number of examples chooses the kernel", "tessera/runtime/products/dot_code.cc",
          "if (p_.sum == ops::DotSum::kAny) return gemm(", "if (p_.sum != ops::DotSum::kGrid) return gemm(", "Neighbours.*"),
    Cause("d2", "rows at an edge go to another kernel", "tessera/runtime/products/gemm_invariant.cc",
          "const int64_t m0 = m - m % rows, n0 = n - n % columns;", "const int64_t m0 = m, n0 = n;", "Neighbours.*"),
    Cause("d2", "the size of the batch chooses the way of norms", "tessera/per_example/per_example_norms.cc",
          "elements <= double{kKeepElements}",
          "elements * static_cast<double>(batch.size()) <= 16 * double{kKeepElements}", "Neighbours.*"),
    Cause("d2", "an example alone has a program of its own", "tessera/privacy/clipping/example_arguments.cc",
          "const int64_t size = microbatch == 1 ? 2 : microbatch;", "const int64_t size = microbatch;", "Neighbours.*"),
    # Bounds of audits that are none.
    Cause("d3", "epsilon_from_gdp takes the size of a negative mu", "tessera/privacy/auditing/canary_score_auditor.cc",
          "-(internal::normal_quantile(fpr) + internal::normal_quantile(fnr))",
          "std::abs(internal::normal_quantile(fpr) + internal::normal_quantile(fnr))", "AuditCoverage.Gdp"),
    # Runs that share noise.
    Cause("d4", "init() draws no entropy", "tessera/privacy/run_identity.cc",
          "return fold_in_digest(fresh_key(), fingerprint_);", "return fold_in_digest(random::key(0), fingerprint_);", "RunIdentityTest.*"),
    Cause("d4", "a key is the same in every trainer", "tessera/privacy/run_identity.cc",
          "if (!entropy_) entropy_ = fresh_key();", "if (!entropy_) entropy_ = random::key(0);", "RunIdentityTest.*"),
    Cause("d4", "two losses share noise", "tessera/privacy/run_identity.cc",
          "where(begins, fold_in_digest(key, program).data, key.data)", "where(begins, key.data, fold_in_digest(key, program).data)",
          "RunIdentityTest.*"),
    # Seeds that can be tried.
    Cause("d5", "seeds are cut to 32 bits", "tessera/random/key.cc",
          "const bool narrow = seed >= -(int64_t{1} << 31) && seed < int64_t{1} << 32;",
          "const bool narrow = seed >= -(int64_t{1} << 31);", "RunIdentityTest.*"),
    Cause("d5", "entropy of 32 bits", "tessera/privacy/noise/leaf_keys.cc",
          "const uint32_t words[] = {entropy(), entropy()};", "const uint32_t words[] = {0, entropy()};", "LeafKeys.*"),
    # Noise that shows the sum.
    Cause("d6", "noise ends at 5.22 standard deviations", "tessera/privacy/noise/normal_draws.cc",
          "return lax::select(positive, z, -z);",
          "return lax::min(lax::select(positive, z, -z), lax::full_like(z, 5.2201));", "NormalDraws.BothTailsAreTheSame"),
    Cause("d6_mironov", "noise is added in float32", "tessera/privacy/noise/noise_addition.cc",
          "lax::add(converted(gradient, float64), converted(row.values[i], float64))",
          "lax::add(converted(gradient, float32), converted(row.values[i], float32))", "ReleaseBits.*"),
    Cause("d6_mironov", "sums of discrete noise are not rounded to its grid", "tessera/privacy/noise/discrete_gaussian.cc",
          "const Array noisy = lax::convert_element_type(grid, float64) * step;",
          "const Array noisy = x + (lax::convert_element_type(grid, float64) * step - x);", "DiscreteGaussian.*"),
    Cause("d6_mironov", "discrete noise is accounted as if it were Gaussian of its size",
          "tessera/privacy/noise/discrete_gaussian.cc",
          "std::sqrt((steps - 2) * (steps + 2))", "steps", "DiscreteGaussian.*"),
    # Sums that sensitivity() does not cover.
    Cause("d7", "sums are rounded to halves", "tessera/privacy/clipping/clipped_sum.cc",
          "itemsize(real_dtype(*options.dtype)) < itemsize(float32)", "itemsize(real_dtype(*options.dtype)) < itemsize(bfloat16)",
          "ClippedDtypes.*"),
    Cause("d7", "sums are rounded to integers", "tessera/privacy/clipping/clipped_sum.cc",
          "if (!is_inexact(*options.dtype) || itemsize(real_dtype(*options.dtype)) < itemsize(float32))",
          "if (is_inexact(*options.dtype) && itemsize(real_dtype(*options.dtype)) < itemsize(float32))", "ClippedDtypes.*"),
    Cause("d7", "sensitivity() does not count the rounding of sums", "tessera/privacy/clipping/clip_options.cc",
          "(1 + 2 * kUnit * 1.001 * additions * examples)", "(1 + 0 * kUnit * additions * examples)", "ClippedGrad.*"),
    Cause("d7", "the rounding to a grid is not counted", "tessera/privacy/clipping/clip_to_grid.cc",
          "norm * (1 - kRounding - rounding / (scale * share))", "norm * (1 - kRounding)", "ClippedGrid.*"),
    # Norms that underflow.
    Cause("d8", "squares are float32", "tessera/per_example/example_tiles.cc",
          "return lax::mul(in_sum_dtype(x), in_sum_dtype(x));", "return in_sum_dtype(lax::mul(x, x));", "Neighbours.*:ClippedGrad.*"),
    # Arguments that are shared without a word.
    Cause("d9", "batch_argnums is the first argument that may be", "tessera/privacy/clipping/clipped_sum.cc",
          "if (out.size() == 1) return out;", "if (!out.empty()) return {out.front()};", "ClippedErrors.*"),
    Cause("d9", "arguments as long as the batch are shared undeclared", "tessera/privacy/clipping/example_arguments.cc",
          "i < leaves.size() && size > 1; ++i)", "i < leaves.size() && size < 1; ++i)", "ClippedErrors.*"),
    # What rounds with many examples, in halves, and in norms.
    Cause("d10", "many examples are summed in float32", "tessera/privacy/clipping/clipped_sum.cc",
          "return size > options.float32_examples || devices().size() > kFloat32Devices;",
          "return size > options.float32_examples && devices().size() > kFloat32Devices;", "ClippedSensitivity.*"),
    Cause("d10", "gradients of halves are summed in halves", "tessera/privacy/clipping/clipped_sum.cc",
          "return is_half(dtype) ? accumulation_dtype(dtype) : dtype;", "return dtype;",
          "ClippedSensitivity.*:ClippedDtypes.*"),
    Cause("d10", "norms of cancelling tokens are not raised", "tessera/per_example/per_example_norms.cc",
          "times(squares(lengths_), ulp * gram_ulps(num_terms_, rows, columns, ulp))",
          "times(squares(lengths_), 0 * ulp * gram_ulps(num_terms_, rows, columns, ulp))", "ClippedSensitivity.*"),
    # Accounting that is no bound.
    Cause("d11", "fixed batches are accounted as one direction of a Poisson sample",
          "tessera/privacy/accounting/event_loss.cc",
          "return symmetrized(subsampled(gaussian_loss(noise / 2, log_tail), fraction(e)));",
          "return subsampled(gaussian_loss(noise / 2, log_tail), fraction(e));", "EventLoss.*"),
    Cause("d11", "losses are cut off where a small delta needs them", "tessera/privacy/accounting/pld.cc",
          "std::clamp(std::floor(wanted / 50) * 50, internal::kLeastLogTail, internal::kLogTail)",
          "std::clamp(std::floor(wanted / 50) * 50, internal::kLogTail, internal::kLogTail)", "Pld.*Deltas*"),
    Cause("d11", "one-run bounds take the best of many thresholds", "tessera/privacy/auditing/canary_score_auditor.cc",
          "question.significance /= std::max(static_cast<double>(at.size()), 1.0);",
          "question.significance /= 1.0;", "AuditCoverage.OneRunOfManyCanaries"),
    Cause("d11", "one-run bounds leave delta out", "tessera/privacy/auditing/one_run.cc",
          "if (delta == 0) return beta;", "if (delta >= 0) return beta;", "OneRun.*"),
]


def text_of(cause):
    return (ROOT / cause.file).read_text(encoding="utf-8")


def expect_stands(causes):
    """Ends the program unless each text that is to be replaced stands in its file once."""
    wrong = [f"expected once in {c.file}: {c.stands!r} ({c.number}, {c.what}), got it {text_of(c).count(c.stands)} times"
             for c in causes if text_of(c).count(c.stands) != 1]
    if wrong:
        sys.exit("put_back: " + "\n".join(wrong) + "\nwrite the text of today into CAUSES of tests/privacy/put_back.py")


def keep_copy(source):
    """Copies a source to COPIES; what stands there is whole at any moment."""
    copy = COPIES / source.relative_to(ROOT)
    copy.parent.mkdir(parents=True, exist_ok=True)
    begun = copy.with_name(copy.name + ".begun")
    begun.write_bytes(source.read_bytes())
    begun.replace(copy)


def restore():
    """Puts the copies in COPIES back, and removes them."""
    for copy in [path for path in COPIES.glob("**/*") if path.is_file()]:
        if copy.suffix != ".begun":
            (ROOT / copy.relative_to(COPIES)).write_bytes(copy.read_bytes())
        copy.unlink()


def build():
    done = subprocess.run(BUILD, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"put_back: expected {' '.join(BUILD)} to succeed, got\n{done.stdout[-4000:]}")


def run(tests):
    """Returns the exit status of the tests, and the names of those that failed."""
    done = subprocess.run([TESTS, "--gtest_brief=1", f"--gtest_filter={tests}"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if "[==========] 0 tests" in done.stdout:
        sys.exit(f"put_back: expected a filter of some tests, got {tests}")
    return done.returncode, sorted(set(re.findall(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", done.stdout, re.M)))


def found(cause):
    """Returns whether a test fails with the cause in the code."""
    source = ROOT / cause.file
    text = text_of(cause)
    keep_copy(source)
    try:
        source.write_text(text.replace(cause.stands, cause.back), encoding="utf-8")
        build()
        status, failed = run(cause.tests)
    finally:
        restore()
    if status == 1 and failed:
        print(f"found: {cause.number}, {cause.what}: {', '.join(failed)}", flush=True)
        return True
    print(f"NOT FOUND: {cause.number}, {cause.what}: {cause.tests} ended with {status}", flush=True)
    return False


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(f"put_back: ended by signal {number}"))
    if sys.argv[1:] == ["--check"]:
        expect_stands(CAUSES)
        return 0
    restore()
    known = list(dict.fromkeys(c.number for c in CAUSES))
    if not set(sys.argv[1:]) <= set(known):
        sys.exit(f"put_back: expected --check, or some of {' '.join(known)}, got {' '.join(sys.argv[1:])}")
    chosen = [c for c in CAUSES if not sys.argv[1:] or c.number in sys.argv[1:]]
    expect_stands(chosen)
    build()
    status, failed = run(":".join(dict.fromkeys(c.tests for c in chosen)))
    if status:
        sys.exit(f"put_back: expected tests that pass as the code stands, got {status}: {', '.join(failed)}")
    missed = [c for c in chosen if not found(c)]
    build()
    print(f"{len(chosen) - len(missed)} of {len(chosen)} causes found", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    os.environ.setdefault("TESSERA_NEIGHBOURS", "0:500")
    sys.exit(main())
