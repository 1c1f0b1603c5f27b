// SPDX-License-Identifier: BSL-1.0
// A log: records that are durable when append() completes, and are found again after a crash. Include it on its own;
// <qio/qio.hpp> does not.
#pragma once

#include <qio/configuration.hpp>
#include <qio/engine/default.hpp>
#include <qio/file.hpp>
#include <qio/log/format.hpp>
#include <qio/log/reader.hpp>
#include <qio/log/writer.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/task.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

QIO_BEGIN_NAMESPACE

/// A log that is open for appending; open_log() makes one.
///
///     auto file = qio::direct_file::open(context, "log", qio::access::read_write, qio::creation::if_needed).value();
///     qio::sync_directory(".").value();  // the name of a new file
///     auto opened = co_await qio::open_log(std::move(file), replay);  // bool replay(const qio::log_record&)
///     qio::log_writer<qio::direct> log = std::move(opened).value();
///     auto number = co_await log.append(bytes);  // durable
///
/// Group commit. Records that are appended while a write is in flight are written together by the next one. So tasks
/// that append at the same time share the cost of each durable write, and a single one waits for no other.
///
/// Order. Records are in the log in the order of their appends, and become durable in that order: if a record is there
/// after a crash, so are all before it.
///
/// Crashes. After a crash, the log contains all acknowledged records, followed by any number of those that were in
/// flight, each whole or not at all. A batch that the crash tore is recognized by its sectors, without checksums, and
/// erased when the log is opened. See docs/log.md for the format, and for what checksums of your own add.
///
/// Failures. If a write fails, all appends in flight and all later ones return its error. What was not acknowledged may
/// or may not be in the log. Open the log again, or another one.
///
/// Memory, threads, lifetime. append() allocates nothing. It borrows the record until the append completes or is
/// destroyed: the record is copied into a batch, but only once a batch has room for it. Everything belongs to the
/// context's thread. Moving the writer is allowed while appends are in flight. Destroying it cancels them: they fail
/// with std::errc::operation_canceled, and the records may or may not be in the log.
template <file_mode Mode, class Engine = default_engine>
class [[nodiscard]] log_writer {
  using state = detail::log_writer_state<basic_file<Mode, Engine>>;

 public:
  /// For open_log().
  explicit log_writer(std::unique_ptr<state> opened) noexcept : state_(std::move(opened)) {}

  /// Appends `record`. Awaited, it returns when the record is durable, with its number: 1 for the first record of the
  /// log. `record` may be empty, and is borrowed until then. Fails with errc::record_too_large if it exceeds
  /// longest_record(), and with the error of an earlier write if one has failed.
  log_append<state> append(std::span<const std::byte> record) noexcept { return {state_.get(), record}; }

  /// Drops records in front of `record`, which a recovery does not need any more, for example because a checkpoint
  /// has what they say. Awaited, it returns when later openings begin behind them, with the number of the first record
  /// that is left: at most `record`, because whole batches are dropped, and of a long log not each position is
  /// remembered. At most 1/64 of what the log has had at one time stays for that.
  ///
  /// The space is given back to the file system by discard(): see discarded(). Numbers, offsets and the size of the
  /// file continue to grow. Appends continue meanwhile, and so may read_log(). Several may be in flight.
  ///
  /// Two durable writes, and nothing if no batch can be dropped. Fails with errc::record_not_durable if `record` is
  /// behind the record that is appended next to what is durable, with the error of an earlier write if one has failed,
  /// and with that of discard(): then the records are dropped, and the next trim() discards their space.
  /// Allocates nothing.
  log_trim<state> trim(std::uint64_t record) noexcept { return {state_.get(), record}; }

  /// The number of the first record that has not been trimmed, or of the first one that will be appended.
  std::uint64_t first_record() const noexcept { return state_->first_record(); }
  /// The bytes at the beginning of the file that trim() has given back to the file system, since the log was opened.
  /// They stay 0 where the file system cannot do that (FALLOC_FL_PUNCH_HOLE; FSCTL_SET_ZERO_DATA).
  std::uint64_t discarded() const noexcept { return state_->discarded(); }

