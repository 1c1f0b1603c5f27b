// Runs a part of a test in a child process, because its changes (filters, limits) cannot be undone.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <exception>
#include <string>

namespace fault {

/// Runs `body` in a child process. Returns what `body` returned, or the negated signal that ended it.
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

/// What `body` prints to standard error in a child that ends by abort(): the sentence of a failed check. Empty if the
/// child ends in any other way.
template <class Body>
std::string last_words(Body body) {
  int ends[2];
  if (::pipe(ends) != 0) return {};
  const int status = in_child([&] {
    ::dup2(ends[1], STDERR_FILENO);
    std::signal(SIGABRT, SIG_DFL);  // not the test program's own
    body();
    return 0;
  });
  ::close(ends[1]);
  std::string said;
  char part[512];
  for (ssize_t bytes; (bytes = ::read(ends[0], part, sizeof part)) > 0;)
    said.append(part, static_cast<std::size_t>(bytes));
  ::close(ends[0]);
  return status == -SIGABRT ? said : std::string();
}

}  // namespace fault
