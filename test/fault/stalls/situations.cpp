// How each situation is brought about.
#include "situations.hpp"

#include "place.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stalls {

namespace {

using qio::access, qio::creation, qio::cached_file, qio::direct_file;
using file_on_context = qio::basic_file<qio::cached, qio::default_engine>;
namespace fs = std::filesystem;

constexpr std::size_t kib = 1024, mib = 1024 * kib;

qio::task<qio::result<file_on_context>> reopen(bench& on, std::string path) {
  return cached_file::async_open(on.context, path, access::read_write, creation::open_existing, on.options());
}

std::string text(std::size_t number) { return std::to_string(number); }

// --- No load ---

outcome no_load(const form& how) {
  outcome found = measure(how, [](bench& on) -> qio::task<void> {
    do co_await on.beats(on.how.either(1000u, 5u));
    while (on.goes_on() && on.how.full);
  });
  found.done = "only the beats";
  return found;
}

// --- 1. Cold cached reads ---

enum class reads { in_bulk, in_time, as_batch };
constexpr std::array all_reads{reads::in_bulk, reads::in_time, reads::as_batch};

qio::task<void> read_cold(bench& on, file_on_context& file, reads kind) {
  const std::size_t bytes = kind == reads::in_time ? 64 * kib : mib;
  const std::size_t count = kind == reads::in_time ? on.how.either(500u, 20u) : on.how.either(100u, 8u);
  if (kind == reads::as_batch) {
    std::vector<std::unique_ptr<lent_memory>> buffers(count);
    std::vector<qio::read_request> batch(count);
    for (std::size_t i = 0; i < count; ++i) {
      buffers[i] = std::make_unique<lent_memory>(bytes);
      batch[i].offset = i * bytes;
      batch[i].buffer = buffers[i]->data;
    }
    const auto failed = co_await file.async_read_many(batch);
    for (std::size_t i = 0; i < count; ++i)
      on.count(failed && batch[i].answer && batch[i].answer.value() == bytes && has_values(i * bytes, buffers[i]->data),
               "a read of a batch failed, or returned other data");
    co_return;
  }
  qio::task_scope scope(on.context);
  for (std::size_t i = 0; i < count; ++i)
    scope.spawn(kind == reads::in_time ? read_in_time(on, file, i * bytes, bytes)
                                       : read_right(on, file, i * bytes, bytes));
  co_await scope.join();
}

outcome cold_reads(const form& how, const std::string& kind, unsigned read_ahead, reads which) {
  const place where(kind, {.mebibytes = 400, .read_ahead = read_ahead});
  if (!where.missing.empty()) return lacking(where.missing);
  const std::string path = where / "file";
  if (!make_file(path, how.either(100u, 8u) * mib)) return lacking("no file of known contents in " + where.path);
  lent_memory::reserve(100, mib);
  lent_memory::reserve(500, 64 * kib);
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    auto file = cached_file::open(on.context, path, access::read, creation::open_existing, on.options()).value();
    const auto read = [&](reads each) -> qio::task<void> {
      co_await on.elsewhere([&] { make_cold(path); });
      co_await read_cold(on, file, each);
    };
    while (on.goes_on())
      if (on.how.full)
        co_await read(which);
      else
        for (const reads each : all_reads) co_await read(each);
    on.add_statistics(file);
  });
  const std::string each = !how.full                  ? "a few reads of each kind"
                           : which == reads::in_time  ? "500 reads of 64 KiB, 5 ms each"
                           : which == reads::as_batch ? "100 × 1 MiB as a batch"
                                                      : "100 × 1 MiB at once";
  found.done = each + " on " + kind + (read_ahead == 0 ? "" : ", read-ahead " + text(read_ahead) + " KiB");
  return found;
}

// --- 2. Another process holds the lock of the inode ---

