// SPDX-License-Identifier: BSL-1.0
#include "depth/ledger.hpp"

#include <fmt/format.h>

namespace qd1 {

void ledger::fail(operation what, std::uint64_t offset, const qio::result<std::size_t>& answer) {
  if (!failure_.empty()) return;  // the first one is the reason, those in flight beside it follow
  failure_ = fmt::format(
      "{} at offset {} failed: {}", name(what), offset,
      answer ? fmt::format("{} of {} bytes were transferred", answer.value(), block_) : answer.error().message());
}

}  // namespace qd1
