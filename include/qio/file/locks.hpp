// SPDX-License-Identifier: BSL-1.0
// The locks of a file: what basic_file has to keep other processes, and other files of this one, from a range.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/extent.hpp>
#include <qio/loop/loop.hpp>
#include <qio/mode.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/system/platform.hpp>

#include <concepts>
#include <system_error>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- What the members do: each is one function of an open file's state, called now or by the loop ---

struct take_lock {
  lock_kind kind;
  extent range;

  template <class State>
  result<bool> operator()(State& of) const noexcept {
    if (const error misfit = of.lock_misfit(kind, range); misfit.exists()) return misfit;
    return of.file.files.try_lock(of.file.handle, kind, range);
  }
};

/// The same, until it succeeds or the time has come. On the calling thread, which sleeps.
struct wait_for_lock {
  take_lock attempt;
  deadline until;

  template <class State>
  result<void> operator()(State& of) const noexcept {
    for (auto pause = retried_request::shortest_pause;; pause = lesser_of(2 * pause, retried_request::longest_pause)) {
      const result<bool> locked = attempt(of);
      if (!locked) return locked.error();
      if (locked.value()) return success();
      const auto now = clock::now();
      if (until.when() <= now) return error(std::make_error_code(std::errc::timed_out));
      const auto left = until.when() - now;
      platform::sleep_for(static_cast<int>(lesser_of<clock::duration>(pause, left) / std::chrono::milliseconds(1)) + 1);
    }
  }
};

struct give_lock_back {
  extent range;

  template <class State>
  result<void> operator()(State& of) const noexcept {
    if (const error misfit = of.range_misfit(range); misfit.exists()) return misfit;
    return of.file.files.unlock(of.file.handle, range);
  }
};

struct find_lock {
  lock_kind kind;
  extent range;

  template <class State>
  result<bool> operator()(State& of) const noexcept {
    if (const error misfit = of.range_misfit(range); misfit.exists()) return misfit;
    return of.file.files.is_locked(of.file.handle, kind, range);
  }
};

}  // namespace detail

/// The members of basic_file that lock ranges of it, in every mode. A range is in bytes, and may lie past the end of
/// the file; one of 0 bytes reaches to the end of all offsets, so the default, {}, is the whole file however long it
/// gets. A range that ends past 2^63 - 1 fails with errc::offset_too_large. A shared lock needs a file that was opened
/// for reading, and an exclusive one a file that was opened for writing (errc::access_not_granted).
///
/// A lock belongs to the open file description (on Windows, to the handle): to this file, and to those that share its
/// handle (share_with(), shared_file, a child process after fork), which never keep each other out. It ends by
/// unlock(), or when the last of them is closed, or its process has ended. Over io_uring, the ring may keep a file open
/// for a moment longer, and with it the lock: call unlock() first, or open the file with open_options::registered =
/// false. adopt() and release() pass locks on with the handle.
///
/// Linux: fcntl(2) with F_OFD_SETLK. Locks are advisory: they keep out other locks, of this kind and of the older kind
/// (F_SETLK, lockf), but neither transfers nor flock(2). Windows: LockFileEx. Locks are mandatory: transfers of other
/// handles fail within an exclusively locked range, and writes within a shared one, even those of this handle. Network
/// file systems: see docs/locks.md.
///
/// An open log is locked, too: see docs/locks.md. Threads: as other blocking operations. Allocates nothing, except for
/// errors that name the file.
template <class File, file_mode Mode, class Engine>
class file_locks {
 public:
  /// Locks a range without waiting. Returns false, and changes nothing, if a lock of another open file description
  /// keeps this one out. Linux: what this file has locked of the range is converted, atomically. Windows: what this
  /// handle has locked of the range keeps an exclusive lock out (false), too; unlock it first.
  result<bool> try_lock(lock_kind kind, const extent& range = {}) { return self().act(detail::take_lock{kind, range}); }

  /// Locks a range. Waits as long as another open file description keeps it out, but fails with std::errc::timed_out
  /// once the deadline has passed. It calls try_lock() again and again, after pauses of 1 ms that double up to 50 ms,
  /// for the reasons that async_lock() has; so it is not fair. Without a deadline, nothing ends it. Not for simulated
  /// files, whose only thread would wait for itself.
  result<void> lock(lock_kind kind, const extent& range = {}, deadline until = {})
    requires std::same_as<typename Engine::system, detail::operating_system>
  {
    return self().act(detail::wait_for_lock{{kind, range}, until});
  }

  /// Locks a range, as an operation of the context: without a worker or another thread. The first attempt takes place
  /// in the next turn of run() or poll(), and each of the others by a timer, after a pause of 1 ms that doubles up to
  /// 50 ms. (No system can wait for a lock and also stop waiting at a deadline.) So it may take 50 ms to find out that
  /// a range is free, and it is not fair: whoever asks first after that gets the lock, and one that waits for an
  /// exclusive lock may wait as long as others take turns with shared ones.
  ///
  /// When its result is success, the file has the lock. It ends early, without a lock, with std::errc::timed_out or
  /// std::errc::operation_canceled, also when the file or the context is closed. Destroying it leaves nothing locked
  /// either. Allocates nothing.
  auto async_lock(lock_kind kind, const extent& range = {}, const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_repeatedly(detail::take_lock{kind, range}, options);
  }

  /// Gives locks back. Linux: of any range; what is locked on either side of it stays locked, and what is not locked
  /// stays so. Windows: of exactly one range that was locked; otherwise fails with errc::range_not_locked.
  result<void> unlock(const extent& range = {}) { return self().act(detail::give_lock_back{range}); }

  /// Whether try_lock() would return false because of another open file description. That may have changed by the time
  /// that it is known. Needs no particular access. Windows does not report locks: errc::lock_query_not_supported.
  result<bool> is_locked(lock_kind kind, const extent& range = {}) const {
    return self().act(detail::find_lock{kind, range});
  }

 protected:
  file_locks() noexcept = default;
  ~file_locks() = default;
  file_locks(const file_locks&) noexcept = default;
  file_locks& operator=(const file_locks&) noexcept = default;

 private:
  File& self() noexcept { return static_cast<File&>(*this); }
  const File& self() const noexcept { return static_cast<const File&>(*this); }
};

QIO_END_NAMESPACE
