#include "tools/commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <ostream>

#include "tessera/base/error.h"
#include "tools/launch.h"
#include "tools/program.h"

namespace tessera::tools {
namespace {

// Returns 1 if the output could not be written, otherwise 0.
int flushed(const Streams& streams) {
  if (streams.out.flush()) return 0;
  streams.err << "[tessera] expected to write the standard output, got a full disk or a closed "
                 "file; free space or choose another place\n";
  return 1;
}

// Runs a command line and returns its exit code. CLI11 throws for wrong command lines and for
// --help; commands throw their own errors.
int guarded(CLI::App& app, std::vector<std::string> arguments, const Streams& streams,
            const std::function<void()>& command) {
  try {
    std::reverse(arguments.begin(), arguments.end());  // CLI11 takes the arguments in reverse order
    app.parse(std::move(arguments));
  } catch (const CLI::Success& e) {  // --help, --version
    app.exit(e, streams.out, streams.err);
    return flushed(streams);
  } catch (const CLI::ParseError& e) {
    app.exit(e, streams.out, streams.err);
    return 2;
  }
  try {
    command();
    return flushed(streams);
  } catch (const UserError& e) {
    streams.err << e.what() << "\n";
    return 1;
  } catch (const RuntimeError& e) {
    streams.err << e.what() << "\n";
    return 1;
  } catch (const std::bad_alloc&) {
    streams.err << "out of memory\n";
    return 1;
  } catch (const std::exception& e) {
    streams.err << "a bug of Tessera's, please report it: " << e.what() << "\n";
    return 3;
  }
}

constexpr const char* kFileHelp =
    "The program, StableHLO as text or bytecode, or what jax.export serialises; - reads it from "
    "the standard input";
constexpr const char* kSpecHelp =
    "The devices: cpu:N, gpu:N, tpu_v2:XxY, tpu_v4:XxYxZ, ..., pjrt:PATH";

void add_shapes(CLI::App& app, std::vector<std::string>& shapes) {
  app.add_option("--shape", shapes,
                 "The shape of an argument whose extents the program leaves open, as arg0=8x4; may "
                 "be given several times")
      ->allow_extra_args(false);
}

void add_emit_options(CLI::App& app, EmitOptions& options) {
  app.add_option("--emit", options.emit,
                 "text, or bytecode: a portable artifact that StableHLO reads")
      ->check(CLI::IsMember({"text", "bytecode"}));
  app.add_option("--vhlo", options.vhlo, "The version of VHLO of the bytecode, as 1.17.0");
  app.add_flag("--locations", options.locations, "Print where each op was called");
}

void add_grad_options(CLI::App& app, TransformOptions& options) {
  app.add_option("--argnums", options.argnums,
                 "The arguments to differentiate by; else all that are floating-point")
      ->delimiter(',');
  app.add_flag("--value", options.value, "The differentiated value too, before the gradients");
  app.add_option("--seed", options.seed,
                 "Differentiate the sum over all floating-point results r of sum(cos(SEED + r + i) "
                 "* real(result[i])), i an element's place in row-major order, instead of the only "
                 "scalar one");
}

void add_vmap_options(CLI::App& app, TransformOptions& options) {
  app.add_option("--in-axes", options.in_axes,
                 "Where arguments are mapped: one axis for all, or one each; None: not at all. "
                 "Else 0")
      ->delimiter(',');
  app.add_option("--size", options.size, "The size of the batch");
}

// Adds the options that grad and vmap share.
void add_transform_options(CLI::App& app, RunOptions& run, EmitOptions& emit) {
  app.add_option("FILE", run.file, kFileHelp)->required();
  app.add_option("--inputs", run.inputs, "Arguments to run it on, as of tessera run");
  app.add_option("--outputs", run.outputs, "Where results go; without it the program is printed");
  app.add_option("--devices", run.devices, kSpecHelp);
  add_shapes(app, run.shapes);
  app.add_option("--repeat", run.repeat, "How often it runs; prints first and steady times");
  add_emit_options(app, emit);
}

CLI::App* add_audit_options(CLI::App& app, AuditOptions& options) {
  CLI::App* audit = app.add_subcommand(
      "audit", "Print the epsilon that the canaries of a training run prove, beside its own");
  audit->add_option("FILE", options.file, "What privacy::auditing::save_audit wrote")->required();
  audit->add_option("--plot", options.plot, "Where a page goes (HTML) that draws it");
  audit->add_flag("--fail", options.fail,
                  "Exit with 1 if the run spent more than it is accounted for");
  return audit;
}

void add_launch_options(CLI::App& app, LaunchOptions& options) {
  app.add_option("-n,--processes", options.processes, "How many processes")->required();
  app.add_option("--restarts", options.restarts,
                 "How often all are started again where one dies; the program goes on from its "
                 "last checkpoint itself");
  app.add_option("--pause", options.pause,
                 "Seconds before the first restart, 1; twice as long before each further one, up "
                 "to 60");
  app.add_option("--per-process-threads", options.threads,
                 "Threads of each process (TESSERA_NUM_THREADS); else the cores of a machine are "
                 "shared evenly");
  app.add_option("--hostfile", options.hostfile, "mpirun's file of hosts, `HOST slots=N` a line");
  app.footer(
      "tessera launch -n N [OPTIONS] [--mpi MPIRUN OPTIONS...] -- PROGRAM ARGUMENTS...\n\n"
      "What stands after --mpi is given to mpirun. Where the environment has no TESSERA_CLUSTER, "
      "it is mpi:whole: the program need not know of processes.\n"
      "The exit status is the program's, 128 and the signal where one ended it.");
}

// Each function of this kind adds a command to `app`; its options are stored in the struct.
CLI::App* add_run(CLI::App& app, RunOptions& run) {
  CLI::App* command = app.add_subcommand(
      "run", "Run a StableHLO program, as JAX exports it, on arrays of an npz file");
  command->add_option("FILE", run.file, kFileHelp)->required();
  command->add_option("--inputs", run.inputs,
                      "Its arguments: arrays called as in the program (arg0, ...), or arr_0, ...");
  command->add_option("--outputs", run.outputs, "Where its results go: arr_0, ...")->required();
  command->add_option("--devices", run.devices, kSpecHelp);
  add_shapes(*command, run.shapes);
  command->add_option("--repeat", run.repeat, "How often it runs; prints first and steady times");
  command->add_flag("--profile", run.profile,
                    "Prints the steps with their shares of the time; with --repeat");
  command->footer(
      "Without --devices and TESSERA_DEVICES the program runs on as many CPU devices as its mesh "
      "has.");
  return command;
}

CLI::App* add_explain(CLI::App& app, ExplainOptions& explain) {
  CLI::App* command =
      app.add_subcommand("explain", "Print what a program communicates, why, and what it costs");
  command->add_option("FILE", explain.file, kFileHelp)->required();
  command->add_option("--devices", explain.devices, kSpecHelp);
  add_shapes(*command, explain.shapes);
  command->add_flag("!--no-schedule", explain.schedule, "Leave out the schedule of kernels");
  command->footer("Without devices for its mesh the program is planned all the same.");
  return command;
}

CLI::App* add_check(CLI::App& app, CheckOptions& check) {
  CLI::App* command = app.add_subcommand(
      "check",
      "Compare a program on its mesh with one device, and compiled with evaluated naively");
  command->add_option("FILE", check.file, kFileHelp)->required();
  command->add_option("--inputs", check.inputs, "Its arguments; else random ones");
  command->add_option("--seed", check.seed, "Of the random arguments");
  command->add_option("--tolerance", check.tolerance,
                      "Of floating-point results: |a - b| <= TOLERANCE (1 + |b|); else by dtype");
  command->add_option("--devices", check.devices, kSpecHelp);
  add_shapes(*command, check.shapes);
  command->add_flag("!--no-evaluate", check.evaluate,
                    "Leave out the naive evaluator, which is slow");
  return command;
}

CLI::App* add_calibrate(CLI::App& app, CalibrateOptions& options) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure what computing and communicating takes here, for explain and plans");
  command->add_option("-o,--output", options.output,
                      "The file of the figures; else that of TESSERA_COSTS, or "
                      "~/.config/tessera/costs.json");
  command->add_flag("--check", options.check,
                    "Compare what the figures predict with what steps of training take");
  command->footer(
      "In several processes (tessera launch -n N -- tessera calibrate) their links are measured "
      "too, and the other figures stay as they were.");
  return command;
}

}  // namespace

