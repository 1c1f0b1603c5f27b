// SPDX-License-Identifier: BSL-1.0
// Copying whole files: from an open file to an open file, or by their paths; blocking, or by a worker thread.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/copy_options.hpp>
#include <qio/directory.hpp>
#include <qio/engine/engine.hpp>
#include <qio/extent.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/file/space.hpp>
#include <qio/file/state.hpp>
#include <qio/mode.hpp>
#include <qio/name_options.hpp>
#include <qio/names/replace.hpp>
#include <qio/operation_options.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/operating_system.hpp>
#include <qio/task.hpp>

#include <concepts>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// What a copy calls between two pieces on a thread that may block: see cancel_flag.
class until_stopped {
 public:
  until_stopped(const deadline& until, std::stop_token stop) noexcept : until_(until), stop_(std::move(stop)) {}

  error operator()() const noexcept {
    if (stop_.stop_requested()) return std::make_error_code(std::errc::operation_canceled);
    if (until_.exists() && until_.when() <= clock::now()) return std::make_error_code(std::errc::timed_out);
    return {};
  }

 private:
  deadline until_;
  std::stop_token stop_;
};

/// A file that gets all contents of another.
template <class Source, class State, class Canceled>
class whole_copy {
 public:
  whole_copy(Source& from, State& to, const Canceled& canceled) noexcept
      : from_(from), to_(to), canceled_(canceled), mover_(from, to, true) {}

  result<copied> run() {
    if (auto begun = begin(); !begun) return begun.error();
    const auto first = find_data(0);
    const bool has_holes = first != extent{0, size_};
    // On Windows, a file has holes only if it is made sparse, and a sparse file shares blocks with sparse ones only.
    if (has_holes) static_cast<void>(to_.file.files.discard(to_.file.handle, 0, size_));
    if (share_blocks()) return copied{size_, copy_way::shared};
    if (const error failure = size_ == 0 ? move_to_end() : move_data(first); failure.exists()) return cut(failure);
    if (const auto now = to_.size(); !now || now.value() != done_)
      if (const auto resized = to_.resize(done_); !resized) return cut(resized.error());
    return copied{done_, mover_.way() == moved_by::memory   ? copy_way::by_memory
                         : mover_.way() == moved_by::system ? copy_way::by_system
                                                            : copy_way::shared};
  }

 private:
  // Finds out whether it can be copied, before it changes anything, and then empties the destination.
  result<void> begin() {
    if (from_.has_ended()) return error(std::make_error_code(std::errc::bad_file_descriptor));
    if (!from_.file.may_read()) return from_.file.activity.not_granted(access::read);
    if (const error misfit = to_.change_misfit(0, 0); misfit.exists()) return misfit;
    if (to_.file.files == from_.file.files && to_.file.files.is_same_file(from_.file.handle, to_.file.handle))
      return error(errc::overlapping_copy, 0, 0);
    if (const error end = canceled_(); end.exists()) return end;
    if (auto flushed = flush_views(from_); !flushed) return flushed;
    const auto size = from_.size(), old = to_.size();
    if (!size) return size.error();
    if (!old) return old.error();
    size_ = size.value();
    return old.value() == 0 ? result<void>(success()) : to_.resize(0);
  }

  // The next data, in blocks that each mode can transfer. All of the rest where the system does not know.
  extent find_data(std::uint64_t from) {
    const std::uint64_t block =
        greater_of<std::uint64_t>(4096, greater_of<std::uint64_t>(from_.mode.alignment.read, to_.mode.alignment.write));
    const auto found = knows_holes_ ? from_.file.files.next_data(from_.file.handle, from)
                                    : result<std::optional<extent>>(extent{from, size_ - from});
    knows_holes_ = found.has_value();
    if (!found) return {from, size_ - from};
    if (!found.value() || found.value()->offset >= size_) return {size_, 0};
    const std::uint64_t begin = greater_of(found.value()->offset / block * block, from);
    const std::uint64_t end = (found.value()->offset + found.value()->bytes + block - 1) / block * block;
    return {begin, lesser_of(end, size_) - begin};
  }

