// SPDX-License-Identifier: BSL-1.0
// bounced(): reads and writes of any offset and length on a direct file, and reads that are merged, through a
// bounce_pool.
#pragma once

#include <qio/batch.hpp>
#include <qio/bounce/blocking.hpp>
#include <qio/bounce/operations.hpp>
#include <qio/bounce_pool.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

/// How bounced() merges the reads of a batch.
struct bounce_options {
  /// Reads of a batch with at most this many bytes between them, after being widened to blocks, are merged if the whole
  /// fits into a slot of the pool. 0 merges only reads that touch or overlap.
  std::uint64_t gap = 0;
};

/// A file whose transfers go through a bounce_pool where that is necessary or useful: see bounced(). Refers to both,
/// and is cheap to copy: three words.
template <class File>
class bounced_file {
 public:
  /// See bounced().
  bounced_file(File& file, bounce_pool& pool, const bounce_options& options) noexcept
      : file_(&file), pool_(&pool.state()), gap_(options.gap) {}

  /// Like basic_file::read_at(), at any offset, of any length, into any memory.
  result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
    return detail::bounced_read_at(*file_, *pool_, offset, buffer);
  }

  /// Like basic_file::write_at(), at any offset, of any length, from any memory. See bounced() for concurrent writers.
  result<std::size_t> write_at(std::uint64_t offset, std::span<const std::byte> buffer) const {
    return write_at(offset, buffer, {});
  }
  /// The same with the options of basic_file::write_at(): see bounced().
  result<std::size_t> write_at(std::uint64_t offset, std::span<const std::byte> buffer,
                               const blocking_write_options& options) const {
    return detail::bounced_write_at(*file_, *pool_, offset, buffer, options);
  }

  /// Like basic_file::read_many(), for reads of any offset, length and memory. Merges reads as bounce_options::gap
  /// allows, and carries out the groups one after another in the order of their offsets, each by one transfer. The
  /// answers are the same as without merging: if the transfer of a group fails, its reads are carried out one by one.
  result<std::size_t> read_many(std::span<read_request> requests) const {
    if (!file_->is_open())
      return detail::refuse_each(requests, error(std::make_error_code(std::errc::bad_file_descriptor)));
    return detail::bounced_read_each<File>(*file_, *pool_, gap_).read(requests);
  }

  // --- asynchronous: see operation ---

  /// Like read_at(), asynchronously.
  auto async_read_at(std::uint64_t offset, std::span<std::byte> buffer) const
    requires engine<typename File::engine_type>
  {
    return detail::file_access::operation_of<detail::bounced_read<File>>(
        *file_, [&](auto& work) { work.describe_one(*file_, *pool_, offset, buffer); });
  }
  /// The same, with a deadline or a stop token.
  auto async_read_at(std::uint64_t offset, std::span<std::byte> buffer, const operation_options& options) const
    requires engine<typename File::engine_type>
  {
    return detail::file_access::operation_of<detail::bounced_read<File>>(
        *file_, in_class([&](auto& work) { work.describe_one(*file_, *pool_, offset, buffer); }, options), options);
  }

  /// Like write_at(), asynchronously.
  auto async_write_at(std::uint64_t offset, std::span<const std::byte> buffer) const
    requires engine<typename File::engine_type>
  {
    return detail::file_access::operation_of<detail::bounced_write<File>>(
        *file_, [&](auto& work) { work.describe(*file_, *pool_, offset, buffer, {}); });
  }
  /// The same with write_options: see bounced().
  auto async_write_at(std::uint64_t offset, std::span<const std::byte> buffer, const write_options& options) const
    requires engine<typename File::engine_type>
  {
    const blocking_write_options asked{.durable = options.durable, .untorn = options.untorn};
    return detail::file_access::operation_of<detail::bounced_write<File>>(
        *file_, in_class([&](auto& work) { work.describe(*file_, *pool_, offset, buffer, asked); }, options),
        {options.deadline, options.stop});
  }
  /// The same with operation_options. (A template, so that `{.deadline = ...}` means write_options.)
  template <std::same_as<operation_options> Options>
    requires engine<typename File::engine_type>
  auto async_write_at(std::uint64_t offset, std::span<const std::byte> buffer, const Options& options) const {
    return async_write_at(
        offset, buffer,
        write_options{.deadline = options.deadline, .stop = options.stop, .io_class = options.io_class});
  }

  /// Like read_many(), asynchronously, as one operation, like basic_file::async_read_many(). All groups for which the
  /// pool has slots are in flight at the same time. Reads that are aligned and not merged need no slot, and go straight
  /// to the caller's memory.
  auto async_read_many(std::span<read_request> requests) const
    requires engine<typename File::engine_type>
  {
    return detail::file_access::operation_of<detail::bounced_reads<File>>(
        *file_, [&](auto& work) { work.describe(*file_, *pool_, gap_, requests); });
  }
  /// The same, with a deadline or a stop token.
  auto async_read_many(std::span<read_request> requests, const operation_options& options) const
    requires engine<typename File::engine_type>
  {
    return detail::file_access::operation_of<detail::bounced_reads<File>>(
        *file_, in_class([&](auto& work) { work.describe(*file_, *pool_, gap_, requests); }, options), options);
  }

 private:
  // Describes an operation, and puts it into the class that its options have.
  template <class Describe, class Options>
  auto in_class(Describe describe, const Options& options) const {
    return [this, describe, &options](auto& work) {
      describe(work);
      work.put_into_class(*file_, options.io_class);
    };
  }

  File* file_;
  detail::bounce_slots* pool_;
  std::uint64_t gap_;
};

