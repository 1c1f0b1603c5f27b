// SPDX-License-Identifier: BSL-1.0
#include "measure/transfer.hpp"

#include "failure.hpp"
#include "measure/offsets.hpp"
#include "platform/file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace qd1 {

qio::aligned_buffer buffer_for(const work& work, const qio::alignment& needed) {
  auto buffer = qio::aligned_buffer::allocate(static_cast<std::size_t>(work.block),
                                              std::max<std::size_t>(needed.memory, qio::default_buffer_alignment));
  if (!buffer) throw usage_error(fmt::format("--block: {}: {}", work.block, buffer.error().message()));
  splitmix64 random(work.block);
  for (std::byte& each : buffer.value()) each = static_cast<std::byte>(random());
  return std::move(buffer).value();
}

qio::open_options how_to_open(const work& work) {
  qio::open_options options;
  options.durable_writes = work.operation == operation::write && work.durability == durability::written_through;
  switch (work.advice) {
    case advice::normal: break;
    case advice::random: options.pattern = qio::access_pattern::random; break;
    case advice::sequential: options.pattern = qio::access_pattern::sequential; break;
  }
  return options;
}

std::string why_not_cached(const work& work, const std::string& path) {
  if (traits(work.mode).is_direct || platform::is_cacheable(path)) return {};
  return "this system does not cache what it reads from a device";
}

std::string why_not_written_through(const work& work) {
  if (work.operation != operation::write || work.durability != durability::written_through) return {};
  return traits(work.mode).maps ? "a copy into a mapping cannot be written through; see flushed" : "";
}

}  // namespace qd1
