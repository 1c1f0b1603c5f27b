// SPDX-License-Identifier: BSL-1.0
// A disk with a file system in memory that can fail in every way a program must survive.
#pragma once

#include <qio/configuration.hpp>
#include <qio/simulation/chance.hpp>
#include <qio/simulation/contents.hpp>
#include <qio/simulation/options.hpp>
#include <qio/system/operating_system.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

class simulated_system;

/// Files that exist in memory only, for tests of programs that store data. Faults that a real disk has once in years
/// happen here when the seed says so, and repeat with the same seed. Give the disk to a basic_context<simulated>
/// (context_options::disk): files that are opened on that context, in any mode but mapped, are files of the disk, and
/// all of their operations meet its faults.
///
/// Time is simulated, too: nothing waits. now() is the disk's clock, which every operation advances. Write a deadline
/// as `disk.now() + duration`; a duration alone counts from the real clock, and does not repeat.
///
/// A path is just a name; directories need not be created. A disk is for one thread, and must outlive its contexts and
/// files.
class simulated_disk {
 public:
  using time_point = std::chrono::steady_clock::time_point;  ///< of its clock, for deadlines

  /// An empty disk.
  explicit simulated_disk(const simulation_options& options = {}) : options_(options), chance_(options.seed) {}
  simulated_disk(const simulated_disk&) = delete;
  simulated_disk& operator=(const simulated_disk&) = delete;

  // --- power ---

  /// Cuts the power after this many more system calls; 0 cuts it now. Then every operation fails with EIO until
  /// restart().
  void cut_power_after(std::uint64_t system_calls) noexcept { calls_left_ = system_calls; }
  /// Whether the power is on.
  bool has_power() const noexcept { return calls_left_ != 0; }

  /// Cuts the power, unless it is off already, and turns it on again, as if the machine had crashed: each file has what
  /// is durable, and a random part of the rest. Contexts and files from before may only be destroyed.
  void restart() {
    keep_names_by_chance();
    for (auto& [name, file] : names_) file->lose_power(chance_);
    open_.clear();
    calls_left_ = forever;
  }

  // --- files: what basic_file has no function for ---