/// Returns `file` with transfers that go through `pool` where they need it: a transfer that is misaligned for a direct
/// file is widened to whole blocks and copied, and reads of a batch that are close to each other become one transfer.
/// Calls of `file` itself do not change: they still fail if misaligned, and are not merged. A transfer that is aligned
/// and not merged uses no slot and is not copied; on files without alignment, only batches use the pool.
///
///     auto pool = qio::bounce_pool::allocate().value();
///     auto file = qio::direct_file::open(context, "table").value();
///     auto bytes = co_await qio::bounced(file, pool).async_read_at(1000, record);
///     auto failures = co_await qio::bounced(file, pool, {.gap = 16 * 1024}).async_read_many(batch);
///     auto written = co_await qio::bounced(file, pool).async_write_at(end, record, {.durable = true});
///
/// Writes. A block that a write covers in part is read, changed in memory and written as a whole. So:
/// - The file must be open for reading and writing (otherwise errc::access_not_granted).
/// - Bytes that others write to such a block between the read and the write are lost, even outside the range that is
///   written. So two bounced writes that share a block must not overlap in time. Readers of the block see the old
///   bytes, the new ones or, during the write, a mixture.
/// - If the file ends in the last block, the write extends it to a whole block, and then truncates it to the right size
///   (on a worker thread, if the write is asynchronous). In between, the file ends with zeros, which a crash or closing
///   the file may leave behind. What others append meanwhile is cut off.
/// - Destroying the operation between the two truncates the file, and blocks until that is done.
/// - A durable write (write_options::durable, open_options::durable_writes) is durable with its size: if the file was
///   truncated, all of it is synced afterwards, which costs more. A write longer than a slot becomes durable piece by
///   piece. If the write ends early after the truncation, its bytes are durable, but the size only after the next sync.
/// - An untorn write (write_options::untorn) never goes through a slot, because widened it would be untorn only
///   together with bytes that were read before. One that does not fit fails as in basic_file, before any system call
///   (errc::untorn_not_supported, untorn_length, untorn_offset, misaligned_buffer).
///
/// The file and the pool must outlive the operations. Until these end, the file may be closed, but neither moved nor
/// destroyed. See bounce_pool for what happens when all slots are in use. If a slot is smaller than a block of the
/// file, operations fail with std::errc::no_buffer_space, except single blocking ones that are aligned.
template <file_mode Mode, class Engine>
bounced_file<basic_file<Mode, Engine>> bounced(basic_file<Mode, Engine>& file, bounce_pool& pool,
                                               const bounce_options& options = {}) noexcept {
  return {file, pool, options};
}

QIO_END_NAMESPACE
