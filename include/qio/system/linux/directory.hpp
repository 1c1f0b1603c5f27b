// SPDX-License-Identifier: BSL-1.0
// Directories: paths that must not lead out of one, and the entry of a file that is being opened.
#pragma once

#include <qio/configuration.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- The version of the kernel ---

/// Compares the release that uname(2) reports; false if it cannot be read.
inline bool kernel_is_older_than(unsigned major, unsigned minor) noexcept {
  struct utsname kernel;
  unsigned its_major = 0, its_minor = 0;
  return ::uname(&kernel) == 0 && std::sscanf(kernel.release, "%u.%u", &its_major, &its_minor) == 2 &&
         (its_major < major || (its_major == major && its_minor < minor));
}

// --- Opening a file by a path that must not lead out of a directory ---

namespace openat2 {
// From include/uapi/linux/openat2.h, which older systems lack. The number is the same on all architectures except
// alpha.
inline constexpr long number = 437;
inline constexpr std::uint64_t no_magic_links = 0x02, stay_beneath = 0x08, only_cached = 0x20;
struct how {
  std::uint64_t flags, mode, resolve;
};

/// The kernel resolves the path, so renames and links made by others meanwhile cannot lead out of the directory.
/// Returns a handle, or a negative value and errno. The kernel fails with EAGAIN if something was moved while it
/// followed a "..", which another process could repeat forever; so attempts are limited.
inline native_handle call(native_handle directory, const char* path, int flags, mode_t permissions) noexcept {
  constexpr int most_attempts = 100;
  const bool creates = (flags & O_CREAT) != 0;  // without O_CREAT, the kernel requires a mode of 0
  const how asked{static_cast<std::uint64_t>(flags), creates ? permissions & 07777u : 0u,
                  stay_beneath | no_magic_links};
  long answer;
  int attempts = 0;
  do answer = ::syscall(number, directory, path, &asked, sizeof asked);
  while (answer < 0 && (errno == EINTR || (errno == EAGAIN && ++attempts < most_attempts)));
  return static_cast<native_handle>(answer);
}

/// Like open(2), or call() if the path must stay beneath a directory, for an existing file, if the kernel has every
/// name on the path in memory (RESOLVE_CACHED, Linux 5.12). Otherwise fails with EAGAIN or, before Linux 5.12, EINVAL.
inline native_handle call_if_cached(native_handle directory, const char* path, int flags) noexcept {
  const std::uint64_t limits = directory == anywhere ? 0 : stay_beneath | no_magic_links;
  const how asked{static_cast<std::uint64_t>(flags), 0, limits | only_cached};
  return static_cast<native_handle>(::syscall(number, directory, path, &asked, sizeof asked));
}
}  // namespace openat2

/// Flags for a directory handle that permits only searching. Also used to check whether openat2 may be called.
inline constexpr int search_only = O_PATH | O_DIRECTORY | O_CLOEXEC;

/// Explains why openat2 failed with `code`. A filter that hides openat2 looks like an old kernel (ENOSYS); one that
/// forbids it looks like a file that must not be changed (EPERM).
inline error why_not_beneath(native_handle directory, int code) noexcept {
  if (code == EXDEV) return errc::leaves_directory;
  if (code == ENOSYS) return kernel_is_older_than(5, 6) ? errc::beneath_not_supported : errc::beneath_forbidden;
  if (code == EPERM) {
    const native_handle itself = openat2::call(directory, ".", search_only, 0);
    if (itself == invalid_handle && errno == EPERM) return errc::beneath_forbidden;
    if (itself != invalid_handle) ::close(itself);
  }
  return system_error(code);
}

/// Opens `path`, which must stay beneath `directory`, unless that is `anywhere`. The caller owns the handle.
inline result<native_handle> open_at(native_handle directory, const char* path, int flags,
                                     mode_t permissions = 0) noexcept {
  const bool is_free = directory == anywhere;
  const native_handle handle =
      is_free ? open_retrying(path, flags, permissions) : openat2::call(directory, path, flags, permissions);
  if (handle != invalid_handle) return handle;
  return is_free ? last_error() : why_not_beneath(directory, errno);
}

/// Opens a directory for paths to stay beneath. Fails if that cannot be enforced. The caller owns the handle.
inline result<native_handle> open_directory(path_view path) noexcept {
  const native_handle handle = open_retrying(path.c_str(), search_only, 0);
  if (handle == invalid_handle) return last_error();
  const auto itself = open_at(handle, ".", search_only);
  if (itself) {
    ::close(itself.value());
    return handle;
  }
  ::close(handle);
  return itself.error();
}

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

