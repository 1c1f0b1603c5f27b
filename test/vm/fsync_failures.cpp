// fsync_failures change DEVICE MAPPED DIRECTORY CASE NOTES
//   changes files on a file system that is mounted at DIRECTORY from MAPPED, a device of the device mapper over DEVICE,
//   while writes to it fail; prints what the file system and the library make of it, and notes what must be on the
//   device afterwards
// fsync_failures verify DIRECTORY CASE NOTES
//   after mounting again: checks that, prints what the device has, and compares all answers with fsync_failures.hpp
//
// CASE is KIND/FAILING/CHANGE. KIND is a name of the table. FAILING is "data" (only writes of the blocks of the files)
// or "device" (all writes). CHANGE is "overwrite" or "append".
//
// Repeats the experiment of Rebello et al., "Can Applications Recover from fsync Failures?" (USENIX ATC 2020). The
// answers are properties of the kernel; docs/fsync-failures.md describes them. What the library promises is checked.
// Exit status: 0 all is well, 1 a promise is broken or the kernel differs from the table, 2 the experiment failed.
#include "fsync_failures.hpp"

#include "notes.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/btrfs_tree.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

constexpr std::size_t page = 4096, piece = 16 * page;
constexpr std::byte before{0x11}, after{0x22}, again{0x33};

// What is changed: pieces that have no page or folio in common. Each is for one question.
constexpr std::uint64_t synced_again = 0;         // is it written by another fsync, once the device works again?
constexpr std::uint64_t dropped = 1 << 20;        // what is left of it when the cache is dropped before that?
constexpr std::uint64_t read_directly = 2 << 20;  // what has the device, when it works again?
constexpr std::uint64_t rewritten = 3 << 20;      // the application writes it again, to the reopened file
constexpr std::uint64_t end = rewritten + piece;  // of the file, before it is appended to
constexpr std::array<std::uint64_t, 4> pieces{synced_again, dropped, read_directly, rewritten};

int broken = 0;

void promise(bool kept, const std::string& what) {
  if (kept) return;
  ++broken;
  std::printf("BROKEN PROMISE: %s\n", what.c_str());
}

/// "ok", or the name of an error.
std::string name_of(int code) {
  switch (code) {
    case 0: return "ok";
    case EIO: return "EIO";
    case EROFS: return "EROFS";
    case ENOSPC: return "ENOSPC";
    default: return "errno " + std::to_string(code);
  }
}

template <class Answer>
std::string name_of_answer(const Answer& answer) {
  return name_of(answer ? 0 : answer.error().code().value());
}

std::string name_of_sync(int handle) { return name_of(::fsync(handle) == 0 ? 0 : errno); }

void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

// --- The device ---

struct range {
  std::uint64_t begin, end;  // bytes of the device
};

/// Writes to a device of the device mapper fail, at all of it or in some ranges. Reads succeed.
class failing_device {
 public:
  failing_device(std::string name, std::string below) : name_(std::move(name)), below_(std::move(below)) {
    const auto opened = qio::direct_file::open(below_).value();
    sectors_ = opened.size().value() / 512;
    load({});
  }

  failing_device(const failing_device&) = delete;
  failing_device& operator=(const failing_device&) = delete;
  /// An experiment that ends early leaves no device that fails.
  ~failing_device() {
    try {
      heal();
    } catch (const std::exception& failure) {
      std::printf("%s\n", failure.what());
    }
  }

  void heal() { load({}); }
  void fail_all() { load({{0, sectors_ * 512}}); }
  void fail(const std::vector<range>& ranges) { load(ranges); }

 private:
  void load(std::vector<range> failing) {
    std::ranges::sort(failing, {}, &range::begin);
    std::ostringstream table;
    std::uint64_t at = 0;
    const auto add = [&](std::uint64_t until, bool fails) {
      if (until == at) return;
      table << at << ' ' << until - at << (fails ? " flakey " : " linear ") << below_ << ' ' << at
            << (fails ? " 0 3600 1 error_writes\n" : "\n");
      at = until;
    };
    for (const range& each : failing) {
      add(each.begin / 512, false);
      add(each.end / 512, true);
    }
    add(sectors_, false);
    std::ofstream("table") << table.str();
    // At once, without making the file system write its dirty data first.
    shell("dmsetup suspend --noflush --nolockfs " + name_);
    shell("dmsetup load " + name_ + " table");
    shell("dmsetup resume " + name_);
    // A flush goes to all parts of the device, and would fail with the one that fails writes.
    struct stat found;
    if (::stat(("/dev/mapper/" + name_).c_str(), &found) != 0) throw std::runtime_error("no device " + name_);
    std::ofstream cache("/sys/dev/block/" + std::to_string(major(found.st_rdev)) + ':' +
                        std::to_string(minor(found.st_rdev)) + "/queue/write_cache");
    if (!(cache << "write through" << std::flush)) throw std::runtime_error("the cache of the device stays");
  }