// A write may run inline, and so wait once, unless nothing may.
outcome held_lock(const form& how, const std::string& kind) {
  const std::size_t writes = how.never ? 8 : 0;
  const place where(kind);
  if (!where.missing.empty()) return lacking(where.missing);
  const std::string path = where / "file";
  if (!make_file(path, mib)) return lacking("no file of known contents");
  bool is_held = true;
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    auto file = cached_file::open(on.context, path, access::read_write, creation::open_existing, on.options()).value();
    auto direct = direct_file::open(on.context, path, access::read_write, creation::open_existing, on.options());
    const auto work = [&]() -> qio::task<void> {
      qio::task_scope scope(on.context);
      for (std::size_t i = 1; i <= writes; ++i) scope.spawn(write_right(on, file, i * block, block));
      for (std::size_t i = 192; i < 192 + writes && direct; ++i)
        scope.spawn(write_right(on, direct.value(), i * block, block));
      for (std::size_t i = 208; i < 216 && direct; ++i) scope.spawn(read_right(on, direct.value(), i * block, block));
      for (std::size_t i = 64; i < 72; ++i) scope.spawn(read_right(on, file, i * block, block));
      for (std::size_t i = 128; i < 136; ++i) scope.spawn(read_in_time(on, file, i * block, block));
      co_await scope.join();
    };
    while (is_held && on.goes_on()) is_held = co_await on.while_held(locking(path), work);
    for (std::size_t i = 1; i <= writes && is_held; ++i) co_await read_right(on, file, i * block, block);
    on.add_statistics(file);
    if (direct) on.add_statistics(direct.value());
  });
  if (!is_held) return lacking("no userfaultfd, which makes a write wait");
  found.done = text(2 * writes) + " writes and 24 reads of 4 KiB on " + kind +
               ", a third to a half of them direct, while a " + "write of another process holds the lock";
  return found;
}

enum class beside { writes, direct_reads };

outcome busy_file(const form& how, const std::string& kind, beside which) {
  const place where(kind);
  if (!where.missing.empty()) return lacking(where.missing);
  const std::string path = where / "file";
  // A long write waits while it holds the lock, if too many pages are dirty.
  const std::size_t piece = how.either(kind == "here" ? 256u : 32u, 2u) * mib, theirs = 2 * piece;
  if (!make_file(path, theirs + 4 * mib)) return lacking("no file of known contents");
  const neighbor other([&] {
    const int file = ::open(path.c_str(), which == beside::writes ? O_RDWR : O_RDONLY | O_DIRECT);
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(block, piece));
    std::fill_n(memory, piece, std::byte{1});
    return [=, turns = 0L]() mutable {
      const auto offset = static_cast<off_t>(piece) * (turns++ % 2);
      return which == beside::writes ? ::pwrite(file, memory, piece, offset) > 0
                                     : ::pread(file, memory, piece, offset) > 0;
    };
  });
  if (!other.works()) return lacking("the other process failed");
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    auto file = cached_file::open(on.context, path, access::read_write, creation::open_existing, on.options()).value();
    const auto write = [&]() -> qio::task<void> {
      while (on.goes_on())
        for (std::size_t i = 0; i < 8; ++i) co_await write_right(on, file, theirs + i * block, block);
    };
    bool has_ended = false;
    const auto read = [&]() -> qio::task<void> {
      do {
        co_await read_right(on, file, theirs + mib, block);
        co_await read_in_time(on, file, theirs + 2 * mib, block);
      } while (!has_ended);
    };
    const auto resize = [&]() -> qio::task<void> {
      do {
        const auto done = co_await file.async_resize(theirs + 5 * mib);
        on.count_success(done);
        static_cast<void>(co_await on.context.sleep_for(1ms));
        const auto undone = co_await file.async_resize(theirs + 4 * mib);
        on.count_success(undone);
      } while (!has_ended);
    };
    const auto write_to_end = [&]() -> qio::task<void> {
      co_await write();
      has_ended = true;
    };
    co_await qio::when_all(write_to_end(), read(), resize());
    for (std::size_t i = 0; i < 8; ++i) co_await read_right(on, file, theirs + i * block, block);
    on.add_statistics(file);
  });
  found.done = std::string("writes and reads of 4 KiB, resizing; another process ") +
               (which == beside::writes ? "writes" : "directly reads") + " pieces of " + text(piece / mib) +
               " MiB of the same file on " + kind;
  return found;
}

