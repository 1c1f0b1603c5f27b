// The file, open in several modes at once, and a context if there is an engine, or two contexts that share the file.
#pragma once

#include "engines.hpp"
#include "model.hpp"
#include "place.hpp"
#include "plan.hpp"
#include "random.hpp"
#include <qio/qio.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

namespace property {

/// The value of a result. Throws a mismatch if it is an error.
template <class Value>
Value succeeded(qio::result<Value>&& answer, const std::string& what) {
  if (!answer) throw mismatch(what + ": " + answer.error().message());
  if constexpr (!std::is_void_v<Value>) return std::move(answer).value();
}

template <class Engine>
class world {
 public:
  static constexpr bool is_async = !std::is_same_v<Engine, qio::no_engine>;
  static constexpr bool may_adopt = place<Engine>::can_map && !qio::platform::binds_handles;
  static constexpr bool may_share = is_async && may_adopt;
  using context_type = qio::basic_context<std::conditional_t<is_async, Engine, qio::default_engine>>;
  template <class Mode>
  using file = qio::basic_file<Mode, Engine>;

  explicit world(place<Engine>& where) : where_(where) {}

  /// Creates a context: small or large queues, any waiting policy.
  qio::result<void> make_context(std::size_t which, random_numbers& random) {
    if constexpr (is_async) {
      qio::context_options options = qio_test::of_current(where_.context_options());
      options.queue_depth = random.one_of({4u, 256u});
      options.workers = static_cast<unsigned>(random.below(4));
      options.waiting = random.one_of({qio::wait_policy::sleep, qio::wait_policy::spin});
      auto made = context_type::create(options);
      if (!made) return made.error();
      contexts_[which].emplace(std::move(made).value());
    }
    static_cast<void>(which);
    static_cast<void>(random);
    return qio::success();
  }

  /// Opens the file in a mode on a context. Shares the other context's file if that is open. Otherwise opens it by its
  /// path, by a handle that another file has released, or by sharing one on the same context.
  qio::result<void> open(mode wanted, std::size_t on, random_numbers& random, bool asynchronously = false) {
    using enum qio::inline_transfers;
    const qio::open_options options = {.inline_reads = random.one_of({never, automatic, always}),
                                       .inline_writes = random.one_of({never, automatic, always}),
                                       .reservation = random.one_of({0u, 4096u, 1u << 20})};
    const origin from = random.one_of({origin::path, origin::path, origin::handle, origin::shared});
    return visit(wanted, [&]<class File>(slots<File>& all) -> qio::result<void> {
      const auto newly_opened = [&]() -> qio::result<File> {
        auto opened = opened_file<typename File::mode_type>(on, options, asynchronously);
        if constexpr (may_adopt)
          if (opened && from != origin::path) return taken_over(std::move(opened).value(), on, options, from);
        return opened;
      };
      auto& other = all[1 - on];
      auto opened = other ? shared(*other, on, options) : newly_opened();
      if (!opened) return opened.error();
      all[on].emplace(std::move(opened).value());
      return qio::success();
    });
  }

  /// Whether any context has it open in this mode.
  bool is_open(mode wanted) {
    return visit(wanted, [](auto& all) { return all[0].has_value() || all[1].has_value(); });
  }

  void close(mode wanted, std::size_t on, bool asynchronously) {
    visit(wanted, [&](auto& all) {
      auto& slot = all[on];
      if constexpr (is_async) {
        if (asynchronously) {
          succeeded(context(on).run(slot->async_close()), "async_close");
          return slot.reset();
        }
      }
      succeeded(slot->close(), "close");
      slot.reset();
    });
  }

  /// Destroys a context before its files, which may outlive it.
  void close_all(std::size_t on) {
    contexts_[on].reset();
    std::apply([on](auto&... all) { (all[on].reset(), ...); }, files_);
  }

  template <class Use>
  auto with(mode wanted, std::size_t on, Use&& use) {
    return visit(wanted, [&](auto& all) { return use(*all[on]); });
  }

  /// The same file as `file`, which is open in this mode, on another context.
  template <class File, class Use>
  void same(File&, mode in, std::size_t on, Use&& use) {
    visit(in, [&](auto& all) {
      if constexpr (std::is_same_v<std::remove_reference_t<decltype(all)>, slots<File>>) use(*all[on]);
    });
  }

  context_type& context(std::size_t which) { return *contexts_[which]; }

 private:
  enum class origin : std::uint8_t { path, handle, shared };
  template <class File>
  using slots = std::array<std::optional<File>, 2>;  // one for each context

  template <class File>
  qio::result<File> shared(File& from, std::size_t on, const qio::open_options& options) {
    if constexpr (may_share)
      return from.share_with(context(on), options);
    else
      throw std::logic_error("files of this engine cannot be shared");
  }

  /// The same file in another object.
  template <class File>
  qio::result<File> taken_over(File opened, std::size_t on, const qio::open_options& options, origin from) {
    using same_mode = qio::basic_file<typename File::mode_type>;
    if constexpr (is_async)
      if (from == origin::shared) return opened.share_with(context(on), options);
    const auto released = opened.release();
    if (!released) return released.error();
    if constexpr (is_async)
      return same_mode::adopt(context(on), released.value(), options);
    else
      return same_mode::adopt(released.value(), options);
  }

  template <class Use>
  auto visit(mode wanted, Use&& use) {
    switch (wanted) {
      case mode::cached: return use(std::get<0>(files_));
      case mode::uncached: return use(std::get<1>(files_));
      case mode::direct: return use(std::get<2>(files_));
      default: break;
    }
    if constexpr (place<Engine>::can_map)
      return use(std::get<3>(files_));
    else
      throw std::logic_error("files of this engine cannot be mapped");
  }

  template <class Mode>
  qio::result<file<Mode>> opened_file(std::size_t on, const qio::open_options& options, bool asynchronously) {
    using qio::access, qio::creation;
    const std::string path = where_.path();
    if constexpr (is_async) {
      using opening = qio::basic_file<Mode>;
      if (asynchronously)
        return context(on).run(
            opening::async_open(context(on), path, access::read_write, creation::if_needed, options));
      return opening::open(context(on), path, access::read_write, creation::if_needed, options);
    } else {
      static_cast<void>(on);
      static_cast<void>(asynchronously);
      return file<Mode>::open(path, access::read_write, creation::if_needed, options);
    }
  }

  template <class... Mode>
  using files = std::tuple<slots<file<Mode>>...>;

  place<Engine>& where_;
  std::array<std::optional<context_type>, 2> contexts_;
  typename std::conditional_t<place<Engine>::can_map,
                              std::type_identity<files<qio::cached, qio::uncached, qio::direct, qio::mapped>>,
                              std::type_identity<files<qio::cached, qio::uncached, qio::direct>>>::type files_;
};

}  // namespace property
