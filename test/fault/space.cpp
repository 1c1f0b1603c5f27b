// The space of files on each file system: what the table of docs/space.md says, and full disks.
#include "catch.hpp"
#include "disk.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

// How many of the next calls of this program fail because of a signal, before they do anything.
int interruptions = 0;

bool is_interrupted() {
  if (interruptions == 0) return false;
  --interruptions;
  errno = EINTR;
  return true;
}

}  // namespace

extern "C" int fallocate(int handle, int mode, off_t offset, off_t bytes) {
  if (is_interrupted()) return -1;
  return static_cast<int>(::syscall(SYS_fallocate, handle, mode, offset, bytes));
}
extern "C" ssize_t copy_file_range(int from, off64_t* from_offset, int to, off64_t* to_offset, std::size_t bytes,
                                   unsigned flags) {
  if (is_interrupted()) return -1;
  return ::syscall(SYS_copy_file_range, from, from_offset, to, to_offset, bytes, flags);
}

namespace {

using qio::access;
using qio::creation;

constexpr std::uint64_t unit = 65536;  // no file system here has larger blocks

/// A table in a page: its rows, each with its cells.
std::vector<std::vector<std::string>> table_of(const std::string& page, const std::string& header) {
  std::ifstream text(page);
  std::vector<std::vector<std::string>> rows;
  bool is_within = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(header)) is_within = true;
    if (!line.starts_with("| ")) is_within = false;
    if (!is_within) continue;
    std::vector<std::string> cells;
    for (std::size_t begin = 2, end; (end = line.find(" |", begin)) != line.npos; begin = end + 3)
      cells.push_back(line.substr(begin, end - begin));
    rows.push_back(cells);
  }
  return rows;
}

std::uint64_t space_of(const qio::cached_file& file) { return file.status().value().allocated_bytes; }

std::vector<std::byte> ones(std::size_t bytes) { return std::vector<std::byte>(bytes, std::byte{1}); }

bool reads(const qio::cached_file& file, std::uint64_t offset, std::uint64_t bytes, std::byte value) {
  std::vector<std::byte> found(static_cast<std::size_t>(bytes));
  return file.read_at(offset, found).value() == bytes &&
         std::ranges::all_of(found, [value](std::byte each) { return each == value; });
}

/// Whether a call is supported. It fails in no other way than that.
template <class Result>
bool is_supported(const Result& answer) {
  if (!answer) CHECK(answer.error() == std::errc::operation_not_supported);
  return answer.has_value();
}

std::string yes_or_no(bool is_so) { return is_so ? "yes" : "no"; }

/// What a file system does with each call, in the words of the table.
class measured {
 public:
  explicit measured(const std::string& directory)
      : file_(qio::cached_file::open(directory + "/file", access::read_write, creation::always_new).value()),
        other_(qio::cached_file::open(directory + "/other", access::read_write, creation::always_new).value()) {}

  std::vector<std::string> cells() {
    return {reserves(qio::allocation::extend),
            reserves(qio::allocation::keep_size),
            discards(),
            zeros(),
            finds_data(),
            clones(),
            copies()};
  }

 private:
  std::uint64_t refill() {
    file_.resize(0).value();
    file_.write_at(0, ones(8 * unit)).value();
    file_.sync().value();
    return space_of(file_);
  }

  std::string reserves(qio::allocation how) {
    const std::uint64_t before = refill();
    if (!is_supported(file_.allocate(8 * unit, 8 * unit, how))) return "no";
    const std::uint64_t size = (how == qio::allocation::extend ? 16 : 8) * unit;
    return yes_or_no(space_of(file_) >= before + 8 * unit && file_.size().value() == size);
  }
  std::string discards() {
    const std::uint64_t before = refill();
    if (!is_supported(file_.discard(2 * unit, 4 * unit))) return "no";
    file_.sync().value();
    CHECK(reads(file_, 2 * unit, 4 * unit, std::byte{0}));
    CHECK(reads(file_, 6 * unit, 2 * unit, std::byte{1}));
    return yes_or_no(space_of(file_) <= before - 4 * unit);
  }
  std::string zeros() {
    const std::uint64_t before = refill();
    if (!is_supported(file_.zero(2 * unit, 4 * unit))) return "no";
    file_.sync().value();
    CHECK(reads(file_, 2 * unit, 4 * unit, std::byte{0}));
    return yes_or_no(space_of(file_) >= before);
  }
  std::string finds_data() {
    file_.resize(0).value();
    file_.resize(8 * unit).value();
    file_.write_at(4 * unit, ones(unit)).value();
    const auto found = file_.next_data(0);
    if (!is_supported(found)) return "no";
    if (found.value() == qio::extent{0, 8 * unit}) return "all is data";
    return yes_or_no(found.value() == qio::extent{4 * unit, unit});
  }
  std::string clones() {
    refill();
    other_.resize(0).value();
    if (!is_supported(other_.clone_from(file_, {0, 8 * unit}, 0))) return "no";
    return yes_or_no(reads(other_, 0, 8 * unit, std::byte{1}));
  }
  std::string copies() {
    refill();
    other_.resize(0).value();
    const bool in_kernel = qio::platform::copy(file_.native_handle(), {0, 8 * unit}, other_.native_handle(), 0) > 0;
    other_.resize(0).value();
    CHECK(other_.copy_from(file_, {0, 8 * unit}, 0).value() == 8 * unit);
    CHECK(reads(other_, 0, 8 * unit, std::byte{1}));
    return in_kernel ? "in the kernel" : "reads and writes";
  }

