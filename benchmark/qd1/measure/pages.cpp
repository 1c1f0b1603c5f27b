// SPDX-License-Identifier: BSL-1.0
#include "measure/pages.hpp"

#include "platform/file.hpp"
#include "units.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace qd1 {
namespace {

std::uint64_t pages(std::uint64_t bytes) { return bytes / qio::platform::page_size(); }

std::string why_not_empty(const std::string& path, std::uint64_t bytes) {
  const auto left = platform::cached_pages(path, bytes);
  if (!left) return "the system does not report which pages are in memory, so cold cannot be verified";
  if (*left <= pages(bytes) / 100) return {};
  return fmt::format("{} of {} pages stay in memory after they were dropped (mapped, locked or dirty)", grouped(*left),
                     grouped(pages(bytes)));
}

}  // namespace

void fill_cache(const std::string& path, std::uint64_t bytes) {
  if (const auto there = platform::cached_pages(path, bytes); there) {
    if (*there == pages(bytes)) return;
    platform::drop_cached_pages(path);
  }
  if (const auto file = qio::cached_file::open(path); file) touch_all(file.value(), bytes);
}

std::string empty_cache(const std::string& path, std::uint64_t bytes) {
  platform::drop_cached_pages(path);
  std::string reason = why_not_empty(path, bytes);
  for (int attempt = 0; attempt < 20 && !reason.empty(); ++attempt) {
    // What an earlier round has read may still be held for a moment: by a ring that is being taken down, or a processor
    // that has yet to put pages into their lists.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    platform::drop_cached_pages(path);
    reason = why_not_empty(path, bytes);
  }
  return reason;
}

}  // namespace qd1
