// SPDX-License-Identifier: BSL-1.0
// Runs that measure in turn, so that whatever the host does affects all of them alike.
#pragma once

#include "platform/file.hpp"
#include "report.hpp"

#include <string>
#include <vector>

namespace qd1 {

/// Holds a turn for as long as it exists. One of the processes that name the same file has the turn at a time. A
/// process that ends, in any way, passes it on to the others.
class turns {
 public:
  /// Waits for the first turn.
  explicit turns(const std::string& path);
  turns(const turns&) = delete;
  turns& operator=(const turns&) = delete;

  /// One of those that wait gets the next turn, before this one gets another. If none waits, nothing happens.
  void pass();

 private:
  // The thread that is next in turn holds `next` until it has `now`, so that the previous one cannot overtake it.
  enum part : std::uint64_t { now, next };

  void take();

  platform::lock_file file_;
};

/// Notes in each series by which file it took turns, and when its rounds began: `seconds` before now. Nothing if the
/// path is empty.
void note_turns(std::vector<series>& all, const std::string& path, double seconds);

}  // namespace qd1
