// SPDX-License-Identifier: BSL-1.0
// The space of a file: what basic_file has to reserve it, to give it back, and to find out where it is.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/extent.hpp>
#include <qio/file/access.hpp>
#include <qio/mode.hpp>
#include <qio/operation_options.hpp>
#include <qio/result.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

// --- What the members do: each is one function of an open file's state, called now or by a worker ---

struct allocate_space {
  std::uint64_t offset, bytes;
  allocation how;

  template <class State>
  result<void> operator()(State& of) const {
    if (const error misfit = of.change_misfit(offset, bytes); misfit.exists()) return misfit;
    if (bytes == 0) return success();
    const auto call = [&] { return of.file.files.allocate(of.file.handle, offset, bytes, how); };
    return how == allocation::extend ? of.by_mode(call) : call();
  }
};

struct discard_space {
  std::uint64_t offset, bytes;

  template <class State>
  result<void> operator()(State& of) const {
    if (const error misfit = of.change_misfit(offset, bytes); misfit.exists()) return misfit;
    if (bytes == 0) return success();
    return of.file.files.discard(of.file.handle, offset, bytes);
  }
};

struct zero_space {
  std::uint64_t offset, bytes;

  template <class State>
  result<void> operator()(State& of) const {
    if (const error misfit = of.change_misfit(offset, bytes); misfit.exists()) return misfit;
    if (bytes == 0) return success();
    return of.file.files.zero(of.file.handle, offset, bytes);
  }
};

struct find_data {
  std::uint64_t from;

  template <class State>
  result<std::optional<extent>> operator()(State& of) const {
    if (const error misfit = of.range_misfit(from, 0); misfit.exists()) return misfit;
    return of.file.files.next_data(of.file.handle, from);
  }
};

/// What a copy has to do: the bytes of `what` that the source has. `source` is null if the file is closed.
template <class Source, class State>
result<std::uint64_t> bytes_to_copy(const Source* source, const extent& what, State& to, std::uint64_t to_offset) {
  if (source == nullptr || source->has_ended()) return error(std::make_error_code(std::errc::bad_file_descriptor));
  if (!source->file.may_read()) return source->file.activity.not_granted(access::read);
  if (const error misfit = source->range_misfit(what.offset, what.bytes); misfit.exists()) return misfit;
  if (const error misfit = to.change_misfit(to_offset, what.bytes); misfit.exists()) return misfit;
  const auto size = source->size();
  if (!size) return size;
  if (what.offset >= size.value()) return std::uint64_t(0);
  const std::uint64_t bytes = lesser_of(what.bytes, size.value() - what.offset);
  const std::uint64_t apart = greater_of(what.offset, to_offset) - lesser_of(what.offset, to_offset);
  if (apart < bytes && to.file.files == source->file.files &&
      to.file.files.is_same_file(source->file.handle, to.file.handle))
    return error(errc::overlapping_copy, what.offset, to_offset);
  return bytes;
}

/// Hands to the system what was stored in views of the source.
template <class Source>
result<void> flush_views(Source& source) {
  if constexpr (requires { source.mode.flush(); })
    return source.mode.flush();
  else
    return success();
}

template <class Source>
struct clone_range {
  Source* source;
  extent what;
  std::uint64_t to_offset;

  template <class State>
  result<std::uint64_t> operator()(State& to) const {
    const auto bytes = bytes_to_copy(source, what, to, to_offset);
    if (!bytes || bytes.value() == 0) return bytes;
    if (!(to.file.files == source->file.files)) return error(std::make_error_code(std::errc::cross_device_link));
    if (auto flushed = flush_views(*source); !flushed) return flushed.error();
    const extent part{what.offset, bytes.value()};
    const auto cloned =
        to.by_mode([&] { return to.file.files.clone(source->file.handle, part, to.file.handle, to_offset); });
    if (cloned) return bytes;
    const bool is_invalid = cloned.error() == std::errc::invalid_argument;
    const std::uint64_t unit = is_invalid ? to.file.files.clone_unit(to.file.handle) : 0;
    for (const std::uint64_t each : {part.offset, to_offset, part.bytes})
      if (unit != 0 && each % unit != 0) return error(errc::misaligned_clone, each, unit);
    return cloned.error();
  }
};

/// What a copy calls between two pieces, if nothing ends it early: see cancel_flag.
struct never_canceled {
  error operator()() const noexcept { return {}; }
};

/// The way of the bytes that a copy has moved; the slowest that was needed.
enum class moved_by : std::uint8_t { nothing, system, memory };

/// Moves ranges of one open file to another: in pieces by the system as long as it does that, for whatever reason it
/// ends; then by reads and writes, which find out the reason.
template <class Source, class State>
class range_mover {
 public:
  /// `pads_end`: writes whole blocks to a direct file, the last one filled up with zeros.
  range_mover(Source& from, State& to, bool pads_end) noexcept
      : from_(from), to_(to), pads_end_(pads_end), system_copies_(from.file.files == to.file.files) {}

