// Opens files by names that come from somebody else. None of them leads out of the directory.
#include <qio/qio.hpp>

#include <cstdio>
#include <filesystem>

int main() {
  namespace fs = std::filesystem;
  fs::create_directories("directory.tmp/public/images");
  fs::create_directory_symlink("../..", "directory.tmp/public/up");
  const auto put = [](const char* path) {
    qio::cached_file::open(path, qio::access::write, qio::creation::always_new).value();
  };
  put("directory.tmp/secret");
  put("directory.tmp/public/images/logo");

  const auto directory = qio::directory::open("directory.tmp/public");
  int opened = 0;
  if (directory)
    for (const char* name : {"images/logo", "../secret", "up/directory.tmp/secret", "/etc/passwd"}) {
      const auto file = qio::cached_file::open(name, qio::access::read, qio::creation::open_existing,
                                               {.beneath = &directory.value()});
      std::printf("%s: %s\n", name, file ? "opened" : file.error().message().c_str());
      opened += file.has_value();
    }
  else  // Windows, and Linux before 5.6
    std::printf("%s\n", directory.error().message().c_str());
  fs::remove_all("directory.tmp");
  return !directory || opened == 1 ? 0 : 1;
}
