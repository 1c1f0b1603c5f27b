// SPDX-License-Identifier: BSL-1.0
// An open file, at an address that does not change when the file object moves.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/directory.hpp>
#include <qio/explanation.hpp>
#include <qio/extent.hpp>
#include <qio/file/mapped.hpp>
#include <qio/file/modes.hpp>
#include <qio/file/system_file.hpp>
#include <qio/if_exists.hpp>
#include <qio/mode.hpp>
#include <qio/options.hpp>
#include <qio/path.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/system/platform.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// The loop of a file that was opened without a context.
struct no_loop {};

/// The system that the files on a loop belong to.
template <class System, class Loop>
System system_on(const Loop& loop) noexcept {
  if constexpr (std::is_same_v<Loop, no_loop>)
    return {};
  else
    return loop->engine().files();
}

/// What all modes share. The policy holds what differs.
template <class Mode, class System>
struct file_state {
  using policy = mode_policy<Mode, System>;

  /// `loop` is the loop of the context that the file is opened on, or no_loop.
  template <class Loop>
  static result<std::unique_ptr<file_state>> open(path_view path, access wanted, creation how,
                                                  const open_options& options, const Loop& loop) {
    return open_by(path, wanted, how, options, kind_of<Loop>(options), path.c_str(), loop);
  }

  /// The same for a file without a name, in the directory `path`.
  template <class Loop>
  static result<std::unique_ptr<file_state>> open_unnamed(path_view path, access wanted, const open_options& options,
                                                          const Loop& loop) {
    handle_kind kind = kind_of<Loop>(options);
    kind.is_unnamed = true;
    const std::string shown = std::string("(unnamed file in ") + path.c_str() + ")";
    return open_by(path, wanted, creation::only_if_missing, options, kind, shown.c_str(), loop);
  }

  /// `shown`: what messages call the file.
  template <class Loop>
  static result<std::unique_ptr<file_state>> open_by(path_view path, access wanted, creation how,
                                                     const open_options& options, handle_kind kind, const char* shown,
                                                     const Loop& loop) {
    if (const error misfit = path.misfit(); misfit.exists()) return misfit;
    const access granted = policy::needed_access(wanted);
    const System system = system_on<System>(loop);
    auto opening = system.begin(path, handle_of(options.beneath), granted, how, options.permissions, kind);
    if (!opening) return opening.error();
    auto state = complete(system, opening.value(), granted, options, shown, loop);
    if (!state) return state;
    // Some file systems write back a truncated file when it is closed.
    if (empties(how)) state.value()->file.activity.closes_at_once = false;
    return state;
  }

  /// open() of an existing file on the thread of its context, without waiting. No value if it might wait, if
  /// that is unknown, or if this turn has used up its time for inline work.
  template <class Loop>
  static std::optional<result<std::unique_ptr<file_state>>> open_at_once(path_view path, access wanted,
                                                                         const open_options& options, Loop& loop) {
    if (const error misfit = path.misfit(); misfit.exists()) return misfit;
    inline_turn& turn = loop->work_inline();
    if (Mode::is_direct && loop->is_to_poll()) return std::nullopt;  // allow_polling() would read from the device
    const clock::time_point begin = clock::now();
    if (!turn.has_time()) return std::nullopt;
    turn.waits.look(begin);
    const access granted = policy::needed_access(wanted);
    const auto may_be_used = [&](const platform::file_storage& known) {
      return known.opens_at_once(options.inline_opening == inline_transfers::always) &&
             !(known.copies_on_open() && granted != access::read) && turn.pause_of(pause_number(known)).is_over(begin);
    };
    const System system = system_on<System>(loop);
    auto opening = system.begin_at_once(path, handle_of(options.beneath), granted, kind_of<Loop>(options),
                                        turn.file_systems, may_be_used);
    if (!opening) {
      turn.spend(clock::now() - begin);
      if (opening.error() == std::errc::resource_unavailable_try_again) return std::nullopt;
      return opening.error();
    }
    auto state = complete(system, opening.value(), granted, options, path.c_str(), loop);
    if (!state) {
      turn.spend(clock::now() - begin);
      return state;
    }
    note_time(state.value()->file.activity, turn, stall_cause::opening, begin);
    return state;
  }

