// Names beside the file: renamed, linked, removed, replaced, given, copied and listed, and compared with a model. The
// contents are written and read as streams.
#pragma once

#include "model.hpp"
#include "os.hpp"
#include "plan.hpp"
#include "random.hpp"
#include "tally.hpp"
#include "world.hpp"
#include <qio/copy.hpp>
#include <qio/directory_reader.hpp>
#include <qio/names.hpp>
#include <qio/reader.hpp>
#include <qio/writer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace property {

template <class Engine>
class name_player {
 public:
  name_player(place<Engine>& where, world<Engine>& on, tally& counts) : where_(where), world_(on), counts_(counts) {}

  void change(const name_change& plan, std::size_t context, const std::string& who, random_numbers& random) {
    using enum name_change::kind;
    contents next;
    if (plan.what == copy_file && now_[plan.from] != nullptr)
      next = std::make_shared<file>(file{now_[plan.from]->bytes, plan.durable});
    if (plan.what == replace_file || plan.what == give_name) {
      std::vector<std::byte> bytes(plan.bytes);
      random.fill(bytes);
      next = std::make_shared<file>(file{std::move(bytes), plan.durable});
    }
    const expectation right = expected(plan, next);
    const auto failed = carry_out(plan, context, next);
    const bool is_itself = os::renames_to_itself && !place<Engine>::repeats && plan.what == rename &&
                           now_[plan.from] == now_[plan.to] && now_[plan.from] != nullptr;
    counts_.count_names(plan, failed);
    if (failed && lacks(plan, *failed)) return expect(who);
    const bool writes = plan.what == replace_file || plan.what == give_name || plan.what == copy_file;
    if (failed && writes && where_.may_fail_to_replace(*failed)) {
      // As a full or failing disk may do before anything else is noticed.
    } else if (failed)
      require(has(right.failures, *failed), who + ": " + failed->message());
    else
      require(right.failures.empty() || is_itself, who + " has succeeded");
    if (!failed) {
      now_ = right.after;
      past_.push_back(now_);
      if (plan.durable) past_ = {now_};
    }
    expect(who);
  }

  /// After a crash: the names are those after one of the changes since the last that was durable. Then removes them.
  void recover(std::size_t context) {
    const auto is_found = [&](const state& each) {
      for (std::size_t i = 0; i < side_names.size(); ++i)
        if (!is_left(each[i], where_.contents_of(side_names[i]))) return false;
      return true;
    };
    require(std::any_of(past_.begin(), past_.end(), is_found),
            "after a crash the names beside the file are none of those since the last durable change");
    for (const char* const each : side_names)
      static_cast<void>(call(
          context, true, [&](auto& on) { return qio::async_remove(on, where_.path_of(each), durable); },
          [&] { return qio::remove(where_.path_of(each), durable); }));
    where_.remove_temporaries();
    now_ = {};
    past_ = {now_};
    expect("after a crash, when all names are removed");
  }

 private:
  struct file {
    std::vector<std::byte> bytes;
    bool is_durable;
  };
  using contents = std::shared_ptr<const file>;
  using state = std::array<contents, side_names.size()>;
  struct expectation {
    std::vector<std::errc> failures;  // one of them; none: it succeeds
    state after;
  };
  static constexpr qio::name_options durable = {.durable = true};

  expectation expected(const name_change& plan, const contents& next) const {
    using enum name_change::kind;
    using enum qio::if_exists;
    expectation right{{}, now_};
    contents &from = right.after[plan.from], &to = right.after[plan.to];
    if (plan.what == list) return right;
    if (plan.what == read_file) {
      if (from == nullptr) right.failures.push_back(std::errc::no_such_file_or_directory);
    } else if (plan.what == give_name) {
      if (plan.how == exchange) right.failures.push_back(std::errc::invalid_argument);
      if (plan.how == fail && from != nullptr) right.failures.push_back(std::errc::file_exists);
      if (right.failures.empty()) from = next;
    } else if (plan.what == copy_file) {
      if (from == nullptr) right.failures.push_back(std::errc::no_such_file_or_directory);
      if (from != nullptr) to = next;
    } else if (plan.what == replace_file)
      from = next;
    else if (plan.what == remove)
      from = nullptr;
    else {
      const bool exists = to != nullptr;
      if (from == nullptr || (plan.what == rename && plan.how == exchange && !exists))
        right.failures.push_back(std::errc::no_such_file_or_directory);
      if (exists && (plan.what == link || plan.how == fail)) right.failures.push_back(std::errc::file_exists);
      if (!right.failures.empty() || from == to) return right;  // as rename(2): two names of one file stay
      if (plan.what == link)
        to = from;
      else if (plan.how == exchange)
        std::swap(from, to);
      else
        to = std::exchange(from, nullptr);
    }
    return right;
  }

