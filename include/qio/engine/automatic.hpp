// SPDX-License-Identifier: BSL-1.0
// The default engine: io_uring where it can be had, else the pool, found out at run time.
#pragma once

#include <qio/engine/engine.hpp>
#include <qio/engine/pool.hpp>
#if QIO_HAS_URING
#include <qio/engine/uring.hpp>
#endif

#include <memory>
#include <string>
#include <utility>

namespace qio {

/// Costs one predictable branch a call over the engine that it chose. Who wants one engine or none says so:
/// basic_context<uring>.
class automatic {
 private:
  template <class Question>
  decltype(auto) ask(Question&& question) const {
#if QIO_HAS_URING
    if (ring_ != nullptr) return question(*ring_);
#endif
    return question(*pool_);
  }

#if QIO_HAS_URING
  std::unique_ptr<uring> ring_;
#endif
  std::unique_ptr<pool> pool_;  // where there is no ring
  std::string why_fallback_;

 public:
  static result<std::unique_ptr<automatic>> create(const context_options& options) {
    auto engine = std::make_unique<automatic>();
#if QIO_HAS_URING
    auto ring = uring::create(options);
    if (ring) {
      engine->ring_ = std::move(ring).value();
      return engine;
    }
    engine->why_fallback_ = detail::why_no_ring(ring.error());
#else
    engine->why_fallback_ = "built without liburing";
#endif
    auto fallback = pool::create(options);
    if (!fallback) return fallback.error();
    engine->pool_ = std::move(fallback).value();
    return engine;
  }

  automatic() = default;
  automatic(const automatic&) = delete;
  automatic& operator=(const automatic&) = delete;

  void submit(request& r) noexcept {
    ask([&](auto& engine) { engine.submit(r); });
  }
  void cancel(request& r) noexcept {
    ask([&](auto& engine) { engine.cancel(r); });
  }
  void wait(completed_requests& completed, wait_limit limit) noexcept {
    ask([&](auto& engine) { engine.wait(completed, limit); });
  }
  std::size_t in_flight() const noexcept {
    return ask([](const auto& engine) { return engine.in_flight(); });
  }
  void wake() noexcept {
    ask([](auto& engine) { engine.wake(); });
  }
  void explain(explanation& out) const {
    ask([&](const auto& engine) { engine.explain(out); });
    if (!why_fallback_.empty()) out.add("fallback", "from io_uring", why_fallback_);
  }
};

static_assert(engine<automatic>);

}  // namespace qio