int run_tessera(const std::vector<std::string>& arguments, const Streams& streams) {
  if (!arguments.empty() && arguments[0] == kLaunchProcess)
    return launch_process({arguments.begin() + 1, arguments.end()}, streams.err);
  CLI::App app("Tessera: sharded computations on meshes of devices", "tessera");
  app.set_version_flag("--version", "tessera " TESSERA_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Devices are those of --devices, else of the environment variable TESSERA_DEVICES.\n"
      "Exit codes: 0 done, 1 wrong input, 2 wrong command line, 3 a bug of Tessera's.");
  std::function<void()> command;

  std::string spec;
  CLI::App* devices =
      app.add_subcommand("devices", "Print the devices and the mesh that is made of them");
  devices->add_option("SPEC", spec, kSpecHelp);
  devices->callback([&] { command = [&] { show_devices(spec, streams.out); }; });

  RunOptions run;
  add_run(app, run)->callback([&] { command = [&] { run_file(run, streams); }; });

  ExplainOptions explain;
  add_explain(app, explain)->callback([&] { command = [&] { explain_file(explain, streams); }; });

  RunOptions transform_run;
  EmitOptions emit;
  TransformOptions transform;
  CLI::App* grad = app.add_subcommand(
      "grad", "Print or run the gradient of a program's scalar result by its arguments");
  add_transform_options(*grad, transform_run, emit);
  add_grad_options(*grad, transform);
  CLI::App* vmap = app.add_subcommand("vmap", "Print or run a program over a batch");
  add_transform_options(*vmap, transform_run, emit);
  add_vmap_options(*vmap, transform);
  for (CLI::App* sub : {grad, vmap})
    sub->callback([&, sub] {
      command = [&, sub] {
        transform_file(sub->get_name(), transform, transform_run, emit, streams);
      };
    });

  CheckOptions check;
  add_check(app, check)->callback([&] { command = [&] { check_file(check, streams); }; });

  LaunchOptions launch_options;
  int status = 0;  // the exit status of a program that a command runs
  CLI::App* launch_app = app.add_subcommand(
      "launch", "Run a program in several processes, and again where one of them dies");
  add_launch_options(*launch_app, launch_options);
  launch_app->callback([&] { command = [&] { status = launch(launch_options, streams); }; });

  CalibrateOptions calibrate_options;
  add_calibrate(app, calibrate_options)->callback([&] {
    command = [&] { calibrate(calibrate_options, streams); };
  });

  AuditOptions audit;
  CLI::App* privacy_app =
      app.add_subcommand("privacy", "What concerns differentially private training");
  privacy_app->require_subcommand(1);
  add_audit_options(*privacy_app, audit)->callback([&] {
    command = [&] { show_audit(audit, streams.out); };
  });

  app.add_subcommand(
         "tour",
         "Run the tutorial \"Introduction to sharded computation\" on eight emulated TPU cores")
      ->callback([&] { command = [&] { tour(streams.out); }; });

  std::vector<std::string> own = arguments;
  if (!own.empty() && own[0] == "launch") take_program(own, launch_options);
  const int code = guarded(app, std::move(own), streams, [&] { command(); });
  return code == 0 ? status : code;
}

int run_tessera_opt(const std::vector<std::string>& arguments, const Streams& streams) {
  CLI::App app("Reads StableHLO as text or bytecode, runs passes and prints the program after them",
               "tessera-opt");
  app.set_version_flag("--version", "tessera-opt " TESSERA_VERSION);
  OptOptions options;
  app.add_option("FILE", options.file, "The program; - reads it from the standard input")
      ->required();
  app.add_option("--passes", options.passes, "Passes, in order: " + pass_names())->delimiter(',');
  app.add_option("--devices", options.devices, kSpecHelp);
  add_shapes(app, options.shapes);
  add_emit_options(app, options.emit);
  add_grad_options(app, options.transforms);
  add_vmap_options(app, options.transforms);
  app.add_flag("--timings", options.timings, "Print what each pass took");
  app.footer(
      "fuse ends in a schedule; every other pass in StableHLO text. Without passes the program is "
      "read, verified and printed.");
  return guarded(app, arguments, streams, [&] { optimize_file(options, streams); });
}

}  // namespace tessera::tools
