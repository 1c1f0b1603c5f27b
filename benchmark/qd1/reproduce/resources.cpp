// SPDX-License-Identifier: BSL-1.0
#include "reproduce/resources.hpp"

#include "failure.hpp"
#include "machine/find.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

namespace qd1 {
namespace {

constexpr std::uint64_t published_file = std::uint64_t(1) << 30;
constexpr std::uint64_t whole = std::uint64_t(1) << 20;  // files are multiples of it: whole blocks, whatever they are

// 0: it is not known, or there is nothing.
std::uint64_t size_of(const std::string& path) {
  const auto file = qio::cached_file::open(path);
  if (!file) return 0;
  const auto size = file.value().size();
  return size ? size.value() : 0;
}

std::string directory_of(const std::string& path) {
  if (platform::kind_of(path) == platform::file_kind::directory) return path;
  const std::string above = std::filesystem::path(path).parent_path().string();
  return above.empty() ? "." : above;
}

// Files fit into a quarter of what is free and of what memory is available, so that neither the disk nor the page cache
// is what is measured where that is not the subject.
std::uint64_t fitting_size(const resources& from) {
  std::uint64_t most = std::min(published_file, from.memory / 4);
  for (const std::string& each : from.paths)
    if (is_made(each)) most = std::min(most, platform::free_bytes(directory_of(each)) / 4 / from.paths.size());
  if (most < whole)
    throw usage_error(
        fmt::format("too little memory or disk space: {} bytes would be left for a file, {} are needed; "
                    "give another PATH, or --file-size",
                    most, whole));
  return most / whole * whole;
}

}  // namespace

bool is_made(const std::string& path) {
  const platform::file_kind kind = platform::kind_of(path);
  return kind == platform::file_kind::directory || kind == platform::file_kind::missing;
}

resources resources_for(const reproduce_request& request, std::uint64_t targets) {
  resources found;
  found.paths = request.paths.empty() ? std::vector<std::string>(targets, ".") : request.paths;
  found.machines.reserve(found.paths.size());
  for (const std::string& each : found.paths) found.machines.push_back(find_machine(each));
  const host_facts& host = found.machine().host;
  constexpr std::uint64_t assumed = std::uint64_t(1) << 30;
  found.memory = std::min(host.memory.available_bytes.value_or(assumed),
                          host.limits.memory_bytes.value_or(std::numeric_limits<std::uint64_t>::max()));
  found.processors = std::max<std::uint64_t>(platform::allowed_processors().size(), 1);
  found.makes_files = std::ranges::any_of(found.paths, is_made);
  for (const std::string& each : found.paths) {
    if (is_made(each)) continue;
    const std::uint64_t size = size_of(each);
    found.least_size = found.least_size == 0 ? size : std::min(found.least_size, size);
    found.may_write = found.may_write && (request.overwrite || platform::is_made_by_qd1(each));
  }
  found.file_size = request.file_size.value_or(found.makes_files ? fitting_size(found) : 0);
  found.seconds = request.seconds;
  found.seed = request.seed;
  found.overwrite = request.overwrite;
  found.allow_tuning = request.allow_tuning;
  return found;
}

}  // namespace qd1
