// SPDX-License-Identifier: BSL-1.0
// A copy of the files in which a machine tells about itself, in a directory that goes away with it.
#pragma once

#include <qd1/machine/linux/location.hpp>
#include <qd1/machine/linux/machine.hpp>
#include <qd1/machine/linux/tree.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace qd1_test {

class fake_tree {
 public:
  fake_tree() {
    std::string name = (std::filesystem::temp_directory_path() / "qd1-machine-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory");
    root_ = name;
  }
  ~fake_tree() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  fake_tree(const fake_tree&) = delete;
  fake_tree& operator=(const fake_tree&) = delete;

  fake_tree& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
    return *this;
  }
  fake_tree& files(const std::string& directory, const std::vector<std::pair<std::string, std::string>>& all) {
    for (const auto& [name, text] : all) file((std::filesystem::path(directory) / name).string(), text);
    return *this;
  }
  fake_tree& directory(const std::string& path) {
    std::filesystem::create_directories(root_ / path);
    return *this;
  }
  /// A link as sysfs has them: relative.
  fake_tree& link(const std::string& path, const std::string& target) {
    const std::filesystem::path parent = (root_ / path).parent_path();
    std::filesystem::create_directories(parent);
    std::filesystem::create_symlink((root_ / target).lexically_relative(parent), root_ / path);
    return *this;
  }
  /// A block device whose own directory is `directory`: the links that lead to it.
  fake_tree& block_device(const std::string& directory, const std::string& number) {
    const std::string name = std::filesystem::path(directory).filename();
    this->directory(directory);
    file(directory + "/dev", number);
    link("sys/class/block/" + name, directory);
    link("sys/dev/block/" + number, directory);
    return *this;
  }

  std::string root() const { return root_.string(); }
  qd1::linux_system::tree system() const { return qd1::linux_system::tree(root_); }
  qd1::machine_facts find(const qd1::linux_system::location& where) const {
    return qd1::linux_system::find_machine(system(), where, 0, 4096);
  }
  /// What is under a path, by /proc/self/mountinfo of the tree alone.
  qd1::machine_facts find(const std::string& path) const {
    qd1::linux_system::location where;
    where.path = path;
    return find(where);
  }

 private:
  std::filesystem::path root_;
};

}  // namespace qd1_test
