// SPDX-License-Identifier: BSL-1.0
#include "output/text_file.hpp"

#include "failure.hpp"
#include "platform/file.hpp"
#include <qio/qio.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace qd1 {
namespace {

constexpr std::uint64_t largest_file = std::uint64_t(64) << 20;

}  // namespace

std::string read_file(const std::string& path) {
  // Opened by qio, which neither waits for the writer of a pipe nor takes a directory for a file.
  const auto fail = [&](const qio::error& failure) { throw usage_error(path + ": " + failure.message()); };
  const auto file = qio::cached_file::open(path);
  if (!file) fail(file.error());
  const auto size = file.value().size();
  if (!size) fail(size.error());
  if (size.value() > largest_file)
    throw usage_error(fmt::format("{}: has {} bytes; no report has more than {}", path, size.value(), largest_file));
  std::string text(static_cast<std::size_t>(size.value()), '\0');
  const auto read = file.value().read_at(0, std::as_writable_bytes(std::span(text)));
  if (!read) fail(read.error());
  text.resize(read.value());
  return text;
}

void write_file(const std::string& path, const std::string& contents) { platform::write_whole_file(path, contents); }

}  // namespace qd1
