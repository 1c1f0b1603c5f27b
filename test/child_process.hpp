// Runs a part of a test in a child process: what ends the process, or what cannot be undone (filters, limits).
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <exception>
#include <string>

namespace qio_test {

/// Runs `body` in a child process. Returns what `body` returned (99 if it threw), or the negated signal that ended it.
template <class Body>
int in_child(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    int answer = 99;
    try {
      answer = body();
    } catch (const std::exception&) {}
    ::_exit(answer);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// How a child process ended: as in_child() returns it, and what it wrote to standard error.
struct ending {
  int status = 0;
  std::string said;
};

template <class Body>
ending ending_of(Body body) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return {-1, "no pipe"};
  ending found;
  found.status = in_child([&] {
    // The test program's own handlers would report the end as a failure of the test.
    for (const int each : {SIGABRT, SIGSEGV}) std::signal(each, SIG_DFL);
    ::dup2(ends[1], STDERR_FILENO);
    return body();
  });
  ::close(ends[1]);
  std::array<char, 4096> part{};
  for (ssize_t bytes; (bytes = ::read(ends[0], part.data(), part.size())) > 0;)
    found.said.append(part.data(), static_cast<std::size_t>(bytes));
  ::close(ends[0]);
  return found;
}

/// What `body` prints to standard error in a child that ends by abort(): the sentence of a failed check. Empty if the
/// child ends in any other way.
template <class Body>
std::string last_words(Body body) {
  const ending found = ending_of([&] {
    body();
    return 0;
  });
  return found.status == -SIGABRT ? found.said : std::string();
}

}  // namespace qio_test