  bool share_blocks() {
    if (size_ == 0 || !(from_.file.files == to_.file.files)) return false;
    const auto share = [&] { return to_.file.files.clone(from_.file.handle, {0, size_}, to_.file.handle, 0); };
    return to_.by_mode(share).has_value();
  }

  error move_data(extent data) {
    while (data.bytes != 0) {
      const auto moved = mover_.move(data, data.offset, canceled_);
      done_ = data.offset + (moved ? moved.value() : moved.error().transferred());
      if (!moved) return moved.error();
      if (moved.value() != data.bytes) return {};  // the source has become shorter
      if (done_ == size_) return {};
      data = find_data(done_);
    }
    done_ = size_;
    return {};
  }

  // For a file whose size is unknown before it has been read, such as those of /proc.
  error move_to_end() {
    const auto moved = mover_.move({0, max_offset}, 0, canceled_);
    done_ = moved ? moved.value() : moved.error().transferred();
    return moved ? error() : moved.error();
  }

  // Leaves as much in the destination as the error says.
  error cut(const error& failure) {
    const auto now = to_.size();
    if (now && now.value() != done_ && !to_.resize(done_)) done_ = lesser_of(done_, now.value());
    return failure.after(done_);
  }

  Source& from_;
  State& to_;
  const Canceled& canceled_;
  range_mover<Source, State> mover_;
  std::uint64_t size_ = 0;  // of the source
  std::uint64_t done_ = 0;  // what the destination has, holes included
  bool knows_holes_ = true;
};

template <class Source>
struct copy_all {
  Source* source;

  template <class State, class Canceled>
  result<copied> operator()(State& to, const Canceled& canceled) const {
    if (source == nullptr) return error(std::make_error_code(std::errc::bad_file_descriptor));
    return whole_copy<Source, State, Canceled>(*source, to, canceled).run();
  }
};

template <class File>
auto all_of(const File& from) noexcept {
  const auto opened = file_access::opened(from);
  return copy_all<std::remove_pointer_t<std::remove_const_t<decltype(opened)>>>{opened};
}

template <class Source, class Target>
concept on_same_system = std::same_as<typename Source::engine_type::system, typename Target::engine_type::system>;

}  // namespace detail

// --- Open files ---

/// Replaces the contents of `to` by those of `from`, in the fastest way that works: by sharing the blocks of `from`
/// (basic_file::clone_from()), within the kernel (copy_file_range(2)), or by reads and writes of up to 1 MiB, in memory
/// that it allocates (std::errc::not_enough_memory). What is unavailable is not an error: the next way is taken, for
/// the rest of the file. Holes of `from` become holes, where both file systems have them. Copies the contents only: no
/// permissions, times or other attributes. Durable after to.sync().
///
/// Returns the number of bytes, holes included, and the way. That is the size that `from` has when the call begins,
/// unless it becomes shorter meanwhile; a file without a size (of /proc) is read to its end.
///
/// Refused before anything changes: a file that is not open for reading, or for writing (errc::access_not_granted), and
/// two that are the same file (errc::overlapping_copy). On another failure, `to` contains the first
/// error().transferred() bytes of `from`, and nothing else. (Only if it cannot be cut either, it may be longer.)
///
/// A deadline or a stop takes effect between two pieces: of 16 MiB within the kernel, of 1 MiB otherwise. (Sharing is
/// one piece.) The error is std::errc::timed_out or std::errc::operation_canceled.
///
/// The files may have any mode and any context, on the same system or on simulated disks. `to` must be a regular file.
/// Both must stay open, and nothing else may change them, until the call ends.
template <class Source, class Target>
  requires detail::on_same_system<Source, Target>
