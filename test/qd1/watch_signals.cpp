// SPDX-License-Identifier: BSL-1.0
// qd1 watch while somebody reads its output, interrupts it, or takes its file away: on Linux.
#include "platform/file.hpp"
#include "program.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

namespace {

using qio_test::Contains;
using namespace qd1_test;

// A qd1 whose output is a pipe.
class watcher {
 public:
  watcher(const directory& in, std::vector<std::string> arguments) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const std::string errors = in.path.string() + ".err";
    arguments.insert(arguments.begin(), {"qd1", "watch"});
    std::vector<char*> all;
    for (std::string& each : arguments) all.push_back(each.data());
    all.push_back(nullptr);
    process_ = ::fork();
    if (process_ == 0) {
      const int err = ::open(errors.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
      if (::chdir(in.path.c_str()) == 0 && ::dup2(ends[1], STDOUT_FILENO) >= 0 && ::dup2(err, STDERR_FILENO) >= 0)
        ::execv(QD1_PROGRAM, all.data());
      ::_exit(99);
    }
    ::close(ends[1]);
    output_ = ends[0];
    errors_ = errors;
  }
  watcher(const watcher&) = delete;
  watcher& operator=(const watcher&) = delete;
  ~watcher() {
    if (!ended_) {
      ::kill(process_, SIGKILL);
      ::waitpid(process_, nullptr, 0);
    }
    ::close(output_);
    fs::remove(errors_);
  }

  /// Reads until a line holds `part`; false if the output ends before.
  bool read_until(const std::string& part) {
    const auto is_there = [&] {
      const auto at = text_.find(part);
      return at != std::string::npos && text_.find('\n', at) != std::string::npos;
    };
    while (!is_there())
      if (!read_more()) return false;
    return true;
  }
  void signal(int number) const { ::kill(process_, number); }
  /// Reads all that is left, and returns the exit status.
  int finish() {
    while (read_more()) continue;
    int status = 0;
    ::waitpid(process_, &status, 0);
    ended_ = true;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& text() const { return text_; }
  std::string errors() const { return contents(errors_); }

 private:
  bool read_more() {
    std::array<char, 4096> bytes;
    const ssize_t count = ::read(output_, bytes.data(), bytes.size());
    if (count > 0) text_.append(bytes.data(), static_cast<std::size_t>(count));
    return count > 0;
  }

  pid_t process_ = 0;
  int output_ = -1;
  bool ended_ = false;
  std::string text_;
  fs::path errors_;
};

TEST_CASE("each line of a watch reaches a pipe at once, and an interrupted watch prints its summary") {
  const directory here;
  // An hour to the second line: the first is seen only if it is not kept back.
  watcher watch(here, {"--modes", "cached", "--file-size", "1M", "--interval", "1h"});
  REQUIRE(watch.read_until(" µs"));
  watch.signal(SIGINT);
  CHECK(watch.finish() == 130);
  INFO(watch.text() << watch.errors());
  CHECK_THAT(watch.text(), Contains("1 transfer in ") && Contains("min ") && Contains(" IOPS, "));
  CHECK_THAT(watch.text(), !Contains("    2  "));
  CHECK(fs::is_empty(here.path));
}

TEST_CASE("SIGINT, SIGTERM and SIGHUP end qd1 watch, which prints its summary") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    INFO(number);
    const directory here;
    const auto before = std::signal(number, SIG_DFL);  // it may be to ignore it, and a child would inherit that
    watcher watch(here, {"--modes", "cached", "--file-size", "1M", "--interval", "1h"});
    std::signal(number, before);
    REQUIRE(watch.read_until(" µs"));
    watch.signal(number);
    CHECK(watch.finish() == 130);
    CHECK_THAT(watch.text(), Contains("1 transfer in "));
  }
}

TEST_CASE("a hangup that nohup ignores is ignored") {
  const directory here;
  const auto before = std::signal(SIGHUP, SIG_IGN);
  watcher watch(here, {"--modes", "cached", "--file-size", "1M", "--interval", "1ms"});
  std::signal(SIGHUP, before);
  REQUIRE(watch.read_until(" µs"));
  watch.signal(SIGHUP);
  REQUIRE(watch.read_until("   20  "));  // it goes on
  watch.signal(SIGINT);
  CHECK(watch.finish() == 130);
}

TEST_CASE("a file that qd1 made is known again even if the run that made it was killed") {
  const directory here;
  watcher watch(here, {"./data", "--modes", "cached", "--file-size", "1M", "--interval", "1h"});
  REQUIRE(watch.read_until(" µs"));
  watch.signal(SIGKILL);
  CHECK(watch.finish() == -1);
  const std::string path = (here.path / "data").string();
  CHECK(fs::file_size(path) == 1 << 20);
  const std::string other = (here.path / "other").string();
  std::ofstream(other) << "contents";
  qd1::platform::mark_as_made_by_qd1(other);
  if (!qd1::platform::is_made_by_qd1(other)) QIO_SKIP("the file system keeps no marks");
  CHECK(qd1::platform::is_made_by_qd1(path));
}

TEST_CASE("a transfer that fails ends a watch with its offset and what there was until then") {
  const directory here;
  REQUIRE(run_qd1(here, "watch ./data --modes cached --count 1 --interval 1ms --file-size 1M").status == 0);
  watcher watch(here, {"data", "--modes", "cached", "--interval", "10ms"});
  REQUIRE(watch.read_until(" µs"));
  fs::resize_file(here.path / "data", 0);
  CHECK(watch.finish() == 4);
  INFO(watch.text() << watch.errors());
  CHECK_THAT(watch.errors(),
             Contains("qd1: data: read of 4096 bytes at offset ") && Contains(": 0 of 4096 bytes were transferred"));
  CHECK_THAT(watch.text(), Contains("min ") && Contains(" transfer"));
}

TEST_CASE("a watch of reads of holes warns, and its figures are invalid") {
  const directory here;
  std::ofstream(here.path / "sparse") << "begin";
  fs::resize_file(here.path / "sparse", 1 << 20);
  if (qd1::platform::bytes_without_data((here.path / "sparse").string(), 1 << 20).value_or(0) == 0)
    QIO_SKIP("the file system does not report holes");
  const outcome found = run_qd1(here, "watch sparse --modes cached --count 2 --interval 1ms");
  CHECK(found.status == 4);
  CHECK_THAT(unbroken(found.out), Contains("warning: ") && Contains("holes or were never written") &&
                                      Contains("INVALID: ") && Contains("2 transfers"));
}

}  // namespace
