#include "tessera/codegen/compiler.h"

#include <llvm/Config/llvm-config.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "tessera/codegen/canonical.h"
#include "tessera/codegen/disk_cache.h"
#include "tessera/codegen/emit.h"
#include "tessera/codegen/object_code.h"

namespace tessera::codegen {

struct KernelCompiler::Impl {
  explicit Impl(const CompilerOptions& options)
      : target(options.target ? *options.target : host_target()),
        emitter(target),
        disk(options.cache_dir ? *options.cache_dir : default_cache_dir()),
        key_prefix(fmt::format("codegen {} LLVM {} {} {}\n", TESSERA_CODEGEN_VERSION,
                               LLVM_VERSION_STRING, target.cpu, target.features)) {}

  Target target;
  mutable ObjectEmitter emitter;
  Linker linker;
  DiskCache disk;
  std::string key_prefix;  // of the cache on disk: all but the kernel that object code depends on
  mutable std::mutex mutex;
  std::unordered_map<std::string, KernelFn> known;  // by canonical text
  CompilerStatistics statistics;

  // What is to be compiled: its text, and what makes its object code.
  struct Unit {
    std::string text;
    std::function<std::string(const char* symbol)> emit;
  };
  KernelFn build(const Unit& unit);
  std::vector<KernelFn> compile(std::vector<Unit> units);
};

KernelFn KernelCompiler::Impl::build(const Unit& unit) {
  static constexpr const char* kSymbol = "kernel";
  const auto start = std::chrono::steady_clock::now();
  const std::string key = key_prefix + unit.text;
  void* address = nullptr;
  const std::optional<std::string> stored = disk.load(key);
  if (stored) {
    try {
      address = linker.link(*stored, kSymbol);
    } catch (const RuntimeError&) {
      // Intact, but not what this process can link: replaced below.
    }
  }
  const bool compiled = !address;
  if (compiled) {
    std::string object = unit.emit(kSymbol);
    address = linker.link(object, kSymbol);
    disk.store(key, std::move(object));
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  std::lock_guard lock(mutex);
  ++(compiled ? statistics.compiled : statistics.from_disk);
  statistics.seconds += spent.count();
  return reinterpret_cast<KernelFn>(address);
}

KernelCompiler::KernelCompiler(CompilerOptions options) : impl_(std::make_unique<Impl>(options)) {}
KernelCompiler::~KernelCompiler() = default;

KernelCompiler& KernelCompiler::process() {
  static KernelCompiler* const compiler = [] {
    auto* made = new KernelCompiler();
    // The compiler outlives everything; what it has yet to write does not.
    std::atexit([] { process().flush(); });
    return made;
  }();
  return *compiler;
}

KernelFn KernelCompiler::compile(const Kernel& kernel) {
  const Kernel* const one = &kernel;
  return compile(std::span(&one, 1))[0];
}

std::vector<KernelFn> KernelCompiler::compile(std::span<const Kernel* const> kernels) {
  std::vector<Impl::Unit> units;
  for (const Kernel* kernel : kernels) {
    verify(*kernel);
    auto form = std::make_shared<const Kernel>(canonical(*kernel));
    units.push_back({to_string(*form), [this, form](const char* symbol) {
                       return impl_->emitter.emit(*form, symbol, ObjectEmitter::Output::kObject);
                     }});
  }
  return impl_->compile(std::move(units));
}

std::vector<KernelFn> KernelCompiler::compile(std::span<const Routine> routines) {
  std::vector<Impl::Unit> units;
  for (const Routine& routine : routines)
    units.push_back({to_string(routine), [this, &routine](const char* symbol) {
                       return impl_->emitter.emit(routine, symbol, ObjectEmitter::Output::kObject);
                     }});
  return impl_->compile(std::move(units));
}

std::vector<KernelFn> KernelCompiler::Impl::compile(std::vector<Unit> units) {
  struct Job {
    const Unit* unit;
    KernelFn fn = nullptr;
    std::exception_ptr error;
  };
  std::vector<Job> jobs;
  std::unordered_set<std::string> waiting;
  for (const Unit& unit : units) {
    std::lock_guard lock(mutex);
    if (known.count(unit.text) || !waiting.insert(unit.text).second) {
      ++statistics.from_memory;
      continue;
    }
    jobs.push_back({&unit, nullptr, nullptr});
  }
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < jobs.size();) {
      try {
        jobs[i].fn = build(*jobs[i].unit);
      } catch (...) {
        jobs[i].error = std::current_exception();
      }
    }
  };
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (size_t t = 1; t < std::min(cores, jobs.size()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (const Job& job : jobs) {
    if (job.error) std::rethrow_exception(job.error);
  }
  std::lock_guard lock(mutex);
  // Another thread may have compiled the same kernel meanwhile; the first stays.
  for (const Job& job : jobs) known.emplace(job.unit->text, job.fn);
  std::vector<KernelFn> functions;
  for (const Unit& unit : units) functions.push_back(known.at(unit.text));
  return functions;
}

void KernelCompiler::flush() { impl_->disk.flush(); }

CompilerStatistics KernelCompiler::statistics() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->statistics;
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