  /// What open_log() has found. The tail is log_end::torn if a torn batch was erased.
  const log_contents& recovered() const noexcept { return state_->recovered(); }
  /// The offset in the file, in bytes, of the end of the last durable batch.
  std::uint64_t end() const noexcept { return state_->end(); }
  /// The longest record that can be appended, in bytes; a little less than log_options::largest_batch.
  std::uint64_t longest_record() const noexcept { return state_->longest_record(); }
  /// The error with which all further appends fail; no error while appending is possible.
  const error& failure() const noexcept { return state_->failure(); }
  /// The log's file, for its statistics and explain(). Do not write to it.
  const basic_file<Mode, Engine>& file() const noexcept { return state_->file(); }

 private:
  std::unique_ptr<state> state_;
};

/// Opens a log for appending: recovers it, or creates it if the file is new. `file` must be open for reading and
/// writing; the log takes it over. `visit` is called for each record, in order, from within this task. It returns
/// whether the record is valid (by its checksum, for example). Every visited record is durable.
///
/// One writer. The log is locked until it is destroyed, or its process ends: if it is open for appending elsewhere, in
/// this process or another one, this fails with errc::log_is_open. So it does if other files use the handle
/// (share_with). Linux: F_OFD_SETLK. A child process that was forked meanwhile, and has not called exec, keeps the lock
/// of a parent that is killed. Reading needs no lock: see read_log().
///
/// Fails with errc::log_damaged if acknowledged records are missing, or if `visit` rejects a record: all of its sectors
/// are there, so a torn write is not the reason. given() is the offset of the damage and needed() the number of records
/// before it, which were visited; read_log() reads them again. Fails with errc::not_a_log if the file has other
/// contents, with errc::log_version if the log has another format, and with errc::log_batch_too_large if its batches
/// are larger than log_options::batch_limit. In all these cases, the file is not changed.
///
/// A log is created in a file that is empty or has only zeros. The log fills the file with zeros, log_options::extent
/// bytes at a time. The name of a new file is durable after sync_directory(), which is up to the caller. Allocates.
template <file_mode Mode, class Engine, std::predicate<const log_record&> Visit>
task<result<log_writer<Mode, Engine>>> open_log(basic_file<Mode, Engine> file, Visit visit, log_options options = {}) {
  auto opened = std::make_unique<detail::log_writer_state<basic_file<Mode, Engine>>>(std::move(file), options);
  if (auto ready = co_await opened->open(visit); !ready) co_return ready.error();
  co_return log_writer<Mode, Engine>(std::move(opened));
}

// A log needs a file that was opened on a context.
template <file_mode Mode, class Visit>
detail::needs_a_file_opened_on_a_context open_log(basic_file<Mode, no_engine>, Visit, log_options = {}) = delete;

/// Reads a log without changing it, up to where it ends or where `visit` returns false. The result's tail shows why it
/// ended there. `file` is borrowed. Fails with errc::not_a_log if it is not a log, or if its creation was not
/// completed, with errc::log_version if the log has another format, and with errc::log_batch_too_large if its batches
/// are larger than options.batch_limit, the only option that matters here. Allocates.
///
/// The log may be open for appending meanwhile, in any process. Then this returns all records that were acknowledged
/// before it began, and perhaps later ones, up to two extents more; log_end::torn may be a batch that is being written.
template <file_mode Mode, class Engine, std::predicate<const log_record&> Visit>
task<result<log_contents>> read_log(basic_file<Mode, Engine>& file, Visit visit, log_options options = {}) {
  detail::log_reader<basic_file<Mode, Engine>> reader(file, false);
  auto header = co_await reader.read_header();
  if (!header) co_return header.error();
  if (!header.value()) co_return error(errc::not_a_log);
  if (header.value()->largest > options.batch_limit)
    co_return error(errc::log_batch_too_large, header.value()->largest, options.batch_limit);
  co_return co_await reader.read(*header.value(), visit);
}

QIO_END_NAMESPACE
