// SPDX-License-Identifier: BSL-1.0
// A log of qio beside the data file, and tasks that append to it.
#pragma once

#include "measure/qio.hpp"
#include <qio/log_writer.hpp>

#include <array>
#include <string>

namespace compare {

inline constexpr std::size_t record = 100;  // bytes

using direct_log = qio::log_writer<qio::direct>;

/// The name is gone at once, and the file with the process.
inline direct_log new_log(qio::context& context, const competitor& of) {
  const std::string path = std::string(of.path()) + ".log." + std::to_string(::getpid());
  auto file = direct_or_none(qio::direct_file::open(context, path, qio::access::read_write, qio::creation::always_new));
  ::unlink(path.c_str());
  const auto accept = [](const qio::log_record&) { return true; };
  return context.run(qio::open_log(std::move(file), accept)).value();
}

inline qio::task<> append_in_turn(direct_log& log, round& round) {
  std::array<std::byte, record> bytes{};
  while (round.has_next()) {
    const std::uint64_t number = round.next_record();
    std::memcpy(bytes.data(), &number, sizeof number);
    const auto durable = co_await log.append(bytes);
    round.finished_record(durable ? 0 : -1);
  }
}

}  // namespace compare
