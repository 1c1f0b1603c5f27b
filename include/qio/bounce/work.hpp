// SPDX-License-Identifier: BSL-1.0
// What reads and writes through a pool share: how they get slots, and how they end early.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/bounce/groups.hpp>
#include <qio/bounce/slots.hpp>
#include <qio/configuration.hpp>
#include <qio/file.hpp>
#include <qio/file/access.hpp>
#include <qio/loop/batch.hpp>
#include <qio/loop/loop.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

namespace qio::inline QIO_CONFIGURATION::detail {

/// An operation on `File`, one of whose requests is free (nobody works on it yet), submitted by itself, served by a
/// slot, or complete. As long as one is free, the operation waits for a slot.
///
/// `Self` has these functions:
/// - submit_singles(): submit_alone() for each request that needs no slot.
/// - assign(slot, request): the slot serves this request, and maybe others: give() for each.
/// - prepare(slot): describes the slot's next transfer. False if its requests are complete.
/// - conclude_transfer(slot): the transfer has ended: finished() for each request that is complete.
/// - must_go_on(slot): whether the slot's requests cannot end early now.
/// - settle(slot): does what must go on, blocking, because the operation or the context is being destroyed.
template <class Self, class File>
class bounce_user : public bounce_work {
 public:
  using is_composed = void;
  using loop_type = loop<typename File::engine_type>;

  // --- for the loop ---

  void begin(loop_type& on) noexcept {
    loop_ = &on;
    pool_->require_same_loop(&on);
    use_file(true);
    next_ = in_order();
    self().submit_singles();
    while (find_next() && take_slot()) {}
    if (find_next()) pool_->wait(*this);
    end_if_finished();
  }

  void cancel(loop_type& on) noexcept {
    if (needs_no_engine || unfinished() == 0) return;
    is_ending_ = true;
    pool_->stop_waiting(*this);
    fail_free();
    for_each_unfinished([&](batch_part& part) {
      if (part.argument == this) on.cancel(static_cast<request&>(part));
    });
    pool_->for_each_of(*this, [&](bounce_slot& slot) {
      if (!self().must_go_on(slot)) on.cancel(static_cast<request&>(*slot.transfer));
    });
    end_if_finished();
  }

  void abandon(loop_type& on) noexcept {
    cancel(on);
    if (needs_no_engine || unfinished() == 0) {
      on.abandon(static_cast<request&>(*this));
    } else {
      for_each_unfinished([&](batch_part& part) {
        if (part.argument == this) on.abandon(static_cast<request&>(part));
      });
      pool_->for_each_of(*this, [&](bounce_slot& slot) {
        on.abandon(static_cast<request&>(*slot.transfer));
        self().conclude_transfer(slot);
        self().settle(slot);
        fail_rest(slot);
        pool_->release(slot);
      });
      pool_->serve();
    }
    static_cast<void>(conclude(false));
  }

  // --- for the operation ---

  result<std::size_t> conclude(bool timed_out) noexcept {
    use_file(false);  // if none of its requests needed a slot
    return batch::conclude(timed_out);
  }

 protected:
  /// A request has been described. If it is misaligned, it needs a slot.
  static void accept(batch_part& part, bounce_slots& pool) noexcept {
    if (!part.failure.exists() || !is_misaligned(part.failure)) return;
    part.failure = error();
    part.needs_no_engine = part.io.total() == 0;
    part.argument = &pool;
  }

  /// All requests have been described. `block_of()` returns the alignment of the file, which is open.
  template <class BlockOf>
  void enter(File& file, bounce_slots& pool, std::uint64_t gap, BlockOf&& block_of) noexcept {
    if (!file.is_open()) return refuse(std::make_error_code(std::errc::bad_file_descriptor));
    file_ = &file;
    pool_ = &pool;
    sizes_ = bounce_sizes(block_of(), pool.slot_bytes(), gap);
    if (sizes_.usable == 0) return refuse(no_room());
    needs_no_engine = unfinished() == 0;
    advance = [](bounce_work& work) noexcept { static_cast<Self&>(work).take_turn(); };
  }

  // A request's `argument` says what it is.
  bool is_free(const batch_part& part) const noexcept {
    return !part.needs_no_engine && (part.argument == nullptr || part.argument == pool_);
  }

  void submit_alone(batch_part& part) noexcept {
    part.argument = this;
    if (loop_->try_inline(part))
      finished(part);
    else
      loop_->submit(static_cast<request&>(part));
  }

