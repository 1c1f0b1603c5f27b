// SPDX-License-Identifier: BSL-1.0
// How a tree of directories is removed: for remove_tree(), and for temporary directories.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/directory.hpp>
#include <qio/file_status.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

/// How remove_tree() removes a tree.
struct remove_options {
  /// If set, the path must stay beneath this directory, as with open_options::beneath. It must exist until the call, or
  /// the task, has ended.
  const directory* beneath = nullptr;
  /// Whether the removal is durable when the call returns: the directory that the root was in is synced, once, at the
  /// end. After a crash before that, all of the tree, a part of it, or nothing may be there.
  bool durable = false;
  /// Whether what is mounted within the tree is emptied, too. The mount point itself cannot be removed, and the call
  /// then fails with std::errc::device_or_resource_busy.
  bool enters_mounts = false;
};

namespace detail {

/// A handle of a directory.
class open_place {
 public:
  open_place() noexcept = default;
  explicit open_place(platform::native_handle opened) noexcept : handle_(opened) {}
  open_place(open_place&& other) noexcept : handle_(std::exchange(other.handle_, platform::invalid_handle)) {}
  open_place& operator=(open_place&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~open_place() { close(); }

  bool is_open() const noexcept { return handle_ != platform::invalid_handle; }
  platform::native_handle get() const noexcept { return handle_; }
  void close() noexcept {
    if (is_open()) static_cast<void>(platform::close(std::exchange(handle_, platform::invalid_handle)));
  }

 private:
  platform::native_handle handle_ = platform::invalid_handle;
};

/// The path of the directory that is being worked on: a name for each level.
class path_of_levels {
 public:
  explicit path_of_levels(std::string root = {}) : text_(std::move(root)) {}

  /// Adds a name; returns the length without it, for cut().
  std::size_t add(std::string_view name) {
    const std::size_t before = text_.size();
    if (before != 0) text_ += '/';
    text_ += name;
    return before;
  }
  void cut(std::size_t length) { text_.resize(length); }
  const std::string& text() const noexcept { return text_; }
  /// The last name, null-terminated, if add() returned `before`.
  const char* name(std::size_t before) const noexcept { return text_.c_str() + before + (before != 0 ? 1 : 0); }

 private:
  std::string text_;
};

/// A directory that is being emptied.
struct removal_frame {
  open_place place;
  file_id id;
  std::size_t before;            // length of the path without the name of this directory
  std::uint64_t removed_before;  // when it was entered
  bool has_slot = false;
  int attempts = 0;
};

/// What has been read of one.
struct removal_slot {
  platform::entry_list list;
  std::span<const directory_entry> batch;
  std::size_t at = 0;
};

/// One removal. The directories from the root's parent to the one that is being emptied are frames; of these, the
/// deepest have a slot, in which their entries are. Frames above have no handle either, if the system can open the
/// parent of a directory: then the handle is opened again on the way back, and must be of the same directory as before.
class tree_removal {
 public:
  explicit tree_removal(const remove_options& options) : options_(options) {}

  result<std::uint64_t> run(path_view root) {
    if (const error misfit = root.misfit(); misfit.exists()) return misfit.naming("remove", root.c_str());
    if (*root.c_str() == '\0') return std::make_error_code(std::errc::invalid_argument);
    bool must_be_directory = false;
    auto found = platform::find_root(root, detail::handle_of(options_.beneath), must_be_directory);
    if (!found) {
      if (found.error() == std::errc::no_such_file_or_directory) return std::uint64_t(0);
      return found.error().naming("remove", root.c_str());
    }
    const platform::tree_root& place = found.value();
    if (const error failure = remove_from(place, must_be_directory); failure.exists()) {
      // The path of what failed begins with the name of the root.
      std::string failed = root.c_str();
      while (failed.size() > 1 && failed.ends_with('/')) failed.pop_back();
      failed += std::string_view(path_.text()).substr(lesser_of(place.name.size(), path_.text().size()));
      return failure.naming("remove", failed.c_str());
    }
    if (options_.durable)
      if (const auto synced = platform::sync_names(place.directory); !synced)
        return synced.error().naming("sync the directory of", root.c_str());
    return count_;
  }

