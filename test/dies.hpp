// Programs that are meant to end with one line that names a mistake.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <string>

namespace qio_test {

/// How a child process ended that ran `body`: its exit status or the negated signal, and what it wrote to stderr.
struct ending {
  int status = 0;
  std::string said;
};

template <class Body>
ending in_child(Body body) {
  std::array<int, 2> pipe;
  if (::pipe(pipe.data()) != 0) return {-1, "no pipe"};
  const pid_t child = ::fork();
  if (child == 0) {
    // The test's own handlers would report the end as a failure of the test.
    for (const int each : {SIGABRT, SIGSEGV}) std::signal(each, SIG_DFL);
    ::dup2(pipe[1], STDERR_FILENO);
    ::_exit(body());
  }
  ::close(pipe[1]);
  ending found;
  std::array<char, 4096> part;
  for (ssize_t bytes; (bytes = ::read(pipe[0], part.data(), part.size())) > 0;)
    found.said.append(part.data(), static_cast<std::size_t>(bytes));
  ::close(pipe[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  found.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return found;
}

}  // namespace qio_test
