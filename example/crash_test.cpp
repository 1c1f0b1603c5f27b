// A journal whose records survive every crash, and its test: 300 runs on a simulated disk that loses power at some
// point.
#include <qio/engine/simulated.hpp>
#include <qio/qio.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

// A template over the engine, so that the tested code is the code in use.
template <class Engine>
class journal {
 public:
  explicit journal(const qio::basic_context<Engine>& context)
      : file_(qio::cached_file::open(context, "journal", qio::access::read_write, qio::creation::if_needed).value()) {}

  // The value is durable when this returns true.
  qio::task<bool> append(std::uint64_t value) {
    const record next{value, check(value)};
    std::array<std::byte, sizeof next> bytes;
    std::memcpy(bytes.data(), &next, sizeof next);
    if (!co_await file_.async_write_at(count_ * sizeof next, bytes)) co_return false;
    if (!co_await file_.async_sync(qio::sync_kind::data_and_size)) co_return false;
    ++count_;
    co_return true;
  }

  // Counts the records up to the first that is missing or incomplete.
  qio::task<std::uint64_t> recover() {
    for (;;) {
      record found{};
      std::array<std::byte, sizeof found> bytes;
      const auto read = co_await file_.async_read_at(count_ * sizeof found, bytes);
      if (!read || read.value() != sizeof found) co_return count_;
      std::memcpy(&found, bytes.data(), sizeof found);
      if (found.value != count_ || found.checksum != check(found.value)) co_return count_;
      ++count_;
    }
  }

 private:
  struct record {
    std::uint64_t value;
    std::uint64_t checksum;
  };
  static std::uint64_t check(std::uint64_t value) { return (value + 1) * 0x9e3779b97f4a7c15u; }

  qio::async_file<qio::cached, Engine> file_;
  std::uint64_t count_ = 0;
};

// Appends until the power fails. Returns the number of records that were acknowledged as durable.
std::uint64_t append_until_crash(qio::simulated_disk& disk) {
  auto context = qio::basic_context<qio::simulated>::create({.disk = &disk}).value();
  journal log(context);
  if (!disk.sync_directory(".")) return 0;
  disk.cut_power_after(disk.seed() % 100);
  std::uint64_t acknowledged = 0;
  while (context.run(log.append(acknowledged))) ++acknowledged;
  return acknowledged;
}

int main() {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    qio::simulated_disk disk({.seed = seed, .short_transfers = 0.1, .interruptions = 0.1});
    const std::uint64_t acknowledged = append_until_crash(disk);
    disk.restart();
    auto context = qio::basic_context<qio::simulated>::create({.disk = &disk}).value();
    const std::uint64_t found = context.run(journal(context).recover());
    if (found < acknowledged) {
      std::printf("seed %llu: %llu records were acknowledged, %llu survived\n", static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(acknowledged), static_cast<unsigned long long>(found));
      return 1;
    }
  }
  std::printf("300 crashes, nothing lost\n");
}