// --- 3. Writers are throttled, the journal is slow, the disk is full ---

qio::task<void> append_small(bench& on, std::string path) {
  auto file = cached_file::open(on.context, path, access::read_write, creation::always_new, on.options()).value();
  std::uint64_t end = 0;
  while (on.goes_on()) {
    for (int i = 0; i < 16; ++i, end += block) co_await write_right(on, file, end, block);
    if (end == 8 * mib) end = 0;
    co_await read_in_time(on, file, 0, block);
  }
  on.add_statistics(file);
}

outcome slow_journal(const form& how) {
  const place where("ext4");
  if (!where.missing.empty()) return lacking(where.missing);
  const neighbor other([&] {
    const int file = ::open((where / "other").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return [=, piece = 0L, data = std::vector<std::byte>(4 * mib)]() mutable {
      const off_t offset = piece++ % 8 * 4 * static_cast<off_t>(mib);
      return ::ftruncate(file, offset) == 0 && ::pwrite(file, data.data(), data.size(), offset) > 0 &&
             ::fsync(file) == 0;
    };
  });
  if (!other.works()) return lacking("the other process failed");
  outcome found = measure(how, [&](bench& on) { return append_small(on, where / "file"); });
  found.done = "writes of 4 KiB on ext4; another process writes 4 MiB, syncs and truncates";
  return found;
}

outcome throttled_writers(const form& how) {
  const place where("ext4");
  if (!where.missing.empty()) return lacking(where.missing);
  // Each limit is set as bytes or as a ratio: setting one of them makes the other 0.
  const std::string saved = where / "saved";
  const guard lowered(
      commanding("cd /proc/sys/vm && grep -H . dirty_bytes dirty_background_bytes dirty_ratio dirty_background_ratio | "
                 "grep -v ':0$' >" +
                     saved + " && echo 8388608 >dirty_bytes && echo 4194304 >dirty_background_bytes",
                 "cd /proc/sys/vm && while IFS=: read -r name value; do echo $value >$name; done <" + saved),
      how.time + std::chrono::seconds(60));
  if (!lowered.holds()) return lacking("vm.dirty_bytes cannot be changed");
  const neighbor other([&] {
    const int file = ::open((where / "other").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return [=, piece = 0L, data = std::vector<std::byte>(mib)]() mutable {
      return ::pwrite(file, data.data(), data.size(), piece++ % 64 * static_cast<off_t>(mib)) > 0;
    };
  });
  if (!other.works()) return lacking("the other process failed");
  outcome found = measure(how, [&](bench& on) { return append_small(on, where / "file"); });
  found.done = "writes of 4 KiB on ext4, vm.dirty_bytes = 8 MiB; another process writes";
  return found;
}

outcome full_disk(const form& how) {
  const place where("ext4", {.mebibytes = 16});
  if (!where.missing.empty()) return lacking(where.missing);
  const neighbor other([&] {
    const std::string path = where / "filler";
    return [=, data = std::vector<std::byte>(256 * kib)] {
      const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
      while (::write(file, data.data(), data.size()) > 0) {}
      const bool is_stored = ::syncfs(file) == 0;
      ::close(file);
      return is_stored && ::unlink(path.c_str()) == 0;
    };
  });
  if (!other.works()) return lacking("the other process failed");
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    auto file =
        cached_file::open(on.context, where / "file", access::read_write, creation::always_new, on.options()).value();
    const std::vector<std::byte> data(block);
    std::uint64_t end = 0;
    while (on.goes_on()) {
      for (int i = 0; i < 64; ++i) {
        const auto done = co_await file.async_write_at(end, data);
        on.count(done || done.error() == std::errc::no_space_on_device, done ? "" : done.error().message());
        if (done) end += block;
      }
      if (end > mib) {
        on.count_success(co_await file.async_resize(0));
        end = 0;
      }
    }
    on.add_statistics(file);
  });
  found.done = "writes of 4 KiB on ext4; another process fills the disk and frees it";
  return found;
}

// --- 4. A frozen file system ---

