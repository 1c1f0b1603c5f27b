// SPDX-License-Identifier: BSL-1.0
// The loop that is timed: one of the transfers that a worker keeps in flight.
#pragma once

#include "depth/ledger.hpp"
#include "measure/measure.hpp"
#include "measure/offsets.hpp"
#include "report.hpp"
#include <qio/qio.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace qd1 {

/// Which of the transfers read, in a mix by chance.
class mixture {
 public:
  mixture(double reads, std::uint64_t seed) : reads_(reads), random_(~seed) {}

  operation next() noexcept {
    if (reads_ >= 1) return operation::read;
    if (reads_ <= 0) return operation::write;
    return static_cast<double>(random_() >> 11) * 0x1p-53 < reads_ ? operation::read : operation::write;
  }

 private:
  double reads_;
  splitmix64 random_;
};

/// What the coroutines of a worker have in common.
struct worker_loop {
  ledger& to;
  mixture mix;
  offset_source next_offset;
  qd1::stamps stamps;
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();  // transfers that may still begin

  bool goes_on() noexcept {
    if (left == 0 || !to.goes_on()) return false;
    --left;
    return true;
  }
};

/// Transfers one after the other, of which one is in flight at a time. `file` and `loop` outlive it.
template <class File>
qio::task<> keep_one_in_flight(File& file, std::span<std::byte> buffer, worker_loop& loop) {
  while (loop.goes_on()) {
    const operation what = loop.mix.next();
    const std::uint64_t offset = loop.next_offset();
    const std::uint64_t begin = loop.to.now();
    if (what == operation::read) {
      loop.to.record(what, offset, begin, co_await file.async_read_at(offset, buffer));
    } else {
      loop.stamps.put_on(buffer);
      loop.to.record(what, offset, begin, co_await file.async_write_at(offset, buffer));
    }
  }
}

/// The same of a file without a context: each transfer is a call that blocks.
template <class File>
void transfer_one_by_one(File& file, std::span<std::byte> buffer, worker_loop& loop) {
  while (loop.goes_on()) {
    const operation what = loop.mix.next();
    const std::uint64_t offset = loop.next_offset();
    const std::uint64_t begin = loop.to.now();
    if (what == operation::read) {
      loop.to.record(what, offset, begin, file.read_at(offset, buffer));
    } else {
      loop.stamps.put_on(buffer);
      loop.to.record(what, offset, begin, file.write_at(offset, buffer));
    }
  }
}

}  // namespace qd1
