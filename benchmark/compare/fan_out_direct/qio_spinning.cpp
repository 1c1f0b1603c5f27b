// SPDX-License-Identifier: BSL-1.0
// qio, as many coroutines as reads are to be in flight, on one context that waits
// awake.
#include "fan_out/depth.hpp"
#include "measure/competitor.hpp"
#include <qio/qio.hpp>

namespace {

qio::task<> read_in_turn(qio::async_direct_file& file, qio::aligned_buffer& buffer, compare::round& round) {
  while (round.has_next()) {
    const std::uint64_t offset = round.next_read();
    const auto bytes = co_await file.async_read_at(offset, buffer);
    round.finished_read(offset, static_cast<std::int64_t>(bytes.value()), buffer.data());
  }
}

}  // namespace

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create({.waiting = qio::wait_policy::spin}).value();
  auto opened = qio::direct_file::open(context, competitor.path());
  if (!opened) compare::cannot_be_had("direct I/O", opened.error().message().c_str());
  auto& file = opened.value();
  std::vector<qio::aligned_buffer> buffers;
  for (std::size_t index = 0; index < compare::depth; ++index)
    buffers.push_back(qio::aligned_buffer::allocate(compare::block).value());
  competitor.in_parallel([&](compare::round& round) {
    std::vector<qio::task<>> readers;
    for (qio::aligned_buffer& buffer : buffers) readers.push_back(read_in_turn(file, buffer, round));
    context.run(qio::when_all(std::move(readers)));
  });
}
