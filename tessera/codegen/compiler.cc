#include "tessera/codegen/compiler.h"

#include <llvm/Config/llvm-config.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "tessera/base/fork.h"
#include "tessera/base/thread_pool.h"
#include "tessera/codegen/canonical.h"
#include "tessera/codegen/emitter.h"
#include "tessera/codegen/machine_code/disk_cache.h"
#include "tessera/codegen/machine_code/kernel_cache.h"
#include "tessera/codegen/machine_code/library_gate.h"
#include "tessera/codegen/machine_code/linker.h"
#include "tessera/codegen/machine_code/object_code.h"

namespace tessera::codegen {

struct KernelCompiler::Impl {
  explicit Impl(const CompilerOptions& options)
      : target(options.target ? *options.target : host_target()),
        emitter(target),
        disk(options.cache_dir ? *options.cache_dir : default_cache_dir(), default_cache_bytes()),
        key_prefix(fmt::format("codegen {} LLVM {} {} {}\n", TESSERA_CODEGEN_VERSION,
                               LLVM_VERSION_STRING, target.cpu, target.features)) {}

  Target target;
  mutable ObjectEmitter emitter;
  Linker linker;
  DiskCache disk;
  // The part of the disk cache's key that does not depend on the kernel: all else that object code
  // depends on.
  std::string key_prefix;
  mutable ForkSafeMutex mutex{ForkParticipant::Level::kKernels};
  KernelCache known{kMaxKernels};
  CompilerStatistics statistics;

  // One function to compile: its text, and the function that makes its object code.
  struct Unit {
    std::string text;
    std::function<std::string(const char* symbol)> emit;
  };
  KernelCode build(const Unit& unit);
  std::vector<KernelCode> compile(const std::vector<Unit>& units);
};

KernelCode KernelCompiler::Impl::build(const Unit& unit) {
  static constexpr const char* kSymbol = "kernel";
  const auto start = std::chrono::steady_clock::now();
  const std::string key = key_prefix + unit.text;
  KernelCode code;
  const std::optional<std::string> stored = disk.load(key);
  if (stored) {
    try {
      code = linker.link(*stored, kSymbol);
    } catch (const RuntimeError&) {
      // The object code is intact, but this process cannot link it. It is compiled again below.
    }
  }
  const bool compiled = !code.fn;
  if (compiled) {
    std::string object = unit.emit(kSymbol);
    code = linker.link(object, kSymbol);
    disk.store(key, std::move(object));
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::lock_guard lock(mutex);
  ++(compiled ? statistics.compiled : statistics.from_disk);
  statistics.seconds += spent.count();
  return code;
}

KernelCompiler::KernelCompiler(CompilerOptions options) : impl_(std::make_unique<Impl>(options)) {}
KernelCompiler::~KernelCompiler() = default;

KernelCompiler& KernelCompiler::process() {
  static KernelCompiler* const compiler = [] {
    auto* made = new KernelCompiler();
    // At exit, pending writes are finished and LLVM is closed; the compiler itself is never
    // destroyed.
    std::atexit([] {
      LibraryGate::process().close();
      process().flush();
    });
    return made;
  }();
  return *compiler;
}

KernelCode KernelCompiler::compile(const Kernel& kernel) {
  const Kernel* const one = &kernel;
  return compile(std::span(&one, 1))[0];
}

std::vector<KernelCode> KernelCompiler::compile(std::span<const Kernel* const> kernels) {
  std::vector<Impl::Unit> units;
  for (const Kernel* kernel : kernels) {
    verify(*kernel);
    auto form = std::make_shared<const Kernel>(canonical(*kernel));
    units.push_back({to_string(*form), [this, form](const char* symbol) {
                       return impl_->emitter.emit(*form, symbol, ObjectEmitter::Output::kObject);
                     }});
  }
  return impl_->compile(units);
}

std::vector<KernelCode> KernelCompiler::compile(std::span<const Routine> routines) {
  std::vector<Impl::Unit> units;
  for (const Routine& routine : routines)
    units.push_back({to_string(routine), [this, &routine](const char* symbol) {
                       return impl_->emitter.emit(routine, symbol, ObjectEmitter::Output::kObject);
                     }});
  return impl_->compile(units);
}

std::vector<KernelCode> KernelCompiler::Impl::compile(const std::vector<Unit>& units) {
  struct Job {
    const Unit* unit;
    KernelCode code;
    std::exception_ptr error;
  };
  std::vector<Job> jobs;
  std::unordered_map<std::string_view, size_t> job_of;
  std::vector<KernelCode> codes;
  for (const Unit& unit : units) {
    std::lock_guard lock(mutex);
    codes.push_back(known.find(unit.text));
    if (codes.back().fn || !job_of.emplace(unit.text, jobs.size()).second) {
      ++statistics.from_memory;
      continue;
    }
    jobs.push_back({&unit, {}, nullptr});
  }
  std::atomic<size_t> next{0};
  const LibraryGate::Pass pass;
  run_on_threads(static_cast<int64_t>(jobs.size()), [&] {
    for (size_t i; (i = next++) < jobs.size();) {
      try {
        jobs[i].code = build(*jobs[i].unit);
      } catch (...) {
        jobs[i].error = std::current_exception();
      }
    }
  });
  for (const Job& job : jobs) {
    if (job.error) std::rethrow_exception(job.error);
  }
  std::lock_guard lock(mutex);
  // Another thread may have compiled the same kernel meanwhile; then its code is used.
  for (Job& job : jobs) job.code = known.add(job.unit->text, std::move(job.code));
  for (size_t i = 0; i < codes.size(); ++i)
    if (!codes[i].fn) codes[i] = jobs[job_of.at(units[i].text)].code;
  return codes;
}

void KernelCompiler::clear() {
  std::lock_guard lock(impl_->mutex);
  impl_->known.clear();
}

void KernelCompiler::flush() { impl_->disk.flush(); }

CompilerStatistics KernelCompiler::statistics() const {
  std::lock_guard lock(impl_->mutex);
  CompilerStatistics out = impl_->statistics;
  out.code_bytes = static_cast<int64_t>(impl_->linker.memory().used_bytes());
  return out;
}

std::string KernelCompiler::llvm_ir(const Kernel& kernel) const {
  return impl_->emitter.emit(canonical(kernel), "kernel", ObjectEmitter::Output::kIr);
}

std::string KernelCompiler::assembly(const Kernel& kernel) const {
  return impl_->emitter.emit(canonical(kernel), "kernel", ObjectEmitter::Output::kAssembly);
}

std::string KernelCompiler::llvm_ir(const Routine& routine) const {
  return impl_->emitter.emit(routine, "kernel", ObjectEmitter::Output::kIr);
}

std::string KernelCompiler::assembly(const Routine& routine) const {
  return impl_->emitter.emit(routine, "kernel", ObjectEmitter::Output::kAssembly);
}

int64_t split_unit(const Kernel& kernel) {
  if (kernel.vectorize == Kernel::Vectorize::kInner) return 1;
  return 1024;
}

}  // namespace tessera::codegen