  /// A worker has opened the file; from now on, those of the same file system may be opened at once.
  template <class Loop>
  void tell_storage(Loop& loop) const noexcept {
    if (storage && storage->opens_at_once(true)) loop->work_inline().file_systems.remember(*storage);
  }

  /// The same of a handle that the program has opened. If this fails, the handle stays as it is.
  template <class Loop>
  static result<std::unique_ptr<file_state>> adopt(platform::native_handle handle, open_options options,
                                                   const Loop& loop) {
    const System system = system_on<System>(loop);
    auto adopted = system.adopt(handle, kind_of<Loop>(options));
    if (!adopted) return adopted.error();
    auto& [opening, granted, writes_durably, is_direct] = adopted.value();
    if (policy::needed_access(granted) != granted)
      return error(errc::access_not_granted, static_cast<std::uint64_t>(granted), 0);  // it must read
    options.durable_writes = writes_durably;
    if (is_direct) options.fallback = if_unavailable::fail;  // transfers of the handle bypass the cache
    options.lifetime = data_lifetime::unknown;
    return complete(system, opening, granted, options, "", loop);
  }

  /// A file without a context that is used before `opening.commit()`, by a handle of its own.
  static result<std::unique_ptr<file_state>> before_commit(const System& system,
                                                           const typename System::opening& opening, access granted,
                                                           path_view path) {
    auto state = prepare(system, opening, granted, {}, no_loop());
    if (!state) return state;
    const auto copy = system.duplicate(opening.handle());
    if (!copy) return copy.error();
    state.value()->file.handle = copy.value();
    state.value()->file.activity.path = path.c_str();
    return state;
  }

  /// A file of the same mode on another loop, which uses the same handle. `options` is for what the loop decides.
  template <class Loop>
  result<std::unique_ptr<file_state>> share(open_options options, const Loop& loop) {
    if (options.durable_writes && !file.activity.writes_durably) return error(errc::handle_is_not_durable);
    options.durable_writes = file.activity.writes_durably;
    // What this file has or lacks, the other has or lacks.
    options.fallback = is_in_force() ? if_unavailable::fail : if_unavailable::use_cache;
    const bool ends_at_once = file.sharing != nullptr && file.sharing->ends_at_once();
    if (ends_at_once) options.registered = false;  // a ring would keep the file open
    const auto opening = System::opening::of(file.handle);
    auto shared = prepare(system_on<System>(loop), opening, file.activity.granted, options, loop);
    if (!shared) return shared;
    shared.value()->file.activity.path = file.activity.path;
    shared.value()->file.share_handle(file);
    if constexpr (Mode::is_mapped)
      if (ends_at_once) shared.value()->mode.end_with(*file.sharing);
    return shared;
  }

  file_state(const System& system, platform::native_handle opened, access granted, const open_options& options)
      : file(system, granted), mode(opened, granted, options) {
    file.activity.writes_durably = options.durable_writes;
    file.activity.system.may_have_slot = options.registered;
  }

  /// Prepares for share() by any thread, and for end().
  void be_shared() {
    QIO_CHECK(file.sharing == nullptr, "bug in qio: a file was shared twice");
    file.be_shared(true);
    if constexpr (Mode::is_mapped) mode.end_with(*file.sharing);
  }

  bool is_shared() const noexcept { return file.sharing != nullptr && file.sharing->has_others(); }

  /// Whether a shared_file has closed it.
  bool has_ended() const noexcept { return file.sharing != nullptr && file.sharing->has_ended(); }

  /// The handle is the caller's from now on. It is not shared.
  platform::native_handle release() noexcept {
    QIO_CHECK(!is_shared(), "bug in qio: a handle was released that other files use");
    return std::exchange(file.handle, platform::invalid_handle);
  }

  result<void> close() noexcept { return file.close(); }

  /// close() on the thread of the file's context, if that rarely waits. No value otherwise.
  template <class Loop>
  std::optional<result<void>> close_at_once(Loop& loop) noexcept {
    inline_activity& activity = file.activity;
    if (!activity.closes_at_once || loop->closed()) return std::nullopt;
    QIO_CHECK(activity.in_flight == 0,
              "bug in qio: a file was closed on the context's thread with operations in flight");
    inline_turn& turn = loop->work_inline();
    const clock::time_point begin = clock::now();
    if (!turn.has_time() || !turn.pause_of(activity.file_system).is_over(begin)) return std::nullopt;
    if (platform::is_removed(file.handle)) return std::nullopt;
    turn.waits.look(begin);
    const result<void> closed = close();
    note_time(activity, turn, stall_cause::closing, begin);
    return closed;
  }