  /// The error, if there was one.
  std::optional<qio::error> carry_out(const name_change& plan, std::size_t context, const contents& next) {
    using enum name_change::kind;
    const std::string from = where_.path_of(side_names[plan.from]), to = where_.path_of(side_names[plan.to]);
    const qio::name_options options = {.durable = plan.durable};
    const auto failure_of = [](const auto& done) {
      return done ? std::optional<qio::error>() : std::optional<qio::error>(done.error());
    };
    switch (plan.what) {
      case replace_file: {
        const qio::replace_options how = {.durable = plan.durable};
        auto write = [&](auto& target) { return written_as_stream(target, next->bytes, plan); };
        if (plan.streams)
          return failure_of(call(
              context, plan.asynchronous, [&](auto& on) { return qio::async_replace_file(on, from, write, how); },
              [&] { return qio::replace_file(from, write, how); }));
        return failure_of(call(
            context, plan.asynchronous,
            [&](auto& on) { return qio::async_replace_file(on, from, std::span(next->bytes), how); },
            [&] { return qio::replace_file(from, std::span(next->bytes), how); }));
      }
      case rename:
        return failure_of(call(
            context, plan.asynchronous, [&](auto& on) { return qio::async_rename(on, from, to, plan.how, options); },
            [&] { return qio::rename(from, to, plan.how, options); }));
      case link:
        return failure_of(call(
            context, plan.asynchronous, [&](auto& on) { return qio::async_link(on, from, to, options); },
            [&] { return qio::link(from, to, options); }));
      case give_name:
        return failure_of(call(
            context, plan.asynchronous, [&](auto& on) { return async_give(on, plan, next->bytes); },
            [&] { return give(plan, next->bytes); }));
      case copy_file: {
        const qio::copy_file_options how = {.durable = plan.durable};
        return failure_of(call(
            context, plan.asynchronous, [&](auto& on) { return qio::async_copy_file(on, from, to, how); },
            [&] { return qio::copy_file(from, to, how); }));
      }
      case read_file: {
        const auto found = call(
            context, plan.asynchronous, [&](auto& on) { return async_contents(on, from, plan); },
            [&] { return contents_by_stream(from, plan); });
        if (found && now_[plan.from] != nullptr)
          require(found.value() == now_[plan.from]->bytes, "a stream has read other contents");
        return failure_of(found);
      }
      case list: {
        const auto found = call(
            context, plan.asynchronous, [&](auto& on) { return async_names(on, where_.path_of(".")); },
            [&] { return names_in(where_.path_of(".")); });
        if (found) require(found.value() == names(), "a listing has other names");
        return failure_of(found);
      }
      default: break;
    }
    const auto removed = call(
        context, plan.asynchronous, [&](auto& on) { return qio::async_remove(on, from, options); },
        [&] { return qio::remove(from, options); });
    if (removed) require(removed.value() == (now_[plan.from] != nullptr), "remove() returned the wrong answer");
    return failure_of(removed);
  }

  // --- streams, and what is written and read by them ---

  template <class File>
  static qio::result<void> written_as_stream(File& file, std::span<const std::byte> bytes, const name_change& plan) {
    auto made = qio::writer<File>::create(file, {.block_bytes = plan.block_bytes});
    if (!made) return made.error();
    for (std::size_t at = 0; at < bytes.size(); at += plan.piece)
      if (const auto taken = made.value().write(bytes.subspan(at, std::min(plan.piece, bytes.size() - at))); !taken)
        return taken.error();
    return made.value().finish({.durable = plan.durable});
  }
  template <class File>
  static qio::task<qio::result<void>> async_written(File& file, std::span<const std::byte> bytes,
                                                    const name_change& plan) {
    auto made = qio::writer<File>::create(file, {.block_bytes = plan.block_bytes});
    if (!made) co_return made.error();
    for (std::size_t at = 0; at < bytes.size(); at += plan.piece) {
      const auto taken = co_await made.value().write(bytes.subspan(at, std::min(plan.piece, bytes.size() - at)));
      if (!taken) co_return taken.error();
    }
    co_return co_await made.value().finish({.durable = plan.durable});
  }

  qio::result<void> give(const name_change& plan, std::span<const std::byte> bytes) const {
    auto made = qio::cached_file::open_unnamed(where_.path_of("."));
    if (!made) return made.error();
    if (auto done = written_as_stream(made.value(), bytes, plan); !done) return done;
    if (auto done = made.value().give_name(where_.path_of(side_names[plan.from]), plan.how); !done) return done;
    if (plan.durable) return qio::sync_directory(where_.path_of("."));
    return qio::success();
  }
  template <class Context>
  qio::task<qio::result<void>> async_give(Context& on, name_change plan, std::span<const std::byte> bytes) const {
    auto made = co_await qio::cached_file::async_open_unnamed(on, where_.path_of("."));
    if (!made) co_return made.error();
    if (auto done = co_await async_written(made.value(), bytes, plan); !done) co_return done;
    const std::string path = where_.path_of(side_names[plan.from]);
    if (auto done = co_await made.value().async_give_name(path, plan.how); !done) co_return done;
    if (plan.durable) co_return co_await qio::async_sync_directory(on, where_.path_of("."));
    co_return qio::success();
  }

