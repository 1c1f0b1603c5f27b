// SPDX-License-Identifier: BSL-1.0
// Asio: its file over io_uring, with a handler that starts the next read.
#include "measure/asio.hpp"

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  compare::asio_context context;
  asio::random_access_file file(context.get(), competitor.path(), asio::random_access_file::read_only);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    compare::asio_reader one{file, buffer, round};
    one.read_next();
    context.run();
  });
}
