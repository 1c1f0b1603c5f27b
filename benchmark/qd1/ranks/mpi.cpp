// SPDX-License-Identifier: BSL-1.0
#include "ranks/ranks.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdlib>
#include <numeric>

namespace qd1 {
namespace {

int ranks_in_job = 1;
int own_rank = 0;

// MPI is begun only where it was asked for: that takes a while, and starts threads.
bool started_by_mpirun() {
  for (const char* each : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(each) != nullptr) return true;
  return false;
}

}  // namespace

job::job() {
  if (!started_by_mpirun()) return;
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks_in_job);
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
}

job::~job() {
  if (started_by_mpirun()) MPI_Finalize();
}

void job::give_up(int status) noexcept {
  if (ranks::are_several()) MPI_Abort(MPI_COMM_WORLD, status);
}

namespace ranks {

bool are_several() noexcept { return ranks_in_job > 1; }

void wait_for_all() {
  if (are_several()) MPI_Barrier(MPI_COMM_WORLD);
}

std::vector<std::string> gathered(const std::string& text) {
  if (!are_several()) return {text};
  const int own_size = static_cast<int>(text.size());
  std::vector<int> sizes(static_cast<std::size_t>(ranks_in_job));
  MPI_Gather(&own_size, 1, MPI_INT, sizes.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
  std::vector<int> starts(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), starts.begin(), 0);
  std::string all(own_rank == 0 ? static_cast<std::size_t>(starts.back() + sizes.back()) : 0, '\0');
  MPI_Gatherv(text.data(), own_size, MPI_CHAR, all.data(), sizes.data(), starts.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
  std::vector<std::string> found;
  if (own_rank != 0) return found;
  found.reserve(sizes.size());
  for (std::size_t each = 0; each < sizes.size(); ++each)
    found.push_back(all.substr(static_cast<std::size_t>(starts[each]), static_cast<std::size_t>(sizes[each])));
  return found;
}

}  // namespace ranks
}  // namespace qd1
