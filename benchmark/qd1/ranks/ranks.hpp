// SPDX-License-Identifier: BSL-1.0
// The processes of a job that mpirun has started, on one machine or many: they measure at the same time, and make one
// report. A process that was started by itself is a job of one.
#pragma once

#include <string>
#include <vector>

namespace qd1 {

/// Create at most one, and keep it while the process communicates with the others. The process is part of a job if the
/// environment shows that mpirun started it. All ranks must call the same functions in the same order.
class job {
 public:
  /// Throws usage_error where mpirun has started this process, but qd1 was built without MPI.
  job();
  job(const job&) = delete;
  job& operator=(const job&) = delete;
  ~job();

  /// Ends all ranks, if there are several: one that cannot continue must not leave the others waiting.
  static void give_up(int status) noexcept;
};

namespace ranks {

/// Whether there are others in the job.
bool are_several() noexcept;

/// Waits until all ranks have called it.
void wait_for_all();

/// The texts of all ranks, in their order, at the first one; nothing at the others. At most 2 GiB altogether.
std::vector<std::string> gathered(const std::string& text);

}  // namespace ranks
}  // namespace qd1
