#!/usr/bin/env python3
"""Puts causes of broken guarantees back into the code, one at a time, and checks that a test fails.

usage: tests/privacy/put_back.py    (in a clean checkout with build/release; each takes some ten seconds)
A source file that was changed is restored afterwards, whatever happens.
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAUSES = [  # what it is, file, what stands there, what is put back
    ("kernels by the number of examples", "tessera/runtime/dot_code.cc",
     "if (sum_ == ops::DotSum::kAny) return gemm(", "if (sum_ != ops::DotSum::kGrid) return gemm("),
    ("rows at an edge by another kernel", "tessera/runtime/gemm_invariant.cc",
     "const int64_t m0 = m - m % rows, n0 = n - n % columns;", "const int64_t m0 = m, n0 = n;"),
    ("ways of norms by the batch's size", "tessera/transform/per_example_norms.cc",
     "elements <= double{kKeepElements}",
     "elements * static_cast<double>(batch.size()) <= 16 * double{kKeepElements}"),
    ("an example alone", "tessera/privacy/clipping/example_arguments.cc",
     "const int64_t size = microbatch == 1 ? 2 : microbatch;", "const int64_t size = microbatch;"),
    ("examples that are not finite", "tessera/privacy/clipping/clipped_sum.cc",
     "if (options.nan_safe != NanSafe::kExample) return padding;",
     "if (options.nan_safe != NanSafe::kNo) return padding;"),
    ("squares in float32", "tessera/transform/example_tiles.cc",
     "return lax::mul(exact(x), exact(x));", "return exact(lax::mul(x, x));"),
]
BUILD = ["ninja", "-C", "build/release", "privacy_tests"]
TESTS = ["build/release/tests/privacy_tests", "--gtest_brief=1", "--gtest_filter=Neighbours.*:ClippedGrad.*"]


def found(name, file, stands, back):
    path = ROOT / file
    text = path.read_text(encoding="utf-8")
    if text.count(stands) != 1:
        sys.exit(f"put_back: expected once in {file}: {stands!r}, got it {text.count(stands)} times")
    try:
        path.write_text(text.replace(stands, back), encoding="utf-8")
        subprocess.run(BUILD, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        failed = subprocess.run(TESTS, cwd=ROOT, stdout=subprocess.DEVNULL).returncode != 0
    finally:
        path.write_text(text, encoding="utf-8")
    print(f"{'found' if failed else 'NOT FOUND'}: {name}", flush=True)
    return failed


results = [found(*cause) for cause in CAUSES]
subprocess.run(BUILD, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
sys.exit(0 if all(results) else 1)