  /// Removes all that is in a directory that is open for reading. Skips what cannot be removed.
  void empty(platform::native_handle directory) {
    skips_failures_ = true;
    const auto identity = platform::identify(directory, 0);
    if (!identity) return;
    parent_ = directory;
    parent_id_ = identity.value().id;
    platform::entry_list list;
    for (int attempts = 0; attempts < most_attempts; ++attempts) {
      const std::uint64_t before = count_;
      for (auto batch = list.next(directory); batch && !batch.value().empty(); batch = list.next(directory))
        for (const directory_entry& each : batch.value()) static_cast<void>(remove_all(each.name, each.type));
      if (count_ == before || !list.rewind(directory)) return;
    }
  }

 private:
  static constexpr std::size_t slots = 8;
  // Others may create entries while a directory is emptied, or exchange directories and links, but not forever.
  static constexpr int most_attempts = 100;

  using frame = removal_frame;
  using slot = removal_slot;

  struct left_behind {
    std::size_t depth;  // of its parent
    std::string name;
  };

  // If it fails, `path_` is that of what could not be removed.
  error remove_from(const platform::tree_root& root, bool must_be_directory) {
    const auto parent = platform::identify(root.directory, 0);
    if (!parent) return parent.error();
    parent_ = root.directory;
    parent_id_ = parent.value().id;
    const file_type type = must_be_directory ? file_type::directory : file_type::unknown;
    return remove_all(root.name, type, must_be_directory);
  }

  error remove_all(std::string_view name, file_type type, bool only_directories = false) {
    error failure = remove(name, type, 0, only_directories);
    while (!failure.exists() && !frames_.empty()) failure = go_on();
    return failure;
  }

  platform::native_handle current() const noexcept { return frames_.empty() ? parent_ : frames_.back().place.get(); }

  // Removes one entry of the deepest directory, or enters it.
  error remove(std::string_view name, file_type type, int attempts, bool only_directories = false) {
    const std::size_t before = path_.add(name), depth = frames_.size();
    error failure = remove_or_enter(path_.name(before), type, before, attempts, only_directories);
    if (skips_failures_) failure = {};
    if (!failure.exists() && frames_.size() == depth) path_.cut(before);
    return failure;
  }

  error remove_or_enter(const char* name, file_type type, std::size_t before, int attempts, bool only_directories) {
    bool is_directory = type == file_type::directory;
    for (; attempts < most_attempts; ++attempts) {
      if (!is_directory) {
        const auto removed = platform::remove_entry(current(), name, false);
        if (removed) return counted();
        if (removed.error() == std::errc::no_such_file_or_directory) return {};
        if (removed.error() != std::errc::is_a_directory) return removed.error();
        is_directory = true;
        continue;
      }
      auto opened = platform::open_child(current(), name);
      if (opened) return enter(open_place(opened.value()), before, attempts);
      if (opened.error() == std::errc::no_such_file_or_directory) return {};
      if (opened.error() == std::errc::permission_denied) {  // which does not matter if it is empty
        if (platform::remove_entry(current(), name, true)) return counted();
        return opened.error();
      }
      if (opened.error() != std::errc::not_a_directory || only_directories) return opened.error();
      is_directory = false;
    }
    return std::make_error_code(std::errc::resource_unavailable_try_again);
  }

  error counted() noexcept {
    ++count_;
    return {};
  }

  error enter(open_place place, std::size_t before, int attempts) {
    const file_id& parent = frames_.empty() ? parent_id_ : frames_.back().id;
    const auto identity = platform::identify(place.get(), parent.device);
    if (!identity) return identity.error();
    if (identity.value().is_mount_root && !options_.enters_mounts) return errc::is_mount_point;
    if (frames_.size() >= slots) {
      frame& above = frames_[frames_.size() - slots];
      above.has_slot = false;
      if (platform::opens_parents) above.place.close();
    }
    frames_.push_back({std::move(place), identity.value().id, before, count_, false, attempts});
    take_slot();
    return {};
  }

  slot& deepest() noexcept { return *slots_[(frames_.size() - 1) % slots]; }