result<copied> copy(Source& from, Target& to, const operation_options& options = {}) {
  const detail::until_stopped canceled(options.deadline, options.stop.token());
  return detail::file_access::act(to, [&](auto& opened) { return detail::all_of(from)(opened, canceled); });
}
/// The same on a worker thread, as an operation of the context of `to`. Canceling it, destroying it, and closing `to`
/// end it between two pieces; on a simulated context only before it begins.
template <class Source, file_mode Mode, engine Engine>
  requires(detail::on_same_system<Source, basic_file<Mode, Engine>> && !Mode::is_mapped)
auto async_copy(Source& from, basic_file<Mode, Engine>& to, const operation_options& options = {}) {
  return detail::file_access::act_on_worker(to, detail::all_of(from), options);
}

// --- Paths ---

namespace detail {

/// Paths are path_views, or std::strings that an asynchronous call owns.
template <class Path>
struct file_copying {
  Path from, to;
  bool is_durable;
  const directory* beneath;
  until_stopped canceled;

  template <class System>
  result<copied> operator()(const System& files) const {
    auto answer = copy_by(files);
    if (answer) return answer;
    return answer.error().naming("copy", path_view(from).c_str(), " to ", path_view(to).c_str());
  }

 private:
  template <class System>
  result<copied> copy_by(const System& files) const {
    const path_view source_path = from;
    if (const error misfit = source_path.misfit(); misfit.exists()) return misfit;
    handle_kind kind;
    kind.pattern = access_pattern::sequential;
    kind.regular_only = true;
    const auto opening = files.begin(source_path, handle_of(beneath), access::read, creation::open_existing, 0, kind);
    if (!opening) return opening.error();
    const auto status = files.status(opening.value().handle());
    if (!status) return status.error();
    auto source = file_state<cached, System>::before_commit(files, opening.value(), access::read, source_path);
    if (!source) return source.error();
    copied answer;
    const auto write = [&](new_file<System>& file) -> result<void> {
      using state = file_state<cached, System>;
      auto done = file_access::act(
          file, [&](state& opened) { return copy_all<state>{source.value().get()}(opened, canceled); });
      if (!done) return done.error();
      answer = done.value();
      return success();
    };
    const replace_options how{
        .durable = is_durable, .permissions = status.value().permissions & 0777u, .beneath = beneath};
    auto replaced = replacement<path_view, decltype(write)>{to, write, how}(files);
    if (!replaced) return replaced.error();
    return answer;
  }
};

}  // namespace detail

/// Copies the file at `from` to a new file that gets the name `to`, as copy() does, with the permission bits of the
/// source, less the umask. The name leads to what was there before, or to the copy, whole: see replace_file(), also for
/// symbolic links, leftovers and `options.durable`. If the call fails, what was there stays, and error().transferred()
/// is how many bytes had been copied, if that failed. To not replace a file, copy() to one of open_unnamed(), and
/// give_name() with if_exists::fail.
///
///     qio::copy_file("data", "data.backup").value();
///
/// A symbolic link is followed: the file that it leads to is copied. Directories, devices and pipes are refused.
inline result<copied> copy_file(path_view from, path_view to, const copy_file_options& options = {}) {
  return detail::file_copying<path_view>{
      from, to, options.durable, options.beneath, {options.deadline, options.stop.token()}}(detail::operating_system());
}
/// Like copy_file(), on a worker thread, or on the disk of a simulated context. Destroying the task waits for it:
/// request a stop before.
template <class Engine>
task<result<copied>> async_copy_file(const basic_context<Engine>& on, owned_path from, owned_path to,
                                     const copy_file_options& options = {}) {
  return detail::call_with_files(
      detail::file_access::loop_of(on),
      detail::file_copying<std::string>{
          std::move(from), std::move(to), options.durable, options.beneath, {options.deadline, options.stop.token()}});
}

QIO_END_NAMESPACE
