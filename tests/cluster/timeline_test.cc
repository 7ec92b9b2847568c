#include "tessera/cluster/timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace tessera::cluster::timeline_test {
namespace {

TEST(Timeline, IsChromesTraceFormat) {
  Timeline timeline;
  timeline.add(Timeline::Kind::kStep, "dot {4} . {4}", 1'000'002'003, 1'000'004'003);
  timeline.add(Timeline::Kind::kTransfer, "all_reduce over ('x') for \"f\\g\"", 5'000, 7'001);
  timeline.add(Timeline::Kind::kWait, "all_reduce", 6'000, 7'000);
  EXPECT_EQ(timeline.text(3),
            R"({"displayTimeUnit":"ms","otherData":{"dropped":0},"traceEvents":[
{"name":"process_name","ph":"M","pid":3,"tid":0,"args":{"name":"process 3"}},
{"name":"dot {4} . {4}","pid":3,"tid":0,"cat":"step","ph":"X","ts":1000002.003,"dur":2.000},
{"name":"all_reduce over ('x') for \"f\\g\"","pid":3,"tid":1,"cat":"transfer","id":1,"ph":"b","ts":5.000},
{"name":"all_reduce over ('x') for \"f\\g\"","pid":3,"tid":1,"cat":"transfer","id":1,"ph":"e","ts":7.001},
{"name":"all_reduce","pid":3,"tid":0,"cat":"wait","ph":"X","ts":6.000,"dur":1.000}
]}
)");
}

TEST(Timeline, IsNotKeptUnlessAskedFor) {
  EXPECT_EQ(Timeline::current() != nullptr, std::getenv("TESSERA_TRACE") != nullptr);
}

}  // namespace
}  // namespace tessera::cluster::timeline_test
