// SPDX-License-Identifier: BSL-1.0
// qio: sixteen tasks that append to one log.
#include "measure/log.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto log = compare::new_log(context, competitor);
  competitor.in_parallel([&](compare::round& round) {
    std::vector<qio::task<>> writers;
    for (int each = 0; each < 16; ++each) writers.push_back(compare::append_in_turn(log, round));
    context.run(qio::when_all(std::move(writers)));
  });
}