  std::string name_, below_;
  std::uint64_t sectors_ = 0;
};

/// Where a file is, as the file system counts.
std::vector<range> extents_of(int handle) {
  constexpr std::uint32_t most = 64;
  alignas(fiemap) std::array<std::byte, sizeof(fiemap) + most * sizeof(fiemap_extent)> memory{};
  auto* const map = reinterpret_cast<fiemap*>(memory.data());
  map->fm_length = FIEMAP_MAX_OFFSET;
  map->fm_flags = FIEMAP_FLAG_SYNC;
  map->fm_extent_count = most;
  if (::ioctl(handle, FS_IOC_FIEMAP, map) != 0) throw std::runtime_error("no FIEMAP");
  std::vector<range> found;
  for (std::uint32_t i = 0; i != map->fm_mapped_extents; ++i) {
    const fiemap_extent& each = map->fm_extents[i];
    found.push_back({each.fe_physical, each.fe_physical + each.fe_length});
  }
  return found;
}

/// All blocks of btrfs that are for data, because a changed block gets a new place; nothing on another file system.
std::vector<range> data_chunks_of_btrfs(int handle) {
  btrfs_ioctl_search_args search{};
  search.key.tree_id = BTRFS_CHUNK_TREE_OBJECTID;
  search.key.min_objectid = search.key.max_objectid = BTRFS_FIRST_CHUNK_TREE_OBJECTID;
  search.key.min_type = search.key.max_type = BTRFS_CHUNK_ITEM_KEY;
  search.key.max_offset = search.key.max_transid = ~std::uint64_t(0);
  search.key.nr_items = 64;
  std::vector<range> found;
  if (::ioctl(handle, BTRFS_IOC_TREE_SEARCH, &search) != 0) return found;
  std::size_t at = 0;
  for (std::uint32_t i = 0; i != search.key.nr_items; ++i) {
    btrfs_ioctl_search_header header;
    std::memcpy(&header, search.buf + at, sizeof header);
    btrfs_chunk chunk;
    std::memcpy(&chunk, search.buf + at + sizeof header, sizeof chunk);
    at += sizeof header + header.len;
    if ((chunk.type & BTRFS_BLOCK_GROUP_DATA) == 0) continue;
    if (chunk.num_stripes != 1) throw std::runtime_error("data of btrfs is on several devices");
    found.push_back({chunk.stripe.offset, chunk.stripe.offset + chunk.length});
  }
  return found;
}

// --- The page cache ---

constexpr std::uint64_t flag(unsigned bit) { return std::uint64_t(1) << bit; }

std::uint64_t number_at(const qio::cached_file& from, std::uint64_t index) {
  std::uint64_t number = 0;
  from.read_at(index * sizeof number, std::as_writable_bytes(std::span(&number, 1))).value();
  return number;
}

