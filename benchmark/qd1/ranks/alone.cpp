// SPDX-License-Identifier: BSL-1.0
// Where there is no MPI.
#include "failure.hpp"
#include "ranks/ranks.hpp"

#include <cstdlib>

namespace qd1 {

job::job() {
  for (const char* each : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const char* const ranks = std::getenv(each); ranks != nullptr && std::atoi(ranks) > 1)
      throw usage_error(
          "mpirun started this process, but this qd1 was built without MPI: install it (Debian: libopenmpi-dev) and "
          "build again, or let each process write a report (--json) and combine them with qd1 merge");
}

job::~job() = default;
void job::give_up(int) noexcept {}

namespace ranks {

bool are_several() noexcept { return false; }
void wait_for_all() {}
std::vector<std::string> gathered(const std::string& text) { return {text}; }

}  // namespace ranks
}  // namespace qd1
