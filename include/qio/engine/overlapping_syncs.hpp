// SPDX-License-Identifier: BSL-1.0
// Holds back the success of a sync while others of the same file are in flight, since one of them may have its error.
#pragma once

#include <qio/configuration.hpp>
#include <qio/request/request.hpp>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Takes the request from its file's list to the completed ones.
inline void hand_back(request& r, completed_requests& completed) noexcept {
  r.submitted.set(false);
  r.unlink();
  --r.activity->in_flight;
  completed.push(r);
}

/// An engine takes `r`. Not inlined, for the sake of reads, which need not call it.
QIO_NOINLINE inline void begin_sync(request& r) noexcept {
  if (!r.overlaps_syncs()) return;
  r.sync_state = {0, r.activity->epochs.begin(), false, false};
}

/// The failure of one of these requests may be that of all which it overlaps.
QIO_COLD inline void fail_what_overlaps(file_activity& file) noexcept {
  file.held.for_each([](request& each) {
    if (each.overlaps_syncs()) each.sync_state.has_overlapped_failure = true;
  });
}

/// Whether data may be lost that `r` should have made durable.
QIO_COLD inline bool loses_data(const request& r) noexcept {
  return r.op == opcode::sync ? sync_failure::loses_data_in_sync(r.failure)
                              : sync_failure::loses_data_in_write(r.failure);
}

/// `r` has succeeded, and so has everything that was in flight when it ended, or it has failed.
QIO_COLD inline void judge_sync(request& r) noexcept {
  const sync_failure& known = r.activity->sync_failure;
  if (r.op == opcode::sync && known.exists())
    r.failure = r.activity->of_sync(known.get());
  else if (r.op == opcode::write && r.sync_state.has_overlapped_failure)
    r.failure = r.activity->of_sync(error::of_transfer(known.get().code(), r.io.transferred()), r.op);
}

/// `r` has ended. Hands it back, or later if it overlaps others, and then those that it held up.
QIO_NOINLINE inline void end_sync(request& r, completed_requests& completed) noexcept {
  if (!r.overlaps_syncs()) return hand_back(r, completed);
  file_activity& file = *r.activity;
  file.epochs.end(r.sync_state.epoch);
  if (!r.failed()) {
    r.sync_state.end_of_all = file.epochs.end_of_all();
    // One that is to end early does not wait.
    if (!file.epochs.has_passed(r.sync_state.end_of_all) && r.cancel_requested) r.fail_as_canceled();
  } else if (loses_data(r)) {
    r.failure = file.of_sync(r.failure, r.op);
    fail_what_overlaps(file);
  }
  if (r.failed()) {
    hand_back(r, completed);
  } else {
    r.sync_state.is_held_back = true;
    file.held_back.push(r);
  }
  while (request* const first = file.held_back.first()) {
    if (!file.epochs.has_passed(first->sync_state.end_of_all)) return;
    file.held_back.pop();
    first->sync_state.is_held_back = false;
    judge_sync(*first);
    hand_back(*first, completed);
  }
}

/// `r` is canceled. True if that ends it: it was held back.
inline bool give_up_waiting(request& r, completed_requests& completed) noexcept {
  if (!r.is_held_back()) return false;
  r.activity->held_back.remove(r);
  r.sync_state.is_held_back = false;
  r.fail_as_canceled();
  hand_back(r, completed);
  return true;
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
