// SPDX-License-Identifier: BSL-1.0
// A call that any thread hands to a context, without allocating.
#pragma once

#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/loop/mailbox.hpp>

#include <atomic>
#include <concepts>
#include <cstddef>
#include <new>
#include <type_traits>

QIO_BEGIN_NAMESPACE

template <engine Engine>
class basic_context;

/// A callback, and the place in a context's queue for it: an intrusive node. Any thread may pass it to
/// basic_context::post(), which has the context's thread call it. It lives where the caller puts it, allocates nothing,
/// cannot move, and can be posted again and again.
///
///     qio::posted_call flush([this] { write_what_is_queued(); });   // a member, for example
///     context.post(flush);                                         // from any thread
///
/// Posting one that is pending does nothing: several posts before the call result in one call, which sees everything
/// that the posting threads did before they posted.
///
/// Its own callback or the context's thread may destroy it while no other thread posts it; if it is pending, it is then
/// not called. Once the context's thread has been joined, or the context has ended, any thread may destroy it.
class posted_call final : detail::posted {
 public:
  /// What a callback may be: trivially copyable, at most four pointers in size; capture a pointer to larger state.
  template <class Callback>
  static constexpr bool is_callback = std::invocable<Callback&> && std::is_trivially_copyable_v<Callback> &&
                                      sizeof(Callback) <= 4 * sizeof(void*) && alignof(Callback) <= alignof(void*);

  /// `callback()` is called on the context's thread, from within run() or poll(). It may post or destroy this object;
  /// it must not throw.
  template <class Callback>
    requires(!std::same_as<Callback, posted_call>)
  explicit posted_call(Callback callback) noexcept {
    static_assert(std::invocable<Callback&>, "qio: the callback of a posted_call takes no arguments");
    static_assert(is_callback<Callback>,
                  "qio: a callback must be trivially copyable and at most four pointers in size; capture a pointer");
    new (&callback_) Callback(callback);
    run = [](posted& node) noexcept {
      auto& self = static_cast<posted_call&>(node);
      Callback copy = *std::launder(reinterpret_cast<Callback*>(&self.callback_));  // it may destroy this object
      self.is_pending_.exchange(false, std::memory_order_acq_rel);
      copy();
    };
  }
  posted_call(const posted_call&) = delete;
  posted_call& operator=(const posted_call&) = delete;
  ~posted_call() {
    if (!is_posted) return;
    loop_->require_no_other_runs(
        "a pending posted_call was destroyed while another thread ran its context: destroy it there");
    loop_->withdraw(*this);
  }

 private:
  template <engine Engine>
  friend class basic_context;

  // True if it was not pending.
  bool post_to(detail::mailbox& loop) noexcept {
    if (is_pending_.exchange(true, std::memory_order_acq_rel)) return false;
    loop_ = &loop;
    loop.post(*this);
    return true;
  }

  std::atomic<bool> is_pending_ = false;
  detail::mailbox* loop_ = nullptr;  // valid while this is pending: its destructor runs pending calls
  alignas(void*) std::byte callback_[4 * sizeof(void*)];
};

QIO_END_NAMESPACE