  /// Whether a transfer goes to the system: it is not empty, it is in range, and it is aligned. `block` is what its
  /// offset and lengths must be multiples of.
  template <class Buffers>
  bool fits(const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    if constexpr (Mode::is_direct)
      return io.moves_within_range() && mode.fits(io, buffers, block);
    else
      return io.moves_within_range();
  }

  /// Why a transfer does not fit. An empty one has no error: it is complete.
  template <class Buffers>
  QIO_COLD error misfit(const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    if (const error failure = out_of_range(io); failure.exists()) return failure;
    if constexpr (Mode::is_direct)
      return mode.misfit(io, buffers, block);
    else
      return {};
  }

  /// The same with the name of the file.
  template <class Buffers>
  QIO_COLD error refusal(opcode op, const transfer& io, Buffers buffers, std::uint32_t block) const noexcept {
    const error failure = misfit(io, buffers, block);
    return failure.exists() ? file.activity.of_transfer(failure, op) : failure;
  }

  template <class Buffers>
  result<std::size_t> read(std::uint64_t offset, Buffers buffers) const {
    transfer io(offset, buffers);
    if (!fits(io, buffers, mode.alignment.read)) [[unlikely]]
      return refuse(opcode::read, offset, buffers, mode.alignment.read);
    if constexpr (Mode::is_mapped)
      if (mode.copy_out(file, io, buffers)) return io.total();
    const raw_result answer = file.files.read(file.handle, io.next(), mode.flags);
    if (io.is_finished_by(answer)) [[likely]]
      return static_cast<std::size_t>(answer);
    return file.finish_read(offset, buffers, mode.flags, mode.end_block, answer);
  }

  template <class Buffers>
  result<std::size_t> write(std::uint64_t offset, Buffers buffers, platform::transfer_flags more = 0) {
    transfer io(offset, buffers);
    if (!fits(io, buffers, mode.alignment.write)) [[unlikely]]
      return refuse(opcode::write, offset, buffers, mode.alignment.write);
    if (more != 0 || file.activity.writes_durably) [[unlikely]]
      return write_durably(io, buffers, more | file.activity.system.each_write);
    return write_by_mode(io, buffers, more);
  }

  /// The flags of a write with these options. If the handle makes every write durable, that takes no flag.
  template <class Options>
  platform::transfer_flags flags_of(const Options& options) const noexcept {
    return (options.durable && !file.activity.writes_durably ? platform::durable : 0) |
           (options.untorn ? platform::untorn : 0);
  }

  /// Why a write cannot be untorn, if its flags ask for that.
  template <class Buffers>
  error untorn_misfit(std::uint64_t offset, Buffers buffers, platform::transfer_flags more) const noexcept {
    if ((more & platform::untorn) == 0) return {};
    const error failure = judge_untorn(offset, buffers);
    return failure.exists() ? file.activity.of_transfer(failure, opcode::write) : failure;
  }

  /// write() with flags_of() options.
  template <class Buffers>
  result<std::size_t> write_with(std::uint64_t offset, Buffers buffers, platform::transfer_flags more) {
    if (const error misfit = untorn_misfit(offset, buffers, more); misfit.exists()) return misfit;
    return write(offset, buffers, more);
  }

  /// Asks the system to begin to write a range back.
  result<void> start_writeback(std::uint64_t offset, std::uint64_t bytes) const {
    transfer range = range_of(offset, bytes);
    error failure = writeback_misfit(range);
    if (failure.exists()) return failure;
    auto progress = range.total() == 0 ? transfer::progress::finished : transfer::progress::unfinished;
    while (progress == transfer::progress::unfinished)
      progress =
          range.after_range(file.files.start_writeback(file.handle, range.next_offset(), range.next_range()), failure);
    if (failure.exists()) return file.activity.of_transfer(failure, opcode::writeback);
    return success();
  }
  static transfer range_of(std::uint64_t offset, std::uint64_t bytes) noexcept {
    return transfer(offset, mutable_buffer(nullptr, static_cast<std::size_t>(lesser_of(bytes, max_offset + 1))));
  }
  static error writeback_misfit(const transfer& range) noexcept {
    if constexpr (System::has_writeback)
      return out_of_range(range);
    else
      return errc::writeback_not_supported;
  }

