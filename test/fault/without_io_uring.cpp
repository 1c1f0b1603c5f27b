// without_io_uring EPERM|ENOSYS|enter|aio PROGRAM ARGUMENT...: runs a program that may not use io_uring, as in a
// container. With "enter", it may create a ring, but not use it. With "aio", it may not use Linux AIO either.
#include "forbid.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s EPERM|ENOSYS|enter|aio PROGRAM ARGUMENT...\n", argv[0]);
    return 2;
  }
  const bool only_enter = std::strcmp(argv[1], "enter") == 0;
  const int answer = std::strcmp(argv[1], "ENOSYS") == 0 ? ENOSYS : EPERM;
  const bool also_aio = std::strcmp(argv[1], "aio") == 0;
  if (!fault::forbid_io_uring(answer, only_enter) || (also_aio && !fault::forbid(__NR_io_setup, answer))) {
    std::perror("seccomp");
    return 2;
  }
  ::execvp(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
