// SPDX-License-Identifier: BSL-1.0
// A name in a directory that is held open, so that it means the same place however long that takes.
#pragma once

#include <qio/detail/linux/directory.hpp>
#include <qio/result.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstddef>
#include <string>
#include <utility>

namespace qio::platform {

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

/// That of `path`, which must stay beneath `beneath`. Whether there is a file of that name is another question.
inline result<directory_entry> find_entry(native_handle beneath, const std::string& path) {
  if (path.empty()) return system_error(ENOENT);
  directory_entry found;
  const std::size_t name_at = path.rfind('/') + 1;
  const auto opened = open_at(beneath, name_at == 0 ? "." : path.substr(0, name_at).c_str(), search_only);
  if (!opened) return opened.error();
  found.directory = opened.value();
  found.name = path.substr(name_at);
  if (found.name.empty()) found.name = ".";  // "directory/" is the directory
  return found;
}

/// The path that a symbolic link at `path` stands for.
inline result<std::string> target_of_link(const directory_entry& link, const std::string& path) {
  std::string target(PATH_MAX, '\0');
  const ssize_t length = ::readlinkat(link.directory, link.name.c_str(), target.data(), target.size());
  if (length < 0) return last_error();
  target.resize(static_cast<std::size_t>(length));
  if (target.starts_with('/')) return target;
  return path.substr(0, path.rfind('/') + 1) + target;
}

/// As find_entry, of what the symbolic links at the end of the path lead to. If there is something, it must be a
/// regular file.
inline result<directory_entry> find_regular_entry(native_handle beneath, std::string path) {
  constexpr int most_links = 40;  // as the kernel has it
  for (int links = 0; links <= most_links; ++links) {
    auto found = find_entry(beneath, path);
    if (!found) return found;
    struct stat status;
    if (::fstatat(found.value().directory, found.value().name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) return last_error();
      return found;
    }
    if (S_ISREG(status.st_mode)) return found;
    if (!S_ISLNK(status.st_mode)) return system_error(S_ISDIR(status.st_mode) ? EISDIR : EEXIST);
    auto target = target_of_link(found.value(), path);
    if (!target) return target.error();
    path = std::move(target).value();
  }
  return system_error(ELOOP);
}

/// A new file of another name in the directory of `beside`. Nothing is followed: the name is new.
inline result<native_handle> create_beside(const directory_entry& beside, const std::string& name, int flags,
                                           mode_t permissions) noexcept {
  native_handle handle;
  do handle = ::openat(beside.directory, name.c_str(), flags | O_CREAT | O_EXCL, permissions);
  while (handle < 0 && errno == EINTR);
  if (handle < 0) return last_error();
  return handle;
}

}  // namespace qio::platform
