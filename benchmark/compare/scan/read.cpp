// SPDX-License-Identifier: BSL-1.0
// The system call, again and again, with the buffer that cat(1) uses.
#include "measure/competitor.hpp"

#include <memory>

int main(int argc, char** argv) {
  constexpr std::size_t length = 128 * 1024;
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_RDONLY);
  const std::unique_ptr<compare::page[]> buffer(new compare::page[length / compare::block]);
  competitor.in_parallel([&](compare::round& round) {
    std::uint64_t offset = 0;
    ::lseek(file, 0, SEEK_SET);
    while (round.has_next()) {
      const ssize_t bytes = ::read(file, buffer[0].bytes, std::min<std::uint64_t>(length, round.bytes_left()));
      round.scanned(offset, buffer[0].bytes, compare::of_system_call(bytes));
      offset += static_cast<std::uint64_t>(bytes);
    }
  });
}
