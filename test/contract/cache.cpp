// The page cache of a file: advice, reading ahead, dropping pages, and what is cached.
#include "world.hpp"

#include <chrono>
#include <string>
#include <thread>

namespace contract {

namespace {

template <class Where>
auto prefetch(world<Where>& w, typename world<Where>::file& file, const qio::extent& range) {
  if constexpr (Where::is_async)
    return w.template run<void>([&] { return file.async_prefetch(range); });
  else
    return file.prefetch(range);
}
template <class Where>
auto forget(world<Where>& w, typename world<Where>::file& file, const qio::extent& range = qio::whole_file) {
  if constexpr (Where::is_async)
    return w.template run<void>([&] { return file.async_forget(range); });
  else
    return file.forget(range);
}
template <class Where>
auto resident(world<Where>& w, typename world<Where>::file& file, const qio::extent& range = qio::whole_file) {
  if constexpr (Where::is_async)
    return w.template run<qio::residency>([&] { return file.async_resident(range); });
  else
    return file.resident(range);
}

/// Repeats what may take the system a moment, until it has happened.
template <class Condition>
bool happens(Condition condition) {
  for (int attempt = 0; attempt < 10000; ++attempt) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

}  // namespace

PROMISE(advice_given, everywhere, "advise() changes nothing that is read, or is refused by name") {
  auto file = w.with(65536);
  for (const auto pattern :
       {qio::access_pattern::sequential, qio::access_pattern::random, qio::access_pattern::normal}) {
    if (const auto advised = file.advise(pattern); !advised) {
      CHECK(advised.error() == errc::advice_not_supported);
      CHECK(advised.error() == std::errc::operation_not_supported);
    }
    memory buffer(65536);
    CHECK(w.read(file, 0, buffer.all()).value() == 65536);
    CHECK(holds_pattern(buffer.all(), 0));
  }
  static_cast<void>(file.close());
  CHECK(file.advise(qio::access_pattern::random).error() == std::errc::bad_file_descriptor);
}

PROMISE(advice_of_range, mapped_only, "advise() of a range of a mapped file changes nothing that is read") {
  auto file = w.with(65536);
  const auto advised = file.advise(qio::access_pattern::random, {5000, 5000});
  if (!advised) CHECK(advised.error() == errc::advice_not_supported);
  CHECK(holds_pattern(file.view(0, 65536).value(), 0));
  CHECK(file.advise(qio::access_pattern::normal, {5000, 0}));
  const auto refused = file.advise(qio::access_pattern::random, {60000, 6000});
  REQUIRE(!refused);
  CHECK(refused.error() == errc::beyond_end);
  CHECK(refused.error().given() == 66000);
  CHECK(refused.error().needed() == 65536);
  CHECK(file.advise(qio::access_pattern::random, {1, too_far}).error() == errc::offset_too_large);
}

PROMISE(resident_counted, everywhere_in_the_system, "resident() counts the cached pages of a range") {
  const std::uint64_t page = os::page_size();
  const std::uint64_t size = 16 * page;
  auto file = w.with(static_cast<std::size_t>(size - 100));
  const auto all = resident(w, file);
  if (!all) {
    CHECK(all.error() == errc::residency_not_supported);
    CHECK(all.error() == std::errc::operation_not_supported);
    QIO_SKIP(all.error().message());
  }
  if constexpr (std::is_same_v<typename Where::mode, qio::cached> || Where::mode::is_mapped) {
    memory buffer(static_cast<std::size_t>(size));
    REQUIRE(w.read(file, 0, buffer.all()));
    CHECK(resident(w, file).value().cached == size);
    CHECK(resident(w, file, {0, size}).value().cached == size);
    CHECK(resident(w, file, {page, 1}).value().cached == page);
    CHECK(resident(w, file, {page - 1, 2}).value().cached == 2 * page);
    CHECK(resident(w, file, {15 * page, last_offset - 15 * page}).value().cached == page);
    REQUIRE(w.sync(file, qio::sync_kind::everything));
    const qio::residency synced = resident(w, file).value();
    CHECK(synced.dirty.value_or(0) == 0);
    CHECK(synced.writeback.value_or(0) == 0);
    CHECK(synced.evicted.value_or(0) == 0);
  }
  CHECK(all.value().dirty.value_or(0) <= all.value().cached);
  const qio::residency none{0, 0, 0, 0, 0};
  CHECK(resident(w, file, {size, page}).value() == none);
  CHECK(resident(w, file, {size + 1, 10 * size}).value() == none);
  CHECK(resident(w, file, {page, 0}).value() == none);
  CHECK(resident(w, file, {1, too_far}).error() == errc::offset_too_large);
  static_cast<void>(file.close());
  CHECK(resident(w, file).error() == std::errc::bad_file_descriptor);
}

PROMISE(forgotten, everywhere, "forget() drops clean pages, and changes nothing that is read") {
  const std::size_t page = os::page_size(), size = 64 * page;
  auto file = w.with(size);
  const auto first = forget(w, file, {1, size});
  if (!first) {
    CHECK(first.error() == errc::forget_not_supported);
    CHECK(first.error() == std::errc::operation_not_supported);
    QIO_SKIP(first.error().message());
  }
  memory buffer(size);
  CHECK(w.read(file, 0, buffer.all()).value() == size);
  CHECK(holds_pattern(buffer.all(), 0));
  REQUIRE(w.sync(file, qio::sync_kind::everything));
  CHECK(forget(w, file, {2 * size, page}));
  CHECK(forget(w, file, {0, 0}));
  CHECK(forget(w, file, {0, last_offset}));
  CHECK(forget(w, file, {1, too_far}).error() == errc::offset_too_large);
  if constexpr (!std::is_same_v<typename Where::engine, qio::simulated>) {
    if (os::is_in_memory(w.where / "")) QIO_SKIP("pages of this file system leave memory only with the file");
    if constexpr (Where::mode::is_mapped) CHECK(holds_pattern(file.view(0, size).value(), 0));
    // The kernel may hold a page for a moment longer.
    CHECK(happens([&] { return forget(w, file) && resident(w, file).value().cached == 0; }));
    // A page that is covered in part stays.
    if constexpr (std::is_same_v<typename Where::mode, qio::cached> || Where::mode::is_mapped) {
      REQUIRE(w.read(file, 0, buffer.all()));
      CHECK(forget(w, file, {1, 3 * page}));
      CHECK(resident(w, file, {0, page}).value().cached == page);
      CHECK(resident(w, file, {3 * page, size}).value().cached == size - 3 * page);
    }
    if constexpr (Where::mode::is_mapped) CHECK(holds_pattern(file.view(0, size).value(), 0));
  }
  CHECK(w.read(file, 0, buffer.all()).value() == size);
  CHECK(holds_pattern(buffer.all(), 0));
  static_cast<void>(file.close());
  CHECK(forget(w, file).error() == std::errc::bad_file_descriptor);
}

PROMISE(prefetched, everywhere, "prefetch() brings a range into the page cache, however long it is") {
  constexpr std::size_t size = 24 << 20, begin = (3 << 20) - 100, bytes = 18 << 20;
  auto file = w.with(size);
  REQUIRE(w.sync(file, qio::sync_kind::everything));
  static_cast<void>(forget(w, file));
  if (const auto begun = prefetch(w, file, {begin, bytes}); !begun) {
    CHECK(begun.error() == errc::prefetch_not_supported);
    CHECK(begun.error() == std::errc::operation_not_supported);
    CHECK(!Where::mode::is_mapped);
    QIO_SKIP(begun.error().message());
  }
  // The kernel reads ahead what it has memory for at the moment, and tells nobody of the rest.
  const auto all_is_there = [&] {
    if (resident(w, file, {begin, bytes}).value().cached >= bytes) return true;
    CHECK(prefetch(w, file, {begin, bytes}));
    return false;
  };
  if (resident(w, file) && !os::is_in_memory(w.where / "")) CHECK(happens(all_is_there));
  CHECK(prefetch(w, file, {begin, 0}));
  CHECK(prefetch(w, file, {size - 100, last_offset - size}));
  CHECK(prefetch(w, file, {2 * size, 100}));
  CHECK(prefetch(w, file, qio::whole_file));
  CHECK(prefetch(w, file, {1, too_far}).error() == errc::offset_too_large);
  memory buffer(65536);
  CHECK(w.read(file, 0, buffer.all()).value() == 65536);
  CHECK(holds_pattern(buffer.all(), 0));
  static_cast<void>(file.close());
  CHECK(prefetch(w, file, {0, 1}).error() == std::errc::bad_file_descriptor);
}

}  // namespace contract
