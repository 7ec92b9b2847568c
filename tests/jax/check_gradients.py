#!/usr/bin/env python3
"""Compares `tessera grad` with JAX's own gradients, on functions that JAX exports (gradient_programs.py).

usage: check_gradients.py TESSERA [--only TEXT] [--keep FOLDER [--again]] [--xla] [--jobs N] [--table FILE]

Each function is exported by jax.export, as bytecode, on one device or on eight. The function to differentiate is the sum over all floating-point
results r of sum(cos(r + i) * real(result[i])). Its value and its gradient by every floating-point argument are compared, to 1e-5 of an array's
largest element (float16 and bfloat16: 3e-2). With --xla, XLA also runs the program that `tessera grad` prints, on one device, and its results are
compared too. Exits with 1 if a result differs. Needs a Python that has jax.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.export  # noqa: E402
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
import gradient_inputs  # noqa: E402
import gradient_programs  # noqa: E402
from gradient_inputs import NARROW, inexact  # noqa: E402

class Program:
    """An exported function, its arguments and JAX's results for them, as files of a folder."""

    def __init__(self, name, folder):
        self.name = name
        stem = re.sub(r"[^a-zA-Z0-9_.-]+", "_", name)
        self.file, self.inputs, self.outputs, self.wanted = (folder / (stem + s) for s in (".mlirbc", ".in.npz", ".out.npz", ".want.npz"))

    def export(self, function, arguments):
        leaves, tree = jax.tree.flatten(arguments)
        leaves = [np.asarray(x) for x in leaves]
        flat = lambda *x: function(*jax.tree.unflatten(tree, x))
        exported = jax.export.export(jax.jit(flat))(*leaves)
        kept = list(exported.module_kept_var_idx)
        want = gradient_inputs.reference(flat, leaves, [k for k in kept if inexact(leaves[k])])
        self.file.write_bytes(exported.mlir_module_serialized)
        np.savez(self.inputs, **{f"arr_{i}": storable(leaves[k]) for i, k in enumerate(kept)})
        np.savez(self.wanted, **{f"arr_{i}_{x.dtype.name}": as_float(x) for i, x in enumerate(want)})

    def check(self, tessera, xla):
        """Returns (equal, different or refused; a description)."""
        command = [tessera, "grad", self.file, "--value", "--seed", "0"]
        try:
            done = subprocess.run([*command, "--inputs", self.inputs, "--outputs", self.outputs], capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return "refused", "no answer in 300 s"
        if done.returncode:
            return "refused", (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        outcome = self.compare(arrays_of(self.outputs))
        if outcome[0] != "equal" or not xla or self.name.startswith(("sharded/", "narrow/")):
            return outcome
        printed = subprocess.run([*command, "--emit", "bytecode"], capture_output=True, check=True).stdout
        outcome, message = self.compare(run_by_xla(printed, arrays_of(self.inputs)))
        return outcome, message and f"run by XLA: {message}"

    def compare(self, got):
        with np.load(self.wanted) as arrays:
            want, dtypes = [arrays[key] for key in arrays.files], [key.split("_")[2] for key in arrays.files]
        got = [as_float(x) for x in got]
        if len(got) != len(want):
            return "different", f"{len(got)} results for {len(want)}"
        tolerance, least = (3e-2, 0.1) if set(dtypes) & set(NARROW) else (1e-5, 1e-3)
        for i, (a, b) in enumerate(zip(got, want)):
            what = "value" if i == 0 else f"gradient {i - 1}"
            if a.shape != b.shape:
                return "different", f"{what}: shape {a.shape} for {b.shape}"
            if not np.array_equal(np.isfinite(a), np.isfinite(b)):
                return "different", f"{what}: {np.sum(~np.isfinite(a))} not finite for {np.sum(~np.isfinite(b))}"
            finite = np.isfinite(b)
            scale = max(np.max(np.abs(b[finite]), initial=0), least)
            error = np.max(np.abs(a[finite] - b[finite]), initial=0) / scale
            if error > tolerance:
                return "different", f"{what}: by {error:.2g} of {scale:.3g}"
        return "equal", ""


def arrays_of(file):
    with np.load(file) as arrays:
        return [arrays[f"arr_{i}"] for i in range(len(arrays.files))]


def run_by_xla(artifact, inputs):
    """Returns the results of the program in a portable artifact, run by JAX's XLA."""
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jax._src.lib import xla_client
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with mlir.make_ir_context() as context:
        module = stablehlo.deserialize_portable_artifact(context, artifact)
        if isinstance(module, bytes):
            module = ir.Module.parse(module, context)
        device = jax.devices()[0]
        options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
        program = device.client.compile_and_load(module, xla_client.DeviceList((device,)), options)
    return [np.asarray(x) for x in program.execute([jax.device_put(x, device) for x in inputs])]


def storable(x):
    """Returns an array that NumPy's files can hold: for bfloat16, which they do not support, the bits as ml_dtypes stores them."""
    return x.view("V2") if x.dtype.name == "bfloat16" else x


def as_float(x):
    if x.dtype.kind == "V" and x.dtype.itemsize == 2:
        return (x.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if x.dtype.name == "bfloat16":
        return x.astype(np.float32).astype(np.float64)
    return x.astype(np.complex128) if x.dtype.kind == "c" else x.astype(np.float64)


def cause_of(message):
    """Returns an error message without the parts that are specific to a program: names, numbers, places."""
    message = re.sub(r"^\[parse\] \S+ byte \d+: ", "", message)
    message = re.sub(r"/\S+", "FILE", message)
    return re.sub(r"\d+", "N", message)[:140]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tessera", help="the command line program")
    parser.add_argument("--only", default="", help="programs whose name has this text")
    parser.add_argument("--keep", type=pathlib.Path, help="where exported programs stay")
    parser.add_argument("--again", action="store_true", help="compare what is kept, without JAX")
    parser.add_argument("--xla", action="store_true", help="run what is printed by XLA, too")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--table", type=pathlib.Path, help="the table, as Markdown")
    options = parser.parse_args()
    scratch = None if options.keep else tempfile.TemporaryDirectory()
    folder = options.keep or pathlib.Path(scratch.name)
    folder.mkdir(parents=True, exist_ok=True)
    tessera = shutil.copy2(options.tessera, folder / "tessera")  # a copy, which a build in the meantime does not change
    outcomes, counts, refused = [], collections.Counter(), collections.defaultdict(list)
    by_family = collections.defaultdict(collections.Counter)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, (function, arguments) in gradient_programs.programs().items():
            if options.only not in name:
                continue
            program = Program(name, folder)
            try:
                if not options.again:
                    program.export(function, arguments)
            except Exception as error:  # noqa: BLE001  (JAX itself cannot: said, not compared)
                outcomes.append((name, None, f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"))
                continue
            outcomes.append((name, pool.submit(program.check, tessera, options.xla), ""))
        for name, future, message in outcomes:
            outcome, message = future.result() if future else ("not exported", message)
            counts[outcome] += 1
            by_family[name.split("/")[0]][outcome] += 1
            if outcome == "refused":
                refused[cause_of(message)].append(name)
            if outcome != "equal":
                print(f"{outcome:12} {name}: {message}", flush=True)
    lines = ["| programs | equal | refused | different | not exported |", "|---|---|---|---|---|"]
    for family, count in [*by_family.items(), ("all", counts)]:
        lines.append(f"| {family} | {count['equal']} | {count['refused']} | {count['different']} | {count['not exported']} |")
    print("\n".join(lines))
    for cause, names in sorted(refused.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):4}  {cause}  ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})")
    if options.table:
        options.table.write_text("\n".join(lines) + "\n")
    return 1 if counts["different"] or counts["refused"] else 0


if __name__ == "__main__":
    sys.exit(main())
