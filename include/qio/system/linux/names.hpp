// SPDX-License-Identifier: BSL-1.0
// Names: what Linux has of its own.
#pragma once

#include <qio/configuration.hpp>
#include <qio/if_exists.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/directory.hpp>
#include <qio/system/linux/file_system.hpp>
#include <qio/system/linux/transfer.hpp>
#include <qio/system/posix/entry.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Symbolic links ---

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

/// Whether the link at `entry` leads to the file at `found`. A link in /proc ("magic link") leads to a file whatever
/// its text says, which may be the name of another file by now, or of none: "name (deleted)". (symlink(7)) False if
/// either cannot be found, which a FUSE file system may say of a removed file that is still open.
inline bool leads_to(const directory_entry& entry, const directory_entry& found) noexcept {
  struct stat by_link, by_text;
  return ::fstatat(entry.directory, entry.name.c_str(), &by_link, 0) == 0 &&
         ::fstatat(found.directory, found.name.c_str(), &by_text, 0) == 0 && by_link.st_dev == by_text.st_dev &&
         by_link.st_ino == by_text.st_ino;
}

/// Whether an entry is in procfs, the only file system with magic links.
inline bool is_in_proc(const directory_entry& entry) noexcept {
  struct statfs system;
  return ::fstatfs(entry.directory, &system) != 0 || type_of(system) == file_system_type::proc;
}

inline result<entry_kind> kind_of(const directory_entry& entry, bool follows_links) {
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
  if (!follows_links) return system_error(ELOOP);
  if (!may_follow(status, directory)) return system_error(EACCES);
  auto target = target_of_link(itself.directory, "");
  if (!target) return target.error();
  return entry_kind{true, std::move(target).value()};
}

/// By a magic link, whose text may name another file by now.
inline bool leads_elsewhere(const directory_entry& link, const directory_entry& found) noexcept {
  return is_in_proc(link) && !leads_to(link, found);
}

// --- Names ---

/// Whether a directory and its new name are in one overlay. It renames no directory that its lower layers have, unless
/// it is mounted with redirect_dir=on (Documentation/filesystems/overlayfs.rst).
inline bool is_directory_of_overlay(const directory_entry& from, const directory_entry& to) noexcept {
  struct stat found, within, its;
  struct statfs system;
  return ::fstatat(from.directory, from.name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(found.st_mode) &&
         ::fstat(from.directory, &within) == 0 && ::fstat(to.directory, &its) == 0 && within.st_dev == its.st_dev &&
         ::fstatfs(from.directory, &system) == 0 && type_of(system) == file_system_type::overlay;
}

/// renameat2(2). EINVAL has two meanings: the file system lacks the flag, or a directory would get into itself.
inline error rename_at(const directory_entry& from, const directory_entry& to, if_exists how) noexcept {
  constexpr unsigned no_replace = 1, exchange = 2;  // RENAME_NOREPLACE, RENAME_EXCHANGE
  const unsigned flags = how == if_exists::fail ? no_replace : how == if_exists::exchange ? exchange : 0u;
  const long answer =
      flags == 0 ? ::renameat(from.directory, from.name.c_str(), to.directory, to.name.c_str())
                 : ::syscall(SYS_renameat2, from.directory, from.name.c_str(), to.directory, to.name.c_str(), flags);
  if (answer == 0) return {};
  const int code = errno;
  if (code == EXDEV && is_directory_of_overlay(from, to)) return errc::directory_of_overlay;
  const bool may_lack = flags != 0 && (code == EINVAL || code == ENOSYS);
  if (!may_lack || is_within(to.directory, from) || is_within(from.directory, to)) return system_error(code);
  return {errc::if_exists_not_supported, static_cast<std::uint64_t>(how), 0};
}

/// The permission bits of the file that a path leads to.
inline result<std::uint32_t> permissions_of(native_handle beneath, path_view path) noexcept {
  const auto opened = open_at(beneath, path.c_str(), O_PATH | O_CLOEXEC);
  if (!opened) return opened.error();
  struct stat status;
  const error failure = ::fstat(opened.value(), &status) != 0 ? last_error() : error();
  ::close(opened.value());
  if (failure.exists()) return failure;
  return status.st_mode & 0777u;
}

/// Where the system's temporary files are. Not from the environment in a program that has more rights than its caller.
inline result<std::string> temporary_directory() {
  const char* const chosen = ::secure_getenv("TMPDIR");
  return std::string(chosen == nullptr || *chosen == '\0' ? "/tmp" : chosen);
}

}  // namespace platform
QIO_END_NAMESPACE