  qio::cached_file file_, other_;
};

/// While it exists, tests make their directories there.
class working_directory {
 public:
  explicit working_directory(const std::string& path) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path);
  }
  working_directory(const working_directory&) = delete;
  working_directory& operator=(const working_directory&) = delete;
  ~working_directory() { std::filesystem::current_path(before_); }

 private:
  std::filesystem::path before_;
};

}  // namespace

TEST_CASE("each file system has what the table of docs/space.md says, and no more") {
  const auto table = table_of(QIO_DOCUMENTATION "/space.md", "| file system |");
  REQUIRE(table.size() > 2);
  std::size_t rows = 0;
  const fault::mounted below("ext4", std::size_t(512) << 20);
  if (!below.missing.empty()) QIO_SKIP(below.missing);
  for (const char* const kind : {"ext4", "xfs", "btrfs", "tmpfs", "overlay", "fuse"}) {
    CAPTURE(kind);
    const auto row = std::ranges::find_if(table, [&](const auto& each) { return each[0].starts_with(kind); });
    REQUIRE(row != table.end());
    ++rows;
    const bool is_above = kind == std::string_view("overlay") || kind == std::string_view("fuse");
    const working_directory within(is_above ? below.path : ".");
    const fault::mounted place(kind, std::size_t(512) << 20, below.path + "/lost+found");
    if (!place.missing.empty()) continue;
    CHECK(std::vector<std::string>(row->begin() + 1, row->end()) == measured(place.path).cells());
  }
  CHECK(rows == table.size() - 2);  // without the header: what nobody measures is not in the table
}

TEST_CASE("what a signal has interrupted is called again") {
  const fault::mounted place("ext4", std::size_t(16) << 20);
  if (!place.missing.empty()) QIO_SKIP(place.missing);
  auto file = qio::cached_file::open(place.path + "/file", access::read_write, creation::always_new).value();
  auto other = qio::cached_file::open(place.path + "/other", access::read_write, creation::always_new).value();
  for (const int times : {1, 3}) {
    interruptions = times;
    CHECK(file.allocate(0, 8 * unit));
    CHECK(interruptions == 0);
    file.write_at(0, ones(8 * unit)).value();
    interruptions = times;
    CHECK(qio::platform::copy(file.native_handle(), {0, 8 * unit}, other.native_handle(), 0) == 8 * unit);
    CHECK(interruptions == 0);
    interruptions = times;
    CHECK(file.discard(0, 4 * unit));
    CHECK(interruptions == 0);
  }
}

TEST_CASE("allocate() on a full disk fails, and leaves the size and the contents as they were") {
  for (const char* const kind : {"tmpfs", "ext4", "xfs", "btrfs"}) {
    CAPTURE(kind);
    const bool is_large = kind == std::string_view("xfs") || kind == std::string_view("btrfs");
    const std::uint64_t bytes = (is_large ? std::uint64_t(320) : 16) << 20;
    const fault::mounted place(kind, bytes);
    if (!place.missing.empty()) continue;
    auto file = qio::cached_file::open(place.path + "/file", access::read_write, creation::always_new).value();
    file.write_at(0, ones(3 * unit + 7)).value();
    for (const qio::allocation how : {qio::allocation::extend, qio::allocation::keep_size})
      for (const std::uint64_t offset : {std::uint64_t(0), unit, 10 * unit}) {
        const auto failed = file.allocate(offset, 4 * bytes, how);
        REQUIRE_FALSE(failed);
        CHECK(failed.error() == std::errc::no_space_on_device);
        CHECK(file.size().value() == 3 * unit + 7);
        CHECK(reads(file, 0, 3 * unit + 7, std::byte{1}));
      }
    // What it had reserved can be given back, for others.
    REQUIRE(file.resize(3 * unit + 7));
    auto other = qio::cached_file::open(place.path + "/other", access::read_write, creation::always_new).value();
    const auto half = ones(bytes / 4);
    CHECK(other.write_at(0, half));
    CHECK(other.sync());
  }
}
