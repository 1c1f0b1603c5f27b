// SPDX-License-Identifier: BSL-1.0
// qio, an operation whose callback starts the next one.
#include "measure/competitor.hpp"
#include <qio/qio.hpp>

#include <optional>

namespace {

class reader {
 public:
  reader(qio::async_direct_file& file, qio::aligned_buffer& buffer) : file_(file), buffer_(buffer) {}

  void read_next(compare::round& round) {
    if (!round.has_next()) return;
    const std::uint64_t offset = round.next_read();
    emplace(offset);
    operation_->start([this, &round, offset](qio::result<std::size_t> bytes) {
      round.finished_read(offset, static_cast<std::int64_t>(bytes.value()), buffer_.data());
      read_next(round);
    });
  }

 private:
  using operation = qio::operation<qio::automatic, std::size_t>;
  // An operation does not move: it is made in its place.
  struct made_in_place {
    qio::async_direct_file& file;
    std::uint64_t offset;
    qio::aligned_buffer& buffer;
    operator operation() const { return file.async_read_at(offset, buffer); }
  };
  void emplace(std::uint64_t offset) { operation_.emplace(made_in_place{file_, offset, buffer_}); }

  qio::async_direct_file& file_;
  qio::aligned_buffer& buffer_;
  std::optional<operation> operation_;
};

}  // namespace

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto file = qio::direct_file::open(context, competitor.path()).value();
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  reader one(file, buffer);
  competitor.one_at_a_time([&](compare::round& round) {
    one.read_next(round);
    context.run();
  });
}