  /// Returns the number of bytes: fewer than asked for only if the source ends before. An error has the number of bytes
  /// copied before it, unless it is one of qio's.
  template <class Canceled>
  result<std::uint64_t> move(const extent& what, std::uint64_t to_offset, const Canceled& canceled) {
    std::uint64_t done = 0;
    error end;
    if (system_copies_) {
      static_cast<void>(to_.by_mode([&]() -> result<void> {
        move_by_system(what, to_offset, canceled, done, end);
        return success();
      }));
      if (done != 0 && way_ == moved_by::nothing) way_ = moved_by::system;
    }
    while (done != what.bytes && !end.exists()) {
      if (end = canceled(); end.exists()) break;
      const auto moved = move_by_memory(what.offset + done, to_offset + done, what.bytes - done);
      if (!moved) {
        done += moved.error().transferred();
        end = moved.error();
      } else if (moved.value() == 0) {
        return done;
      } else {
        way_ = moved_by::memory;
        done += moved.value();
      }
    }
    if (!end.exists()) return done;
    return end.after(done);
  }

  moved_by way() const noexcept { return way_; }

 private:
  static constexpr std::uint64_t most_by_system = 16 << 20, most_by_memory = 1 << 20;

  template <class Canceled>
  void move_by_system(const extent& what, std::uint64_t to_offset, const Canceled& canceled, std::uint64_t& done,
                      error& end) {
    while (done != what.bytes) {
      if (end = canceled(); end.exists()) return;
      const extent piece{what.offset + done, lesser_of(what.bytes - done, most_by_system)};
      const raw_result copied = to_.file.files.copy(from_.file.handle, piece, to_.file.handle, to_offset + done);
      if (copied <= 0) {
        system_copies_ = false;
        return;
      }
      done += static_cast<std::uint64_t>(copied);
    }
  }

  // One piece. 0 at the end of the source.
  result<std::uint64_t> move_by_memory(std::uint64_t offset, std::uint64_t to_offset, std::uint64_t bytes) {
    const std::uint64_t block =
        greater_of<std::uint64_t>(4096, greater_of<std::uint64_t>(from_.mode.alignment.read, to_.mode.alignment.write));
    const auto rounded = [block](std::uint64_t length) {
      return static_cast<std::size_t>((length + block - 1) / block * block);
    };
    const std::uint64_t wanted = lesser_of(bytes, most_by_memory);
    if (!memory_ || memory_->size() < rounded(wanted)) {
      auto allocated = aligned_buffer::allocate(rounded(wanted), static_cast<std::size_t>(block));
      if (!allocated) return allocated.error();
      memory_.emplace(std::move(allocated).value());
    }
    const auto got = from_.read(offset, mutable_buffer(memory_->data(), rounded(wanted)));
    if (!got) return got.error().after(0);
    const std::uint64_t found = lesser_of<std::uint64_t>(got.value(), wanted);
    if (found == 0) return found;
    auto written = static_cast<std::size_t>(found);
    if (pads_end_ && found % to_.mode.alignment.write != 0) {
      written = rounded(found);
      std::memset(memory_->data() + found, 0, written - static_cast<std::size_t>(found));
    }
    const auto put = to_.write(to_offset, mutable_buffer(memory_->data(), written));
    // What was written of the padding is not the source's.
    if (!put) return put.error().after(lesser_of(put.error().transferred(), found));
    return found;
  }

  Source& from_;
  State& to_;
  const bool pads_end_;
  bool system_copies_;  // not between simulated disks
  moved_by way_ = moved_by::nothing;
  std::optional<aligned_buffer> memory_;
};

template <class Source>
struct copy_range {
  Source* source;
  extent what;
  std::uint64_t to_offset;

  template <class State, class Canceled = never_canceled>
  result<std::uint64_t> operator()(State& to, const Canceled& canceled = {}) const {
    const auto bytes = bytes_to_copy(source, what, to, to_offset);
    if (!bytes || bytes.value() == 0) return bytes;
    if (auto flushed = flush_views(*source); !flushed) return flushed.error();
    const extent part{what.offset, bytes.value()};
    const auto& files = to.file.files;
    const bool is_one_system = files == source->file.files;
    if (is_one_system && to.by_mode([&] { return files.clone(source->file.handle, part, to.file.handle, to_offset); }))
      return bytes;
    return range_mover<Source, State>(*source, to, false).move(part, to_offset, canceled);
  }
};

}  // namespace detail

