// Runs the tests on eight devices, which all started processes share.
#include <cstdlib>
#include <iostream>

#include "tests/cluster/recorded.h"

namespace tessera {
namespace {

// Prints the failures of a process other than 0, whose results are not counted.
class FailurePrinter : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    name_ = std::string(test.test_suite_name()) + '.' + test.name();
  }
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed())
      std::cerr << "process " << process_index() << ": " << name_ << ": "
                << (result.file_name() ? result.file_name() : "") << ':' << result.line_number()
                << ": " << result.message() << std::endl;
  }
  // The name is kept because GoogleTest must not be asked for it while a result is added.
  std::string name_;
};

int run() {
  initialize({.devices = "cpu:8",
              .cluster = Cluster::mpi({.share_devices = true, .watchdog_seconds = 100})});
  // tests/cluster/run sets this. Otherwise processes that do not find each other would all pass,
  // each by itself.
  const char* expected = std::getenv("TESSERA_CLUSTER_COUNT");
  if (!expected || std::to_string(process_count()) != expected) {
    std::cerr << "expected " << (expected ? expected : "TESSERA_CLUSTER_COUNT")
              << " processes, got " << process_count() << "; start by tests/cluster/run\n";
    return 1;
  }
  if (process_index() != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter);
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return tessera::run();
}
