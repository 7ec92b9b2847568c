// Tests tessera launch by calling the program, because it starts itself again for each process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/tools/command_fixture.h"

namespace tessera::tools::launch_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Launch : public CommandTest {
 protected:
  void SetUp() override {
    CommandTest::SetUp();
    if (std::system("mpirun --version > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "there is no mpirun; scripts/setup installs Open MPI";
  }
  // Writes a shell script that can be executed, and returns its path.
  std::string script(const std::string& name, const std::string& text) const {
    const std::string file = write(name, "#!/bin/bash\n" + text);
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    return file;
  }
  // Returns the exit status and the output of both streams.
  std::pair<int, std::string> shell(const std::string& command) const {
    const int waited = std::system((command + " > " + path("said") + " 2>&1").c_str());
    return {WIFEXITED(waited) ? WEXITSTATUS(waited) : 128 + WTERMSIG(waited), read("said")};
  }
  std::pair<int, std::string> launch(const std::string& arguments) const {
    return shell(TESSERA_TOOL " launch " + arguments);
  }
  std::string read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  int64_t lines(const std::string& name) const {
    const std::string text = read(name);
    return std::count(text.begin(), text.end(), '\n');
  }
  // Returns whether there is a sleep process with these arguments.
  bool lives(const std::string& words) const {
    return std::system(("pgrep -f '^[a-z/]*/sleep " + words + "' > /dev/null").c_str()) == 0;
  }
};

TEST_F(Launch, EachProcessRunsTheProgramWithItsArguments) {
  const std::string program =
      script("all",
             "echo \"$OMPI_COMM_WORLD_RANK of $OMPI_COMM_WORLD_SIZE: $1 '$2' $TESSERA_CLUSTER "
             "$TESSERA_NUM_THREADS\" >> " +
                 path("lines") + "\n");
  const auto [status, said] =
      launch("-n 3 --per-process-threads 2 -- " + program + " --restarts 'two words'");
  EXPECT_EQ(status, 0) << said;
  EXPECT_EQ(lines("lines"), 3);
  EXPECT_THAT(read("lines"), AllOf(HasSubstr("2 of 3: --restarts 'two words' mpi:whole 2")));
}

TEST_F(Launch, TheEnvironmentsClusterIsKept) {
  const std::string program = script("all", "echo $TESSERA_CLUSTER >> " + path("lines") + "\n");
  EXPECT_EQ(shell("TESSERA_CLUSTER=mpi " TESSERA_TOOL " launch -n 2 -- " + program).first, 0);
  EXPECT_EQ(read("lines"), "mpi\nmpi\n");
}

TEST_F(Launch, ItsExitStatusIsTheProgramsAndItSaysWhichProcessEndedHow) {
  const auto failed = launch(
      "-n 2 -- " + script("fails", "[ $OMPI_COMM_WORLD_RANK = 0 ] || exit 7; exec sleep 20\n"));
  EXPECT_EQ(failed.first, 7);
  EXPECT_THAT(failed.second,
              AllOf(HasSubstr("[launch] process 1 ("), HasSubstr("ended with exit status 7"),
                    HasSubstr("the program failed with 7")));
  const auto killed = launch(
      "-n 2 -- " + script("dies", "[ $OMPI_COMM_WORLD_RANK = 1 ] || kill -9 $$; exec sleep 20\n"));
  EXPECT_EQ(killed.first, 137);
  EXPECT_THAT(killed.second,
              AllOf(HasSubstr("[launch] process 0 ("), HasSubstr("died of signal 9 (Killed)")));
  // mpirun of Open MPI 5 does not pass on what the others write after it has told them to end.
  if (shell("mpirun --version").second.find("(Open MPI) 4") != std::string::npos) {
    EXPECT_THAT(killed.second, HasSubstr("was told to end"));
  }
}

TEST_F(Launch, AllStartAgainWhereOneDies) {
  // The second start is the last one that fails.
  const std::string program = script(
      "twice", "[ $OMPI_COMM_WORLD_RANK = 0 ] || exec sleep 1\necho start >> " + path("starts") +
                   "\n[ $(wc -l < " + path("starts") + ") -gt 2 ] || kill -9 $$\n");
  const auto good = launch("-n 2 --restarts 5 --pause 0.05 -- " + program);
  EXPECT_EQ(good.first, 0) << good.second;
  EXPECT_EQ(lines("starts"), 3);
  EXPECT_THAT(good.second, AllOf(HasSubstr("start again in 0.05 s (restart 1 of 5)"),
                                 HasSubstr("all 2 processes ended well, after 2 restarts")));
  const auto bad = launch("-n 1 --restarts 2 --pause 0 -- " + script("never", "exit 3\n"));
  EXPECT_EQ(bad.first, 3);
  EXPECT_THAT(bad.second, HasSubstr("it was started again 2 times"));
}

TEST_F(Launch, SignalsAreTheProgramsAndNothingIsLeftBehind) {
  for (const int number : {SIGTERM, SIGINT, SIGKILL}) {
    // No other sleep has this length.
    const std::string seconds = std::to_string(100000 + getpid()) + "." + std::to_string(number);
    const std::string name = number == SIGTERM ? "TERM" : number == SIGINT ? "INT" : "KILL";
    const auto [status, said] =
        shell("(trap - INT; " TESSERA_TOOL " launch -n 2 --restarts 3 -- sleep " + seconds +
              " & launch=$!; "
              "for i in $(seq 200); do [ $(pgrep -fc '^[a-z/]*/sleep " +
              seconds +
              "') -ge 2 ] && break; sleep 0.05; done; "
              "kill -" +
              name + " $launch; wait $launch)");
    EXPECT_EQ(status, 128 + number) << said;
    EXPECT_THAT(said, Not(HasSubstr("start again")));
    for (int k = 0; k < 100 && lives(seconds); ++k)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(lives(seconds)) << name;
  }
}

TEST_F(Launch, OptionsAfterMpiAreMpiruns) {
  const std::string program = script("all", "echo $MARK >> " + path("lines") + "\n");
  EXPECT_EQ(launch("-n 2 --mpi -x MARK=here -- " + program).first, 0);
  EXPECT_EQ(read("lines"), "here\nhere\n");
  const auto hosts =
      launch("-n 2 --hostfile " + write("hosts", "localhost slots=2\n") + " -- true");
  EXPECT_EQ(hosts.first, 0) << hosts.second;
}

// This mpirun behaves as if its daemon on another host no longer answered.
TEST_F(Launch, AnMpirunThatDoesNotEndIsKilled) {
  const std::string mpirun =
      script("mpirun",
             "[ \"$1\" != --version ] || { echo 'mpirun (Open MPI) 4'; exit; }\n"
             "while [[ $1 != */tessera ]]; do shift; done\n"
             "export OMPI_COMM_WORLD_RANK=0\n\"$@\"\nexec sleep 123\n");
  const std::string program = script("fails", "exit 3\n");
  const auto [status, said] = shell("TMPDIR=" + path("") + " PATH=" + path("") +
                                    ":$PATH " TESSERA_TOOL " launch -n 1 -- " + program);
  EXPECT_EQ(status, 128 + SIGKILL) << said;
  EXPECT_THAT(said, AllOf(HasSubstr("ended with exit status 3"),
                          HasSubstr("expected mpirun to end when a process has failed, got nothing "
                                    "for 10 s: a host may not answer; mpirun is killed")));
  EXPECT_FALSE(lives("123"));
  EXPECT_EQ(std::system(("ls -d " + path("tessera-launch-*") + " > /dev/null 2>&1").c_str()) == 0,
            false)
      << "the mark's folder is left behind";
}

TEST_F(Launch, Errors) {
  const auto said = [](const std::vector<std::string>& arguments) {
    const Outcome o = tessera_command(arguments);
    EXPECT_EQ(o.code, 1) << o.err;
    return o.err;
  };
  EXPECT_THAT(said({"launch", "-n", "2"}),
              HasSubstr("[launch] expected a program after `--`, got none"));
  EXPECT_THAT(said({"launch", "-n", "2", "--"}), HasSubstr("got none"));
  EXPECT_THAT(said({"launch", "-n", "0", "--", "true"}), HasSubstr("at least 1 process, got -n 0"));
  EXPECT_THAT(said({"launch", "-n", "1", "--restarts", "-1", "--", "true"}), HasSubstr("got -1"));
  EXPECT_THAT(said({"launch", "-n", "1", "--per-process-threads", "-1", "--", "true"}),
              HasSubstr("at least 1 thread"));
  EXPECT_THAT(said({"launch", "-n", "1", "--pause", "-1", "--", "true"}), HasSubstr("got -1"));
  EXPECT_THAT(said({"launch", "-n", "1", "--hostfile", path("none"), "--", "true"}),
              HasSubstr("No such file"));
  EXPECT_THAT(said({"launch", "-n", "1", "--", path("none")}), HasSubstr("which is not there"));
  EXPECT_THAT(said({"launch", "-n", "1", "--", write("text", "")}), HasSubstr("which is none"));
  const std::string kept = std::getenv("PATH");
  setenv("PATH", path("").c_str(), 1);
  EXPECT_THAT(said({"launch", "-n", "1", "--", "/bin/true"}), HasSubstr("install openmpi-bin"));
  script("mpirun", "echo mpirun of MPICH\n");
  EXPECT_THAT(said({"launch", "-n", "1", "--", "/bin/true"}),
              HasSubstr("which says `mpirun of MPICH`"));
  setenv("PATH", kept.c_str(), 1);
  EXPECT_EQ(tessera_command({"launch", "--", "true"}).code, 2);  // -n is required
  EXPECT_EQ(tessera_command({"launch-process", "true"}).code, 2);
}

}  // namespace
}  // namespace tessera::tools::launch_test
