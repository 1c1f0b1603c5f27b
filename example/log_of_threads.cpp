// A log for a program whose threads wait: each append returns when its record is durable, and they share the writes.
#include <qio/shared_log.hpp>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <thread>
#include <vector>

using log_type = qio::shared_log<qio::cached>;

void append_some(log_type& to, int thread) {
  for (int i = 0; i < 10; ++i) {
    const std::string record = "record " + std::to_string(i) + " of thread " + std::to_string(thread);
    const qio::result<std::uint64_t> number = to.append(std::as_bytes(std::span(record)));
    if (!number) return void(std::printf("%s\n", number.error().message().c_str()));
  }
}

int main() {
  std::remove("threads.log");
  const auto ignore = [](const qio::log_record&) { return true; };
  {
    auto log = log_type::open("threads.log", ignore, {.log = {.extent = 1 << 20}}).value();
    qio::sync_directory(".").value();  // the name of a new file
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&log, i] { append_some(log, i); });
    for (std::thread& each : threads) each.join();
    // A checkpoint has what the first 30 records say, so a recovery no longer needs them.
    log.trim(31).value();
  }
  std::uint64_t last = 0;
  const auto replay = [&last](const qio::log_record& each) {
    last = each.number;
    return true;
  };
  const auto log = log_type::open("threads.log", replay);
  std::remove("threads.log");
  return log && last == 40 ? 0 : 1;
}
