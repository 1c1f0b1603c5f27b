// detail::transfer: what it requests from the system, and what the results mean.
#include "catch.hpp"
#include "os.hpp"
#include <qio/request/request.hpp>

#include <algorithm>
#include <vector>

using qio::detail::transfer;
using progress = transfer::progress;

namespace {

// Addresses only: nothing is read or written there. The compiler must not know how few bytes there are, because some
// transfers claim to be gigabytes long.
std::byte storage[64];
std::byte* volatile somewhere = storage;
std::byte* const memory = somewhere;

qio::mutable_buffer piece_of(std::size_t offset, std::size_t bytes) { return {memory + offset, bytes}; }

std::span<const qio::mutable_buffer> several(const std::vector<qio::mutable_buffer>& buffers) { return buffers; }

}  // namespace

TEST_CASE("one buffer: every result of a read") {
  struct row {
    qio::detail::raw_result answer;
    std::uint32_t alignment;
    progress next;
    std::size_t transferred;
    int failure;
  };
  const row table[] = {
      {10, 1, progress::finished, 10, 0},  // everything
      {4, 1, progress::unfinished, 4, 0},  // short: to be continued
      {0, 1, progress::finished, 0, 0},    // the end of the file
      {-os::interrupted, 1, progress::unfinished, 0, 0},
      {-os::io_error, 1, progress::finished, 0, os::io_error},
      {-os::no_file, 1, progress::finished, 0, os::no_file},
      {4, 8, progress::finished, 4, 0},    // direct, between two blocks: the end of the file
      {8, 8, progress::unfinished, 8, 0},  // direct, after a block: to be continued
  };
  for (const row& each : table) {
    CAPTURE(each.answer, each.alignment);
    transfer io(16, piece_of(0, 10));
    qio::error failure;
    CHECK(io.after_read(each.answer, each.alignment, failure) == each.next);
    CHECK(io.transferred() == each.transferred);
    CHECK(failure.code().value() == each.failure);
    CHECK(failure.exists() == (each.failure != 0));
    CHECK(io.next_offset() == 16 + each.transferred);
    if (each.next == progress::unfinished) {
      CHECK(io.next().single.data == memory + each.transferred);
      CHECK(io.next().single.size == 10 - each.transferred);
    }
  }
}

TEST_CASE("one buffer: every result of a write") {
  const std::pair<int, int> table[] = {
      {10, 0}, {0, static_cast<int>(std::errc::io_error)}, {-os::disk_full, os::disk_full}};
  for (const auto& [answer, code] : table) {
    CAPTURE(answer);
    transfer io(0, piece_of(0, 10));
    qio::error failure;
    CHECK(io.after_write(answer, failure) == progress::finished);
    CHECK(failure.code().value() == code);
  }
  transfer io(0, piece_of(0, 10));
  qio::error failure;
  CHECK(io.after_write(-os::interrupted, failure) == progress::unfinished);
  CHECK(io.after_write(3, failure) == progress::unfinished);
  CHECK(io.after_write(-os::disk_full, failure) == progress::finished);
  CHECK(failure.transferred() == 3);
  CHECK(failure.message().find("after 3 bytes") != std::string::npos);
}

TEST_CASE("the fast path accepts the common result, and no other") {
  transfer io(0, piece_of(0, 10));
  for (const int other : {0, -os::interrupted, -os::io_error, 9, 11}) CHECK(!io.is_finished_by(other));
  CHECK(io.transferred() == 0);
  CHECK(io.is_finished_by(10));
  CHECK(io.transferred() == 10);
}

TEST_CASE("a buffer larger than one call can move is split into aligned pieces") {
  constexpr std::size_t limit = qio::detail::max_transfer_bytes;
  transfer io(0, qio::mutable_buffer(memory, 3 * limit));
  qio::error failure;
  CHECK(io.next().single.size == limit);
  CHECK(io.after_read(limit, 4096, failure) == progress::unfinished);
  CHECK(io.next().offset == limit);
  CHECK(io.next().offset % 4096 == 0);
}

TEST_CASE("several buffers are requested 1024 at a time, and the rest of one by itself") {
  const std::vector<qio::mutable_buffer> buffers(3000, piece_of(0, 2));
  transfer io(100, several(buffers));
  CHECK(io.total() == 6000);
  qio::error failure;
  CHECK(io.next().vector == buffers.data());
  CHECK(io.next().vector_size == 1024);
  CHECK(io.after_read(2048, 1, failure) == progress::unfinished);
  CHECK(io.next().vector == buffers.data() + 1024);
  CHECK(io.after_read(3, 1, failure) == progress::unfinished);  // one and a half
  CHECK(io.next().vector == nullptr);
  CHECK(io.next().single.data == memory + 1);
  CHECK(io.next().single.size == 1);
  CHECK(io.next().offset == 100 + 2051);
  CHECK(io.after_read(1, 1, failure) == progress::unfinished);
  CHECK(io.next().vector == buffers.data() + 1026);
  CHECK(io.after_read(2048, 1, failure) == progress::unfinished);
  CHECK(io.next().vector_size == 3000 - 1026 - 1024);
  CHECK(io.after_read(2 * (3000 - 1026 - 1024), 1, failure) == progress::finished);
  CHECK(io.transferred() == 6000);
}

TEST_CASE("empty buffers are skipped, wherever they are") {
  const std::vector<qio::mutable_buffer> buffers{{}, {}, piece_of(0, 2), {}, piece_of(2, 2), {}};
  transfer io(0, several(buffers));
  qio::error failure;
  CHECK(io.next().vector == buffers.data() + 2);
  CHECK(io.after_read(2, 1, failure) == progress::unfinished);
  CHECK(io.next().vector == buffers.data() + 4);
  CHECK(io.after_read(2, 1, failure) == progress::finished);
  CHECK(transfer(0, std::span<const qio::mutable_buffer>()).total() == 0);
  CHECK(transfer(0, several(std::vector<qio::mutable_buffer>(3))).total() == 0);
}

TEST_CASE("a sum of lengths that overflows saturates") {
  const std::vector<qio::mutable_buffer> buffers(5, qio::mutable_buffer(memory, std::size_t(1) << 62));
  CHECK(transfer(0, several(buffers)).total() > qio::detail::max_offset);
}

TEST_CASE("however the system splits a transfer, every byte is moved once") {
  for (std::size_t step = 1; step <= 7; ++step) {
    std::vector<qio::mutable_buffer> buffers;
    for (std::size_t size : {3u, 0u, 5u, 1u, 0u, 8u}) buffers.push_back(piece_of(0, size));
    transfer io(0, several(buffers));
    qio::error failure;
    std::size_t calls = 0;
    for (;; ++calls) {
      REQUIRE(calls < 100);
      const auto piece = io.next();
      std::size_t asked = piece.single.size;
      for (std::size_t i = 0; i < piece.vector_size; ++i) asked += piece.vector[i].size;
      REQUIRE(asked > 0);
      if (io.after_read(static_cast<std::int64_t>(std::min(step, asked)), 1, failure) == progress::finished) break;
    }
    CHECK(io.transferred() == 17);
  }
}
