// SPDX-License-Identifier: BSL-1.0
// Trees of directories: walk() visits everything beneath a directory, remove_tree() removes it.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/directory.hpp>
#include <qio/file/access.hpp>
#include <qio/file/worker_task.hpp>
#include <qio/file_status.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/system/platform.hpp>
#include <qio/task.hpp>
#include <qio/tree/removal.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

// --- walk() ---

/// What walk() does after the visitor has returned.
enum class walk_next : std::uint8_t {
  proceed,  ///< goes on: into the entry, if it is a directory
  skip,     ///< goes on, but not into this directory
  stop,     ///< ends the walk
};

/// What walk() passes to its visitor. Valid during the call.
struct walk_entry {
  std::string_view path;  ///< relative to the root, with '/' between names; empty for the root itself
  std::string_view name;  ///< the last name of the path; a null character follows it
  /// What the entry is; symbolic links are not followed. unknown only if the file system does not store it, and does
  /// not report it when asked.
  file_type type = file_type::unknown;
  std::uint64_t id = 0;   ///< see directory_entry::id
  std::size_t depth = 0;  ///< 1 for the entries of the root
  /// If it exists, why the rest of this directory cannot be listed. The visitor has seen the directory before, as an
  /// entry without an error.
  error failure;
  /// The directory that the entry is in, open for reading; the handle remains walk()'s. Open the entry relative to it
  /// (openat(2) with O_NOFOLLOW), so that a rename cannot lead elsewhere.
  platform::native_handle directory = platform::invalid_handle;

  /// What the system reports about the entry, without following a link.
  result<file_status> status() const { return platform::status_of_entry(directory, name.data()); }
};

/// How walk() goes through a tree.
struct walk_options {
  /// If set, the path of the root must stay beneath this directory, as with open_options::beneath.
  const directory* beneath = nullptr;
  /// How many levels of directories are open at the same time, at most: each takes a handle, and the memory of a
  /// directory_reader. The visitor gets errc::tree_too_deep for a directory that is deeper (1 is the root).
  std::size_t deepest = 128;
  /// Whether the walk enters directories that are roots of other mounts. If not, the visitor sees them as entries.
  bool enters_mounts = true;
};

namespace detail {

/// One walk. A level is a directory that is open; the memory of its batch is kept for the next one of that depth.
template <class Visitor>
class tree_walk {
 public:
  tree_walk(Visitor& visitor, const walk_options& options) : visitor_(visitor), options_(options) {}

  result<bool> run(path_view root) {
    if (const error misfit = root.misfit(); misfit.exists()) return misfit;
    if (options_.deepest == 0) return error(errc::tree_too_deep, 1, 0);
    auto opened = platform::open_listing(root, detail::handle_of(options_.beneath));
    if (!opened) return opened.error();
    if (const error failure = enter(open_place(opened.value()), 0); failure.exists()) return failure;
    while (depth_ != 0) {
      level& here = levels_[depth_ - 1];
      if (here.at == here.batch.size()) {
        auto batch = here.list.next(here.place.get());
        if (!batch || batch.value().empty()) {
          if (leave(batch ? error() : batch.error()) == walk_next::stop) return false;
          continue;
        }
        here.batch = batch.value();
        here.at = 0;
      }
      if (visit_entry(here, here.batch[here.at++]) == walk_next::stop) return false;
    }
    return true;
  }

 private:
  struct level {
    open_place place;
    platform::entry_list list;
    std::span<const directory_entry> batch;
    std::size_t at = 0;      // of the next entry of the batch
    std::size_t before = 0;  // length of the path without the name of this directory
    file_id id;              // if mounts are not entered
    std::uint64_t number = 0;
  };

  walk_next tell(const walk_entry& entry) {
    if constexpr (std::is_void_v<std::invoke_result_t<Visitor&, const walk_entry&>>) {
      visitor_(entry);
      return walk_next::proceed;
    } else {
      return visitor_(entry);
    }
  }

  error enter(open_place place, std::size_t before) {
    if (levels_.size() == depth_) levels_.emplace_back();
    level& entered = levels_[depth_];
    if (!options_.enters_mounts) {
      const std::uint64_t device = depth_ == 0 ? 0 : levels_[depth_ - 1].id.device;
      const auto identity = platform::identify(place.get(), device);
      if (!identity) return identity.error();
      if (depth_ != 0 && identity.value().is_mount_root) return errc::is_mount_point;
      entered.id = identity.value().id;
    }
    entered.place = std::move(place);
    entered.batch = {};
    entered.at = 0;
    entered.before = before;
    ++depth_;
    return {};
  }

  // Tells the visitor why, if the directory could not be read to its end.
  walk_next leave(const error& failure) {
    level& left = levels_[depth_ - 1];
    walk_next next = walk_next::proceed;
    if (failure.exists()) {
      const platform::native_handle parent = depth_ > 1 ? levels_[depth_ - 2].place.get() : left.place.get();
      const std::string_view name = depth_ > 1 ? path_.name(left.before) : ".";
      next = tell({path_.text(), name, file_type::directory, left.number, depth_ - 1, failure, parent});
    }
    left.place.close();
    path_.cut(left.before);
    --depth_;
    return next;
  }

  walk_next visit_entry(level& here, const directory_entry& found) {
    const std::size_t before = path_.add(found.name);
    walk_entry entry{path_.text(), found.name, found.type, found.id, depth_, {}, here.place.get()};
    if (entry.type == file_type::unknown) {
      const auto status = entry.status();
      if (status) entry.type = status.value().type;
      if (!status && status.error() == std::errc::no_such_file_or_directory) {
        path_.cut(before);
        return walk_next::proceed;
      }
    }
    const walk_next next = tell(entry);
    if (next != walk_next::proceed || entry.type != file_type::directory) {
      path_.cut(before);
      return next;
    }
    return descend(entry, before);
  }

