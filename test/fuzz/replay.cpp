// For builds without libFuzzer: runs a target on each file given, and on each file in the directories given.
#include "fuzz.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

void replay(const std::filesystem::path& path) {
  std::printf("%s\n", path.string().c_str());
  std::fflush(stdout);
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  for (int each = 1; each < argc; ++each) {
    const std::filesystem::path named = argv[each];
    std::vector<std::filesystem::path> paths;
    if (std::filesystem::is_directory(named))
      paths.assign(std::filesystem::directory_iterator(named), {});
    else
      paths.push_back(named);
    for (const auto& path : paths) replay(path);
    count += paths.size();
  }
  return count == 0 ? 1 : 0;
}
