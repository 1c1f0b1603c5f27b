// without_io_uring docker|EPERM|ENOSYS|enter|aio PROGRAM ARGUMENT...: runs a program that may not use io_uring, as in a
// container. With "docker", it may make only the system calls that Docker's default profile allows. With "enter", it
// may create a ring, but not use it. With "aio", it may not use Linux AIO either.
#include "forbid.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s docker|EPERM|ENOSYS|enter|aio PROGRAM ARGUMENT...\n", argv[0]);
    return 2;
  }
  const auto is_asked_for = [&](const char* name) { return std::strcmp(argv[1], name) == 0; };
  const int answer = is_asked_for("ENOSYS") ? ENOSYS : EPERM;
  const bool is_denied =
      is_asked_for("docker") ? fault::forbid_as_docker() : fault::forbid_io_uring(answer, is_asked_for("enter"));
  if (!is_denied || (is_asked_for("aio") && !fault::forbid(__NR_io_setup, answer))) {
    std::perror("seccomp");
    return 2;
  }
  ::execvp(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