  result<void> sync(sync_kind kind) {
    return sync_by([&]() -> result<void> {
      if constexpr (Mode::is_mapped)
        if (auto flushed = mode.flush(); !flushed) return flushed;
      return file.files.sync(file.handle, kind);
    });
  }

  /// The same for a range of a mapped file, and for what is needed to read it back.
  result<void> sync_range(const extent& range) {
    if (const error misfit = range_misfit(range); misfit.exists()) return misfit;
    // What is not mapped yet: an error of this would be none of the device.
    if (const auto found = mode.view_up_to(range); !found) return found.error();
    const result<void> synced = sync_by([&] { return mode.sync_range(file, range); });
    // The mapping may be one of nothing by now.
    if (synced && has_ended()) return error(std::make_error_code(std::errc::bad_file_descriptor));
    return synced;
  }

  result<void> drop_pages() const noexcept {
    file.files.drop_pages(file.handle);
    return success();
  }

  result<void> resize(std::uint64_t bytes) {
    if (!file.may_write()) return file.activity.not_granted(access::write);
    file.activity.closes_at_once = false;  // as after an open that truncates
    const auto call = [&] { return file.files.resize(file.handle, bytes); };
    const result<void> resized = by_mode(call);
    if (!resized) return resized.error().naming("resize", file.activity.path.c_str());
    file.activity.system.note_size(bytes);
    return resized;
  }

  result<std::uint64_t> size() const { return file.files.size(file.handle); }

  result<void> give_name(path_view path, if_exists how, const directory* beneath) const {
    if (const error misfit = path.misfit(); misfit.exists()) return misfit.naming("give a file the name", path.c_str());
    const auto within = beneath == nullptr ? platform::anywhere : beneath->native_handle();
    auto named = file.files.give_name(file.handle, path, how, within);
    if (!named) return named.error().naming("give a file the name", path.c_str());
    return named;
  }

  /// Why a range cannot be changed: it is too far, or the file was not opened for that.
  error change_misfit(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    if (!file.may_write()) return file.activity.not_granted(access::write);
    return range_misfit(offset, bytes);
  }
  /// Why a range cannot be in a file: it is too far.
  static error range_misfit(std::uint64_t offset, std::uint64_t bytes) noexcept {
    return out_of_range(range_of(offset, bytes));
  }

  /// Why a range cannot be one of this file: it is too far.
  static error range_misfit(const extent& range) noexcept { return out_of_range(range_of(range.offset, range.bytes)); }

  /// Why a range cannot be locked: it is too far, or the file was not opened for what the lock needs.
  error lock_misfit(lock_kind kind, const extent& range) const noexcept {
    if (kind == lock_kind::shared ? !file.may_read() : !file.may_write()) return file.activity.lock_not_granted(kind);
    return range_misfit(range);
  }

  /// What changes the file's size. A mapping must follow it.
  template <class Call>
  auto by_mode(Call&& call) {
    if constexpr (Mode::is_mapped)
      return mode.resize_by(std::forward<Call>(call));
    else
      return std::forward<Call>(call)();
  }

  void explain(explanation& out) const {
    out.add("mode", std::string(Mode::name));
    out.add("durable writes", file.activity.writes_durably ? "on" : "off",
            file.activity.system.each_write != 0 ? "the file is flushed after each write" : "");
    mode.explain(file, out);
    if (lifetime == data_lifetime::unknown) return;
    const bool is_set = !why_no_lifetime.exists();
    out.add("lifetime", std::string(name_of(is_set ? lifetime : data_lifetime::unknown)),
            is_set ? "" : why_no_lifetime.message());
  }

  system_file<System> file;
  QIO_NO_UNIQUE_ADDRESS policy mode;
  std::optional<platform::file_storage> storage = {};  // of a file on a context
  data_lifetime lifetime = data_lifetime::unknown;     // open_options::lifetime
  error why_no_lifetime = {};                          // if the system has refused it

 private:
  template <class Loop>
  static constexpr bool is_on_context = !std::is_same_v<Loop, no_loop>;

