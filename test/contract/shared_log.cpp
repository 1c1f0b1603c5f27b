// Logs that threads append to and wait: what shared_log promises on every engine, in every mode.
#include "world.hpp"
#include <qio/shared_log.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace contract {
namespace {

std::span<const std::byte> record_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

/// The records of a log, by their numbers.
struct numbered_records {
  std::map<std::uint64_t, std::string>& found;
  bool operator()(const qio::log_record& each) const {
    found[each.number] = {reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size()};
    return true;
  }
};

template <class World>
qio::result<qio::shared_log<typename World::mode>> open_shared(World& w, std::map<std::uint64_t, std::string>& found,
                                                               const char* name = "log") {
  const std::string path = w.where / name;
  const qio::shared_log_options options{.log = {.extent = 64 * 1024, .largest_batch = 16 * 1024},
                                        .file = {.inline_writes = qio::inline_transfers::never},
                                        .context = qio_test::of_current({})};
  return qio::shared_log<typename World::mode>::open(path, numbered_records{found}, options);
}

}  // namespace

PROMISE(threads_share_a_log, of_the_system,
        "threads append to one log, and each append returns its record's number when it is durable") {
  std::map<std::uint64_t, std::string> found, appended;
  {
    auto log = open_shared(w, found).value();
    std::mutex mutex;
    std::vector<std::thread> threads;
    for (int which = 0; which < 4; ++which)
      threads.emplace_back([&, which] {
        std::uint64_t last = 0;
        for (int i = 0; i < 25; ++i) {
          const std::string record = std::to_string(which) + ' ' + std::to_string(i);
          const std::uint64_t number = log.append(record_bytes(record)).value();
          const std::lock_guard lock(mutex);
          CHECK(number > last);
          CHECK(appended.emplace(number, record).second);
          last = number;
        }
      });
    for (std::thread& each : threads) each.join();
  }
  CHECK(found.empty());
  CHECK(appended.size() == 100);
  CHECK(appended.rbegin()->first == 100);
  const auto log = open_shared(w, found).value();
  CHECK(found == appended);
  CHECK(log.recovered().records == 100);
}

PROMISE(threads_trim_a_log, of_the_system, "a thread trims a log while others append to it") {
  std::map<std::uint64_t, std::string> found;
  std::uint64_t kept = 0;
  {
    auto log = open_shared(w, found).value();
    const std::string record(3000, 'x');
    int appended = 0;
    std::thread other([&] {
      while (appended != 50 && log.append(record_bytes(record))) ++appended;
    });
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t number = log.append(record_bytes(record)).value();
      if (i % 10 == 9) kept = log.trim(number).value();
      CHECK(kept <= number);
    }
    other.join();
    CHECK(appended == 50);
    const auto refused = log.trim(102);
    REQUIRE_FALSE(refused);
    CHECK(refused.error() == errc::record_not_durable);
  }
  const auto log = open_shared(w, found).value();
  CHECK(kept > 1);
  CHECK(log.recovered().first == kept);
  CHECK(found.begin()->first == kept);
  CHECK(found.rbegin()->first == 100);
}

PROMISE(shared_log_locks, of_the_system,
        "a log of threads is locked while it is open, moves, and refuses what does not fit") {
  std::map<std::uint64_t, std::string> found;
  auto log = open_shared(w, found).value();
  CHECK(open_shared(w, found).error() == errc::log_is_open);
  auto moved = std::move(log);
  CHECK(log.append({}).error() == std::errc::bad_file_descriptor);
  CHECK(log.trim(1).error() == std::errc::bad_file_descriptor);
  const std::string record(static_cast<std::size_t>(moved.longest_record()) + 1, 'x');
  CHECK(moved.append(record_bytes(record)).error() == errc::record_too_large);
  CHECK(moved.append(record_bytes(record).first(record.size() - 1)).value() == 1);
  moved = open_shared(w, found, "other").value();
  CHECK(moved.append({}).value() == 1);
  CHECK(open_shared(w, found).value().recovered().records == 1);  // unlocked by the assignment
}

PROMISE(shared_log_opening_fails, of_the_system,
        "opening a log of threads fails as opening its file and its log do, and throws what the visitor throws") {
  std::map<std::uint64_t, std::string> found;
  const auto missing = open_shared(w, found, "missing/log");
  REQUIRE_FALSE(missing);
  CHECK(missing.error() == std::errc::no_such_file_or_directory);
  CHECK(missing.error().message().find("missing") != std::string::npos);
  put(w.where / "other", std::string(64 * 1024, 'x'));
  CHECK(open_shared(w, found, "other").error() == errc::not_a_log);
  CHECK(open_shared(w, found).value().append({}).value() == 1);
  const std::string path = w.where / "log";
  const auto throws = [](const qio::log_record&) -> bool { throw std::runtime_error("from the visitor"); };
  CHECK_THROWS_WITH(qio::shared_log<typename Where::mode>::open(path, throws, {.context = qio_test::of_current({})}),
                    "from the visitor");
  CHECK(open_shared(w, found).value().recovered().records == 1);
}

}  // namespace contract
