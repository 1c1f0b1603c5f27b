// SPDX-License-Identifier: BSL-1.0
// One thread of a load: keeps a number of transfers in flight on one file.
#pragma once

#include "depth/ledger.hpp"
#include "depth/window.hpp"
#include "measure/clock.hpp"
#include "measure/offset_order.hpp"
#include "report.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace qd1 {

/// How the asynchronous operations of a load are served.
struct engine_choice {
  std::string name = "auto";      ///< "auto", or one of platform::engines
  std::string waiting = "sleep";  ///< "sleep", "spin"
  bool polled = false;            ///< the device is polled for completions, where it has queues for that
  bool registered = false;        ///< transfers are in memory that the context has registered
};

/// What one worker is to do.
struct duty {
  qd1::work work;    ///< what its transfers have in common; `reads` decides whether they read or write
  double reads = 1;  ///< part of the transfers that read
  std::string path;
  offset_share share;                      ///< of the path's offsets
  std::optional<std::uint64_t> processor;  ///< the one that it stays on
  engine_choice engine;
  bool timed = true;  ///< the clock is read for each transfer
  bool once = false;  ///< no block twice: when all have been read the window is closed
};

class worker {
 public:
  worker(duty duty, const clock& clock, window& window);

  /// The body of its thread. Opens the file, arrives at the window, and transfers until the window closes.
  void run() noexcept;

  // Valid after its thread has ended.
  const transfers& of(operation what) const noexcept { return ledger_.of(what); }
  const std::string& failure() const noexcept { return failure_.empty() ? ledger_.failure() : failure_; }
  const std::string& not_available() const noexcept { return not_available_; }
  const qd1::service& service() const noexcept { return service_; }
  std::uint64_t last() const noexcept { return ledger_.now(); }  ///< when its last transfer completed, in ticks
  /// Part of the time of its transfers that it was ready and waited for a CPU. None where the system does not report
  /// it.
  const std::optional<double>& waited() const noexcept { return waited_; }

 private:
  void work();
  template <class... Context>
  void work_by_mode(Context&... context);
  template <class Mode, class... Context>
  void work_on(Context&... context);
  void work_in_context();
  void note_feature(const std::string& name, bool had, const std::string& why_not);
  template <class Context>
  void note_features(const Context& context);
  template <class File>
  void note_polling(const File& file);
  void note_wait(std::optional<std::uint64_t> waited_before, std::uint64_t begin);

  duty duty_;
  const clock& clock_;
  window& window_;
  ledger ledger_;
  bool has_arrived_ = false;
  qd1::service service_;
  std::optional<double> waited_;
  std::string not_available_;
  std::string failure_;
};

}  // namespace qd1
