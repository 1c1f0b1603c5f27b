// SPDX-License-Identifier: BSL-1.0
#include "memory/ballast.hpp"

#include "measure/interruption.hpp"
#include <qio/qio.hpp>

namespace qd1 {

ballast::ballast(std::uint64_t leave, const std::function<std::optional<std::uint64_t>()>& available) {
  const std::size_t page = qio::platform::page_size();
  while (available().value_or(0) > leave && !interrupted()) {
    std::byte* const chunk = chunks_.emplace_back(std::make_unique_for_overwrite<std::byte[]>(chunk_bytes)).get();
    // Something else in each page: the kernel can merge pages that are alike.
    for (std::size_t at = 0; at < chunk_bytes; at += page)
      *reinterpret_cast<volatile std::size_t*>(chunk + at) = chunks_.size() * chunk_bytes + at;
  }
}

}  // namespace qd1