outcome frozen(const form& how, const std::string& kind) {
  const place where(kind);
  if (!where.missing.empty()) return lacking(where.missing);
  const std::string path = where / "file";
  if (!make_file(path, mib)) return lacking("no file of known contents");
  bool is_frozen = true;
  // An inline write waits; then nothing asks for the release.
  const auto limit = how.never ? guard::usual_limit : std::chrono::milliseconds(200);
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    auto file = cached_file::open(on.context, path, access::read_write, creation::open_existing, on.options()).value();
    const auto open = [&]() -> qio::task<void> { on.count_success(co_await reopen(on, path)); };
    const auto create = [&]() -> qio::task<void> {
      on.count_success(co_await cached_file::async_open(on.context, where / "new", access::read_write,
                                                        creation::if_needed, on.options()));
    };
    const auto resize = [&]() -> qio::task<void> { on.count_success(co_await file.async_resize(2 * mib)); };
    const auto sync = [&]() -> qio::task<void> { on.count_success(co_await file.async_sync()); };
    const auto work = [&]() -> qio::task<void> {
      qio::task_scope scope(on.context);
      for (std::size_t i = 0; i < 8; ++i) scope.spawn(write_right(on, file, i * block, block));
      for (std::size_t i = 64; i < 72; ++i) scope.spawn(read_right(on, file, i * block, block));
      for (std::size_t i = 128; i < 136; ++i) scope.spawn(read_in_time(on, file, i * block, block));
      scope.spawn(open());
      scope.spawn(create());
      scope.spawn(resize());
      scope.spawn(sync());
      co_await scope.join();
    };
    while (is_frozen && on.goes_on()) is_frozen = co_await on.while_held(freezing(where.path), work, limit);
    on.add_statistics(file);
  });
  if (!is_frozen) return lacking("the file system cannot be frozen");
  found.opens = true;
  found.done = "writes, reads, opens, creation, resizing, sync on " + kind + " while frozen for " +
               (how.never ? text(how.beats()) + " beats" : "at most 200 ms");
  return found;
}

// --- 5. A FUSE daemon that is stopped; a device that hangs because its image is there ---

outcome stopped_daemon(const form& how) {
  const place below("here");
  if (!below.missing.empty()) return lacking(below.missing);
  const place where("fuse", {.below = below.path});
  if (!where.missing.empty()) return lacking(where.missing);
  const std::string path = where / "file";
  bool is_made = true;
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    while (is_made && on.goes_on()) {
      co_await on.elsewhere([&] { is_made = make_file(path, mib); });
      auto opened = co_await reopen(on, path);
      on.count_success(opened);
      if (!opened) co_return;
      const auto open = [&]() -> qio::task<void> { on.count_success(co_await reopen(on, path)); };
      const auto work = [&]() -> qio::task<void> {
        auto& file = opened.value();
        qio::task_scope scope(on.context);
        for (std::size_t i = 0; i < 8; ++i) scope.spawn(write_right(on, file, i * block, block));
        for (std::size_t i = 64; i < 72; ++i) scope.spawn(read_right(on, file, i * block, block));
        for (std::size_t i = 128; i < 136; ++i) scope.spawn(read_in_time(on, file, i * block, block));
        scope.spawn(open());
        co_await scope.join();
      };
      // The kernel has the names on the path in memory.
      co_await on.elsewhere([&] { static_cast<void>(fs::file_size(path)); });
      co_await on.while_held(stopping(where.daemon()), work);
      on.add_statistics(opened.value());
    }
  });
  if (!is_made) return lacking("no file of known contents");
  found.opens = true;
  found.done = "writes, reads and an open on FUSE while the daemon is stopped for " + text(how.beats()) + " beats";
  return found;
}

// More reads, in no order, than the queue of the device takes: who submits more waits until the device completes one.
qio::task<void> read_much(bench& on, file_on_context& file) {
  qio::task_scope scope(on.context);
  for (std::size_t i = 0; i < 500; ++i) scope.spawn(read_in_time(on, file, i * 67 % 500 * 128 * kib, block));
  co_await scope.join();
}
constexpr std::size_t read_altogether = 64 * mib;

