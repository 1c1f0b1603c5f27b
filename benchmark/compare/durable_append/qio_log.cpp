// SPDX-License-Identifier: BSL-1.0
// qio: a record of a log, in a block of its own.
#include "measure/log.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto log = compare::new_log(context, competitor);
  const std::vector<std::byte> record(4000);
  const auto append = [&](compare::round& round) -> qio::task<> {
    while (round.has_next()) {
      static_cast<void>(round.next_record());
      const auto durable = co_await log.append(record);
      round.finished_record(durable ? 0 : -1);
    }
  };
  competitor.one_at_a_time([&](compare::round& round) { context.run(append(round)); });
}