/// The members of basic_file that concern its space. Ranges are in bytes, in every mode and at any offset, except where
/// a member or a block device needs more. A range that ends past 2^63 - 1 fails with errc::offset_too_large, an empty
/// one does nothing, and a file that was not opened for writing fails with errc::access_not_granted where a member
/// changes something. Where the file system lacks an operation, it fails with std::errc::operation_not_supported;
/// nothing is emulated, except by copy_from(), which says so. See docs/space.md for what each file system has.
///
/// What they change is durable after sync(), also if open_options::durable_writes is set. They may be used while
/// transfers of other ranges are in flight, by the same threads as resize() if they may change the size (allocate(),
/// clone_from(), copy_from()), and by any thread otherwise.
///
/// The asynchronous members are operations that a worker thread carries out, because file systems may wait for their
/// journal: see async_call() for what a deadline or a stop can end. (async_copy_from() ends earlier.) Those that may
/// change the size do not exist for mapped files, whose mapping must follow it.
///
/// On a block device, discard() and zero() need multiples of its logical block, and a range that begins before its end.
/// discard() is fallocate(2), which has the device unmap the range; allocate() and next_data() are not supported.
///
/// Windows: written from the documentation and not proven there. See each member.
template <class File, file_mode Mode, class Engine>
class file_space {
 public:
  /// Reserves space, so that later writes to the range do not fail because the device is full. (They still may on file
  /// systems that write each change to a new place: btrfs with snapshots or compression.) What the range contained
  /// stays; what was added reads as zeros. Usually fast, since the file system only notes that the space is reserved.
  /// On a full disk it fails with std::errc::no_space_on_device, and the size and the contents are as before. What it
  /// had reserved by then may stay reserved; resize() to the same size gives back what is past the end.
  ///
  /// Linux: fallocate(2). Windows: FileAllocationInfo, which reserves from the beginning of the file to the end of the
  /// range.
  result<void> allocate(std::uint64_t offset, std::uint64_t bytes, allocation how = allocation::extend) {
    return self().act(detail::allocate_space{offset, bytes, how});
  }
  /// The same on a worker thread.
  auto async_allocate(std::uint64_t offset, std::uint64_t bytes, allocation how = allocation::extend,
                      const operation_options& options = {})
    requires(engine<Engine> && !Mode::is_mapped)
  {
    return self().act_on_worker(detail::allocate_space{offset, bytes, how}, options);
  }

  /// Gives the space of a range back to the file system: a hole, which reads as zeros. The size stays. Blocks that the
  /// range covers in part are zeroed there, and keep their space. The part past the end of the file has no contents to
  /// lose; reserved space there may stay. Views of a mapped file show the zeros.
  ///
  /// Linux: fallocate(2) with FALLOC_FL_PUNCH_HOLE. Windows: FSCTL_SET_SPARSE, which makes the file a sparse one for
  /// good, and FSCTL_SET_ZERO_DATA; may fail with std::errc::device_or_resource_busy while the file is mapped.
  result<void> discard(std::uint64_t offset, std::uint64_t bytes) {
    return self().act(detail::discard_space{offset, bytes});
  }
  /// The same on a worker thread.
  auto async_discard(std::uint64_t offset, std::uint64_t bytes, const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_on_worker(detail::discard_space{offset, bytes}, options);
  }

  /// Makes a range read as zeros, and keeps its space reserved, so that later writes to it do not fail because the
  /// device is full: as after allocate() with keep_size. The size stays. Usually does not write the zeros, so it is
  /// much faster than a write. Where the range had a hole, it may fail with std::errc::no_space_on_device.
  ///
  /// Linux: fallocate(2) with FALLOC_FL_ZERO_RANGE (ext4, XFS, btrfs, block devices; not tmpfs). Windows:
  /// FSCTL_SET_ZERO_DATA on a file that is not sparse, up to the end of the file; on a sparse one, which would lose its
  /// space, std::errc::operation_not_supported.
  result<void> zero(std::uint64_t offset, std::uint64_t bytes) { return self().act(detail::zero_space{offset, bytes}); }
  /// The same on a worker thread.
  auto async_zero(std::uint64_t offset, std::uint64_t bytes, const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_on_worker(detail::zero_space{offset, bytes}, options);
  }

  /// The first range of data at or after `from`, up to the next hole or the end of the file; no value if there is none.
  /// What is in no such range reads as zeros. Space that is reserved and was never written counts as a hole. A file
  /// system may report zeros as data, so holes are at least as large as reported. Others may change the file meanwhile.
  ///
  /// Linux: lseek(2) with SEEK_DATA and SEEK_HOLE. It moves the handle's file position, which no transfer of the
  /// library uses, but which others see who use the same open file description. Windows: FSCTL_QUERY_ALLOCATED_RANGES;
  /// a file that is not sparse is all data, and two results may touch each other.
  result<std::optional<extent>> next_data(std::uint64_t from) const { return self().act(detail::find_data{from}); }
  /// The same on a worker thread.
  auto async_next_data(std::uint64_t from, const operation_options& options = {})
    requires engine<Engine>
  {
    return self().act_on_worker(detail::find_data{from}, options);
  }

