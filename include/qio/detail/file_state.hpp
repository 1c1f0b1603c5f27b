// SPDX-License-Identifier: BSL-1.0
// What an open file is, at an address that does not change while the file is moved.
#pragma once

#include <qio/detail/bounds.hpp>
#include <qio/detail/buffers.hpp>
#include <qio/detail/growing_map.hpp>
#include <qio/detail/inline_attempt.hpp>
#include <qio/detail/operating_system.hpp>
#include <qio/detail/platform.hpp>
#include <qio/directory.hpp>
#include <qio/engine/polling.hpp>
#include <qio/engine/request.hpp>
#include <qio/explanation.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace qio::detail {

/// Of files that were not opened on a context.
struct no_loop {};

/// The system that the files on a loop belong to.
template <class System, class Loop>
System system_on(const Loop& loop) noexcept {
  if constexpr (requires { loop->engine().files(); })
    return loop->engine().files();
  else
    return {};
}

/// Of files that are not mapped.
struct no_map {
  no_map(platform::native_handle, bool, std::uint64_t) noexcept {}
};

template <class Mode, class System>
struct file_state {
  static_assert(!Mode::is_mapped || System::has_mappings, "qio: files of this engine cannot be mapped");

  using map_type = std::conditional_t<Mode::is_mapped, growing_map, no_map>;

  /// `loop` is that of the context that the file is opened on, or no_loop.
  template <class Loop>
  static result<std::unique_ptr<file_state>> open(path_view path, access wanted, creation how,
                                                  const open_options& options, const Loop& loop) {
    // A shared mapping reads what it writes (mmap(2) demands it), and uncached I/O is asked for by a read.
    if ((Mode::is_mapped || Mode::is_uncached) && wanted == access::write) wanted = access::read_write;
    constexpr bool is_on_context = !std::is_same_v<Loop, no_loop>;
    const System system = system_on<System>(loop);
    const handle_kind kind{Mode::is_direct, is_on_context, options.durable_writes};
    const platform::native_handle beneath =
        options.beneath == nullptr ? platform::anywhere : options.beneath->native_handle();
    auto opening = system.begin(path, beneath, wanted, how, options.permissions, kind);
    if (!opening) return opening.error();
    const platform::native_handle opened = opening.value().handle();
    auto state = std::make_unique<file_state>(system, opened, wanted, options);
    if (auto prepared = state->prepare(opening.value(), options); !prepared) return prepared.error();
    if constexpr (is_on_context)
      if (auto attached = loop->attach(opened); !attached) return attached.error();
    auto committed = state->commit(opening.value());
    if (!committed) return committed.error();
    state->handle = committed.value();  // only now: until then the opening closes it
    return state;
  }

  file_state(const System& system, platform::native_handle opened, access wanted, const open_options& options)
      : files(system), map(opened, wanted != access::read, options.reservation) {
    activity.reads = System::has_page_cache && !Mode::is_direct && !Mode::is_uncached;
    activity.writes_durably = options.durable_writes;
    activity.is_direct = Mode::is_direct;
  }
  file_state(const file_state&) = delete;
  file_state& operator=(const file_state&) = delete;
  ~file_state() {
    if (handle != platform::invalid_handle) static_cast<void>(files.close(handle));
  }

  /// Of a file on a context: finds out whether its writes may be attempted inline.
  void allow_inline_writes(const open_options& options) noexcept {
    if constexpr (System::has_page_cache && !Mode::is_direct && !Mode::is_uncached)
      activity.writes.refusal = options.durable_writes  ? "each waits until it is durable"
                                : options.inline_writes ? platform::why_writes_wait(handle)
                                                        : "switched off";
  }

  /// Of a file on a context: finds out which transfers its engine may poll.
  template <class Engine>
  void allow_polling(const Engine& engine) {
    if constexpr (Mode::is_direct && requires { engine.find_polling(handle, needed); }) {
      polling = direct_active ? engine.find_polling(handle, needed) : polling_support{false, false, "it is not direct"};
      if (polling.reads) activity.poll(opcode::read);
      if (polling.writes && activity.writes_durably) {
        polling.writes = false;
        polling.reason = "a durable write is more than one answer of the device";
      }
      if (polling.writes) activity.poll(opcode::write);
    }
  }

  result<void> close() noexcept { return files.close(std::exchange(handle, platform::invalid_handle)); }

  /// Whether a transfer can be asked of the system. `block` is what its offset and lengths must be multiples of.
  template <class Buffers>
  bool fits(const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    static_assert(max_offset == ~std::uint64_t(0) >> 1);
    if (((io.offset() | io.total() | (io.offset() + io.total())) & ~max_offset) != 0) return false;
    if constexpr (Mode::is_direct) {
      std::uint64_t places = io.offset();
      std::uintptr_t addresses = 0;
      for (const mutable_buffer& each : each_of(buffers)) {
        places |= each.size;
        addresses |= reinterpret_cast<std::uintptr_t>(each.data);
      }
      return (places & (block - 1)) == 0 && (addresses & (needed.memory - 1)) == 0;
    }
    return true;
  }

