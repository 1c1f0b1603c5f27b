// SPDX-License-Identifier: BSL-1.0
#include "reproduce/resources.hpp"

#include "failure.hpp"
#include "machine/find.hpp"
#include "platform/file.hpp"
#include "platform/process.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace qd1 {
namespace {

constexpr std::uint64_t published_file = std::uint64_t(1) << 30;
constexpr std::uint64_t whole = std::uint64_t(1) << 20;  // files are multiples of it: whole blocks, whatever they are

bool is_made(const std::string& path) {
  const platform::file_kind kind = platform::kind_of(path);
  return kind == platform::file_kind::directory || kind == platform::file_kind::missing;
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
        fmt::format("memory or disk is too short: {} bytes would be left for a file, {} are needed; "
                    "give another PATH, or --file-size",
                    most, whole));
  return most / whole * whole;
}

}  // namespace

resources resources_for(const reproduce_request& request, std::uint64_t targets) {
  resources found;
  found.paths = request.paths.empty() ? std::vector<std::string>(targets, ".") : request.paths;
  found.machines.reserve(found.paths.size());
  for (const std::string& each : found.paths) found.machines.push_back(find_machine(each));
  const host_facts& host = found.machine().host;
  found.memory = host.memory.available_bytes.value_or(std::uint64_t(1) << 30);
  if (host.limits.memory_bytes)
    found.memory =
        std::min(found.memory, *host.limits.memory_bytes -
                                   std::min(*host.limits.memory_bytes, host.limits.memory_used_bytes.value_or(0)));
  found.processors = std::max<std::uint64_t>(platform::allowed_processors().size(), 1);
  found.makes_files = std::ranges::any_of(found.paths, is_made);
  found.file_size = request.file_size.value_or(found.makes_files ? fitting_size(found) : 0);
  found.seconds = request.seconds;
  found.seed = request.seed;
  found.overwrite = request.overwrite;
  found.allow_tuning = request.allow_tuning;
  return found;
}

}  // namespace qd1
