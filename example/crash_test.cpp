// A journal whose records survive every crash, and its test: on a simulated disk that loses power at every point, in
// every state that this may leave.
#include <qio/explore_crashes.hpp>
#include <qio/qio.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

// A template over the engine, so that the tested code is the code in use. Record n is the number n + 1. It lies within
// a sector, which is written whole or not at all; longer records need a checksum.
template <class Engine>
class journal {
 public:
  explicit journal(const qio::basic_context<Engine>& context)
      : file_(qio::cached_file::open(context, "journal", qio::access::read_write, qio::creation::if_needed).value()) {}

  // True: the next record is durable.
  qio::task<bool> append() {
    const std::array<std::uint64_t, 1> record{count_ + 1};
    if (!co_await file_.async_write_at(count_ * sizeof record, std::as_bytes(std::span(record)))) co_return false;
    if (!co_await file_.async_sync(qio::sync_kind::data_and_size)) co_return false;
    ++count_;
    co_return true;
  }

  // Counts the records up to the first that is missing.
  qio::task<std::uint64_t> recover() {
    for (std::array<std::uint64_t, 1> record{};; ++count_) {
      auto bytes = co_await file_.async_read_at(count_ * sizeof record, std::as_writable_bytes(std::span(record)));
      if (!bytes || bytes.value() != sizeof record || record[0] != count_ + 1) co_return count_;
    }
  }

 private:
  qio::async_file<qio::cached, Engine> file_;
  std::uint64_t count_ = 0;
};

int main() {
  using context_on_disk = qio::basic_context<qio::simulated>;
  std::uint64_t acknowledged = 0;
  const auto found = qio::explore_crashes(
      [&](qio::simulated_disk& disk) {  // again and again, with the power cut elsewhere
        acknowledged = 0;
        auto context = context_on_disk::create({.disk = &disk}).value();
        journal log(context);
        disk.sync_directory(".").value();
        while (acknowledged < 100 && context.run(log.append())) ++acknowledged;
      },
      [&](qio::simulated_disk& disk) -> std::string {  // each state that this may leave
        auto context = context_on_disk::create({.disk = &disk}).value();
        return context.run(journal(context).recover()) < acknowledged ? "a record is lost" : "";
      },
      {.disk = {.short_transfers = 0.1, .interruptions = 0.1}, .failing_syncs = true});
  if (found.failure) return std::printf("%s", found.failure->story().c_str());
  std::printf("%d states, nothing lost\n", static_cast<int>(found.states));
}