  static qio::result<std::vector<std::byte>> contents_by_stream(const std::string& path, const name_change& plan) {
    auto file = qio::cached_file::open(path, qio::access::read);
    if (!file) return file.error();
    auto from = qio::reader<qio::cached_file>::create(file.value(), {.block_bytes = plan.block_bytes}).value();
    std::vector<std::byte> all, part(plan.piece);
    for (;;) {
      const auto moved = from.read(part);
      if (!moved) return moved.error();
      if (moved.value() == 0) return all;
      all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(moved.value()));
    }
  }
  template <class Context>
  static qio::task<qio::result<std::vector<std::byte>>> async_contents(Context& on, std::string path,
                                                                       name_change plan) {
    auto file = co_await qio::cached_file::async_open(on, path, qio::access::read);
    if (!file) co_return file.error();
    using file_type = std::remove_reference_t<decltype(file.value())>;
    auto from = qio::reader<file_type>::create(file.value(), {.block_bytes = plan.block_bytes}).value();
    std::vector<std::byte> all;
    for (;;) {
      const auto next = co_await from.next();
      if (!next) co_return next.error();
      if (next.value().empty()) co_return all;
      all.insert(all.end(), next.value().begin(), next.value().end());
    }
  }

  // --- listing ---

  std::multiset<std::string> names() const {
    std::multiset<std::string> all = {"data"};
    for (std::size_t i = 0; i < side_names.size(); ++i)
      if (now_[i] != nullptr) all.insert(side_names[i]);
    return all;
  }
  static qio::result<std::multiset<std::string>> names_in(const std::string& path) {
    auto reader = qio::directory_reader::open(path);
    if (!reader) return reader.error();
    std::multiset<std::string> all;
    for (;;) {
      const auto batch = reader.value().next_batch();
      if (!batch) return batch.error();
      if (batch.value().empty()) return all;
      for (const auto& each : batch.value()) all.emplace(each.name);
    }
  }
  template <class Context>
  static qio::task<qio::result<std::multiset<std::string>>> async_names(Context& on, std::string path) {
    auto reader = co_await qio::directory_reader::async_open(on, path);
    if (!reader) co_return reader.error();
    std::multiset<std::string> all;
    for (;;) {
      const auto batch = co_await reader.value().async_next_batch(on);
      if (!batch) co_return batch.error();
      if (batch.value().empty()) co_return all;
      for (const auto& each : batch.value()) all.emplace(each.name);
    }
  }

  template <class Async, class Blocking>
  auto call([[maybe_unused]] std::size_t context, [[maybe_unused]] bool asynchronously, [[maybe_unused]] Async async,
            [[maybe_unused]] Blocking blocking) {
    if constexpr (world<Engine>::is_async)
      if (asynchronously || place<Engine>::repeats) return world_.context(context).run(async(world_.context(context)));
    if constexpr (!place<Engine>::repeats)
      return blocking();
    else
      std::abort();  // its context has no other way
  }

  static bool has(const std::vector<std::errc>& all, const qio::error& failure) {
    return std::any_of(all.begin(), all.end(), [&](std::errc each) { return failure == each; });
  }
  static bool lacks(const name_change& plan, const qio::error& failure) {
    if (plan.what == name_change::kind::give_name) return failure == std::errc::operation_not_supported;
    if (plan.what == name_change::kind::rename)
      return plan.how != qio::if_exists::replace && failure == qio::errc::if_exists_not_supported;
    return plan.what == name_change::kind::link &&
           (failure == std::errc::operation_not_permitted || failure == std::errc::operation_not_supported);
  }

  /// Also that nothing else is there.
  void expect(const std::string& who) {
    std::size_t there = 1;  // the file
    for (std::size_t i = 0; i < side_names.size(); ++i) {
      const auto found = where_.contents_of(side_names[i]);
      const std::string name = std::string(", then the name ") + side_names[i];
      require(found.has_value() == (now_[i] != nullptr), who + name + (found ? " exists" : " does not exist"));
      if (found) require(*found == now_[i]->bytes, who + name + " has other contents");
      there += found.has_value();
    }
    require(where_.entries() == there,
            who + ", then there are " + std::to_string(where_.entries()) + " names, not " + std::to_string(there));
  }

  // Contents that are not durable may be there in part.
  static bool is_left(const contents& was, const std::optional<std::vector<std::byte>>& found) {
    if (was == nullptr || !found) return was == nullptr && !found;
    if (was->is_durable) return *found == was->bytes;
    if (found->size() > was->bytes.size()) return false;
    for (std::size_t i = 0; i < found->size(); ++i)
      if ((*found)[i] != was->bytes[i] && (*found)[i] != std::byte{0}) return false;
    return true;
  }

  place<Engine>& where_;
  world<Engine>& world_;
  tally& counts_;
  state now_{};
  std::vector<state> past_ = {now_};  // since the last durable change
};

}  // namespace property