  void take_slot() {
    auto& taken = slots_[(frames_.size() - 1) % slots];
    if (!taken) taken.emplace();
    taken->batch = {};
    taken->at = 0;
    frames_.back().has_slot = true;
  }

  // The next entry of the deepest directory; or removes that directory, if it is empty.
  error go_on() {
    if (!frames_.back().has_slot) {  // what it had before has been removed, or was given up
      take_slot();
      if (auto begun = deepest().list.rewind(current()); !begun) return skips_failures_ ? leave() : begun.error();
      if (has_given_up()) pass_over(given_up_.back().name);
    }
    slot& here = deepest();
    if (here.at == here.batch.size()) {
      const auto batch = here.list.next(current());
      if (!batch && !skips_failures_) return batch.error();
      if (!batch || batch.value().empty()) return leave();
      here.batch = batch.value();
      here.at = 0;
    }
    const directory_entry& found = here.batch[here.at++];
    return remove(found.name, found.type, 0);
  }

  // What is not removed stays in the list. It must not be entered forever when the list is read from its beginning.
  bool has_given_up() const noexcept { return !given_up_.empty() && given_up_.back().depth == frames_.size(); }
  void give_up(std::string name) {
    if (frames_.empty()) return;  // the root's parent keeps its place in the list
    if (has_given_up())
      given_up_.back().name = std::move(name);
    else
      given_up_.push_back({frames_.size(), std::move(name)});
  }
  void pass_over(const std::string& name) {
    slot& here = deepest();
    for (auto batch = here.list.next(current()); batch && !batch.value().empty(); batch = here.list.next(current())) {
      here.batch = batch.value();
      for (here.at = 0; here.at != here.batch.size();)
        if (here.batch[here.at++].name == name) return;
    }
  }

  error leave() {
    if (const error failure = reopen_parent(); failure.exists()) {
      if (!skips_failures_) return failure;
      frames_.clear();  // nobody knows where the way back leads
      given_up_.clear();
      path_.cut(0);
      return {};
    }
    const std::size_t before = frames_.back().before;
    const int attempts = frames_.back().attempts;
    const bool may_be_empty_now = !skips_failures_ || count_ != frames_.back().removed_before;
    if (has_given_up()) given_up_.pop_back();
    frames_.pop_back();
    std::string name = path_.name(before);
    const auto removed = platform::remove_entry(current(), name.c_str(), true);
    if (removed || removed.error() == std::errc::no_such_file_or_directory) {
      count_ += removed ? 1u : 0u;
      path_.cut(before);
      return {};
    }
    const bool has_changed =
        removed.error() == std::errc::directory_not_empty || removed.error() == std::errc::file_exists;
    const bool may_try = may_be_empty_now && (has_changed || removed.error() == std::errc::not_a_directory);
    const bool is_over = !may_try || attempts + 1 >= most_attempts;
    if (is_over && !skips_failures_) return removed.error();
    path_.cut(before);
    if (is_over) {
      give_up(std::move(name));
      return {};
    }
    return remove(name, has_changed ? file_type::directory : file_type::unknown, attempts + 1);
  }

  error reopen_parent() {
    if (frames_.size() < 2) return {};
    frame& parent = frames_[frames_.size() - 2];
    if (parent.place.is_open()) return {};
    auto opened = platform::open_parent(current());
    if (!opened) return opened.error();
    open_place place(opened.value());
    const auto identity = platform::identify(place.get(), parent.id.device);
    if (!identity) return identity.error();
    // Others have moved the directory: what it is in now is not to be removed.
    if (identity.value().id != parent.id) return std::make_error_code(std::errc::resource_unavailable_try_again);
    parent.place = std::move(place);
    return {};
  }

  remove_options options_;
  bool skips_failures_ = false;
  std::uint64_t count_ = 0;
  platform::native_handle parent_ = platform::invalid_handle;
  file_id parent_id_;
  path_of_levels path_;
  std::vector<frame> frames_;
  std::vector<left_behind> given_up_;  // of the directories on the way that have some, the last that was given up
  std::array<std::optional<slot>, slots> slots_;
};

}  // namespace detail
QIO_END_NAMESPACE