  /// Makes a range of this file share the space of a range of `source`, as if it had been copied: a write to either
  /// later takes new space, and so may fail because the device is full. Moves no data, however long the range is. (On a
  /// simulated disk it takes the space of a copy, and may fail with std::errc::no_space_on_device.)
  /// Returns the number of bytes: fewer than asked for only if the source ends before, and 0 if it ends before the
  /// range. Extends this file if necessary. On failure nothing is cloned.
  ///
  /// Offsets and lengths must be multiples of the file system's block (4096 bytes nearly always); only a range that
  /// ends at the source's end may have another length, if it then ends this file, too. Otherwise the error is
  /// errc::misaligned_clone with the numbers. Ranges of the same file that overlap: errc::overlapping_copy. Files of
  /// different file systems, or simulated disks: std::errc::cross_device_link. File systems without this (ext4, tmpfs):
  /// std::errc::operation_not_supported.
  ///
  /// `source` may have any mode and any context, but must be a file of the same kind of system (none is simulated, or
  /// both are), opened for reading; it may be this file. Linux: FICLONERANGE (XFS with reflink, btrfs). Windows:
  /// FSCTL_DUPLICATE_EXTENTS_TO_FILE (ReFS), where both files must be sparse, or neither.
  template <class Source>
    requires std::same_as<typename Source::engine_type::system, typename Engine::system>
  result<std::uint64_t> clone_from(Source& source, const extent& what, std::uint64_t to_offset) {
    return self().act(clone_of(source, what, to_offset));
  }
  /// The same on a worker thread. The source must stay open until the operation ends; it may be moved.
  template <class Source>
    requires(std::same_as<typename Source::engine_type::system, typename Engine::system> && engine<Engine> &&
             !Mode::is_mapped)
  auto async_clone_from(Source& source, const extent& what, std::uint64_t to_offset,
                        const operation_options& options = {}) {
    return self().act_on_worker(clone_of(source, what, to_offset), options);
  }

  /// Copies a range of `source` to this file in the fastest way that works: by clone_from(); otherwise within the
  /// kernel (copy_file_range(2)); otherwise by reading and writing up to 1 MiB at a time, in memory that it allocates
  /// (std::errc::not_enough_memory). Returns the number of bytes: fewer than asked for only if the source ends before.
  /// (A file of /proc ends at once, because its size is 0; copy() reads it.)
  /// Extends this file if necessary. Holes of the source may become zeros that take space; copy() keeps them.
  ///
  /// On failure, error().transferred() is the number of bytes copied, unless the library itself refused the range. Of
  /// direct files, ranges that only reading and writing can copy must be aligned as transfers are. Ranges of the same
  /// file that overlap fail with errc::overlapping_copy. For `source`, see clone_from().
  template <class Source>
    requires std::same_as<typename Source::engine_type::system, typename Engine::system>
  result<std::uint64_t> copy_from(Source& source, const extent& what, std::uint64_t to_offset) {
    return self().act(copy_of(source, what, to_offset));
  }
  /// The same on a worker thread. The source must stay open until the operation ends; it may be moved. What ends the
  /// operation early takes effect between two pieces, of 16 MiB in the kernel.
  template <class Source>
    requires(std::same_as<typename Source::engine_type::system, typename Engine::system> && engine<Engine> &&
             !Mode::is_mapped)
  auto async_copy_from(Source& source, const extent& what, std::uint64_t to_offset,
                       const operation_options& options = {}) {
    return self().act_on_worker(copy_of(source, what, to_offset), options);
  }

 protected:
  file_space() noexcept = default;
  ~file_space() = default;
  file_space(const file_space&) noexcept = default;
  file_space& operator=(const file_space&) noexcept = default;

 private:
  template <class Source>
  static auto clone_of(Source& source, const extent& what, std::uint64_t to_offset) noexcept {
    using opened = std::remove_pointer_t<decltype(detail::file_access::opened(source))>;
    return detail::clone_range<opened>{detail::file_access::opened(source), what, to_offset};
  }
  template <class Source>
  static auto copy_of(Source& source, const extent& what, std::uint64_t to_offset) noexcept {
    using opened = std::remove_pointer_t<decltype(detail::file_access::opened(source))>;
    return detail::copy_range<opened>{detail::file_access::opened(source), what, to_offset};
  }

  File& self() noexcept { return static_cast<File&>(*this); }
  const File& self() const noexcept { return static_cast<const File&>(*this); }
};

QIO_END_NAMESPACE
