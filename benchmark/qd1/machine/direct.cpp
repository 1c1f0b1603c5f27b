// SPDX-License-Identifier: BSL-1.0
#include <qio/qio.hpp>

#include <qd1/machine/direct.hpp>

#include <filesystem>
#include <system_error>

namespace qd1 {
namespace {

direct_facts of_file(const std::string& path, const qio::open_options& options) {
  direct_facts facts;
  const auto file = qio::direct_file::open(path, qio::access::read, qio::creation::open_existing, options);
  if (!file) {
    if (file.error() != qio::errc::direct_not_supported && file.error() != qio::errc::direct_in_memory) return facts;
    facts.possible = false;
    facts.reason = file.error().message();
    return facts;
  }
  facts.possible = true;
  const qio::alignment needed = file.value().alignment();
  facts.memory_alignment = needed.memory;
  facts.read_alignment = needed.read;
  facts.write_alignment = needed.write;
  const qio::explanation explained = file.value().explain();
  if (const qio::fact* const fact = explained.find("alignment")) facts.reason = fact->reason;
  return facts;
}

}  // namespace

direct_facts find_direct_of(const std::string& path) { return of_file(path, {}); }

direct_facts find_direct(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    // To open something else, such as a watchdog, may have an effect.
    const bool has_data = std::filesystem::is_regular_file(path, error) || std::filesystem::is_block_file(path, error);
    return has_data ? find_direct_of(path) : direct_facts();
  }
  // Others may exchange what is there meanwhile, for links that lead elsewhere.
  const auto directory = qio::directory::open(path);
  if (!directory && directory.error() != qio::errc::beneath_not_supported) return {};
  qio::open_options options;
  if (directory) options.beneath = &directory.value();
  constexpr int enough = 64;  // a directory may have millions
  int seen = 0;
  for (std::filesystem::directory_iterator each(path, error), end; !error && each != end && seen++ < enough;
       each.increment(error)) {
    if (!each->is_regular_file(error) || each->is_symlink(error)) continue;
    const std::filesystem::path file = directory ? each->path().filename() : each->path();
    if (direct_facts found = of_file(file.string(), options); found.possible) return found;
  }
  return {};
}

}  // namespace qd1
