// SPDX-License-Identifier: BSL-1.0
// The default engine: the system's own where it is available, else the pool; chosen at run time.
#pragma once

#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/pool.hpp>
#if QIO_HAS_URING
#include <qio/engine/uring.hpp>
#elif QIO_HAS_IOCP
#include <qio/engine/iocp.hpp>
#endif

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace qio::inline QIO_CONFIGURATION {
namespace detail {

// The system's own engine, its name, and why it is unavailable.
#if QIO_HAS_URING
using system_engine = uring;
inline constexpr const char* system_engine_name = "io_uring";
inline std::string why_no_system_engine(const error& refusal) { return why_no_ring(refusal); }
#elif QIO_HAS_IOCP
using system_engine = iocp;
inline constexpr const char* system_engine_name = "iocp";
inline std::string why_no_system_engine(const error& refusal) { return "no completion port: " + refusal.message(); }
#else
struct system_engine : pool {
  static result<std::unique_ptr<system_engine>> create(const context_options&) {
    return error(std::make_error_code(std::errc::function_not_supported));
  }
};
inline constexpr const char* system_engine_name = "io_uring";
inline std::string why_no_system_engine(const error&) { return "built without liburing"; }
#endif

}  // namespace detail

/// The engine of qio::context: io_uring or a completion port where it is available, otherwise worker threads. Costs one
/// predictable branch per call. To require a specific engine, use basic_context<uring> or basic_context<iocp>.
class automatic {
 private:
  template <class Question>
  decltype(auto) ask(Question&& question) const {
    if (preferred_ != nullptr) return question(*preferred_);
    return question(*fallback_);
  }

  std::unique_ptr<detail::system_engine> preferred_;
  std::unique_ptr<pool> fallback_;  // if that is unavailable
  std::string why_fallback_;

 public:
  using system = detail::operating_system;

  static result<std::unique_ptr<automatic>> create(const context_options& options) {
    auto engine = std::make_unique<automatic>();
    auto preferred = detail::system_engine::create(options);
    if (preferred) {
      engine->preferred_ = std::move(preferred).value();
      return engine;
    }
    engine->why_fallback_ = detail::why_no_system_engine(preferred.error());
    auto fallback = pool::create(options);
    if (!fallback) return fallback.error();
    engine->fallback_ = std::move(fallback).value();
    return engine;
  }

  automatic() = default;
  automatic(const automatic&) = delete;
  automatic& operator=(const automatic&) = delete;

  system files() const noexcept { return {}; }
  detail::clock::time_point now() const noexcept { return detail::clock::now(); }
  result<void> attach(platform::native_handle handle) noexcept {
    return ask([&](auto& engine) { return engine.attach(handle); });
  }
  std::string register_memory(std::span<std::byte> memory) {
    return ask([&](auto& engine) { return engine.register_memory(memory); });
  }
  void observe(detail::list<file_activity>& activities) noexcept {
    ask([&](auto& engine) { engine.observe(activities); });
  }
  void release(file_activity& file) noexcept {
    ask([&](auto& engine) { engine.release(file); });
  }
  void begin() noexcept {
    ask([](auto& engine) { engine.begin(); });
  }
  void end() noexcept {
    ask([](auto& engine) { engine.end(); });
  }
  bool gathers() const noexcept {
    return ask([](const auto& engine) { return engine.gathers(); });
  }
  void submit(request& r) noexcept {
    ask([&](auto& engine) { engine.submit(r); });
  }
  void submit_all(request* first) noexcept {
    ask([&](auto& engine) { engine.submit_all(first); });
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
  result<platform::native_handle> wake_handle() noexcept {
    return ask([](auto& engine) { return engine.wake_handle(); });
  }
  bool prepare_to_wait(completed_requests& completed) noexcept {
    return ask([&](auto& engine) { return engine.prepare_to_wait(completed); });
  }
  polling_support find_polling(platform::native_handle handle, const alignment& needed) const {
    return ask([&](const auto& engine) { return engine.find_polling(handle, needed); });
  }
  wait_statistics waits() const noexcept {
    return ask([](const auto& engine) { return engine.waits(); });
  }
  void explain(explanation& out) const {
    ask([&](const auto& engine) { engine.explain(out); });
    if (!why_fallback_.empty()) out.add("fallback", std::string("from ") + detail::system_engine_name, why_fallback_);
  }
};

static_assert(engine<automatic>);

}  // namespace qio::inline QIO_CONFIGURATION
