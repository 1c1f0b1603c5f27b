// SPDX-License-Identifier: BSL-1.0
// Sixteen threads, each with a write and a sync of its own: the file system's journal commits together what it can.
#include "measure/competitor.hpp"

#include <mutex>
#include <thread>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const int file = competitor.open(O_WRONLY);
  competitor.in_parallel([&](compare::round& round) {
    std::mutex mutex;
    std::uint64_t offset = 0;
    const auto append = [&] {
      char record[100]{};
      for (;;) {
        std::uint64_t at;
        {
          const std::lock_guard lock(mutex);
          if (!round.has_next()) return;
          round.next_record();
          at = offset;
          offset = (offset + sizeof record) % (competitor.bytes() - sizeof record);
        }
        const ssize_t bytes = ::pwrite(file, record, sizeof record, static_cast<off_t>(at));
        if (bytes != sizeof record || ::fdatasync(file) != 0) compare::fail("thread", std::strerror(errno));
      }
    };
    std::vector<std::thread> threads;
    for (int each = 0; each < 16; ++each) threads.emplace_back(append);
    for (std::thread& each : threads) each.join();
  });
}
