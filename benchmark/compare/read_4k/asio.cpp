// SPDX-License-Identifier: BSL-1.0
// Asio: its file over io_uring, with a handler that starts the next read.
#include "measure/asio.hpp"

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
  asio::random_access_file file(context.get(), competitor.path(), asio::random_access_file::read_only);
  compare::page buffer;
  competitor.one_at_a_time([&](compare::round& round) {
    reader one{file, buffer, round};
    one.read_next();
    context.run();
  });
}