  /// Why one does not fit.
  template <class Buffers>
  [[gnu::cold, gnu::noinline]] error misfit(const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    const std::uint64_t offset = io.offset();
    if constexpr (Mode::is_direct) {
      if (io.total() <= max_offset && offset <= max_offset - io.total()) {
        if ((offset & (block - 1)) != 0) return error(errc::misaligned_offset, offset, block);
        for (const mutable_buffer& each : each_of(buffers)) {
          if ((each.size & (block - 1)) != 0) return error(errc::misaligned_length, each.size, block);
          const auto address = reinterpret_cast<std::uintptr_t>(each.data);
          if ((address & (needed.memory - 1)) != 0) return error(errc::misaligned_buffer, address, needed.memory);
        }
      }
    }
    const bool overflows = offset + io.total() < offset;
    const std::uint64_t end = overflows ? std::numeric_limits<std::uint64_t>::max() : offset + io.total();
    return error(errc::offset_too_large, end, max_offset);
  }

  /// What a read that stops at no multiple of it has met the end by.
  std::uint32_t end_block() const noexcept { return direct_active ? needed.read : 1; }

  result<void> sync(sync_kind kind) {
    return activity.sync_failure.answer_of([&]() -> result<void> {
      if constexpr (Mode::is_mapped)
        if (auto flushed = map.flush(); !flushed) return flushed;
      return files.sync(handle, kind);
    });
  }

  /// What every transfer of this file asks for.
  platform::transfer_flags flags() const noexcept {
    if constexpr (Mode::is_uncached)
      return uncached_active ? platform::drop_pages : 0;
    else
      return 0;
  }

  template <class Buffers>
  result<std::size_t> read(std::uint64_t offset, Buffers buffers) const {
    transfer io(offset, buffers);
    if (!fits(io, buffers, needed.read)) [[unlikely]]
      return misfit(io, buffers, needed.read);
    if (io.total() == 0) return std::size_t(0);
    if constexpr (Mode::is_mapped)
      if (copy_out(io, each_of(buffers))) return io.total();
    const raw_result answer = files.read(handle, io.next(), flags());
    if (io.is_finished_by(answer)) return io.total();
    return finish_read(io, answer);
  }

  template <class Buffers>
  result<std::size_t> write(std::uint64_t offset, Buffers buffers) {
    transfer io(offset, buffers);
    if (!fits(io, buffers, needed.write)) [[unlikely]]
      return misfit(io, buffers, needed.write);
    if (io.total() == 0) return std::size_t(0);
    if constexpr (Mode::is_mapped) {
      if (!map.writable()) return error(errc::access_not_granted);
      // A copy is not durable before a sync; what the system is asked to write can be.
      if (!activity.writes_durably && copy_in(io, each_of(buffers))) return io.total();
      if (!activity.writes_durably || map.find(io.offset(), io.total()) == nullptr)
        return map.resize_by([&] { return finish_write(io, files.write(handle, io.next(), 0)); });
    }
    const raw_result answer = files.write(handle, io.next(), flags());
    if (io.is_finished_by(answer)) return io.total();
    return finish_write(io, answer);
  }

  result<void> resize(std::uint64_t bytes) {
    if constexpr (Mode::is_mapped)
      return map.resize_by([&] { return files.resize(handle, bytes); });
    else
      return files.resize(handle, bytes);
  }

  result<std::uint64_t> size() const { return files.size(handle); }

  result<std::span<std::byte>> view(std::uint64_t offset, std::size_t bytes)
    requires(Mode::is_mapped)
  {
    std::byte* found = map.find(offset, bytes);
    if (found == nullptr) {
      const std::uint64_t end = bytes > max_offset - lesser_of(offset, max_offset) ? max_offset : offset + bytes;
      const auto size = map.refresh(end);
      if (!size) return size.error();
      found = map.find(offset, bytes);
      if (found == nullptr) return error(errc::beyond_end, end, size.value());
    }
    return std::span(found, bytes);
  }

  void explain(explanation& out) const {
    out.add("mode", std::string(Mode::name));
    out.add("durable writes", activity.writes_durably ? "on" : "off");
    if constexpr (Mode::is_direct) {
      out.add("direct", direct_active ? "on" : "off", direct_active ? "" : support);
      out.add("alignment",
              "memory " + std::to_string(needed.memory) + ", read " + std::to_string(needed.read) + ", write " +
                  std::to_string(needed.write),
              direct_active ? support : "assumed, since there is no device to ask");
      explain_polling(out);
    } else if constexpr (Mode::is_uncached) {
      out.add("uncached", uncached_active ? "on" : "off",
              uncached_active ? "" : error(errc::uncached_not_supported).message());
    } else {
      out.add("inline reads", activity.reads ? "on" : "off",
              activity.reads ? "" : "the file system cannot tell whether a read would wait (RWF_NOWAIT)");
      const char* const refusal = activity.writes.refusal;
      out.add("inline writes", refusal == nullptr ? "on" : "off", refusal == nullptr ? "" : refusal);
    }
  }

