// SPDX-License-Identifier: BSL-1.0
// A disk with a file system in memory that can fail in every way a program must survive.
#pragma once

#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/file_status.hpp>
#include <qio/if_exists.hpp>
#include <qio/name_options.hpp>
#include <qio/recorded_order.hpp>
#include <qio/simulation/chance.hpp>
#include <qio/simulation/contents.hpp>
#include <qio/simulation/locks.hpp>
#include <qio/simulation/options.hpp>
#include <qio/system/operating_system.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

class simulated_system;
namespace detail {
class crash_explorer;
class crash_states;  // of the tests: test/simulation/crash_states.hpp
class simulated_listing;
}

/// Files that exist in memory only, for tests of programs that store data. Faults that a real disk has once in years
/// happen here when the seed says so, and repeat with the same seed. Give the disk to a basic_context<simulated>
/// (context_options::disk): files that are opened on that context, in any mode but mapped, are files of the disk, and
/// all of their operations meet its faults.
///
/// Time is simulated, too: nothing waits. now() is the disk's clock, which every operation advances. Write a deadline
/// as `disk.now() + duration`; a duration alone counts from the real clock, and does not repeat.
///
/// A path is just a name: "a/b" and "./a/b" are different, and directories need not be created. There are neither
/// symbolic links nor permissions, and directories cannot be renamed (std::errc::operation_not_supported). The
/// functions of qio/names.hpp work on it on a context. A disk is for one thread, and must outlive its contexts and
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
  void cut_power_after(std::uint64_t system_calls) noexcept {
    calls_left_ = system_calls;
    is_loss_unnoticed_ = false;
  }
  /// Whether the power is on.
  bool has_power() const noexcept { return calls_left_ != 0; }

  /// Cuts the power, unless it is off already, and turns it on again, as if the machine had crashed: each file has what
  /// is durable, and a random part of the rest. Contexts and files from before may only be destroyed.
  void restart() {
    keep_names_by_chance();
    for_each_file([this](detail::simulated_contents& file) { file.lose_power(chance_); });
    open_.clear();
    ++restarts_;
    cut_power_after(forever);
  }

  /// From now on, the operations of its contexts end as recorded: see recorded_order, which must outlive these
  /// contexts. Call it before the first operation.
  void repeat(recorded_order& order) noexcept { order_ = &order; }

  // --- files: what basic_file has no function for ---

  /// Whether there is a file or a directory of that name.
  bool exists(std::string_view path) const { return names_.contains(std::string(path)); }
  /// The names of all files and directories, in the order of their bytes.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, file] : names_) all.push_back(name);
    return all;
  }
  /// Removes the name of a file. Fails with std::errc::no_such_file_or_directory if there is none.
  result<void> remove(std::string_view path) {
    if (!take_call()) return failure(std::errc::io_error);
    const auto found = names_.find(std::string(path));
    if (found == names_.end()) return failure(std::errc::no_such_file_or_directory);
    if (found->second == nullptr) return failure(std::errc::is_a_directory);
    change_names({.from = std::string(path), .to = {}, .of = found->second});
    return success();
  }
  /// Renames a file; `how` is about one that has the new name. Fails as remove(). Like every change of names, it is
  /// whole: a crash leaves all or nothing of it. It is durable after sync_directory(), of either directory if there are
  /// two.
  result<void> rename(std::string_view from, std::string_view to, if_exists how = if_exists::replace) {
    if (!take_call()) return failure(std::errc::io_error);
    const auto found = names_.find(std::string(from)), there = names_.find(std::string(to));
    const bool exists = there != names_.end();
    if (found == names_.end() || (how == if_exists::exchange && !exists))
      return failure(std::errc::no_such_file_or_directory);
    if (exists && how == if_exists::fail) return failure(std::errc::file_exists);
    if (found->second == nullptr) return failure(std::errc::operation_not_supported);
    if (exists && there->second == nullptr) return failure(std::errc::is_a_directory);
    if (exists && there->second == found->second) return success();  // as rename(2): two names of one file stay
    const contents swapped = how == if_exists::exchange ? there->second : nullptr;
    change_names({std::string(from), std::string(to), found->second, swapped});
    return success();
  }
  /// Gives a file a second name. Both are names of the same contents. Fails with std::errc::file_exists if there is
  /// something of that name, and as remove().
  result<void> link(std::string_view existing, std::string_view name) {
    if (!take_call()) return failure(std::errc::io_error);
    const auto found = names_.find(std::string(existing));
    if (found == names_.end()) return failure(std::errc::no_such_file_or_directory);
    if (found->second == nullptr) return failure(std::errc::operation_not_permitted);
    if (exists(name)) return failure(std::errc::file_exists);
    change_names({.from = {}, .to = std::string(name), .of = found->second});
    return success();
  }
  /// Like qio::sync_directory(): makes names durable that were created, renamed or removed in the directory, but not
  /// the contents of the files. The directory is what stands before the last slash of a name: "logs" of "logs/7", and
  /// "." of a name without a slash. Slashes at the end are ignored. Succeeds even if no file is in the directory.
  result<void> sync_directory(std::string_view directory) {
    if (!take_call()) return failure(std::errc::io_error);
    const std::string path = without_slashes(directory);
    // With one change, all earlier ones of the same names become durable, in other directories, too: so from the newest
    // to the oldest.
    std::set<std::string> names;
    const auto is_part = [&](const std::string& name) {
      return !name.empty() && (directory_of(name) == path || names.contains(name));
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
    record(nullptr, 0, [&](const std::string&) { return "sync the directory \"" + path + '"'; });
    return success();
  }

  /// Damages the sectors of a range: reading them fails until they are written again.
  result<void> damage(std::string_view path, std::uint64_t offset, std::uint64_t bytes) {
    const auto found = names_.find(std::string(path));
    if (found == names_.end()) return failure(std::errc::no_such_file_or_directory);
    if (found->second == nullptr) return failure(std::errc::is_a_directory);
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
  /// How many system calls have failed so far because of simulation_options::write_errors.
  std::uint64_t failed_writes() const noexcept { return failed_writes_; }
  /// How many syncs and durable writes have failed so far because of simulation_options::sync_errors (or were chosen to
  /// by explore_crashes_options::failing_syncs).
  std::uint64_t failed_syncs() const noexcept { return failed_syncs_; }

 private:
  friend class simulated;
  friend class simulated_system;
  friend class detail::crash_explorer;
  friend class detail::crash_states;
  friend class detail::simulated_listing;

  using contents = std::shared_ptr<detail::simulated_contents>;
  using name_map = std::map<std::string, contents>;
  static constexpr std::uint64_t forever = ~std::uint64_t(0);

  struct open_file {
    contents of;
    access granted;
    bool writes_durably;
    detail::simulated_locks locks = {};
  };

  // `from` is empty for a file that was created or linked, `to` for one that was removed. `of` is null for a directory.
  struct change_of_names {
    std::string from;
    std::string to;
    contents of;
    contents swapped = nullptr;  // the file that gets the name `from`, after an exchange
    std::uint64_t call = 0;      // the number of the system call
  };

  // A system call that changed something, or made it durable, for people.
  struct recorded_call {
    std::uint64_t call;  // its number; 0: it changed nothing
    std::uint64_t file;  // likewise; 0: it is not about contents
    std::string text;
  };

  static error failure(std::errc code) noexcept {
    return std::error_code(platform::system_code(code), platform::system_category());
  }
  static detail::raw_result answer(std::errc code) noexcept { return -platform::system_code(code); }

  // --- system calls; the power may be cut at each ---

  bool take_call() noexcept {
    ++calls_;
    if (calls_left_ == 0) {
      is_loss_unnoticed_ = false;
      return false;
    }
    if (calls_left_ != forever) is_loss_unnoticed_ = --calls_left_ == 0;
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
    if (is_loss_unnoticed_) lose_power_during_durable_write(number, what, flags);
    if (!take_call()) return answer(std::errc::io_error);
    const open_file* const file = find(number);
    if (const auto refused = refusal(file, access::read); refused != 0) return refused;
    const bool untorn = (flags & platform::untorn) != 0;
    std::size_t bytes = untorn ? length(what) : shortened(length(what));
    const bool fails = write_fails();
    if (fails) bytes = untorn ? 0 : static_cast<std::size_t>(chance_.below(bytes));
    if (bytes != 0 && (bytes = file->of->writable(what.offset, bytes)) == 0) return answer(std::errc::io_error);
    bytes = fitting(*file->of, what.offset, bytes);
    if (untorn && bytes != length(what)) bytes = 0;
    const bool is_durable = is_to_be_durable(*file, flags);
    if (bytes != 0) {
      put(*file->of, what, bytes, untorn, calls_);
      record(file->of, calls_, [&](const std::string& name) {
        return "write " + text_of_range(bytes, what.offset, name) + (is_durable ? ", durably" : "");
      });
    }
    if (fails) return answer(std::errc::io_error);
    if (bytes == 0) return answer(std::errc::no_space_on_device);
    if (is_durable) {
      if (chance_.sync_fails(options_.sync_errors)) {
        fail_to_sync(file->of);
        return answer(std::errc::io_error);
      }
      file->of->sync(what.offset, bytes);
    }
    return static_cast<detail::raw_result>(bytes);
  }

  // A write was in flight when the power failed: part of it may have reached the disk; all or nothing of an untorn one.
  void lose_power_during_write(std::uint64_t number, const detail::piece& what, platform::transfer_flags flags) {
    is_loss_unnoticed_ = false;
    const open_file* const file = find(number);
    if (file == nullptr || file->granted == access::read) return;
    const bool untorn = (flags & platform::untorn) != 0;
    const std::size_t all = length(what);
    const std::uint64_t within = what.offset % options_.sector;
    const std::uint64_t sectors = (within + all + options_.sector - 1) / options_.sector;
    const std::uint64_t call = calls_ + 1;  // which will fail
    const detail::crash_choice choice{detail::crash_choice::in_flight, std::span(&call, 1)};
    const std::uint64_t reached = untorn ? chance_.surviving(choice, 1) * sectors : chance_.surviving(choice, sectors);
    const std::size_t bytes = reached == sectors ? all
                              : reached == 0     ? 0
                                                 : static_cast<std::size_t>(reached * options_.sector - within);
    if (bytes != 0 && fitting(*file->of, what.offset, bytes) == bytes) put(*file->of, what, bytes, untorn, call);
    record(file->of, call,
           [&](const std::string& name) { return "write " + text_of_range(all, what.offset, name) + ", in flight"; });
  }

  // The same of a durable write that began when the power was off already, but no call had failed: the power may as
  // well have failed a little later. It has been carried out, but is not durable. (After other writes, the next place
  // where the power fails leaves the same.)
  void lose_power_during_durable_write(std::uint64_t number, const detail::piece& what,
                                       platform::transfer_flags flags) {
    is_loss_unnoticed_ = false;
    const open_file* const file = find(number);
    if (file == nullptr || file->granted == access::read || !is_to_be_durable(*file, flags)) return;
    const std::size_t all = length(what);
    if (all == 0 || file->of->writable(what.offset, all) != all || fitting(*file->of, what.offset, all) != all) return;
    const std::uint64_t call = calls_ + 1;  // which will fail
    put(*file->of, what, all, (flags & platform::untorn) != 0, call);
    record(file->of, call, [&](const std::string& name) {
      return "write " + text_of_range(all, what.offset, name) + ", durably, in flight";
    });
  }

  static bool is_to_be_durable(const open_file& file, platform::transfer_flags flags) noexcept {
    return file.writes_durably || (flags & platform::durable) != 0;
  }

  // Changes nothing: what is written but not synced may be on the disk in any case, or not.
  detail::raw_result start_writeback(std::uint64_t number) {
    if (!take_call()) return answer(std::errc::io_error);
    return find(number) == nullptr ? answer(std::errc::bad_file_descriptor) : 0;
  }

  // Covers what the first `calls` system calls have written. What others have written meanwhile may still be lost.
  result<void> sync(std::uint64_t number, std::uint64_t calls = forever) {
    if (!take_call()) return failure(std::errc::io_error);
    const open_file* const file = find(number);
    if (file == nullptr) return failure(std::errc::bad_file_descriptor);
    if (chance_.sync_fails(options_.sync_errors)) {
      fail_to_sync(file->of);
      return failure(std::errc::io_error);
    }
    file->of->sync(calls);
    record(file->of, 0, [](const std::string& name) { return "sync " + name; });
    return success();
  }

  bool write_fails() {
    const bool fails = chance_.comes_true(options_.write_errors);
    failed_writes_ += fails;
    return fails;
  }
  void fail_to_sync(const contents& file) {
    ++failed_syncs_;
    file->fail_to_sync(chance_);
    record(file, 0, [](const std::string& name) { return "fail to sync " + name; });
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

  // As on a real system, asking about a file that does not exist, or is not open, is an error.
  result<file_status> status(std::uint64_t number) {
    if (!take_call()) return failure(std::errc::io_error);
    const open_file* const file = find(number);
    if (file == nullptr) return failure(std::errc::bad_file_descriptor);
    return status_of(*file->of);
  }
  result<file_status> status(const std::string& path) {
    if (!take_call()) return failure(std::errc::io_error);
    if (const contents found = find_name(path)) return status_of(*found);
    if (!is_directory(path)) return failure(std::errc::no_such_file_or_directory);
    return status_of_directory();
  }
  static file_status status_of_directory() noexcept {
    file_status directory;
    directory.type = file_type::directory;
    directory.permissions = 0755;
    directory.links = 1;
    return directory;
  }
  file_status status_of(const detail::simulated_contents& file) const {
    file_status found;
    found.type = file_type::regular;
    found.permissions = 0644;
    found.bytes = file.size();
    found.allocated_bytes = file.pages() * page;
    for (const auto& [name, each] : names_) found.links += each.get() == &file;
    found.id.low = file.number();
    found.accessed = found.modified = found.changed = file_time(file.modified());
    return found;
  }

  result<void> resize(std::uint64_t number, std::uint64_t bytes) {
    if (!take_call()) return failure(std::errc::io_error);
    const open_file* const file = find(number);
    if (file == nullptr) return failure(std::errc::bad_file_descriptor);
    if (file->granted == access::read) return failure(platform::not_opened_for);
    file->of->note_call(calls_, now_.time_since_epoch());
    file->of->resize(bytes);
    record(file->of, calls_,
           [&](const std::string& name) { return "resize " + name + " to " + std::to_string(bytes) + " bytes"; });
    return success();
  }

  // --- space: see file_space. An error leaves everything as it is, but an I/O error part of the zeros. ---

  result<void> allocate(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes, allocation how) {
    return change_space(number, "allocate", offset, bytes, [&](detail::simulated_contents& of, bool fails) {
      if (fails) return std::errc::io_error;
      if (of.new_pages(offset, bytes) > free_pages()) return std::errc::no_space_on_device;
      of.reserve(offset, bytes);
      if (how == allocation::extend && offset + bytes > of.size()) of.resize(offset + bytes);
      return std::errc();
    });
  }

  result<void> make_zeros(std::uint64_t number, std::uint64_t offset, std::uint64_t bytes, bool reserves) {
    const char* const verb = reserves ? "zero" : "discard";
    return change_space(number, verb, offset, bytes, [&](detail::simulated_contents& of, bool fails) {
      if (reserves && of.new_pages(offset, bytes) > free_pages()) return std::errc::no_space_on_device;
      const std::uint64_t within = offset >= of.size() ? 0 : (std::min)(bytes, of.size() - offset);
      if (within != 0 && of.writable(offset, static_cast<std::size_t>(within)) != within) return std::errc::io_error;
      of.make_zeros(offset, fails ? chance_.below(bytes) : bytes, reserves);
      return fails ? std::errc::io_error : std::errc();
    });
  }

  result<std::optional<extent>> next_data(std::uint64_t number, std::uint64_t from) {
    if (!take_call()) return failure(std::errc::io_error);
    const open_file* const file = find(number);
    if (file == nullptr) return failure(std::errc::bad_file_descriptor);
    return file->of->next_data(from);
  }

  // As FICLONERANGE: of whole pages, but for one that ends both files.
  result<void> clone(std::uint64_t from, const extent& what, std::uint64_t to, std::uint64_t to_offset) {
    return change_space(to, "clone", to_offset, what.bytes, [&](detail::simulated_contents& of, bool fails) {
      const open_file* const source = find(from);
      if (source == nullptr) return std::errc::bad_file_descriptor;
      const bool ends_both = what.offset + what.bytes == source->of->size() && to_offset + what.bytes >= of.size();
      if (what.offset % page != 0 || to_offset % page != 0 || (what.bytes % page != 0 && !ends_both))
        return std::errc::invalid_argument;
      if (fails) return std::errc::io_error;
      if (of.new_pages(*source->of, what, to_offset) > free_pages()) return std::errc::no_space_on_device;
      of.clone(*source->of, what, to_offset);
      return std::errc();
    });
  }

  // `change(contents, fails)` returns an error.
  template <class Change>
  result<void> change_space(std::uint64_t number, const char* verb, std::uint64_t offset, std::uint64_t bytes,
                            Change&& change) {
    if (!take_call()) return failure(std::errc::io_error);
    const open_file* const file = find(number);
    if (file == nullptr) return failure(std::errc::bad_file_descriptor);
    if (file->granted == access::read) return failure(platform::not_opened_for);
    file->of->note_call(calls_, now_.time_since_epoch());
    const bool fails = chance_.comes_true(options_.write_errors);
    const std::errc failed = change(*file->of, fails);
    failed_writes_ += fails && failed == std::errc::io_error;
    record(file->of, calls_,
           [&](const std::string& name) { return verb + (' ' + text_of_range(bytes, offset, name)); });
    if (failed != std::errc()) return failure(failed);
    return success();
  }

  // As on a real system, locks take no calls to the disk.
  result<bool> is_locked(std::uint64_t number, lock_kind kind, const extent& range) const {
    const open_file* const own = find(number);
    if (own == nullptr) return failure(std::errc::bad_file_descriptor);
    return std::any_of(open_.begin(), open_.end(), [&](const auto& each) {
      return each.first != number && each.second.of == own->of && each.second.locks.keep_out(kind, range);
    });
  }
  result<bool> try_lock(std::uint64_t number, lock_kind kind, const extent& range) {
    const auto locked = is_locked(number, kind, range);
    if (!locked) return locked;
    if (!locked.value()) open_.at(number).locks.lock(kind, range);
    return !locked.value();
  }
  result<void> unlock(std::uint64_t number, const extent& range) {
    const auto own = open_.find(number);
    if (own == open_.end()) return failure(std::errc::bad_file_descriptor);
    own->second.locks.unlock(range);
    return success();
  }

  result<void> give_name(std::uint64_t number, std::string path, if_exists how) {
    if (!take_call()) return failure(std::errc::io_error);
    const open_file* const file = find(number);
    if (file == nullptr) return failure(std::errc::bad_file_descriptor);
    if (how == if_exists::exchange) return failure(std::errc::invalid_argument);
    const auto there = names_.find(path);
    if (how == if_exists::fail && there != names_.end()) return failure(std::errc::file_exists);
    if (there != names_.end() && there->second == nullptr) return failure(std::errc::is_a_directory);
    change_names({{}, std::move(path), file->of});
    return success();
  }

  result<void> close(std::uint64_t number) {
    return open_.erase(number) != 0 ? result<void>(success()) : failure(std::errc::bad_file_descriptor);
  }

  // --- names ---

  // As mkdir(2), except that the directory above need not exist.
  result<bool> create_directory(const std::string& path) {
    if (!take_call()) return failure(std::errc::io_error);
    const auto found = names_.find(path);
    if (found != names_.end() && found->second != nullptr) return failure(std::errc::file_exists);
    if (found != names_.end()) return false;
    change_names({.from = {}, .to = path, .of = nullptr});
    return true;
  }
  result<bool> remove_directory(const std::string& path) {
    if (!take_call()) return failure(std::errc::io_error);
    const auto found = names_.find(path);
    if (found == names_.end()) return false;
    if (found->second != nullptr) return failure(std::errc::not_a_directory);
    const auto next = names_.lower_bound(path + '/');
    if (next != names_.end() && next->first.starts_with(path + '/')) return failure(std::errc::directory_not_empty);
    change_names({.from = path, .to = {}, .of = nullptr});
    return true;
  }
  // A directory and all that is in it, from the last name to the first. Skips what cannot be removed.
  void remove_tree(const std::string& path) {
    const std::vector<std::string> all = names();
    for (auto each = all.rbegin(); each != all.rend(); ++each) {
      if (*each != path && !each->starts_with(path + '/')) continue;
      if (is_directory(*each))
        static_cast<void>(remove_directory(*each));
      else
        static_cast<void>(remove(*each));
    }
  }
  bool is_directory(const std::string& path) const {
    const auto found = names_.find(path);
    return found != names_.end() && found->second == nullptr;
  }

  // Each file once, however many names it has, in the order of the names.
  template <class Visit>
  void for_each_file(Visit&& visit) const {
    std::set<const detail::simulated_contents*> seen;
    for (const auto& [name, file] : names_)
      if (file != nullptr && seen.insert(file.get()).second) visit(*file);
  }

  // --- listing ---

  struct entry {
    std::string name;
    file_type type;
    std::uint64_t id;
  };

  result<void> check_power() {
    if (!take_call()) return failure(std::errc::io_error);
    return success();
  }

  // A directory that something is in need not have been created.
  result<void> find_directory(const std::string& path) {
    if (!take_call()) return failure(std::errc::io_error);
    const std::string directory = without_slashes(path);
    if (directory == "." || directory == "/" || is_directory(directory)) return success();
    if (exists(directory)) return failure(std::errc::not_a_directory);
    const auto next = names_.lower_bound(directory + '/');
    const bool is_there = next != names_.end() && next->first.starts_with(directory + '/');
    return is_there ? result<void>(success()) : failure(std::errc::no_such_file_or_directory);
  }

  // What is in a directory, which is named as for sync_directory(), in random order. Nothing if it has been removed.
  result<std::vector<entry>> entries_of(const std::string& path) {
    if (!take_call()) return failure(std::errc::io_error);
    std::map<std::string, entry> found;
    const std::string directory = without_slashes(path);
    for (const auto& [name, file] : names_) {
      const std::string_view rest = part_beneath(directory, name);
      const std::size_t slash = rest.find('/');
      const std::string child(rest.substr(0, slash));
      if (child.empty() || child == ".") continue;
      if (slash != rest.npos || file == nullptr)
        found.insert_or_assign(child, entry{child, file_type::directory, 0});
      else
        found.try_emplace(child, entry{child, file_type::regular, file->number()});
    }
    std::vector<entry> all;
    for (auto& [name, each] : found) {
      all.push_back(std::move(each));
      std::swap(all.back(), all[static_cast<std::size_t>(chance_.below(all.size()))]);
    }
    return all;
  }

  result<file_status> status_of_entry(const std::string& path, std::string_view name) {
    const std::string directory = without_slashes(path);
    std::string whole = directory == "/" ? directory : directory + '/';
    whole += name;
    if (directory == "." && !exists(whole)) whole = name;
    if (exists(whole)) return status(whole);
    if (const auto implied = find_directory(whole); !implied) return implied.error();
    return status_of_directory();
  }

  static std::string without_slashes(std::string_view directory) {
    while (directory.size() > 1 && directory.ends_with('/')) directory.remove_suffix(1);
    return std::string(directory);
  }
  // What follows the directory in a name that is beneath it; otherwise nothing.
  static std::string_view part_beneath(std::string_view directory, std::string_view name) {
    if (directory == ".") {
      if (name.starts_with("./")) name.remove_prefix(2);
      return name.starts_with('/') ? std::string_view() : name;
    }
    if (!name.starts_with(directory)) return {};
    name.remove_prefix(directory.size());
    if (directory == "/") return name;
    return name.starts_with('/') ? name.substr(1) : std::string_view();
  }

  contents find_name(const std::string& path) const {
    const auto found = names_.find(path);
    return found == names_.end() ? nullptr : found->second;
  }
  contents new_contents() {
    auto made = std::make_shared<detail::simulated_contents>(options_.sector, ++last_contents_);
    made->note_call(calls_, now_.time_since_epoch());
    return made;
  }

  std::uint64_t open(contents of, access granted, bool writes_durably) {
    open_.emplace(++last_number_, open_file{std::move(of), granted, writes_durably});
    return last_number_;
  }

  // A name in the directory of `path` that no file has.
  std::string temporary_name(const std::string& path) {
    const std::string directory = path.substr(0, path.rfind('/') + 1);
    std::string name;
    do name = directory + ".qio-" + std::to_string(++last_temporary_);
    while (exists(name));
    return name;
  }

  void change_names(change_of_names what) {
    record(nullptr, calls_, [&](const std::string&) { return text_of(what); });
    apply(what, names_);
    what.call = calls_;
    unwritten_names_.push_back(std::move(what));
  }

  static void apply(const change_of_names& what, name_map& to) {
    if (!what.from.empty()) to.erase(what.from);
    if (!what.to.empty()) to[what.to] = what.of;
    if (what.swapped != nullptr) to[what.from] = what.swapped;
  }

  // Like a journal: keeps the changes in their order, up to a random one.
  void keep_names_by_chance() {
    std::vector<std::uint64_t> calls;
    for (const change_of_names& each : unwritten_names_) calls.push_back(each.call);
    const auto kept = static_cast<std::ptrdiff_t>(
        chance_.surviving({.what = detail::crash_choice::names, .calls = calls}, calls.size()));
    std::for_each_n(unwritten_names_.begin(), kept, [&](const auto& each) { apply(each, durable_names_); });
    unwritten_names_.clear();
    names_ = durable_names_;
  }

  static std::string_view directory_of(std::string_view path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? "." : path.substr(0, (std::max<std::size_t>)(slash, 1));
  }

  // --- what the exploration of crashes needs ---

  // Takes over the state of another disk, with copies of its files. None of them is open here.
  void copy_state(const simulated_disk& other) {
    std::map<const detail::simulated_contents*, contents> copies{{nullptr, nullptr}};
    const auto copy_of = [&](const contents& file) {
      contents& copy = copies[file.get()];
      if (copy == nullptr && file != nullptr) copy = std::make_shared<detail::simulated_contents>(*file);
      return copy;
    };
    const auto copy_names = [&](const name_map& from, name_map& to) {
      to.clear();
      for (const auto& [name, file] : from) to.emplace_hint(to.end(), name, copy_of(file));
    };
    copy_names(other.names_, names_);
    copy_names(other.durable_names_, durable_names_);
    unwritten_names_ = other.unwritten_names_;
    for (change_of_names& each : unwritten_names_) {
      each.of = copy_of(each.of);
      each.swapped = copy_of(each.swapped);
    }
    open_.clear();
    chance_ = other.chance_;
    options_ = other.options_;
    now_ = other.now_;
    calls_ = other.calls_;
    calls_left_ = other.calls_left_;
    is_loss_unnoticed_ = other.is_loss_unnoticed_;
    last_number_ = other.last_number_;
    last_temporary_ = other.last_temporary_;
    last_contents_ = other.last_contents_;
    failed_writes_ = other.failed_writes_;
    failed_syncs_ = other.failed_syncs_;
  }

  void make_all_durable() {
    for_each_file([](detail::simulated_contents& file) { file.sync(); });
    unwritten_names_.clear();
    durable_names_ = names_;
  }

  // A fingerprint of all names and of the contents of the files.
  detail::fingerprint state() const {
    detail::fingerprint all;
    std::map<const detail::simulated_contents*, std::uint64_t> seen{{nullptr, 0}};
    for (const auto& [name, file] : names_) {
      all.add(std::as_bytes(std::span(name)));
      const auto [place, is_new] = seen.emplace(file.get(), seen.size());
      all.add(place->second);
      if (is_new) file->add_to(all);
    }
    return all;
  }

  // Adds `text(name of the file)` to the record, if there is one.
  template <class Text>
  void record(const contents& file, std::uint64_t call, Text&& text) {
    if (record_ != nullptr) record_->push_back({call, file == nullptr ? 0 : file->number(), text(quoted_name(file))});
  }

  std::string quoted_name(const contents& file) const {
    const auto found = std::ranges::find(names_, file, [](const auto& each) { return each.second; });
    return found == names_.end() ? "a file without a name" : '"' + found->first + '"';
  }
  static std::string text_of_range(std::uint64_t bytes, std::uint64_t offset, const std::string& name) {
    return std::to_string(bytes) + " bytes at " + std::to_string(offset) + " of " + name;
  }
  std::string text_of(const change_of_names& what) const {
    const std::string from = '"' + what.from + '"', to = '"' + what.to + '"';
    if (what.swapped != nullptr) return "exchange " + from + " and " + to;
    if (what.to.empty()) return "remove " + from;
    if (!what.from.empty()) return "rename " + from + " to " + to;
    if (what.of == nullptr) return "create the directory " + to;
    const bool is_link = std::ranges::any_of(names_, [&](const auto& each) { return each.second == what.of; });
    return is_link ? "link " + quoted_name(what.of) + " as " + to : "create " + to;
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

  std::uint64_t free_pages() const {
    std::uint64_t used = 0;
    std::set<const detail::simulated_contents*> named;
    for_each_file([&](const detail::simulated_contents& each) {
      named.insert(&each);
      used += each.pages();
    });
    for (const auto& [number, each] : open_)  // removed ones, and those that never had a name
      if (named.insert(each.of.get()).second) used += each.of->pages();
    return options_.capacity / page - (std::min)(options_.capacity / page, used);
  }

  std::size_t fitting(const detail::simulated_contents& file, std::uint64_t offset, std::size_t bytes) const {
    const std::uint64_t free = free_pages();
    while (bytes != 0 && file.new_pages(offset, bytes) > free) {
      const std::uint64_t last = (offset + bytes - 1) / page * page;
      bytes = last > offset ? static_cast<std::size_t>(last - offset) : 0;
    }
    return bytes;
  }

  void put(detail::simulated_contents& file, const detail::piece& what, std::size_t bytes, bool untorn,
           std::uint64_t call) {
    std::uint64_t by = 0;
    const std::uint64_t sectors = file.size() / options_.sector;
    if (sectors != 0 && chance_.comes_true(options_.misdirected_writes))
      by = chance_.below(sectors) * options_.sector - what.offset / options_.sector * options_.sector;
    file.note_call(call, now_.time_since_epoch());
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

  void pass_time() noexcept {
    if (order_ == nullptr) now_ += duration();
  }
  // Polling takes time, too; otherwise a program that only polls would never see a completion.
  void pass_a_moment() noexcept { now_ += std::chrono::microseconds(chance_.below(4)); }
  std::chrono::nanoseconds duration() noexcept {
    const auto first = static_cast<std::uint64_t>(options_.shortest.count());
    return std::chrono::nanoseconds(
        chance_.between(first, (std::max)(first, static_cast<std::uint64_t>(options_.longest.count()))));
  }

  static constexpr std::uint64_t page = detail::sparse_bytes::page_bytes;

  simulation_options options_;
  recorded_order* order_ = nullptr;  // null: chance decides
  detail::chance chance_;
  time_point now_{std::chrono::hours(1)};
  std::uint64_t calls_ = 0;
  std::uint64_t calls_left_ = forever;
  bool is_loss_unnoticed_ = false;  // the power has failed, and no call since then
  std::uint64_t restarts_ = 0;
  std::uint64_t failed_writes_ = 0;
  std::uint64_t failed_syncs_ = 0;
  std::uint64_t last_number_ = 0;
  std::uint64_t last_temporary_ = 0;
  std::uint64_t last_contents_ = 0;
  std::map<std::uint64_t, open_file> open_;
  name_map names_;
  name_map durable_names_;
  std::vector<change_of_names> unwritten_names_;
  std::vector<recorded_call>* record_ = nullptr;
};

QIO_END_NAMESPACE
