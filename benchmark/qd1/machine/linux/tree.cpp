// SPDX-License-Identifier: BSL-1.0
#include <qd1/machine/linux/text.hpp>
#include <qd1/machine/linux/tree.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>

namespace qd1::linux_system {

tree::tree(std::filesystem::path root) {
  std::error_code error;
  root_ = std::filesystem::canonical(root, error);
  if (error) root_ = std::move(root);
}

bool tree::exists(const std::filesystem::path& path) const {
  std::error_code error;
  return std::filesystem::exists(root_ / path, error);
}

bool tree::is_file(const std::filesystem::path& path) const {
  std::error_code error;
  return std::filesystem::is_regular_file(root_ / path, error);
}

// By <cstdio>: reading some attributes fails (wbt_lat_usec where there is no throttling), and a file stream would
// throw or show that as an empty text.
std::optional<std::string> tree::text(const std::filesystem::path& path) const {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen((root_ / path).c_str(), "re"), std::fclose);
  if (!file) return std::nullopt;
  std::string all;
  std::array<char, 4096> part;
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), file.get())) all.append(part.data(), got);
  if (std::ferror(file.get()) != 0) return std::nullopt;
  return std::string(trimmed(all));
}

std::optional<std::uint64_t> tree::number(const std::filesystem::path& path) const {
  const auto found = text(path);
  return found ? to_number(*found) : std::nullopt;
}

std::optional<bool> tree::flag(const std::filesystem::path& path) const {
  const auto found = number(path);
  return found ? std::optional(*found != 0) : std::nullopt;
}

std::vector<std::string> tree::names(const std::filesystem::path& path) const {
  std::vector<std::string> found;
  std::error_code error;
  for (std::filesystem::directory_iterator each(root_ / path, error), end; !error && each != end; each.increment(error))
    found.push_back(each->path().filename());
  std::ranges::sort(found,
                    [](const std::string& a, const std::string& b) { return strverscmp(a.c_str(), b.c_str()) < 0; });
  return found;
}

std::optional<std::filesystem::path> tree::resolved(const std::filesystem::path& path) const {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(root_ / path, error);
  if (error) return std::nullopt;
  return target.lexically_relative(root_);
}

}  // namespace qd1::linux_system
