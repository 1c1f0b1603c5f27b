// SPDX-License-Identifier: BSL-1.0
// Asio: handlers that start the next read. A file for each read in flight, since Asio has but one in flight of a file.
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
    std::deque<compare::asio_reader> readers;
    for (std::size_t index = 0; index < compare::depth; ++index)
      readers.push_back({files[index], buffers[index], round});
    for (compare::asio_reader& each : readers) each.read_next();
    context.run();
  });
}
