// SPDX-License-Identifier: BSL-1.0
// What loops and what schedules their requests ask of each other. An io_scheduler is the model.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/explanation.hpp>
#include <qio/request/request.hpp>

#include <memory>

QIO_BEGIN_NAMESPACE
namespace detail {

struct timer;
class mailbox;

/// The loop, for the queues of its background requests.
class scheduled_loop {
 public:
  virtual clock::time_point now() const noexcept = 0;
  /// Has the engine carry out a part of a request.
  virtual void submit_part(request& part) noexcept = 0;
  /// Has it end early. The queues may learn at once that it has ended.
  virtual void cancel_part(request& part) noexcept = 0;
  /// A request is complete, and in no list: the loop tells the observer, and calls it back.
  virtual void complete_scheduled(request& r, clock::time_point at) noexcept = 0;
  virtual void arm(timer& node) noexcept = 0;
  virtual void disarm(timer& node) noexcept = 0;

 protected:
  ~scheduled_loop() = default;
};

/// The background requests of one loop, and what is known of its other ones. On the loop's thread, unless noted.
class request_queues {
 public:
  virtual ~request_queues() = default;
  /// `r` is about to be submitted. True if it waits for its turn here: then no engine gets it.
  virtual bool takes(request& r) noexcept = 0;
  /// The engine has completed `r`, which is in no list of its file any more. True if it is a part, which the caller
  /// forgets.
  virtual bool ended(request& r, clock::time_point now) noexcept = 0;
  /// After some have ended.
  virtual void go_on(clock::time_point now) noexcept = 0;
  /// `r` is held here: asks for it to end early.
  virtual void cancel(request& r) noexcept = 0;
  /// The file of `part` ends: so does the request that it is a part of.
  virtual void note_cancellation(request& part) noexcept = 0;
  virtual void explain(explanation& out) const = 0;
};

/// Makes the queues of a loop. From any thread.
class request_scheduler {
 public:
  virtual std::unique_ptr<request_queues> attach(scheduled_loop& loop, mailbox& posts) = 0;

 protected:
  ~request_scheduler() = default;
};

}  // namespace detail
QIO_END_NAMESPACE
