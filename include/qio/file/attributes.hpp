// SPDX-License-Identifier: BSL-1.0
// The status and the attributes of a file: what basic_file has to read and to change them.
#pragma once

#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/file_status.hpp>
#include <qio/mode.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>

#include <cstdint>
#include <optional>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- What the members do: each is one function of an open file's state, called now or by a worker ---

struct read_status {
  template <class State>
  result<file_status> operator()(const State& of) const {
    return of.file.files.status(of.file.handle);
  }
};

/// The error of a change names the file.
template <class State>
result<void> changed_attributes(const State& of, const result<void>& changed) {
  if (changed) return changed;
  return changed.error().naming("change the attributes of", of.file.activity.path.c_str());
}

struct change_permissions {
  std::uint32_t permissions;

  template <class State>
  result<void> operator()(const State& of) const {
    if (permissions > 07777) return error(errc::invalid_permissions, permissions, 07777);
    return changed_attributes(of, of.file.files.set_permissions(of.file.handle, permissions));
  }
};

struct change_owner {
  std::optional<std::uint32_t> owner, group;

  template <class State>
  result<void> operator()(const State& of) const {
    return changed_attributes(of, of.file.files.set_owner(of.file.handle, owner, group));
  }
};

struct change_times {
  file_times times;

  template <class State>
  result<void> operator()(const State& of) const {
    return changed_attributes(of, of.file.files.set_times(of.file.handle, times));
  }
};

}  // namespace detail

/// The members of basic_file that read and change its attributes. They concern the open file, whatever its name leads
/// to by now. A file may be open with any access: the system checks who calls, not how the file was opened. What is
/// changed is durable after sync(sync_kind::everything).
///
/// The asynchronous members are operations that a worker thread carries out: see async_call() for what a deadline or a
/// stop can end. On a simulated disk, status() works, and the others fail with std::errc::operation_not_supported.
template <class File, class Engine>
class file_attributes {
 public:
  /// What the system reports about the file. Allocates nothing.
  result<file_status> status() const { return self().act(detail::read_status{}); }
  /// The same on a worker thread.
  auto async_status(const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_on_worker(detail::read_status{}, options);
  }

  /// Sets the permission bits (07777 at most, otherwise errc::invalid_permissions): fchmod(2). Only the owner of the
  /// file may, otherwise std::errc::operation_not_permitted. The umask has no effect. Files that are open stay open
  /// with the access that they have.
  ///
  /// Windows has one of these bits: if nobody may write (`permissions & 0222` is 0), the file gets the read-only
  /// attribute, otherwise it loses it. The other bits are ignored; access control lists stay as they are.
  result<void> set_permissions(std::uint32_t permissions) {
    return self().act(detail::change_permissions{permissions});
  }
  /// The same on a worker thread.
  auto async_set_permissions(std::uint32_t permissions, const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_on_worker(detail::change_permissions{permissions}, options);
  }

  /// Sets the numbers of the owner and the group; one that is not given stays: fchown(2). To change the owner needs
  /// CAP_CHOWN; the group may be one of the caller's, if the caller owns the file. The kernel then clears set-user-ID
  /// and set-group-ID bits. On Windows, fails with std::errc::operation_not_supported.
  result<void> set_owner(std::optional<std::uint32_t> owner, std::optional<std::uint32_t> group = {}) {
    return self().act(detail::change_owner{owner, group});
  }
  /// The same on a worker thread.
  auto async_set_owner(std::optional<std::uint32_t> owner, std::optional<std::uint32_t> group = {},
                       const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_on_worker(detail::change_owner{owner, group}, options);
  }

  /// Sets the times of the last access and the last write: `file.set_times({.modified = time})`. One that is not given
  /// stays. futimens(2): a time needs the owner; time_change::now() for both also needs only permission to write. The
  /// file system rounds down to what it can store, and stores the nearest time if it cannot store such a year. On
  /// Windows, SetFileInformationByHandle (FileBasicInfo); times before 1601 fail with std::errc::invalid_argument.
  result<void> set_times(const file_times& times) { return self().act(detail::change_times{times}); }
  /// The same on a worker thread.
  auto async_set_times(const file_times& times, const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_on_worker(detail::change_times{times}, options);
  }

 protected:
  file_attributes() noexcept = default;
  ~file_attributes() = default;
  file_attributes(const file_attributes&) noexcept = default;
  file_attributes& operator=(const file_attributes&) noexcept = default;

 private:
  File& self() noexcept { return static_cast<File&>(*this); }
  const File& self() const noexcept { return static_cast<const File&>(*this); }
};

QIO_END_NAMESPACE