  template <class Loop>
  static handle_kind kind_of(const open_options& options) noexcept {
    return {Mode::is_direct, is_on_context<Loop>,  options.durable_writes,
            options.pattern, options.follow_links, options.regular_only};
  }

  template <class Loop>
  static result<std::unique_ptr<file_state>> complete(const System& system, typename System::opening& opening,
                                                      access granted, const open_options& options, const char* shown,
                                                      const Loop& loop) {
    auto state = prepare(system, opening, granted, options, loop);
    if (!state) return state;
    [[maybe_unused]] const platform::native_handle opening_handle = opening.handle();
    state.value()->file.activity.path = shown;  // which allocates, so before the disk changes
    auto committed = state.value()->by_mode([&] { return opening.commit(); });
    if (!committed) return committed.error();
    QIO_CHECK(committed.value() == opening_handle, "bug in qio: an open ended with another handle than it prepared");
    state.value()->file.handle = committed.value();  // only now: until then it belongs to the opening
    state.value()->lifetime = options.lifetime;
    if (options.lifetime != data_lifetime::unknown)
      state.value()->why_no_lifetime = system.set_lifetime(committed.value(), options.lifetime);
    return state;
  }

  template <class Buffers>
  result<std::size_t> write_by_mode(transfer& io, Buffers buffers, platform::transfer_flags more) {
    if constexpr (Mode::is_mapped)
      return mode.write(file, io, buffers, more);
    else
      return file.write(io, buffers, mode.flags | more);
  }

  /// The result of `call`, which syncs, or of an earlier sync that has failed.
  template <class Call>
  result<void> sync_by(Call&& call) {
    const sync_failure& known = file.activity.sync_failure;
    auto answer = file.syncs().run([&] { return file.activity.sync_failure.answer_of(call); });
    if (answer && known.exists()) answer = known.get();
    if (!answer) return file.activity.of_sync(answer.error());
    return answer;
  }

  // A write with flags, or of a file whose writes are all durable.
  template <class Buffers>
  QIO_NOINLINE result<std::size_t> write_durably(transfer& io, Buffers buffers, platform::transfer_flags more) {
    const bool is_durable = file.activity.writes_durably || (more & platform::durable) != 0;
    if (!is_durable || !file.activity.writes_to_cache) return write_by_mode(io, buffers, more);
    const sync_failure& known = file.activity.sync_failure;
    const std::uint32_t failures_before = known.count();
    auto answer = file.syncs().run([&] { return write_by_mode(io, buffers, more); });
    if (answer && known.count() != failures_before)
      return file.activity.of_transfer(known.get().after(answer.assume_value()), opcode::write);
    return answer;
  }

  // Everything that may fail before the open changes the disk. The file does not own the handle yet.
  template <class Loop>
  static result<std::unique_ptr<file_state>> prepare(const System& system, const typename System::opening& opening,
                                                     access granted, const open_options& options, const Loop& loop) {
    const platform::native_handle opened = opening.handle();
    auto state = std::make_unique<file_state>(system, opened, granted, options);
    if (auto prepared = state->mode.prepare(state->file, opening, options); !prepared) return prepared.error();
    state->file.activity.is_direct = state->mode.is_direct;
    state->file.activity.writes_to_cache = !state->mode.is_direct;
    if (options.durable_writes && opening.needs_flushes(state->mode.is_direct))
      state->file.activity.system.flush_each_write();
    if constexpr (!is_on_context<Loop>) {
      if (options.io_class.exists()) return error(errc::foreign_io_class);
    } else {
      const auto chosen = loop->class_of_file(options.io_class);
      if (!chosen) return chosen.error();
      if (auto attached = loop->attach(opened); !attached) return attached.error();
      state->file.activity.engine_gathers = loop->engine().gathers();
      if constexpr (System::has_page_cache) state->allow_inline_transfers(loop->allowed(options), opening.storage());
      state->file.activity.class_number = chosen.value().number();
      if (!chosen.value().is_foreground()) state->write_by_engine("its class is not the foreground");
      if (loop->is_observed()) observe_attempts(state->file.activity);
      if (!state->mode.is_direct && loop->works_inline() == inline_work::never) {
        state->file.activity.system.waits_in_submission = true;
        state->file.activity.system.leave_reads_to_threads();
      }
      if constexpr (Mode::is_direct) state->mode.allow_polling(loop->engine(), state->file, opened);
    }
    return state;
  }

