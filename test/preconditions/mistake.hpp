// Programs that make one mistake, which ends them with a line that names it. Exit status: 3 if it did, 0 if nothing
// happened.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

inline std::vector<std::pair<const char*, void (*)()>>& mistakes() {
  static std::vector<std::pair<const char*, void (*)()>> all;
  return all;
}

// MISTAKE("what is done", "what the program then says"): CMakeLists.txt reads both, each pair on one line.
#define MISTAKE(name, sentence) MISTAKE_AT(name, sentence, __LINE__)
#define MISTAKE_AT(name, sentence, line) MISTAKE_NAMED(name, sentence, line)
#define MISTAKE_NAMED(name, sentence, line)                                              \
  void mistake_##line();                                                                 \
  const bool registered_##line = (mistakes().emplace_back(name, &mistake_##line), true); \
  void mistake_##line()

int main(int count, char** arguments) {
  // No core dump for each mistake; and CTest counts a signal as a failure.
  std::signal(SIGABRT, [](int) { std::_Exit(3); });
  for (const auto& [name, make] : mistakes()) {
    if (count != 2 || std::strcmp(name, arguments[1]) != 0) continue;
    make();
    std::puts("nothing happened");
    return 0;
  }
  std::puts("no such mistake");
  return 2;
}