outcome hanging_device(const form& how, unsigned read_ahead) {
  const place below("here");
  if (!below.missing.empty()) return lacking(below.missing);
  const place fuse("fuse", {.below = below.path});
  if (!fuse.missing.empty()) return lacking(fuse.missing);
  const place where("ext4", {.mebibytes = 128, .below = fuse.path, .read_ahead = read_ahead});
  if (!where.missing.empty()) return lacking(where.missing);
  const std::string path = where / "file", image = fuse / "image";
  if (!make_file(path, read_altogether)) return lacking("no file of known contents");
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    auto file = cached_file::open(on.context, path, access::read, creation::open_existing, on.options()).value();
    const auto work = [&] { return read_much(on, file); };
    while (on.goes_on()) {
      co_await on.elsewhere([&] { make_cold(path) && make_cold(image); });
      co_await on.while_held(stopping(fuse.daemon()), work);
    }
    on.add_statistics(file);
  });
  found.done = "500 cold reads of 4 KiB, 5 ms each, on ext4, read-ahead " + text(read_ahead) +
               " KiB, while the device hangs for " + text(how.beats()) + " beats";
  return found;
}

// --- 6. Overlay: opening a file of the lower layer for writing copies it ---

qio::task<bool> prepare_copy(bench& on, std::string lower, std::string path, std::size_t bytes) {
  bool is_made = false;
  co_await on.elsewhere([&] { is_made = make_file(lower, bytes); });
  // From now on the layer is known, and the names on the path are in memory.
  on.count_success(
      co_await cached_file::async_open(on.context, path, access::read, creation::open_existing, on.options()));
  co_await on.elsewhere([&] { static_cast<void>(fs::file_size(path)); });
  co_return is_made;
}

outcome copy_up(const form& how) {
  const place lower("here");
  if (!lower.missing.empty()) return lacking(lower.missing);
  const place where("overlay", {.below = lower.path});
  if (!where.missing.empty()) return lacking(where.missing);
  const std::size_t bytes = how.either(256u, 4u) * mib;
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    for (std::size_t i = 0; i < 4 && on.goes_on(); ++i) {
      const std::string name = "file" + text(i);
      const bool is_made = co_await prepare_copy(on, lower / name, where / name, bytes);
      auto opened = co_await reopen(on, where / name);
      on.count(is_made && opened, "a file was not opened for writing");
      if (!opened) co_return;
      co_await read_right(on, opened.value(), bytes - block, block);
      on.add_statistics(opened.value());
    }
  });
  found.opens = true;
  found.done = "async_open for writing of " + text(bytes / mib) + " MiB in the lower layer of an overlay";
  return found;
}

// The lower layer is a FUSE file system whose daemon is stopped: the copy waits.
outcome held_copy_up(const form& how) {
  const place below("here");
  if (!below.missing.empty()) return lacking(below.missing);
  const place fuse("fuse", {.below = below.path});
  if (!fuse.missing.empty()) return lacking(fuse.missing);
  const place where("overlay", {.below = fuse.path});
  if (!where.missing.empty()) return lacking(where.missing);
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    for (std::size_t i = 0; i < 8 && on.goes_on(); ++i) {
      const std::string name = "file" + text(i), path = where / name;
      const bool is_made = co_await prepare_copy(on, below / name, path, mib);
      const auto open = [&]() -> qio::task<void> {
        const auto opened = co_await reopen(on, path);
        on.count(is_made && opened, "a file was not opened for writing");
      };
      co_await on.while_held(stopping(fuse.daemon()), open);
    }
  });
  found.opens = true;
  found.done =
      "async_open for writing on an overlay whose lower layer does not answer for " + text(how.beats()) + " beats";
  return found;
}

// --- 7. A lease ---