  walk_next descend(walk_entry& entry, std::size_t before) {
    if (depth_ == options_.deepest)
      entry.failure = error(errc::tree_too_deep, depth_ + 1, options_.deepest);
    else if (auto opened = platform::open_child(entry.directory, entry.name.data()); !opened)
      entry.failure = opened.error();
    else
      entry.failure = enter(open_place(opened.value()), before);
    if (!entry.failure.exists()) {
      levels_[depth_ - 1].number = entry.id;
      return walk_next::proceed;
    }
    // It has been removed or replaced meanwhile, or the caller wants to see mounts from outside.
    const bool is_expected = entry.failure == errc::is_mount_point ||
                             entry.failure == std::errc::no_such_file_or_directory ||
                             entry.failure == std::errc::not_a_directory;
    const walk_next next = is_expected ? walk_next::proceed : tell(entry);
    path_.cut(before);
    return next;
  }

  Visitor& visitor_;
  walk_options options_;
  path_of_levels path_;
  std::vector<level> levels_;
  std::size_t depth_ = 0;  // how many of the levels are open
};

}  // namespace detail

/// Calls `visitor(entry)` for each entry of the directory at `path` and of all directories beneath it, and each
/// directory before what is in it. The visitor takes a `const walk_entry&` and returns a walk_next, or nothing to
/// proceed. The order within a directory is the file system's.
///
/// Symbolic links are visited, not followed, except that `path` itself may lead through links. Each directory is opened
/// relative to the one that it is in, and must be a directory then: whatever others rename or link meanwhile, the walk
/// stays within directories that were in the tree. Entries that appear or vanish meanwhile may be visited or not.
///
/// Returns true if everything was visited, false if the visitor stopped the walk. Fails if `path` cannot be opened. A
/// directory within the tree that cannot be opened or read is passed to the visitor once more, with the error
/// (walk_entry::failure), and the walk goes on unless the visitor stops it.
///
/// Blocks. Allocates the memory of a directory_reader for each level of directories (walk_options::deepest at most),
/// and the path; nothing for an entry. Throws std::bad_alloc, and what the visitor throws.
template <class Visitor>
result<bool> walk(path_view path, Visitor&& visitor, const walk_options& options = {}) {
  auto walked = detail::tree_walk<std::remove_reference_t<Visitor>>(visitor, options).run(path);
  if (!walked) return walked.error().naming("walk", path.c_str());
  return walked;
}

/// walk() on a worker thread, which it occupies until it ends; the visitor is called on that thread. The task owns the
/// visitor, and must exist until it has finished. The visitor must not throw; if it does, the result is
/// std::errc::not_enough_memory.
template <class Engine, class Visitor>
task<result<bool>> async_walk(const basic_context<Engine>& on, owned_path path, Visitor visitor,
                              walk_options options = {}) {
  static_assert(std::is_same_v<typename Engine::system, detail::operating_system>,
                "qio: this context's files are not the system's; those of a simulated disk: disk.names()");
  return detail::job_on_worker(detail::file_access::loop_of(on),
                               [path = std::move(path), visitor = std::move(visitor), options]() mutable {
                                 return walk(path, visitor, options);
                               });
}

/// Removes the file, or the directory with all that is in it, at `path`. Returns how many entries were removed; 0 if
/// nothing is there. A symbolic link is removed, at the end of the path and within the tree, and what it leads to
/// stays. A path that ends with a slash must name a directory; one that ends with "." or ".." fails with
/// std::errc::invalid_argument.
///
/// Every entry is removed relative to the directory that it was found in, which stays open: whatever others rename or
/// link meanwhile, nothing is removed but what is in directories of the tree (unlike in CVE-2022-21658). If others move
/// a directory of the tree elsewhere, what is in it may be removed there, and the call may fail with
/// std::errc::resource_unavailable_try_again. If they keep creating entries, it fails with
/// std::errc::directory_not_empty after a hundred attempts.
///
/// If something cannot be removed, the call ends with the error, whose message names the path; what was removed before
/// stays removed. Directories need permission to read, write and search them; read-only attributes of Windows do not
/// matter. A directory that is the root of another mount fails with errc::is_mount_point (before Linux 5.8, a bind
/// mount of the same file system is not recognized).
///
/// Blocks. However wide and deep the tree is, it takes no more stack than for one directory; on Linux 9 handles, the
/// memory of 8 directory_readers, the path, and 56 bytes for each level of directories that it is in at a moment.
/// (On Windows, a handle for each such level.) Throws std::bad_alloc.
inline result<std::uint64_t> remove_tree(path_view path, const remove_options& options = {}) {
  return detail::tree_removal(options).run(path);
}

/// remove_tree() on a worker thread, which it occupies until it ends: destroying the task waits for that.
template <class Engine>
task<result<std::uint64_t>> async_remove_tree(const basic_context<Engine>& on, owned_path path,
                                              remove_options options = {}) {
  static_assert(std::is_same_v<typename Engine::system, detail::operating_system>,
                "qio: this context's files are not the system's; those of a simulated disk: disk.names()");
  return detail::job_on_worker(detail::file_access::loop_of(on),
                               [path = std::move(path), options] { return remove_tree(path, options); });
}

QIO_END_NAMESPACE
