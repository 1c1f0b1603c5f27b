// SPDX-License-Identifier: BSL-1.0
// Asio: a handler for each read of a batch. A file for each, since Asio has but one in flight of a file.
#include "measure/asio.hpp"

#include "measure/depth.hpp"

#include <deque>

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  compare::asio_context context;
  std::deque<asio::random_access_file> files;
  for (std::size_t index = 0; index < compare::depth; ++index)
    files.emplace_back(context.get(), competitor.path(), asio::random_access_file::read_only);
  compare::page buffers[compare::depth];
  competitor.in_parallel([&](compare::round& round) {
    while (round.has_next()) {
      for (std::size_t index = 0; index < compare::depth && round.has_next(); ++index) {
        const std::uint64_t offset = round.next_read();
        files[index].async_read_some_at(
            offset, asio::buffer(buffers[index].bytes),
            [&round, offset, memory = buffers[index].bytes](asio::error_code error, std::size_t bytes) {
              if (error) compare::fail("asio", error.message().c_str());
              round.finished_read(offset, static_cast<std::int64_t>(bytes), memory);
            });
      }
      context.run();
    }
  });
}