  void give(batch_part& part, bounce_slot& slot) noexcept {
    part.argument = &slot;
    ++pool_->statistics.requests;
    ++file_access::activity_of(*file_).statistics.bounced;
  }

  /// `action(part)` for each request of the slot that is not complete, until it returns false.
  template <class Action>
  void for_each_in(const bounce_slot& slot, Action&& action) noexcept {
    for (batch_part* each = slot.first; each != slot.end; each = each->following)
      if (!each->needs_no_engine && each->argument == &slot && !action(*each)) return;
  }
  batch_part* first_unfinished(const bounce_slot& slot) noexcept {
    batch_part* found = nullptr;
    for_each_in(slot, [&](batch_part& part) {
      found = &part;
      return false;
    });
    return found;
  }

  /// A new request for the slot's next transfer.
  request& renew(bounce_slot& slot) noexcept {
    bounce_transfer& made = slot.transfer.emplace();
    made.slot = &slot;
    made.completed = &transfer_ended;
    return made;
  }

  File* file_ = nullptr;
  bounce_slots* pool_ = nullptr;
  bounce_sizes sizes_;

 private:
  Self& self() noexcept { return static_cast<Self&>(*this); }

  void refuse(const error& why) noexcept {
    failure = why;
    needs_no_engine = true;
  }

  bool may_go_on() const noexcept { return !is_ending_ && file_->is_open() && !loop_->closed(); }

  // From the start to the end of the operation, the file must not move. If it was closed, its count is gone.
  void use_file(bool does) noexcept {
    if (!QIO_CHECKS || std::exchange(is_using_, does) == does || !file_->is_open()) return;
    file_activity& used = file_access::activity_of(*file_);
    if (does) activity_ = &used;
    if (&used == activity_) does ? used.bounced_users.add() : used.bounced_users.remove();
  }

  // False if no request is free.
  bool find_next() noexcept {
    while (next_ != nullptr && !is_free(*next_)) next_ = next_->following;
    return next_ != nullptr;
  }

  // There is a free request. False if there is no slot for it.
  bool take_slot() noexcept {
    bounce_slot* const slot = pool_->has_waiting() ? nullptr : pool_->take(this);
    if (slot == nullptr) return false;
    self().assign(*slot, *next_);
    carry_on(*slot);
    return true;
  }

  // It was the first of those that wait, and a slot is free. It takes one, and if it needs more, waits again.
  void take_turn() noexcept {
    if (!may_go_on()) fail_free();
    if (find_next())
      if (bounce_slot* const slot = pool_->take(this)) {
        self().assign(*slot, *next_);
        carry_on(*slot);
      }
    if (find_next()) pool_->wait(*this);
    end_if_finished();
  }

  // Carries out transfers until the engine has one, or the requests of the slot are complete.
  void carry_on(bounce_slot& slot) noexcept {
    for (;;) {
      if (!may_go_on()) end_early(slot);
      if (!self().prepare(slot)) return pool_->release(slot);
      ++pool_->statistics.transfers;
      if (!slot.transfer->needs_no_engine && !loop_->try_inline(*slot.transfer))
        return loop_->submit(static_cast<request&>(*slot.transfer));
      self().conclude_transfer(slot);
    }
  }

  void end_early(bounce_slot& slot) noexcept {
    if (self().must_go_on(slot)) {
      if (!loop_->closed()) return;
      self().settle(slot);
    }
    fail_rest(slot);
  }

  static void transfer_ended(request& r) noexcept {
    bounce_slot& slot = *static_cast<bounce_transfer&>(r).slot;
    auto& work = static_cast<Self&>(*slot.user);
    bounce_slots& pool = *work.pool_;
    work.conclude_transfer(slot);
    work.carry_on(slot);
    work.end_if_finished();
    pool.serve();
  }

  void end_if_finished() noexcept {
    if (unfinished() != 0) return;
    use_file(false);
    loop_->complete_later(*this);
  }

  void fail_free() noexcept {
    for_each_unfinished([this](batch_part& part) {
      if (!is_free(part)) return;
      part.fail_as_canceled();
      finished(part);
    });
  }
  void fail_rest(bounce_slot& slot) noexcept {
    for_each_in(slot, [this](batch_part& part) {
      part.fail_as_canceled();
      finished(part);
      return true;
    });
  }

  loop_type* loop_ = nullptr;
  const file_activity* activity_ = nullptr;  // that it uses, only for checks
  batch_part* next_ = nullptr;               // where to look for the next free request
  bool is_ending_ = false;
  bool is_using_ = false;  // the file, only for checks
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
