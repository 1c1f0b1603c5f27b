// Reads of a tmpfs file whose pages were moved to swap space, by its owner and by somebody else.
#include "catch.hpp"
#include "child_process.hpp"
#include "disk.hpp"
#include "memory_group.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <grp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t block = 4096, blocks = 64;

/// Swap space on a loop device, used before any other.
class swap_space {
 public:
  swap_space() : device_(16 << 20), missing(device_.missing) {
    bool ok = missing.empty();
    if (!ok) return;
    const std::string said =
        fault::output_of("mkswap " + device_.path + " && swapon --priority 32767 " + device_.path, &ok);
    if (!ok) missing = "no swap space: " + said;
  }
  swap_space(const swap_space&) = delete;
  swap_space& operator=(const swap_space&) = delete;
  ~swap_space() {
    if (missing.empty()) fault::output_of("swapoff " + device_.path);
  }

 private:
  fault::loop_device device_;

 public:
  std::string missing;
};

/// A file whose pages are charged to a control group of its own, so that just these can be reclaimed. Block i is filled
/// with i.
class reclaimable_file {
 public:
  explicit reclaimable_file(std::string path) : path_(std::move(path)) {
    if (!group_.exists() || !write()) missing = "no control group that reclaims memory can be made here";
  }
  reclaimable_file(const reclaimable_file&) = delete;
  reclaimable_file& operator=(const reclaimable_file&) = delete;
  ~reclaimable_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  /// False if a page stays in memory. A page that has been written to the swap space is still in the swap cache until
  /// it is reclaimed once more.
  bool swap_out() const {
    for (int tries = 0; tries < 2000; ++tries) {
      fault::memory_group::put(group_.file(), group_.version() == 1 ? "0" : "1M");
      if (pages_in_memory() == 0) return true;
      ::usleep(1000);
    }
    return false;
  }

  std::string missing;

 private:
  bool write() const {
    const std::string source = path_ + ".source";
    {
      std::ofstream file(source, std::ios::binary);
      for (std::size_t i = 0; i < blocks; ++i) file << std::string(block, static_cast<char>(i));
    }
    bool ok = false;
    fault::output_of("sh -c 'echo $$ >" + group_.path() + "/cgroup.procs && cat " + source + " >" + path_ + '\'', &ok);
    std::filesystem::remove(source);
    return ok && std::filesystem::file_size(path_) == blocks * block;
  }

  // Also counts those in the swap cache. The owner of a file gets a true answer.
  long pages_in_memory() const {
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    void* const mapped = ::mmap(nullptr, blocks * block, PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    if (mapped == MAP_FAILED) return -1;
    std::vector<unsigned char> pages(blocks);
    const bool ok = ::mincore(mapped, blocks * block, pages.data()) == 0;
    ::munmap(mapped, blocks * block);
    return ok ? std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; }) : -1;
  }

  std::string path_;
  fault::memory_group group_{"memory.force_empty", "memory.reclaim"};
};

bool become_nobody() {
  constexpr uid_t nobody = 65534;
  return ::setgroups(0, nullptr) == 0 && ::setresgid(nobody, nobody, nobody) == 0 &&
         ::setresuid(nobody, nobody, nobody) == 0;
}

enum verdict : int { counted = 0, not_counted, no_context, not_opened, not_inline, wrong, not_swapped_out };

/// Reads a block of the file in the current directory, which was swapped out.
verdict read_block(qio::engine_kind engine, bool as_owner) {
  auto context = qio::context::create({.engine = engine});
  if (!context) return no_context;
  if (!as_owner && !become_nobody()) return not_opened;
  auto file = qio::cached_file::open(context.value(), "file");
  if (!file) return not_opened;
  std::vector<std::byte> buffer(block);
  constexpr std::size_t number = 40;
  const auto read = context.value().run(file.value().async_read_at(number * block, buffer));
  if (!read || read.value() != block) return wrong;
  for (const std::byte each : buffer)
    if (each != std::byte{number}) return wrong;
  const qio::file_statistics found = file.value().statistics();
  if (found.served_inline != 1) return not_inline;
  return found.blocked_submissions == 1 ? counted : not_counted;
}

/// The same in a process of its own, after the file has been swapped out. The wait is not counted if the thread was
/// also preempted, so it is tried again.
verdict read_swapped(qio::engine_kind engine, const reclaimable_file& file, const std::string& directory,
                     bool as_owner) {
  int found = not_counted;
  for (int tries = 0; tries < 50 && found == not_counted; ++tries) {
    if (!file.swap_out()) return not_swapped_out;
    found = qio_test::in_child(
        [&] { return ::chdir(directory.c_str()) == 0 ? int(read_block(engine, as_owner)) : int(not_opened); });
  }
  return static_cast<verdict>(found);
}

}  // namespace

TEST_CASE("a read that waits for swapped out pages of a tmpfs file is right, and its wait is counted") {
  const fault::mounted mounted("tmpfs", 1 << 20);
  if (!mounted.missing.empty()) QIO_SKIP(mounted.missing);
  const swap_space swap;
  if (!swap.missing.empty()) QIO_SKIP(swap.missing);
  if (fault::output_of("cat /sys/module/zswap/parameters/enabled") == "Y") QIO_SKIP("zswap keeps the pages in memory");
  const reclaimable_file file(mounted.path + "/file");
  if (!file.missing.empty()) QIO_SKIP(file.missing);
  for (const auto engine : {qio::engine_kind::ring, qio::engine_kind::aio, qio::engine_kind::workers}) {
    // To somebody else, who may not write to the file, mincore(2) says of every page that it is in memory.
    for (const bool as_owner : {true, false}) {
      CAPTURE(as_owner);
      const verdict found = read_swapped(engine, file, mounted.path, as_owner);
      if (found == not_swapped_out) QIO_SKIP("the kernel keeps a page of the file in memory");
      if (found != no_context) CHECK(found == counted);
    }
  }
}
