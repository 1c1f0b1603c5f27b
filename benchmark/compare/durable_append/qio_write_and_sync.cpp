// SPDX-License-Identifier: BSL-1.0
// qio: a write into the page cache, and a sync.
#include "measure/qio.hpp"

namespace {

template <class File>
qio::task<> append_in_turn(File& file, qio::aligned_buffer& buffer, compare::round& round) {
  while (round.has_next()) {
    const std::uint64_t offset = round.next_append(buffer.data());
    const auto done = co_await file.async_write_and_sync(offset, buffer);
    if (!done.synced) compare::fail("sync", done.synced.error().message().c_str());
    round.finished_write(offset, static_cast<std::int64_t>(done.written.value()), buffer.data());
  }
}

}  // namespace

int main(int argc, char** argv) {
  compare::competitor competitor(argc, argv);
  auto context = qio::context::create().value();
  auto file = qio::cached_file::open(context, competitor.path(), qio::access::read_write).value();
  auto buffer = qio::aligned_buffer::allocate(compare::block).value();
  competitor.one_at_a_time([&](compare::round& round) { context.run(append_in_turn(file, buffer, round)); });
}