  static std::uint8_t pause_number(const platform::file_storage& of) noexcept {
    return static_cast<std::uint8_t>(of.place().device % inline_turn::pauses);
  }

  /// Whether the mode is more than the page cache, as it should be.
  bool is_in_force() const noexcept { return mode.is_direct || mode.is_uncached; }

  // Finds out which transfers may be attempted inline.
  void allow_inline_transfers(const open_options& options, const platform::file_storage& where) noexcept {
    storage = where;
    const auto always = [](inline_transfers wanted) { return wanted == inline_transfers::always; };
    inline_activity& activity = file.activity;
    const char* const why_writes_wait = where.why_writes_wait(always(options.inline_writes));
    activity.syncs_at_once = where.is_memory();
    activity.closes_at_once = !Mode::is_mapped && options.inline_opening != inline_transfers::never &&
                              where.opens_at_once(always(options.inline_opening));
    activity.file_system = pause_number(where);
    activity.writes.is_open_to_others = where.is_open_to_others();
    activity.system.waits_in_submission = where.waits_in_submission();
    activity.system.note_storage(where);
    if (where.waits_after_miss()) activity.engine_gathers = false;
    if (where.waits_after_miss() || where.waits_in_submission()) activity.system.leave_reads_to_threads();
    if (activity.engine_gathers) activity.most_in_flight = 0;

    activity.why_no_plain_reads = where.why_reads_wait(always(options.inline_reads));
    activity.why_no_reads = !file.may_read()                                  ? "the file was opened for writing only"
                            : !policy::reads_inline                           ? "not in this mode"
                            : options.inline_reads == inline_transfers::never ? "switched off"
                            : where.waits_in_submission()                     ? activity.why_no_plain_reads
                                                                              : nullptr;
    if constexpr (policy::reads_inline)
      if (activity.why_no_reads == nullptr) activity.attempt_of_reads = &attempt_read;

    activity.why_no_writes = !file.may_write()                                  ? "the file was opened for reading only"
                             : !policy::writes_inline                           ? "not in this mode"
                             : activity.writes_durably                          ? "each waits until it is durable"
                             : options.inline_writes == inline_transfers::never ? "switched off"
                                                                                : why_writes_wait;
    if constexpr (policy::writes_inline)
      if (activity.why_no_writes == nullptr) activity.attempt_of_writes = &attempt_write;
  }

  QIO_COLD void write_by_engine(const char* why) noexcept {
    if (file.activity.attempt_of_writes == nullptr) return;
    file.activity.attempt_of_writes = nullptr;
    file.activity.why_no_writes = why;
  }

  QIO_COLD static error out_of_range(const transfer& io) noexcept {
    const std::uint64_t offset = io.offset(), total = io.total();
    if (offset <= max_offset && total <= max_offset - offset) return {};
    const bool overflows = offset + total < offset;
    return error(errc::offset_too_large, overflows ? (std::numeric_limits<std::uint64_t>::max)() : offset + total,
                 max_offset);
  }

  template <class Buffers>
  QIO_COLD error judge_untorn(std::uint64_t offset, Buffers buffers) const noexcept {
    const atomic_write_limits limits = mode.untorn_limits;
    if (limits.largest == 0) return errc::untorn_not_supported;
    if constexpr (std::is_same_v<Buffers, buffer_list>)
      if (buffers.count > 1) return {errc::untorn_buffers, buffers.count, 1};
    const std::uint64_t bytes = transfer(offset, buffers).total();
    if (bytes > limits.largest) return {errc::untorn_length, bytes, limits.largest};
    if (bytes < limits.smallest) return {errc::untorn_length, bytes, limits.smallest};
    if (!std::has_single_bit(bytes)) return {errc::untorn_length, bytes, std::bit_floor(bytes)};
    if (offset % bytes != 0) return {errc::untorn_offset, offset, bytes};
    return {};
  }

  template <class Buffers>
  QIO_COLD result<std::size_t> refuse(opcode op, std::uint64_t offset, Buffers buffers,
                                      std::uint32_t block) const noexcept {
    const error failure = refusal(op, transfer(offset, buffers), buffers, block);
    if (failure.exists()) return failure;
    return std::size_t(0);
  }
};

}  // namespace detail
QIO_END_NAMESPACE