/// "dirty", "clean", "mixed", or "gone" if none of the pages is cached. (Linux 6.1 has no cachestat(2).)
std::string pages_of(const std::string& path, std::uint64_t offset) {
  // Documentation/admin-guide/mm/pagemap.rst
  constexpr std::uint64_t is_present = flag(63), frame = flag(55) - 1;
  constexpr std::uint64_t is_dirty = flag(4), is_tail = flag(16);
  const auto file = qio::mapped_file::open(path);
  if (!file) return "open: " + name_of_answer(file);
  const auto view = file.value().view(offset, piece).value();
  std::vector<unsigned char> cached(piece / page);
  auto* const begin = const_cast<std::byte*>(std::span<const std::byte>(view).data());
  if (::mincore(begin, piece, cached.data()) != 0) throw std::runtime_error("no mincore");
  const auto pagemap = qio::cached_file::open("/proc/self/pagemap").value();
  const auto flags = qio::cached_file::open("/proc/kpageflags").value();
  int dirty = 0, clean = 0;
  for (std::size_t i = 0; i != cached.size(); ++i) {
    if ((cached[i] & 1) == 0) continue;
    static_cast<void>(*const_cast<volatile std::byte*>(begin + i * page));  // maps it
    const std::uint64_t entry = number_at(pagemap, (reinterpret_cast<std::uintptr_t>(begin) / page) + i);
    if ((entry & is_present) == 0) continue;
    std::uint64_t number = entry & frame;
    if (number == 0) throw std::runtime_error("needs root: /proc/self/pagemap has no numbers");
    while ((number_at(flags, number) & is_tail) != 0) --number;  // the first page of a folio has the flags of all
    ++((number_at(flags, number) & is_dirty) != 0 ? dirty : clean);
  }
  if (dirty + clean == 0) return "gone";
  return dirty == 0 ? "clean" : clean == 0 ? "dirty" : "mixed";
}

/// "new", "old", "zeros", "end" (of the file), an error, or "mixed".
template <class File>
std::string contents_at(const File& file, std::uint64_t offset) {
  auto found = qio::aligned_buffer::allocate(piece, page).value();
  const auto read = file.read_at(offset, found);
  if (!read) return name_of_answer(read);
  if (read.value() == 0) return "end";
  const auto all = [&](std::byte value) { return std::ranges::all_of(found, [&](std::byte b) { return b == value; }); };
  if (read.value() != piece) return "short";
  return all(after) ? "new" : all(before) ? "old" : all(again) ? "again" : all(std::byte{0}) ? "zeros" : "mixed";
}

// --- The experiment ---

struct experiment {
  explicit experiment(const std::string& text) {
    std::istringstream in(text);
    std::getline(in, kind, '/');
    std::getline(in, failing, '/');
    std::getline(in, change, '/');
    if ((failing != "data" && failing != "device") || (change != "overwrite" && change != "append"))
      throw std::runtime_error("no case: " + text);
  }
  bool is_append() const { return change == "append"; }
  /// The place of a piece: in front of `end`, or behind it.
  std::uint64_t place(std::uint64_t of) const { return is_append() ? end + of : of; }
  std::uint64_t size() const { return is_append() ? 2 * end : end; }

  std::string kind, failing, change;
};

std::string path_of(const std::string& directory) { return in(directory, "data"); }
std::string durable_path_of(const std::string& directory) { return in(directory, "durable"); }

void print(std::string_view name, const std::string& value) {
  std::printf("  %-26s %s\n", std::string(name).c_str(), value.c_str());
}

