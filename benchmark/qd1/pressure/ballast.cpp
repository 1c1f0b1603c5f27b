// SPDX-License-Identifier: BSL-1.0
#include "pressure/ballast.hpp"

#include "measure/interruption.hpp"
#include <qio/qio.hpp>

namespace qd1 {

ballast::ballast(std::uint64_t leave, const std::function<std::optional<std::uint64_t>()>& available) {
  while (available().value_or(0) > leave && !interrupted()) touch_more();
}

void ballast::touch_more() {
  const std::size_t page = qio::platform::page_size();
  const std::size_t begin = touched_ % chunk_bytes;
  if (begin == 0) chunks_.push_back(std::make_unique_for_overwrite<std::byte[]>(chunk_bytes));
  // Something else in each page: the kernel can merge pages that are alike.
  for (std::size_t at = begin; at < begin + step_bytes; at += page)
    *reinterpret_cast<volatile std::size_t*>(chunks_.back().get() + at) = chunks_.size() * chunk_bytes + at;
  touched_ += step_bytes;
}

}  // namespace qd1
