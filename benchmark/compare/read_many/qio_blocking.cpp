// SPDX-License-Identifier: BSL-1.0
// qio, batches without a context.
#include "measure/depth.hpp"
#include "measure/qio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto file = qio::cached_file::open(competitor.path()).value();
  auto buffers = compare::buffers_for(compare::depth);
  auto batch = compare::requests_for(buffers);
  competitor.in_parallel([&](compare::round& round) {
    while (round.has_next()) {
      const auto some = compare::next_requests(std::span(batch), round);
      static_cast<void>(file.read_many(some));
      compare::finished_requests(some, round);
    }
  });
}