outcome leased(const form& how) {
  const place where("ext4", {.mebibytes = 64});
  if (!where.missing.empty()) return lacking(where.missing);
  const std::string path = where / "file", other = where / "other";
  if (!make_file(path, mib) || !make_file(other, mib)) return lacking("no file of known contents");
  bool is_leased = true;
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    on.count_success(co_await reopen(on, other));  // from now on, the file system is known
    const auto open = [&]() -> qio::task<void> {
      auto opened = co_await reopen(on, path);
      on.count_success(opened);
      if (opened) co_await read_right(on, opened.value(), 0, block);
      if (opened) on.add_statistics(opened.value());
    };
    for (int i = 0; is_leased && (i < 3 || on.goes_on()); ++i) is_leased = co_await on.while_held(leasing(path), open);
  });
  if (!is_leased) return lacking("the file system grants no leases");
  found.opens = true;
  found.done = "async_open of a file that another process has leased, for " + text(how.beats()) + " beats";
  return found;
}

// --- 8. A control group that limits transfers; a suspended device ---

// In the hierarchy of version 2 if it has the io controller, otherwise in that of version 1.
std::string limiting(const std::string& device, const std::string& test) {
  const std::string limit = "2097152";
  return "{ g=/sys/fs/cgroup/qio-stalls && grep -qw io /sys/fs/cgroup/cgroup.controllers && "
         "{ echo +io >/sys/fs/cgroup/cgroup.subtree_control; mkdir $g; } && echo '" +
         device + " rbps=" + limit + " wbps=" + limit + "' >$g/io.max && echo " + test +
         " >$g/cgroup.procs; } || { g=/sys/fs/cgroup/blkio/qio-stalls && mkdir $g && echo '" + device + ' ' + limit +
         "' >$g/blkio.throttle.read_bps_device && echo '" + device + ' ' + limit +
         "' >$g/blkio.throttle.write_bps_device && echo " + test + " >$g/cgroup.procs; }";
}

outcome limited_group(const form& how) {
  const place where("ext4");
  if (!where.missing.empty()) return lacking(where.missing);
  const std::string path = where / "file";
  if (!make_file(path, 8 * mib)) return lacking("no file of known contents");
  std::string back;
  for (const std::string root : {"/sys/fs/cgroup", "/sys/fs/cgroup/blkio"})
    back += "if [ -d " + root + "/qio-stalls ]; then echo " + text(static_cast<std::size_t>(::getpid())) + " >" + root +
            "/cgroup.procs; rmdir " + root + "/qio-stalls; fi; ";
  const guard limited(commanding(limiting(where.number_of_device(), text(static_cast<std::size_t>(::getpid()))), back),
                      how.time + std::chrono::seconds(60));
  if (!limited.holds()) return lacking("no control group that limits transfers of a device");
  outcome found = measure(how, [&](bench& on) -> qio::task<void> {
    auto file = cached_file::open(on.context, path, access::read_write, creation::open_existing, on.options()).value();
    while (on.goes_on()) {
      co_await on.elsewhere([&] { make_cold(path); });
      qio::task_scope scope(on.context);
      for (std::size_t i = 0; i < 16; ++i) scope.spawn(read_in_time(on, file, i * 256 * kib, 64 * kib));
      for (std::size_t i = 0; i < 16; ++i) scope.spawn(write_right(on, file, 4 * mib + i * block, block));
      co_await scope.join();
    }
    on.add_statistics(file);
  });
  found.done = "16 cold reads of 64 KiB, 5 ms each, and 16 writes of 4 KiB in a control group with 2 MiB/s";
  return found;
}

