// SPDX-License-Identifier: BSL-1.0
// Asio: handlers that start the next read. A file for each read in flight, since Asio has but one in flight of a file.
#include "measure/asio.hpp"

#include "fan_out/depth.hpp"

#include <deque>

namespace {

struct reader {
  asio::random_access_file& file;
  compare::page& buffer;
  compare::round& round;

  void read_next() {
    if (!round.has_next()) return;
    const std::uint64_t offset = round.next_read();
    file.async_read_some_at(offset, asio::buffer(buffer.bytes),
                            [this, offset](asio::error_code error, std::size_t bytes) {
                              if (error) compare::fail("asio", error.message().c_str());
                              round.finished_read(offset, static_cast<std::int64_t>(bytes), buffer.bytes);
                              read_next();
                            });
  }
};

}  // namespace

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  compare::asio_context context;
  std::deque<asio::random_access_file> files;
  for (std::size_t index = 0; index < compare::depth; ++index)
    files.emplace_back(context.get(), competitor.path(), asio::random_access_file::read_only);
  compare::page buffers[compare::depth];
  competitor.in_parallel([&](compare::round& round) {
    std::deque<reader> readers;
    for (std::size_t index = 0; index < compare::depth; ++index)
      readers.push_back({files[index], buffers[index], round});
    for (reader& each : readers) each.read_next();
    context.run();
  });
}
