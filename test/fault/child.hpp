// A part of a test that changes what cannot be changed back (filters, limits), in a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <exception>

namespace fault {

/// Runs `body` in a child. 0 if it answered 0, the number it answered, or the negated signal that ended it.
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

}  // namespace fault
