// SPDX-License-Identifier: BSL-1.0
// qio: sixteen threads that append to one log, each of which waits.
#include "measure/qio.hpp"
#include <qio/shared_log.hpp>

#include <array>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  const std::string path = std::string(competitor.path()) + ".log." + std::to_string(::getpid());
  const auto accept = [](const qio::log_record&) { return true; };
  auto log =
      compare::direct_or_none(qio::shared_log<qio::direct>::open(path, accept, {.how = qio::creation::always_new}));
  ::unlink(path.c_str());
  competitor.in_parallel([&](compare::round& round) {
    std::mutex mutex;
    const auto append = [&] {
      std::array<std::byte, 100> record{};
      for (;;) {
        {
          const std::lock_guard lock(mutex);
          if (!round.has_next()) return;
          round.next_record();
        }
        if (!log.append(record)) compare::fail("thread", "an append failed");
      }
    };
    std::vector<std::thread> threads;
    for (int each = 0; each < 16; ++each) threads.emplace_back(append);
    for (std::thread& each : threads) each.join();
  });
}
