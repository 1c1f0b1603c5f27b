// A file with bad sectors: needs root.
#pragma once

#include "disk.hpp"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace fault {

/// A file of which some blocks cannot be read. Its inode (ext2) is changed so that they are at the end of the device,
/// and the end is cut off.
class damaged_file {
 public:
  static constexpr std::size_t block = 1024, most_blocks = 12;

  static char content(std::size_t position) { return static_cast<char>(1 + position * 7 / 3 % 255); }

  /// `bytes` of content(), at most as many blocks as the inode itself lists.
  damaged_file(std::size_t bytes, const std::vector<std::size_t>& bad_blocks) : device_(16 << 20) {
    missing = device_.missing;
    if (!missing.empty()) return;
    const std::string source = directory_.path + "/source", mounted = directory_.path + "/mounted";
    std::filesystem::create_directory(source);
    std::filesystem::create_directory(mounted);
    std::string data(bytes, '\0');
    for (std::size_t i = 0; i < bytes; ++i) data[i] = content(i);
    std::ofstream(source + "/file", std::ios::binary) << data;

    std::string commands = "mkfs.ext2 -q -b 1024 -d " + source + " " + device_.path;
    std::size_t beyond = 15 << 10;
    for (const std::size_t each : bad_blocks)
      commands += " && debugfs -w -R 'set_inode_field /file block[" + std::to_string(each) + "] " +
                  std::to_string(beyond++) + "' " + device_.path;
    commands += " && mount " + device_.path + " " + mounted + " && truncate -s 12M " + device_.image();
    bool ok = false;
    const std::string said = output_of(commands, &ok);
    is_mounted_ = std::filesystem::exists(mounted + "/file");
    if (!ok) missing = "no damaged file: " + said;
    path = mounted + "/file";
  }
  damaged_file(const damaged_file&) = delete;
  damaged_file& operator=(const damaged_file&) = delete;
  ~damaged_file() {
    const std::string mounted = directory_.path + "/mounted";
    if (is_mounted_) output_of("umount " + mounted + " || umount --lazy " + mounted);
  }

  std::string path;
  std::string missing;  ///< why there is no damaged file; otherwise empty

 private:
  loop_device device_;
  scratch directory_;
  bool is_mounted_ = false;
};

}  // namespace fault
