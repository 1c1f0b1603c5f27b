// SPDX-License-Identifier: BSL-1.0
#include "commands/separate_files.hpp"

#include "failure.hpp"
#include "platform/file.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <filesystem>
#include <system_error>

namespace qd1 {
namespace {

namespace fs = std::filesystem;

std::string identity_of(const fs::path& path) { return platform::file_identity(path.empty() ? "." : path.string()); }

bool are_same(const std::string& a, const std::string& b) { return !a.empty() && a == b; }

// Whether an output of several files, PREFIX-<series>.hgrm or DIRECTORY/<series>/fio.json, may have one of this name.
bool may_write(const named_file& output, const std::string& path) {
  std::error_code ignored;
  const fs::path other = fs::weakly_canonical(path, ignored), own = output.path;
  const std::string name = other.filename().string();
  if (output.by->value == "PREFIX")
    return name.starts_with(own.filename().string() + '-') && name.ends_with(".hgrm") &&
           are_same(identity_of(own.parent_path()), identity_of(other.parent_path()));
  if (output.by->value == "DIRECTORY")
    return name == "fio.json" && are_same(identity_of(own), identity_of(other.parent_path().parent_path()));
  return false;
}

bool is_standard_output(const named_file& file) { return file.by->is_output && file.path == "-"; }

bool would_destroy(const named_file& output, const named_file& other) {
  if (is_standard_output(output) || is_standard_output(other))
    return is_standard_output(output) && is_standard_output(other);
  return are_same(identity_of(output.path), identity_of(other.path)) || may_write(output, other.path);
}

void require_name(const named_file& file) {
  if (!file.path.empty()) return;
  throw usage_error(fmt::format("{}: the name is empty{}", file.by->name,
                                file.by->name == "PATH" ? "; for the current directory, write ." : ""));
}

}  // namespace

void require_separate_files(const std::vector<named_file>& files) {
  for (const named_file& each : files) require_name(each);
  for (const named_file& output : files) {
    if (!output.by->is_output) continue;
    for (const named_file& other : files)
      if (&other != &output && would_destroy(output, other))
        throw usage_error(fmt::format("{}: {} would replace what {} names ({}); name another file", output.by->name,
                                      output.path, other.by->name, other.path));
  }
}

}  // namespace qd1