  /// Whether there is a file of that name.
  bool exists(std::string_view path) const { return names_.contains(std::string(path)); }
  /// Removes the name of a file. Fails with std::errc::no_such_file_or_directory if there is none.
  result<void> remove(std::string_view path) { return rename(path, {}); }
  /// Renames a file, and replaces one that exists at `to`. Fails as remove(). Like every change of names, it is durable
  /// after sync_directory(), of either directory if there are two.
  result<void> rename(std::string_view from, std::string_view to) {
    if (!take_call()) return failure(std::errc::io_error);
    const auto found = names_.find(std::string(from));
    if (found == names_.end()) return failure(std::errc::no_such_file_or_directory);
    change_names({std::string(from), std::string(to), found->second});
    return success();
  }
  /// Like qio::sync_directory(): makes names durable that were created, renamed or removed in the directory, but not
  /// the contents of the files. The directory is what stands before the last slash of a name: "logs" of "logs/7", and
  /// "." of a name without a slash. Slashes at the end are ignored. Succeeds even if no file is in the directory.
  result<void> sync_directory(std::string_view directory) {
    if (!take_call()) return failure(std::errc::io_error);
    while (directory.size() > 1 && directory.ends_with('/')) directory.remove_suffix(1);
    // With one change, all earlier ones of the same names become durable, in other directories, too: so from the newest
    // to the oldest.
    std::set<std::string> names;
    const auto is_part = [&](const std::string& name) {
      return !name.empty() && (directory_of(name) == directory || names.contains(name));
    };
    std::vector<change_of_names> part;
    for (std::size_t i = unwritten_names_.size(); i-- != 0;) {
      change_of_names& each = unwritten_names_[i];
      if (!is_part(each.from) && !is_part(each.to)) continue;
      names.insert(each.from);
      names.insert(each.to);
      part.push_back(std::move(each));
      unwritten_names_.erase(unwritten_names_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (auto each = part.rbegin(); each != part.rend(); ++each) apply(*each, durable_names_);
    return success();
  }

  /// Damages the sectors of a range: reading them fails until they are written again.
  result<void> damage(std::string_view path, std::uint64_t offset, std::uint64_t bytes) {
    const auto found = names_.find(std::string(path));
    if (found == names_.end()) return failure(std::errc::no_such_file_or_directory);
    found->second->go_bad(offset, bytes);
    return success();
  }

  // --- state ---

  /// The seed that it was made with.
  std::uint64_t seed() const noexcept { return options_.seed; }
  /// The time of the disk. Write deadlines as `disk.now() + duration`.
  time_point now() const noexcept { return now_; }
  /// The number of system calls so far, failed ones included: it locates an event in a history that repeats.
  std::uint64_t system_calls() const noexcept { return calls_; }

 private:
  friend class simulated;
  friend class simulated_system;

  using contents = std::shared_ptr<detail::simulated_contents>;
  using name_map = std::map<std::string, contents>;
  static constexpr std::uint64_t forever = ~std::uint64_t(0);

  struct open_file {
    contents of;
    access granted;
    bool writes_durably;
    bool is_locked = false;
  };

  // `from` is empty for a file that was created, `to` for one that was removed.
  struct change_of_names {
    std::string from;
    std::string to;
    contents of;
  };

  static error failure(std::errc code) noexcept {
    return std::error_code(platform::system_code(code), platform::system_category());
  }
  static detail::raw_result answer(std::errc code) noexcept { return -platform::system_code(code); }

  // --- system calls; the power may be cut at each ---

  bool take_call() noexcept {
    ++calls_;
    if (calls_left_ == 0) return false;
    if (calls_left_ != forever) --calls_left_;
    return true;
  }

  // The error that keeps a transfer from starting; 0 if there is none.
  detail::raw_result refusal(const open_file* file, access without) noexcept {
    if (file == nullptr) return answer(std::errc::bad_file_descriptor);
    if (file->granted == without) return answer(platform::not_opened_for);
    if (chance_.comes_true(options_.interruptions)) return answer(std::errc::interrupted);
    return chance_.comes_true(options_.refusals) ? answer(std::errc::resource_unavailable_try_again) : 0;
  }

  detail::raw_result read(std::uint64_t number, const detail::piece& what) {
    if (!take_call()) return answer(std::errc::io_error);
    const open_file* const file = find(number);
    if (const auto refused = refusal(file, access::write); refused != 0) return refused;
    std::size_t bytes = shortened(length(what));
    if (chance_.comes_true(options_.read_errors)) file->of->go_bad(what.offset + chance_.below(bytes), 1);
    const std::size_t readable = file->of->readable(what.offset, bytes);
    if (readable == 0 && what.offset < file->of->size()) return answer(std::errc::io_error);
    bytes = readable;
    for_each_part(what, bytes, [&](std::uint64_t offset, std::span<std::byte> part) { file->of->read(offset, part); });
    return static_cast<detail::raw_result>(bytes);
  }

  detail::raw_result write(std::uint64_t number, const detail::piece& what, platform::transfer_flags flags) {
    if (!take_call()) return answer(std::errc::io_error);
    const open_file* const file = find(number);
    if (const auto refused = refusal(file, access::read); refused != 0) return refused;
    const bool untorn = (flags & platform::untorn) != 0;
    std::size_t bytes = untorn ? length(what) : shortened(length(what));
    const bool fails = chance_.comes_true(options_.write_errors);
    if (fails) bytes = untorn ? 0 : static_cast<std::size_t>(chance_.below(bytes));
    bytes = fitting(*file->of, what.offset, bytes);
    if (untorn && bytes != length(what)) bytes = 0;
    if (bytes != 0) put(*file->of, what, bytes, untorn);
    if (fails) return answer(std::errc::io_error);
    if (bytes == 0) return answer(std::errc::no_space_on_device);
    if (file->writes_durably || (flags & platform::durable) != 0) {
      if (chance_.comes_true(options_.sync_errors)) {
        file->of->fail_to_sync(chance_);
        return answer(std::errc::io_error);
      }
      file->of->sync(what.offset, bytes);
    }
    return static_cast<detail::raw_result>(bytes);
  }

  // A write was in flight when the power failed: part of it may have reached the disk; all or nothing of an untorn one.
  void lose_power_during_write(std::uint64_t number, const detail::piece& what, platform::transfer_flags flags) {
    const open_file* const file = find(number);
    if (file == nullptr || file->granted == access::read) return;
    const bool untorn = (flags & platform::untorn) != 0;
    const std::size_t all = length(what);
    const std::size_t bytes = static_cast<std::size_t>(untorn ? chance_.below(2) * all : chance_.below(all + 1));
    if (bytes != 0 && fitting(*file->of, what.offset, bytes) == bytes) put(*file->of, what, bytes, untorn);
  }

  // Changes nothing: what is written but not synced may be on the disk in any case, or not.
  detail::raw_result start_writeback(std::uint64_t number) {
    if (!take_call()) return answer(std::errc::io_error);
    return find(number) == nullptr ? answer(std::errc::bad_file_descriptor) : 0;
  }

  result<void> sync(std::uint64_t number) {
    if (!take_call()) return failure(std::errc::io_error);
    const open_file* const file = find(number);
    if (file == nullptr) return failure(std::errc::bad_file_descriptor);
    if (chance_.comes_true(options_.sync_errors)) {
      file->of->fail_to_sync(chance_);
      return failure(std::errc::io_error);
    }
    file->of->sync();
    return success();
  }

  void drop_pages(std::uint64_t number) {
    if (!take_call()) return;
    if (const open_file* const file = find(number)) file->of->show_what_is_kept();
  }

  result<std::uint64_t> size(std::uint64_t number) {
    if (!take_call()) return failure(std::errc::io_error);
    const open_file* const file = find(number);
    if (file == nullptr) return failure(std::errc::bad_file_descriptor);
    return file->of->size();
  }

  result<void> resize(std::uint64_t number, std::uint64_t bytes) {
    if (!take_call()) return failure(std::errc::io_error);
    const open_file* const file = find(number);
    if (file == nullptr) return failure(std::errc::bad_file_descriptor);
    if (file->granted == access::read) return failure(platform::not_opened_for);
    file->of->resize(bytes);
    return success();
  }

  // As on a real system, it is no call to the disk.
  result<bool> lock_exclusively(std::uint64_t number) {
    const auto own = open_.find(number);
    if (own == open_.end()) return failure(std::errc::bad_file_descriptor);
    for (const auto& [other, file] : open_)
      if (other != number && file.is_locked && file.of == own->second.of) return false;
    own->second.is_locked = true;
    return true;
  }

  result<void> close(std::uint64_t number) {
    return open_.erase(number) != 0 ? result<void>(success()) : failure(std::errc::bad_file_descriptor);
  }

  // --- names ---

  contents find_name(const std::string& path) const {
    const auto found = names_.find(path);
    return found == names_.end() ? nullptr : found->second;
  }
  contents new_contents() const { return std::make_shared<detail::simulated_contents>(options_.sector); }

  std::uint64_t open(contents of, access granted, bool writes_durably) {
    open_.emplace(++last_number_, open_file{std::move(of), granted, writes_durably});
    return last_number_;
  }

  void change_names(change_of_names what) {
    apply(what, names_);
    unwritten_names_.push_back(std::move(what));
  }

  static void apply(const change_of_names& what, name_map& to) {
    if (!what.from.empty()) to.erase(what.from);
    if (!what.to.empty()) to[what.to] = what.of;
  }

  // Like a journal: keeps the changes in their order, up to a random one.
  void keep_names_by_chance() {
    const auto kept = static_cast<std::ptrdiff_t>(chance_.between(0, unwritten_names_.size()));
    std::for_each_n(unwritten_names_.begin(), kept, [&](const auto& each) { apply(each, durable_names_); });
    unwritten_names_.clear();
    names_ = durable_names_;
  }

  static std::string_view directory_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? "." : path.substr(0, (std::max<std::size_t>)(slash, 1));
  }

  // --- helpers ---

  const open_file* find(std::uint64_t number) const {
    const auto found = open_.find(number);
    return found == open_.end() ? nullptr : &found->second;
  }

  static std::size_t length(const detail::piece& what) noexcept {
    if (what.vector == nullptr) return what.single.size;
    std::size_t bytes = 0;
    for (std::size_t each = 0; each < what.vector_size; ++each) bytes += what.vector[each].size;
    return bytes;
  }

  // Calls `visit(offset, memory)` for each part of the first `bytes` bytes.
  template <class Visit>
  static void for_each_part(const detail::piece& what, std::size_t bytes, Visit&& visit) {
    const bool single = what.vector == nullptr;
    std::size_t done = 0;
    for (std::size_t each = 0; done < bytes; ++each) {
      const mutable_buffer& memory = single ? what.single : what.vector[each];
      const std::size_t part = (std::min)(memory.size, bytes - done);
      if (part != 0) visit(what.offset + done, std::span(static_cast<std::byte*>(memory.data), part));
      done += part;
    }
  }

  // By whole sectors, because direct transfers are short by whole sectors.
  std::size_t shortened(std::size_t bytes) {
    if (bytes <= options_.sector || !chance_.comes_true(options_.short_transfers)) return bytes;
    return static_cast<std::size_t>(chance_.between(1, (bytes - 1) / options_.sector)) * options_.sector;
  }

  std::size_t fitting(const detail::simulated_contents& file, std::uint64_t offset, std::size_t bytes) const {
    std::uint64_t used = 0;
    for (const auto& [name, each] : names_) used += each->pages();
    const std::uint64_t free = options_.capacity / page - (std::min)(options_.capacity / page, used);
    while (bytes != 0 && file.new_pages(offset, bytes) > free) {
      const std::uint64_t last = (offset + bytes - 1) / page * page;
      bytes = last > offset ? static_cast<std::size_t>(last - offset) : 0;
    }
    return bytes;
  }

  void put(detail::simulated_contents& file, const detail::piece& what, std::size_t bytes, bool untorn) {
    std::uint64_t by = 0;
    const std::uint64_t sectors = file.size() / options_.sector;
    if (sectors != 0 && chance_.comes_true(options_.misdirected_writes))
      by = chance_.below(sectors) * options_.sector - what.offset / options_.sector * options_.sector;
    for_each_part(what, bytes,
                  [&](std::uint64_t offset, std::span<std::byte> part) { file.write(offset + by, part, untorn); });
  }

  // The buffer of a read in flight may hold anything.
  void scribble(std::uint64_t number, const detail::piece& what) {
    const open_file* const file = find(number);
    if (file == nullptr) return;
    for_each_part(what, file->of->readable(what.offset, length(what)), [&](std::uint64_t, std::span<std::byte> part) {
      for (std::byte& each : part) each = std::byte(chance_.number());
    });
  }

  void pass_time() noexcept { now_ += duration(); }
  // Polling takes time, too; otherwise a program that only polls would never see a completion.
  void pass_a_moment() noexcept { now_ += std::chrono::microseconds(chance_.below(4)); }
  std::chrono::nanoseconds duration() noexcept {
    const auto first = static_cast<std::uint64_t>(options_.shortest.count());
    return std::chrono::nanoseconds(
        chance_.between(first, (std::max)(first, static_cast<std::uint64_t>(options_.longest.count()))));
  }

  static constexpr std::uint64_t page = detail::sparse_bytes::page_bytes;

  simulation_options options_;
  detail::chance chance_;
  time_point now_{std::chrono::hours(1)};
  std::uint64_t calls_ = 0;
  std::uint64_t calls_left_ = forever;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, open_file> open_;
  name_map names_;
  name_map durable_names_;
  std::vector<change_of_names> unwritten_names_;
};

QIO_END_NAMESPACE