  [[no_unique_address]] System files;
  platform::native_handle handle = platform::invalid_handle;
  qio::alignment needed;
  bool direct_active = false;
  bool uncached_active = false;
  polling_support polling{false, false, "only a context over io_uring polls"};
  std::string support;  // of direct files: where the alignment is known from, or why it is not direct
  inline_activity activity;
  [[no_unique_address]] mutable map_type map;

 private:
  // Goes on with a transfer whose first call gave `answer`, until it is over.
  result<std::size_t> finish_read(transfer io, raw_result answer) const noexcept {
    error failure;
    while (io.after_read(answer, end_block(), failure) == transfer::progress::unfinished)
      answer = files.read(handle, io.next(), flags());
    if (failure.exists()) return failure;
    return io.transferred();
  }
  result<std::size_t> finish_write(transfer io, raw_result answer) noexcept {
    error failure;
    while (io.after_write(answer, failure) == transfer::progress::unfinished)
      answer = files.write(handle, io.next(), flags());
    if (!failure.exists()) return io.transferred();
    note_failed_write(activity, failure);
    return failure;
  }

  result<void> prepare(const typename System::opening& opening, const open_options& options) {
    if constexpr (Mode::is_direct) return prepare_direct(opening, options.fallback);
    if constexpr (Mode::is_uncached) {
      uncached_active = files.takes_flags(opening.handle(), platform::drop_pages);
      if (!uncached_active && options.fallback == if_unavailable::fail) return error(errc::uncached_not_supported);
    }
    if constexpr (Mode::is_mapped) {
      platform::install_copy_guard();
      if (auto mapped = map.refresh(); !mapped) return mapped.error();
    }
    static_cast<void>(opening);
    static_cast<void>(options);
    return BOOST_OUTCOME_V2_NAMESPACE::success();
  }

  // The mapping was made before the file was emptied.
  result<platform::native_handle> commit(typename System::opening& opening) {
    if constexpr (Mode::is_mapped)
      return map.resize_by([&] { return opening.commit(); });
    else
      return opening.commit();
  }

  result<void> prepare_direct(const typename System::opening& opening, if_unavailable fallback) {
    platform::direct_support found = files.make_direct(opening);
    if (found.refusal.exists() && fallback == if_unavailable::fail) return found.refusal;
    direct_active = !found.refusal.exists();
    // Without a device to ask: what every device in use accepts, so that what works here works there.
    needed = direct_active ? found.needed : qio::alignment{4096, 4096, 4096};
    support = direct_active ? std::move(found.source) : found.refusal.message();
    return BOOST_OUTCOME_V2_NAMESPACE::success();
  }

  void explain_polling(explanation& out) const {
    const bool begun = polling.reads || polling.writes;
    if (begun && activity.polled == 0)
      out.add("polling", "off", "the device has refused a polled transfer since the file was opened");
    else
      out.add("polling",
              !begun            ? "off"
              : !polling.writes ? "reads"
              : !polling.reads  ? "writes"
                                : "reads and writes",
              polling.reason);
  }

  // Copies between memory and the mapping. False where that cannot serve it all: past the end as it was last seen, or a
  // fault on the way (the file was truncated, the device failed, the disk is full). The system call that is made
  // then knows which, and answers exactly as for a cached file.
  //
  // Where somebody else cut the file off within a page, that page does not fault: past the end it shows zeros, and
  // keeps what is written there from the file. So a write asks afterwards whether the end is still beyond it. A read
  // need ask only if its last byte is zero.
  bool copy_out(const transfer& io, std::span<const mutable_buffer> memory) const {
    const std::byte* from = map.find(io.offset(), io.total());
    if (from == nullptr && map.refresh()) from = map.find(io.offset(), io.total());
    if (from == nullptr) return false;
    std::byte last{0};
    for (const mutable_buffer& each : memory) {
      if (each.size == 0) continue;
      if (!platform::guarded_copy(each.data, from, each.size, from)) return false;
      from += each.size;
      last = static_cast<const std::byte*>(each.data)[each.size - 1];
    }
    return last != std::byte{0} || is_within_file(io);
  }

  bool copy_in(const transfer& io, std::span<const mutable_buffer> memory) {
    std::byte* to = map.find(io.offset(), io.total());
    if (to == nullptr && map.refresh()) to = map.find(io.offset(), io.total());
    if (to == nullptr) return false;
    for (const mutable_buffer& each : memory) {
      if (each.size == 0) continue;
      if (!platform::guarded_copy(to, each.data, each.size, to)) return false;
      to += each.size;
    }
    return is_within_file(io);
  }

  bool is_within_file(const transfer& io) const noexcept {
    const auto size = files.size(handle);
    return size && io.offset() + io.total() <= size.assume_value();
  }
};

}  // namespace qio::detail
