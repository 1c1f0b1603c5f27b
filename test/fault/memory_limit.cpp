// A process with less memory than its files are large: a container's limit, and a limit of the address space.
#include "../engines.hpp"
#include "catch.hpp"
#include "child_process.hpp"
#include "disk.hpp"
#include "memory_group.hpp"
#include <qio/qio.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using qio::access;
using qio::creation;

constexpr std::size_t limit = std::size_t(48) << 20, file_bytes = 3 * limit;
constexpr std::size_t chunk = std::size_t(256) << 10;  // beyond what is written inline
constexpr std::size_t in_flight = 16;

/// A new control group that limits memory. Needs root.
class limited_group {
 public:
  limited_group() {
    if (::geteuid() != 0)
      missing = "needs root";
    else if (!group_.exists() || !fault::memory_group::put(group_.file(), std::to_string(limit)))
      missing = "no control group that limits memory can be made here";
  }

  bool enter() const { return group_.enter(); }

  /// How often it was full, so that pages had to be reclaimed. ("max 12" in version 2, a plain number in version 1.)
  std::uint64_t times_full() const {
    std::ifstream file(group_.path() + (group_.version() == 1 ? "/memory.failcnt" : "/memory.events"));
    std::string word;
    while (file >> word)
      if (word.find_first_not_of("0123456789") == std::string::npos)
        return std::stoull(word);
      else if (word != "max")
        file >> word;
    return 0;
  }

  std::string missing;

 private:
  fault::memory_group group_{"memory.limit_in_bytes", "memory.max"};
};

/// The file's contents at `offset` after it was written `turn` times.
std::uint64_t word_of(std::uint64_t offset, std::uint64_t turn) { return (offset + turn) * 0x9e3779b97f4a7c15u; }

void fill(std::span<std::byte> bytes, std::uint64_t offset, std::uint64_t turn) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_of(offset + at, turn);
    std::memcpy(&bytes[at], &word, sizeof word);
  }
}

bool holds(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t turn) {
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = word_of(offset + at, turn);
    if (std::memcmp(&bytes[at], &word, sizeof word) != 0) return false;
  }
  return bytes.size() % sizeof(std::uint64_t) == 0;
}

/// Transfers the rest of the file, chunk by chunk, concurrently with others. False if a transfer failed or read wrong
/// contents.
template <class File>
qio::task<bool> transfer_chunks(File& file, std::uint64_t& next, std::uint64_t turn, bool writes) {
  auto buffer = qio::aligned_buffer::allocate(chunk).value();
  const std::span<std::byte> bytes(buffer.data(), chunk);
  while (next < file_bytes) {
    const std::uint64_t offset = std::exchange(next, next + chunk);
    if (writes) fill(bytes, offset, turn);
    const auto told = writes ? co_await file.async_write_at(offset, bytes) : co_await file.async_read_at(offset, bytes);
    if (!told || told.value() != chunk || !holds(bytes, offset, turn)) co_return false;
  }
  co_return true;
}

template <class Context, class File>
bool transfer_all(Context& context, File& file, std::uint64_t turn, bool writes) {
  std::uint64_t next = 0;
  std::vector<qio::task<bool>> tasks;
  for (std::size_t i = 0; i < in_flight; ++i) tasks.push_back(transfer_chunks(file, next, turn, writes));
  bool all_right = true;
  for (const bool each : context.run(qio::when_all(std::move(tasks)))) all_right = all_right && each;
  return all_right;
}

template <class Context, class Mode>
bool serves(std::type_identity<Mode>, Context& context, const std::string& path, std::uint64_t turn) {
  auto file = qio::basic_file<Mode>::open(context, path, access::read_write, creation::if_needed);
  if (!file) return Mode::is_direct && file.error() == std::errc::operation_not_supported;
  return transfer_all(context, file.value(), turn, true) && transfer_all(context, file.value(), turn, false) &&
         file.value().sync().has_value();
}

/// Through views: what is stored there is dirty memory, which only writing to the device can free.
template <class Context>
bool serves_views(Context& context, const std::string& path, std::uint64_t turn) {
  auto file = qio::mapped_file::open(context, path, access::read_write);
  if (!file) return false;
  for (std::uint64_t offset = 0; offset < file_bytes; offset += chunk)
    fill(file.value().writable_view(offset, chunk).value(), offset, turn);
  for (std::uint64_t offset = 0; offset < file_bytes; offset += chunk)
    if (!holds(file.value().view(offset, chunk).value(), offset, turn)) return false;
  return file.value().sync().has_value();
}

/// 0 if every mode can read and write a file that is larger than this process's memory limit.
int serves_everything(qio::engine_kind engine, const std::string& path) {
  auto context = qio::context::create({.engine = engine});
  if (!context) return 0;  // other tests report why there is no ring
  if (!serves(std::type_identity<qio::cached>(), context.value(), path, 1)) return 10;
  if (!serves(std::type_identity<qio::direct>(), context.value(), path, 2)) return 11;
  if (!serves(std::type_identity<qio::mapped>(), context.value(), path, 3)) return 12;
  return serves_views(context.value(), path, 4) ? 0 : 13;
}

}  // namespace

TEST_CASE("a file larger than a container's memory is read and written, in each mode") {
  const auto engine = GENERATE(qio::engine_kind::ring, qio::engine_kind::aio, qio::engine_kind::workers);
  const fault::scratch directory;
  const limited_group group;
  if (!group.missing.empty()) QIO_SKIP(group.missing);
  const auto served = [&] {
    return qio_test::in_child([&] {
      if (!group.enter()) return 1;
      return serves_everything(engine, directory.path + "/file");
    });
  };
  // A group of version 1 does not make writers wait while too much is dirty. If the disk is busy with other writes,
  // the kernel may find nothing to reclaim, and ends the process. If this kept memory, that would happen every time.
  constexpr int ended_by_the_kernel = -SIGKILL;
  int answer = served();
  for (int again = 0; again < 2 && answer == ended_by_the_kernel; ++again) answer = served();
  CHECK(answer == 0);
  CHECK(group.times_full() > 0);
}

TEST_CASE("a failed allocation is reported as an error, and everything else still works") {
  const auto engine = GENERATE(qio::engine_kind::ring, qio::engine_kind::aio, qio::engine_kind::workers);
  const fault::scratch directory;
  const std::string path = directory.path + "/file";
  CHECK(qio_test::in_child([&] {
          auto context = qio::context::create({.engine = engine});
          if (!context) return 0;
          auto file = qio::cached_file::open(context.value(), path, access::read_write, creation::if_needed);
          std::byte byte{7};
          if (!file || !file.value().write_at(0, std::span(&byte, 1))) return 1;
          // What has been mapped so far stays, and nothing can be added.
          const rlimit nothing{0, 0};
          if (::setrlimit(RLIMIT_AS, &nothing) != 0) return 2;
          if (qio::aligned_buffer::allocate(std::size_t(64) << 20).error() != std::errc::not_enough_memory) return 3;
          const auto mapped = qio::mapped_file::open(path, access::read_write);
          if (mapped || mapped.error() != std::errc::not_enough_memory) return 4;
          const auto another = qio::context::create({.engine = engine, .queue_depth = 4096});
          if (!another && another.error() != std::errc::not_enough_memory) return 5;
          // Open files still work.
          byte = {};
          const auto read = context.value().run(file.value().async_read_at(0, std::span(&byte, 1)));
          return read && byte == std::byte{7} ? 0 : 6;
        }) == 0);
}
