// crash_recorder DIRECTORY DRIVE FIRST LAST [without_syncs]: runs the random programs of these seeds
// (crash_program.hpp) in DIRECTORY, one after the other, each in a directory of its own, and marks in the log of the
// drive what has been acknowledged: "program=SEED" and "operations=COUNT", and "end=SEED" when the program has ended.
// See marks_in_log.hpp.
//
// With `without_syncs`, it acknowledges syncs of files that it does not make, which the check must notice.
#include "crash_program.hpp"
#include "marks_in_log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace {

// Makes everything durable that the file system has in memory.
void sync_all() {
  const int here = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (here < 0 || ::syncfs(here) != 0) throw std::system_error(errno, std::system_category(), "syncfs");
  ::close(here);
}

void sync_elsewhere() {
  auto file = qio::cached_file::open("../elsewhere", qio::access::write, qio::creation::if_needed).value();
  file.write_at(file.size().value(), std::as_bytes(std::span("x", 1))).value();
  file.sync().value();
}

int record(const std::filesystem::path& directory, const std::string& drive, std::uint64_t seed, bool syncs) {
  marks_in_log marks(drive);
  const std::filesystem::path own = directory / std::to_string(seed);
  std::filesystem::create_directories(own / "sub");
  std::filesystem::current_path(own);
  sync_all();
  marks.add("program=" + std::to_string(seed));
  const auto program = crash_program::program_of(seed);
  {
    auto context = qio::context::create().value();
    crash_program::player player(context, seed);
    for (std::uint64_t number = 0; number != program.size(); ++number) {
      using crash_program::operation;
      if (program[number].what == operation::sync_elsewhere) sync_elsewhere();
      if (syncs || program[number].what != operation::sync) {
        if (const auto done = player.run(program[number], number); !done) {
          std::printf("program %ju: operation %ju failed: %s: %s\n", std::uintmax_t{seed}, std::uintmax_t{number},
                      text_of(program[number]).c_str(), done.error().message().c_str());
          return 1;
        }
      }
      marks.add("operations=" + std::to_string(number + 1));
    }
  }
  sync_all();
  marks.add("end=" + std::to_string(seed));
  std::filesystem::current_path(directory);
  std::filesystem::remove_all(own);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const bool syncs = count == 5;
  if (!syncs && (count != 6 || arguments[5] != std::string_view("without_syncs"))) {
    std::fprintf(stderr, "usage: %s DIRECTORY DRIVE FIRST LAST [without_syncs]\n", arguments[0]);
    return 2;
  }
  for (std::uint64_t seed = std::stoull(arguments[3]); seed <= std::stoull(arguments[4]); ++seed)
    if (record(arguments[1], arguments[2], seed, syncs) != 0) return 1;
  return 0;
}
