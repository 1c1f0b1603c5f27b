// SPDX-License-Identifier: BSL-1.0
// An open file as the operating system knows it: a handle, alone or shared with other files, and transfers by system
// calls.
#pragma once

#include <qio/base/intrusive.hpp>
#include <qio/base/process_mutex.hpp>
#include <qio/configuration.hpp>
#include <qio/file/inline_attempt.hpp>
#include <qio/mode.hpp>
#include <qio/request/request.hpp>
#include <qio/request/syncs.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- What several files have in common that use one handle ---

/// What keeps the file open besides the handle: a mapping. `release` is called once, by any thread; the error is that
/// of replacing it.
struct kept_by_mapping : list_hook {
  error (*release)(kept_by_mapping&, const platform::empty_file&) noexcept = nullptr;
};

/// Owned by all files that use the handle, on whatever threads.
class shared_handle {
 public:
  /// `ends_at_once`: the file belongs to a shared_file, which closes it for all.
  explicit shared_handle(bool ends_at_once = false) noexcept : ends_at_once_(ends_at_once) {}

  void join() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  /// True for the last one, which closes the handle.
  bool leave() noexcept {
    const std::uint32_t before = users_.fetch_sub(1, std::memory_order_acq_rel);
    QIO_CHECK(before != 0, "bug in qio: more files left a handle than used it");
    return before == 1;
  }
  bool has_others() const noexcept { return users_.load(std::memory_order_acquire) > 1; }

  bool ends_at_once() const noexcept { return ends_at_once_; }
  bool has_ended() const noexcept { return has_ended_.load(std::memory_order_acquire); }

  /// The same, after an end() that has begun in another thread.
  bool has_surely_ended() noexcept {
    const std::lock_guard lock(mutex_);
    return has_ended();
  }

  /// Closes the file for all who use the handle. From any thread, also of several.
  result<void> end(platform::native_handle handle) noexcept {
    const std::lock_guard lock(mutex_);
    if (has_ended()) return error(std::make_error_code(std::errc::bad_file_descriptor));
    // Before the handle ends: copies from mappings may be in progress, and what replaces those must not be missing.
    platform::empty_file empty;
    if (mappings_.first() != nullptr)
      if (const error failure = empty.open(); failure.exists()) return failure;
    auto [has_ended, failure] = platform::close_and_keep_number(handle);
    if (!has_ended) return failure;
    has_ended_.store(true, std::memory_order_release);
    mappings_.for_each([&empty, first = &failure](kept_by_mapping& each) {
      if (const error kept = each.release(each, empty); !first->exists()) *first = kept;
    });
    if (failure.exists()) return failure;
    return success();
  }

  /// From now on, end() ends this, too; at once if the file is closed already. Then nobody uses the mapping yet.
  void add(kept_by_mapping& mapping) noexcept {
    const std::lock_guard lock(mutex_);
    mappings_.insert(mapping);
    if (!has_ended()) return;
    platform::empty_file empty;
    static_cast<void>(empty.open());
    static_cast<void>(mapping.release(mapping, empty));
  }
  void remove(kept_by_mapping& mapping) noexcept {
    const std::lock_guard lock(mutex_);
    mapping.unlink();
  }

  sync_failures failures;
  blocking_syncs syncs;

 private:
  std::atomic<std::uint32_t> users_ = 1;
  const bool ends_at_once_;
  std::atomic<bool> has_ended_ = false;
  process_mutex mutex_;  // guards the list, which may be walked after each store
  list<kept_by_mapping> mappings_;
};

// --- An open file as the operating system knows it: a handle, and transfers by system calls ---

/// What all modes share. Owns the handle, alone or with other files, and closes it.
template <class System>
struct system_file {
  system_file(const System& system, access granted) : files(system) { activity.granted = granted; }
  system_file(const system_file&) = delete;
  system_file& operator=(const system_file&) = delete;
  ~system_file() { static_cast<void>(close()); }

  /// The last of the files that use the handle closes it.
  result<void> close() noexcept {
    const platform::native_handle closed = std::exchange(handle, platform::invalid_handle);
    if (closed == platform::invalid_handle || (sharing != nullptr && !sharing->leave())) return success();
    return files.close(closed);
  }

  /// Uses the handle of `other` as well. Not while another thread uses `other`.
  void share_handle(system_file& other) {
    QIO_CHECK(handle == platform::invalid_handle && sharing == nullptr, "bug in qio: a file was given a second handle");
    if (other.sharing == nullptr) other.be_shared(false);
    other.sharing->join();
    sharing = other.sharing;
    activity.sync_failure.keep_in(sharing->failures);
    handle = other.handle;
  }

  /// Others may use the handle from now on: see shared_handle.
  void be_shared(bool ends_at_once) {
    QIO_CHECK(sharing == nullptr, "bug in qio: a handle was shared twice");
    sharing = std::make_shared<shared_handle>(ends_at_once);
    activity.sync_failure.keep_in(sharing->failures);
  }

  /// Continues a read by system calls, of which the first returned `answer`. A read that stops between two multiples of
  /// `end_block` has reached the end of the file. Makes the transfer again from its parts, because one whose address is
  /// taken would not stay in registers.
  template <class Buffers>
  QIO_NOINLINE result<std::size_t> finish_read(std::uint64_t offset, Buffers buffers, platform::transfer_flags flags,
                                               std::uint32_t end_block, raw_result answer) const {
    transfer io(offset, buffers);
    error failure;
    while (io.after_read(answer, end_block, failure) == transfer::progress::unfinished)
      answer = files.read(handle, io.next(), flags);
    if (!failure.exists()) return io.transferred();
    return may_read() ? activity.of_transfer(failure, opcode::read) : activity.not_granted(access::read);
  }

  /// Writes all of `io`, which was made from `buffers`, by system calls.
  template <class Buffers>
  result<std::size_t> write(transfer& io, Buffers buffers, platform::transfer_flags flags) {
    const raw_result answer = files.write(handle, io.next(), flags);
    if (io.is_finished_by(answer)) [[likely]]
      return io.total();
    return finish_write(io.offset(), buffers, flags, answer);
  }

  /// Orders the blocking syncs of all files that use the handle.
  blocking_syncs& syncs() noexcept { return sharing == nullptr ? own_syncs_ : sharing->syncs; }

  bool may_read() const noexcept { return activity.may_read(); }
  bool may_write() const noexcept { return activity.may_write(); }

  QIO_NO_UNIQUE_ADDRESS System files;
  platform::native_handle handle = platform::invalid_handle;
  inline_activity activity;
  std::shared_ptr<shared_handle> sharing;  // null as long as no other file uses the handle

 private:
  // The same of a write.
  template <class Buffers>
  QIO_NOINLINE result<std::size_t> finish_write(std::uint64_t offset, Buffers buffers, platform::transfer_flags flags,
                                                raw_result answer) {
    transfer io(offset, buffers);
    error failure;
    while (io.after_write(answer, failure) == transfer::progress::unfinished)
      answer = files.write(handle, io.next(), flags);
    if (!failure.exists()) return io.transferred();
    if (!may_write()) return activity.not_granted(access::write);
    judge_write(activity, handle, io, flags, failure);
    return activity.of_transfer(failure, opcode::write);
  }

  blocking_syncs own_syncs_;
};

}  // namespace detail
QIO_END_NAMESPACE
