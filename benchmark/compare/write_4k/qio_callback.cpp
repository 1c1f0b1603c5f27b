// SPDX-License-Identifier: BSL-1.0
// qio, an operation whose callback starts the next one.
#include "measure/competitor.hpp"
#include <qio/qio.hpp>

namespace {

class writer {
 public:
  writer(qio::async_cached_file& file, qio::aligned_buffer& buffer) : file_(file), buffer_(buffer) {}

  void write_next(compare::round& round) {
    if (!round.has_next()) return;
    const std::uint64_t offset = round.next_write(buffer_.data());
    operation_.emplace([&] { return file_.async_write_at(offset, buffer_); });
    operation_->start([this, &round, offset](qio::result<std::size_t> bytes) {
      round.finished_write(offset, static_cast<std::int64_t>(bytes.value()), buffer_.data());
      write_next(round);
    });
  }

 private:
  qio::async_cached_file& file_;
  qio::aligned_buffer& buffer_;
  qio::operation_slot<qio::operation<qio::default_engine, std::size_t>> operation_;
};

}  // namespace

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, competitor.path(), qio::access::read_write).value();
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  writer one(file, buffer);
  competitor.one_at_a_time([&](compare::round& round) {
    one.write_next(round);
    context.run();
  });
}
