// SPDX-License-Identifier: BSL-1.0
// A blocking function on a worker thread, as a task that owns what the function needs.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/loop/loop.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/task.hpp>

#include <memory>
#include <system_error>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Has a worker call `job()`, which returns a result. The job is in the frame of the task, so it may own memory. If it
/// throws, the result is std::errc::not_enough_memory.
template <class Engine, class Job>
task<std::invoke_result_t<Job&>> job_on_worker(std::shared_ptr<loop<Engine>> on, Job job) {
  if (on == nullptr) co_return error(std::make_error_code(std::errc::bad_file_descriptor));  // moved from
  std::invoke_result_t<Job&> answer = error(std::make_error_code(std::errc::not_enough_memory));
  file_activity activity;
  auto call = [&]() noexcept -> result<void> {
    succeeds([&] { answer = job(); });
    if (!answer) return answer.error();
    return success();
  };
  if (auto done = co_await call_by_worker(*on, activity, call); !done) co_return done.error();
  co_return std::move(answer);
}

}  // namespace detail
QIO_END_NAMESPACE
