// The queues of a ring, with each set of features that a kernel may have.
#include "catch.hpp"
#include <qio/qio.hpp>

#if QIO_HAS_URING
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace {

constexpr unsigned entries = 4;

/// Opens `made` as a kernel would that lacks the `lacking` newest features. 0, or a negated system error.
int open_without(qio::detail::ring& made, std::size_t lacking) {
  io_uring_params parameters{};
  for (std::size_t i = lacking; i < std::size(qio::detail::ring_features); ++i)
    parameters.flags |= qio::detail::ring_features[i].flags;
  const int answer = made.open(entries, parameters);
  if (answer == 0 && made.has(IORING_SETUP_R_DISABLED)) qio::detail::enable_ring(made);
  return answer;
}

}  // namespace

TEST_CASE("every entry that is put into a ring completes, round after round") {
  for (std::size_t lacking = 0; lacking <= std::size(qio::detail::ring_features); ++lacking) {
    CAPTURE(lacking);
    qio::detail::ring ring;
    if (const int answer = open_without(ring, lacking); answer != 0) {
      if (answer == -EINVAL) continue;  // this kernel itself lacks one of the rest
      QIO_SKIP("no io_uring here: " + std::generic_category().message(-answer));
    }
    ring.register_descriptor();
    std::uint64_t put = 0, taken = 0;
    bool in_order = true;
    for (int round = 0; round < 10; ++round) {
      const unsigned count = round % 2 == 0 ? ring.submission_capacity() : 3;  // so that rounds begin anywhere
      for (unsigned i = 0; i < count; ++i) {
        io_uring_sqe* const entry = ring.next_entry();
        REQUIRE(entry != nullptr);
        entry->opcode = IORING_OP_NOP;
        entry->user_data = put++;
      }
      if (count == ring.submission_capacity()) CHECK(ring.next_entry() == nullptr);
      CHECK(ring.pending() == count);
      CHECK(ring.enter(count) == static_cast<int>(count));
      CHECK(ring.pending() == 0);
      CHECK(ring.has_completions());
      ring.take_completions([&](const io_uring_cqe& completion) {
        in_order = in_order && completion.user_data == taken++ && completion.res == 0;
      });
      CHECK_FALSE(ring.has_completions());
    }
    CHECK(in_order);
    CHECK(taken == put);
    const __kernel_timespec soon{0, 1000};
    CHECK(ring.enter_until(1, soon) == -ETIME);
  }
}

TEST_CASE("a ring stays in use if entering it fails for a moment, and no longer if the system refuses it") {
  for (const int passing : {EINTR, ETIME, EAGAIN, EBUSY}) CHECK(qio::detail::passes_by_itself(passing));
  for (const int refusing : {EPERM, ENOSYS, EACCES}) CHECK_FALSE(qio::detail::passes_by_itself(refusing));
}

TEST_CASE("entries that the kernel has not taken can be taken back, oldest first") {
  qio::detail::ring ring;
  if (const int answer = ring.open(entries, {}); answer != 0)
    QIO_SKIP("no io_uring here: " + std::generic_category().message(-answer));
  for (std::uint64_t round = 0; round < 3; ++round) {
    io_uring_sqe* const taken = ring.next_entry();
    taken->opcode = IORING_OP_NOP;
    taken->user_data = 100;
    REQUIRE(ring.enter(1) == 1);
    for (std::uint64_t each = 0; each < entries; ++each) ring.next_entry()->user_data = each;
    std::uint64_t back = 0;
    bool in_order = true;
    ring.take_back([&](const io_uring_sqe& entry) { in_order = in_order && entry.user_data == back++; });
    CHECK(in_order);
    CHECK(back == entries);
    CHECK(ring.pending() == 0);
    CHECK(ring.enter(0) == 0);
    std::uint64_t completed = 0;
    ring.take_completions([&](const io_uring_cqe& completion) { completed += completion.user_data == 100; });
    CHECK(completed == 1);
  }
}

TEST_CASE("a failed open leaves a ring unchanged") {
  qio::detail::ring ring;
  io_uring_params nonsense{};
  nonsense.flags = ~0u;
  CHECK(ring.open(entries, nonsense) < 0);
  CHECK_FALSE(ring.is_open());
}

TEST_CASE("a transfer that the kernel did not wait for is not finished, unless it is canceled") {
  std::byte memory[8];
  qio::file_activity activity;
  for (const auto op : {qio::opcode::read, qio::opcode::write, qio::opcode::sync}) {
    qio::request r;
    r.op = op;
    r.activity = &activity;
    r.io = qio::detail::transfer(0, qio::mutable_buffer(memory, sizeof memory));
    const bool is_transfer = op != qio::opcode::sync;
    CHECK(qio::detail::ends_otherwise(r, -EAGAIN) != is_transfer);
    CHECK(r.failed() != is_transfer);
    if (!is_transfer) continue;
    r.cancel_requested = true;
    CHECK(qio::detail::ends_otherwise(r, -EAGAIN));
    CHECK(r.failure == std::errc::operation_canceled);
  }
}
#endif
