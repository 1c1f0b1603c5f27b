// SPDX-License-Identifier: BSL-1.0
// A name in a directory that is kept open.
#pragma once

#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/primitives.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- A name in a directory that is kept open, so that it always means the same place ---

struct directory_entry {
  directory_entry() noexcept = default;
  directory_entry(directory_entry&& other) noexcept
      : directory(std::exchange(other.directory, invalid_handle)), name(std::move(other.name)) {}
  directory_entry& operator=(directory_entry&& other) noexcept {
    std::swap(directory, other.directory);
    name.swap(other.name);
    return *this;
  }
  ~directory_entry() {
    if (directory != invalid_handle) ::close(directory);
  }

  native_handle directory = invalid_handle;
  std::string name;
};

/// Makes the names in a directory durable that is open for reading. A file system without a sync of directories fails
/// with EINVAL (vfs_fsync_range() of Linux; older CIFS, for example).
inline result<void> sync_readable(native_handle directory) noexcept {
  auto synced = platform::sync(directory, sync_kind::everything);
  if (!synced && synced.error() == std::errc::invalid_argument) return error(errc::directory_sync_not_supported);
  return synced;
}

/// A directory, open for a sync, if one is wanted.
class directory_to_sync {
 public:
  /// The directory that is open as `searched`, which may permit only searching it. Fails if it cannot be read.
  static result<directory_to_sync> of(native_handle searched, bool is_wanted) noexcept {
    directory_to_sync self;
    if (!is_wanted) return self;
    const auto opened = open_from(searched, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!opened) return opened.error();
    self.opened_.directory = opened.value();
    return self;
  }

  result<void> sync() const noexcept {
    if (opened_.directory == invalid_handle) return success();
    return sync_readable(opened_.directory);
  }

 private:
  directory_to_sync() noexcept = default;

  directory_entry opened_;  // without a name; closes the handle
};

/// Makes the names in a directory durable whose handle may permit only searching it.
inline result<void> sync_names(native_handle searched) noexcept {
  const auto opened = directory_to_sync::of(searched, true);
  return opened ? opened.value().sync() : result<void>(opened.error());
}

/// Finds the entry that `path` names. The path must stay beneath `beneath`; if it may lead anywhere, a relative path
/// begins at `from`. Does not check whether a file of that name exists. A path that can only be a directory ("..",
/// "name/") is resolved as a whole and becomes the entry "." of that directory.
inline result<directory_entry> find_entry(native_handle beneath, const std::string& path,
                                          native_handle from = anywhere) {
  if (path.empty()) return system_error(ENOENT);
  directory_entry found;
  const std::size_t name_at = path.rfind('/') + 1;
  found.name = path.substr(name_at);
  const bool is_directory = found.name.empty() || found.name == "." || found.name == "..";
  if (is_directory) found.name = ".";
  const std::string parent = is_directory ? path : name_at == 0 ? "." : path.substr(0, name_at);
  const auto opened = beneath == anywhere ? open_from(from, parent.c_str(), search_only)
                                          : open_at(beneath, parent.c_str(), search_only);
  if (!opened) return opened.error();
  found.directory = opened.value();
  return found;
}

/// Removes `name` from the directory of `place` if it is still the file that is open as `handle`. Others may have
/// renamed that file and put one of their own there.
inline void remove_from(const directory_entry& place, const std::string& name, native_handle handle) noexcept {
  struct stat ours, there;
  if (::fstat(handle, &ours) != 0 || ::fstatat(place.directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (ours.st_dev == there.st_dev && ours.st_ino == there.st_ino) ::unlinkat(place.directory, name.c_str(), 0);
}

/// Whether the directory that is open as `inner` is the one at `outer`, or somewhere in it.
inline bool is_within(native_handle inner, const directory_entry& outer) noexcept {
  struct stat wanted, found, before{};
  if (::fstatat(outer.directory, outer.name.c_str(), &wanted, AT_SYMLINK_NOFOLLOW) != 0) return false;
  directory_entry at;  // owns each handle on the way up
  for (;; before = found) {
    const native_handle from = at.directory == invalid_handle ? inner : at.directory;
    if (::fstat(from, &found) != 0) return false;
    if (found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino) return true;
    if (found.st_dev == before.st_dev && found.st_ino == before.st_ino) return false;  // the root is in itself
    const auto above = open_from(from, "..", search_only);
    if (!above) return false;
    directory_entry next;
    next.directory = above.value();
    at = std::move(next);
  }
}

// --- Symbolic links at the end of a path ---

/// Reads the target of a symbolic link: of an entry, or of what is open (O_PATH) if the name is empty.
inline result<std::string> target_of_link(native_handle directory, const char* name) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(directory, name, target.data(), target.size());
  if (length < 0) return last_error();
  target.resize(static_cast<std::size_t>(length));
  return target;
}

/// What is at an entry: nothing, a regular file, or a symbolic link with its target. Anything else is an error.
struct entry_kind {
  bool is_link = false;
  std::string target;
};
/// Fails with ELOOP if it is a link, unless `follows_links`; with EACCES if it may not be followed.
result<entry_kind> kind_of(const directory_entry& entry, bool follows_links);

/// Whether a link leads to another file than the one that its text names, which has been found.
bool leads_elsewhere(const directory_entry& link, const directory_entry& found) noexcept;

/// Like find_entry(), but follows symbolic links at the end of the path, or fails with ELOOP. If anything is there, it
/// must be a regular file. Fails with ELOOP for a magic link whose text names another file than it leads to.
inline result<directory_entry> find_regular_entry(native_handle beneath, std::string path, bool follows_links) {
  constexpr int most_links = 40;  // the kernel's limit
  directory_entry link;
  for (int links = 0; links <= most_links; ++links) {
    auto found = find_entry(beneath, path, links == 0 ? anywhere : link.directory);
    if (!found) return found;
    if (links != 0 && leads_elsewhere(link, found.value())) return system_error(ELOOP);
    auto kind = kind_of(found.value(), follows_links);
    if (!kind) return kind.error();
    if (!kind.value().is_link) return found;
    std::string target = std::move(kind.value().target);
    link = std::move(found).value();
    // A path that must stay beneath a directory is always resolved from there, any other from where the link is.
    if (beneath != anywhere && !target.starts_with('/')) target.insert(0, path, 0, path.rfind('/') + 1);
    path = std::move(target);
  }
  return system_error(ELOOP);
}

}  // namespace platform
QIO_END_NAMESPACE