/// Like open_at() for a path that may lead anywhere, except that a relative path begins at `from`.
inline result<native_handle> open_from(native_handle from, const char* path, int flags,
                                       mode_t permissions = 0) noexcept {
  native_handle handle;
  do handle = ::openat(from, path, flags, permissions);
  while (handle < 0 && errno == EINTR);
  if (handle < 0) return last_error();
  return handle;
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

/// Creates a file. Follows no links: fails with std::errc::file_exists if the name exists.
inline result<native_handle> create_in(const directory_entry& place, const std::string& name, int flags,
                                       mode_t permissions) noexcept {
  return open_from(place.directory, name.c_str(), flags | O_CREAT | O_EXCL, permissions);
}

/// Removes `name` from the directory of `place` if it is still the file that is open as `handle`. Others may have
/// renamed that file and put one of their own there.
inline void remove_from(const directory_entry& place, const std::string& name, native_handle handle) noexcept {
  struct stat ours, there;
  if (::fstat(handle, &ours) != 0 || ::fstatat(place.directory, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) != 0) return;
  if (ours.st_dev == there.st_dev && ours.st_ino == there.st_ino) ::unlinkat(place.directory, name.c_str(), 0);
}

/// Whether `user` may stand for several users: those that are unknown in a user namespace, which the kernel reports as
/// one (user_namespaces(7), "Unmapped user and group IDs").
inline bool may_be_several(uid_t user) noexcept {
  constexpr uid_t unknown_user = 65534;  // unless /proc/sys/kernel/overflowuid was changed
  if (user != unknown_user) return false;
  const auto map = open_from(anywhere, "/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
  if (!map) return true;
  char text[64] = {};
  const ssize_t length = ::read(map.value(), text, sizeof text - 1);
  ::close(map.value());
  // In the initial user namespace, every user, from 0 to 2^32 - 2, has its own number.
  unsigned long long inside = 1, outside = 1, count = 0;
  if (length <= 0 || std::sscanf(text, "%llu %llu %llu", &inside, &outside, &count) != 3) return true;
  return inside != 0 || outside != 0 || count < 0xffff'ffff;
}

/// Whether a link may be followed by the rule of fs.protected_symlinks (Linux Documentation/admin-guide/sysctl/fs.rst),
/// whatever its setting: in a sticky directory that everybody may write to (/tmp), only the user's own links and those
/// of the directory's owner are followed. Not if both owners are unknown, since they may be two users. And not if the
/// link has several names: unless fs.protected_hardlinks is set, anybody can give another user's link a name there.
inline bool may_follow(const struct stat& link, const struct stat& directory) noexcept {
  constexpr mode_t shared = S_ISVTX | S_IWOTH;
  if ((directory.st_mode & shared) != shared) return true;
  if (link.st_nlink > 1) return false;
  if (link.st_uid == directory.st_uid && !may_be_several(link.st_uid)) return true;
  return link.st_uid == static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1)));  // changes nothing; returns the current
}

/// Whether the link at `entry` leads to the file at `found`, or both lead to nothing. A link in /proc ("magic link")
/// leads to a file whatever its text says, which may be the name of another file by now. (symlink(7))
inline bool leads_to(const directory_entry& entry, const directory_entry& found) noexcept {
  struct stat by_link, by_text;
  const bool is_file = ::fstatat(entry.directory, entry.name.c_str(), &by_link, 0) == 0;
  const bool is_named = ::fstatat(found.directory, found.name.c_str(), &by_text, 0) == 0;
  if (!is_file || !is_named) return is_file == is_named;
  return by_link.st_dev == by_text.st_dev && by_link.st_ino == by_text.st_ino;
}

/// Whether an entry is in procfs, the only file system with magic links.
inline bool is_in_proc(const directory_entry& entry) noexcept {
  struct statfs system;
  return ::fstatfs(entry.directory, &system) != 0 || system.f_type == PROC_SUPER_MAGIC;
}

/// Reads the target of the symbolic link that is open as `link` (O_PATH).
inline result<std::string> target_of_link(native_handle link) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(link, "", target.data(), target.size());
  if (length < 0) return last_error();
  target.resize(static_cast<std::size_t>(length));
  return target;
}

/// What is at an entry: nothing, a regular file, or a symbolic link with its target. Anything else is an error.
struct entry_kind {
  bool is_link = false;
  std::string target;
};
inline result<entry_kind> kind_of(const directory_entry& entry) {
  const auto opened = open_from(entry.directory, entry.name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (!opened) {
    if (opened.error() == std::errc::no_such_file_or_directory) return entry_kind{};
    return opened.error();
  }
  directory_entry itself;  // closes it
  itself.directory = opened.value();
  struct stat status, directory;
  if (::fstat(itself.directory, &status) != 0 || ::fstat(entry.directory, &directory) != 0) return last_error();
  if (S_ISREG(status.st_mode)) return entry_kind{};
  if (!S_ISLNK(status.st_mode)) return system_error(S_ISDIR(status.st_mode) ? EISDIR : EEXIST);
  if (!may_follow(status, directory)) return system_error(EACCES);
  auto target = target_of_link(itself.directory);
  if (!target) return target.error();
  return entry_kind{true, std::move(target).value()};
}

/// Like find_entry(), but follows symbolic links at the end of the path. If anything is there, it must be a regular
/// file. Fails with ELOOP for a magic link whose text names another file than it leads to.
inline result<directory_entry> find_regular_entry(native_handle beneath, std::string path) {
  constexpr int most_links = 40;  // the kernel's limit
  directory_entry link;
  for (int links = 0; links <= most_links; ++links) {
    auto found = find_entry(beneath, path, links == 0 ? anywhere : link.directory);
    if (!found) return found;
    if (links != 0 && is_in_proc(link) && !leads_to(link, found.value())) return system_error(ELOOP);
    auto kind = kind_of(found.value());
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