/// Answers to the questions, in the order of the columns of the table.
class row {
 public:
  void add(std::string_view question, const std::string& answer) {
    print(question, answer);
    if (!text_.empty()) text_ += " | ";
    text_ += std::string(question) + '=' + answer;
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

/// "6.12" of "6.12.117+deb12-amd64".
std::string kernel_series() {
  utsname found{};
  if (::uname(&found) != 0) throw std::runtime_error("no uname");
  const std::string release = found.release;
  return release.substr(0, release.find_first_not_of("0123456789", release.find('.') + 1));
}

std::vector<std::string> parts_of(std::string_view text) {
  constexpr std::string_view between = " | ";
  std::vector<std::string> found;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t next = std::min(text.find(between, at), text.size());
    found.emplace_back(text.substr(at, next - at));
    at = next + between.size();
  }
  return found;
}

/// Whether an answer is the expected one, or one of those: "question=EIO or EROFS".
bool fits(const std::string& expected, const std::string& found) {
  constexpr std::string_view between = " or ";
  const std::size_t answers = expected.find('=') + 1;
  for (std::size_t at = answers; at <= expected.size();) {
    const std::size_t next = std::min(expected.find(between, at), expected.size());
    if (expected.substr(0, answers) + expected.substr(at, next - at) == found) return true;
    at = next + between.size();
  }
  return false;
}

/// Whether the kernel answers as the table says. Prints each difference.
bool is_as_expected(const std::string& which, const std::string& answers) {
  const std::string series = kernel_series();
  std::printf("row {\"%s\", \"%s\", \"%s\"},\n", series.c_str(), which.c_str(), answers.c_str());
  for (const fsync_row& each : fsync_table) {
    const std::string kernels = ' ' + std::string(each.kernels) + ' ';
    if (each.which != which || kernels.find(' ' + series + ' ') == std::string::npos) continue;
    const auto expected = parts_of(each.answers), found = parts_of(answers);
    bool is_same = true;
    for (std::size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
      const std::string old = i < expected.size() ? expected[i] : "nothing",
                        now = i < found.size() ? found[i] : "nothing";
      if (fits(old, now)) continue;
      is_same = false;
      std::printf("THE KERNEL DIFFERS: %s: %s, and not %s as in fsync_failures.hpp for Linux %s\n", which.c_str(),
                  now.c_str(), old.c_str(), series.c_str());
    }
    return is_same;
  }
  std::printf("%s: fsync_failures.hpp has no row for Linux %s\n", which.c_str(), series.c_str());
  return true;
}

void make_file(const std::string& directory, const experiment& of) {
  auto file = qio::cached_file::open(path_of(directory), qio::access::read_write, qio::creation::always_new).value();
  file.write_at(0, std::vector<std::byte>(end, before)).value();
  // So that it is known which blocks an append will write. Not for btrfs, which has an own region of data.
  if (of.is_append() && data_chunks_of_btrfs(file.native_handle()).empty())
    file.allocate(end, end, qio::allocation::keep_size).value();
  file.sync().value();
  file.forget().value();
  auto durable =
      qio::cached_file::open(durable_path_of(directory), qio::access::write, qio::creation::always_new).value();
  durable.write_at(0, std::vector<std::byte>(piece, before), {.durable = true}).value();
  qio::sync_directory(directory).value();
}

/// Once a sync has failed, all of that handle do, whatever their kind, and with the same error.
template <class File>
void check_is_sticky(File& file, qio::context& context, const qio::error& first, const std::string& when) {
  const auto is_first = [&](const auto& answer) { return !answer && answer.error().code() == first.code(); };
  for (const auto kind : {qio::sync_kind::data, qio::sync_kind::data_and_size, qio::sync_kind::everything}) {
    promise(is_first(file.sync(kind)), when + ", sync() does not return the error of the failed one");
    if constexpr (requires { file.async_sync(kind); })
      promise(is_first(context.run(file.async_sync(kind))), when + ", async_sync() does not return that error");
  }
}

std::string state_of(const std::string& directory) {
  const std::string path = in(directory, "probe");
  const auto made = qio::cached_file::open(path, qio::access::write, qio::creation::if_needed);
  if (made) return "writable";
  return made.error() == std::errc::read_only_file_system ? "read-only" : "fails: " + name_of_answer(made);
}

/// In its journal, ext4 acknowledges data that are not at their place yet (data=journal). What fails later, no fsync
/// can report that has returned.
bool acknowledges_early(const experiment& of) { return of.kind == "ext4-journal"; }

int change(const std::string& device, const std::string& mapped, const std::string& directory, const experiment& of,
           const std::string& notes) {
  const std::string path = path_of(directory);
  auto context = qio::context::create().value();
  make_file(directory, of);
  const auto access = qio::access::read_write;
  auto writer = qio::cached_file::open(context, path, access).value();
  auto other = qio::cached_file::open(path, access).value();  // open before the failure
  auto durable = qio::cached_file::open(durable_path_of(directory), access).value();
  const auto direct = qio::direct_file::open(path);  // none with data=journal
  row answers;

  failing_device drive(mapped, device);
  if (of.failing == "device") {
    drive.fail_all();
  } else {
    auto blocks = data_chunks_of_btrfs(writer.native_handle());
    if (blocks.empty()) {
      blocks = extents_of(writer.native_handle());
      const auto more = extents_of(durable.native_handle());
      blocks.insert(blocks.end(), more.begin(), more.end());
    }
    drive.fail(blocks);
  }
  const std::vector<std::byte> data(piece, after);
  for (const std::uint64_t each : pieces) writer.write_at(of.place(each), data).value();

  const auto synced = writer.sync();
  answers.add("fsync", name_of_answer(synced));
  if (!synced) check_is_sticky(writer, context, synced.error(), "while the device fails");
  if (synced) note(notes, "acknowledged", 1);
  answers.add("pages", pages_of(path, of.place(synced_again)));
  answers.add("read", contents_at(other, of.place(synced_again)));
  answers.add("size", std::to_string(other.size().value() / 1024) + "K");
  answers.add("fsync again", name_of_sync(writer.native_handle()));
  const auto by_other = other.sync();
  answers.add("other handle", name_of_answer(by_other));
  promise(synced || !by_other || acknowledges_early(of),
          "a handle that was open before the failure syncs successfully");
  auto later = qio::cached_file::open(path, access);
  answers.add("opened later", later ? name_of_answer(later.value().sync()) : "open: " + name_of_answer(later));

  const auto written = durable.write_at(0, data, {.durable = true});
  answers.add("durable write", name_of_answer(written));
  if (written) note(notes, "durable", 1);
  if (!written) check_is_sticky(durable, context, written.error(), "after a failed durable write");
  answers.add("file system", state_of(directory));

  drive.heal();
  if (!synced) check_is_sticky(writer, context, synced.error(), "when the device works again");
  answers.add("device", direct ? contents_at(direct.value(), of.place(read_directly)) : "not read");
  const auto forgotten = other.forget({of.place(dropped), piece});
  if (!forgotten) print("dropping a piece", name_of_answer(forgotten));
  answers.add("dropped", contents_at(other, of.place(dropped)));
  answers.add("healed fsync", name_of_sync(writer.native_handle()));
  std::ofstream("/proc/sys/vm/drop_caches") << 3;
  answers.add("then dropped", contents_at(other, of.place(synced_again)));

  // What an application should do: write again what was not acknowledged, to the reopened file, and sync that.
  auto reopened = qio::cached_file::open(path, access);
  const auto repaired = [&]() -> qio::result<void> {
    if (!reopened) return reopened.error();
    const std::vector<std::byte> same(piece, again);
    if (const auto done = reopened.value().write_at(of.place(rewritten), same); !done) return done.error();
    return reopened.value().sync();
  }();
  answers.add("written again", name_of_answer(repaired));
  if (repaired) note(notes, "rewritten", 1);
  std::ofstream(in(notes, "answers")) << answers.text();
  return broken != 0;
}

int verify(const std::string& directory, const std::string& which, const std::string& notes) {
  const experiment of(which);
  row answers;
  const auto file = qio::cached_file::open(path_of(directory));
  const auto durable = qio::cached_file::open(durable_path_of(directory));
  if (!file || !durable) {
    promise(false, "a file is not there after mounting");
    return 1;
  }
  const auto found_at = [&](std::uint64_t offset) { return contents_at(file.value(), of.place(offset)); };
  const std::string first = found_at(synced_again), last = found_at(rewritten);
  answers.add("mounted again", first);
  answers.add("mounted size", std::to_string(file.value().size().value() / 1024) + "K");
  if (noted(notes, "acknowledged") != 0) {
    const bool is_kept = first == "new" && found_at(dropped) == "new" && found_at(read_directly) == "new" &&
                         (last == "new" || last == "again");
    answers.add("acknowledged", is_kept ? "kept" : "lost");
    promise(is_kept || acknowledges_early(of), "what sync() has acknowledged is not on the device");
  }
  if (noted(notes, "rewritten") != 0)
    promise(last == "again", "what was written again and synced is not on the device");
  if (noted(notes, "durable") != 0)
    promise(contents_at(durable.value(), 0) == "new" || acknowledges_early(of),
            "what a durable write has acknowledged is not on the device");
  std::string before_that;
  std::ifstream noted_answers(in(notes, "answers"));
  std::getline(noted_answers, before_that);
  const bool is_expected = is_as_expected(which, before_that + " | " + answers.text());
  return broken != 0 || !is_expected;
}

}  // namespace

int main(int count, char** all) try {
  const std::vector<std::string> given(all + 1, all + count);
  if (given.size() == 6 && given[0] == "change")
    return change(given[1], given[2], given[3], experiment(given[4]), given[5]);
  if (given.size() == 4 && given[0] == "verify") return verify(given[1], given[2], given[3]);
  std::fputs("see the beginning of fsync_failures.cpp\n", stderr);
  return 2;
} catch (const std::exception& failure) {
  std::printf("fsync_failures: %s\n", failure.what());
  return 2;
}