outcome suspended_device(const form& how) {
  if (!why_no_private_mounts().empty()) return lacking(why_no_private_mounts());
  if (!fs::exists("/dev/mapper/control")) return lacking("the kernel has no device mapper");
  const char* const given = std::getenv("QIO_TEST_DEVICE");
  std::optional<fault::loop_device> loop;
  if (given == nullptr) loop.emplace(128 * mib);
  const std::string device = given != nullptr ? given : loop->path, name = "qio-stalls";
  if (device.empty()) return lacking(loop->missing);
  const fault::scratch directory;
  bool ok = false;
  const std::string said =
      output_of("echo 0 262144 linear " + device + " 0 | dmsetup create " + name + " && mkfs.ext4 -q -F /dev/mapper/" +
                    name + " && mount /dev/mapper/" + name + ' ' + directory.path,
                &ok);
  const std::string path = directory.path + "/file";
  outcome found = lacking("no device of the device mapper: " + said);
  bool is_suspended = true;
  if (ok && make_file(path, read_altogether)) {
    found = measure(how, [&](bench& on) -> qio::task<void> {
      auto file = cached_file::open(on.context, path, access::read, creation::open_existing, on.options()).value();
      auto direct = direct_file::open(on.context, path, access::read, creation::open_existing, on.options()).value();
      const auto read_directly = [&]() -> qio::task<void> {
        qio::task_scope scope(on.context);
        for (std::size_t i = 0; i < 300; ++i) scope.spawn(read_right(on, direct, i * 128 * kib, block));
        co_await scope.join();
      };
      const auto work = [&]() -> qio::task<void> { co_await qio::when_all(read_much(on, file), read_directly()); };
      while (is_suspended && on.goes_on()) {
        co_await on.elsewhere([&] { make_cold(path); });
        is_suspended = co_await on.while_held(
            commanding("dmsetup suspend --noflush --nolockfs " + name, "dmsetup resume " + name), work);
      }
      on.add_statistics(file);
      on.add_statistics(direct);
    });
  }
  output_of("umount " + directory.path + "; dmsetup remove " + name);
  if (!is_suspended) return lacking("a device cannot be suspended");
  found.done = "500 cold reads of 4 KiB, 5 ms each, and 300 direct ones, while the device is suspended for " +
               text(how.beats()) + " beats";
  return found;
}

}  // namespace

std::vector<situation> all_situations() {
  std::vector<situation> all;
  const auto add = [&](std::string name, promise kept, auto bring_about) -> situation& {
    return all.emplace_back(situation{std::move(name), kept, false, false, std::move(bring_about)});
  };
  // The same once more on a context that runs nothing inline, which keeps the whole promise.
  const auto add_both = [&](const std::string& name, promise kept, bool only_full, auto bring_about) {
    add(name, kept, bring_about).only_full = only_full;
    situation& never = add(name + ", nothing inline", promise::always, bring_about);
    never.never = true;
    never.only_full = only_full;
  };

  add("no load", promise::none, no_load);
  for (const reads which : all_reads) {
    const auto on = [&](const std::string& kind, unsigned read_ahead) {
      add("cold reads", promise::always, [=](const form& how) {
        return cold_reads(how, kind, read_ahead, which);
      }).only_full = which != all_reads.front();  // the small form makes all of them
    };
    on("here", 0);
    on("ext4", 128);
    on("ext4", 8192);
    on("xfs", 8192);
    on("btrfs", 8192);
  }
  for (const unsigned read_ahead : {128u, 8192u})
    add("a device that hangs", promise::always, [=](const form& how) { return hanging_device(how, read_ahead); });
  add_both("a busy file", promise::pauses, false,
           [](const form& how) { return busy_file(how, "here", beside::writes); });
  for (const std::string kind : {"ext4", "xfs"}) {
    add_both("a held lock", promise::always, false, [=](const form& how) { return held_lock(how, kind); });
    add_both("a busy file", promise::pauses, false,
             [=](const form& how) { return busy_file(how, kind, beside::writes); });
    add_both("a busy file", promise::pauses, false,
             [=](const form& how) { return busy_file(how, kind, beside::direct_reads); });
  }
  add_both("a slow journal", promise::pauses, false, slow_journal);
  add_both("a full disk", promise::pauses, false, full_disk);
  add_both("throttled writers", promise::pauses, true, throttled_writers);
  for (const std::string kind : {"ext4", "xfs"})
    add_both("a frozen file system", promise::pauses, false, [=](const form& how) { return frozen(how, kind); });
  add("a stopped FUSE daemon", promise::always, stopped_daemon);
  add("copy-up", promise::always, copy_up);
  add("a copy-up that waits", promise::always, held_copy_up);
  add("a lease", promise::always, leased);
  add_both("a control group's limit", promise::pauses, true, limited_group);
  add("a suspended device", promise::always, suspended_device);
  return all;
}

}  // namespace stalls
