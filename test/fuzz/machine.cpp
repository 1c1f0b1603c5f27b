// A machine with one changed file in /proc or /sys: finds all facts and describes them.
#include "fuzz.hpp"
#include "machines.hpp"

#include <nlohmann/json.hpp>
#include <qd1/machine/advice.hpp>
#include <qd1/machine/counters.hpp>
#include <qd1/machine/describe.hpp>
#include <qd1/machine/json.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

struct made_machine {
  made_machine() {
    qd1_test::make_nvme_desktop(tree);
    qd1_test::make_virtual_machine(tree);
    for (const auto& each : std::filesystem::recursive_directory_iterator(tree.root()))
      if (each.is_regular_file() && !each.is_symlink()) files.push_back(each.path());
    std::sort(files.begin(), files.end());
  }

  qd1_test::fake_tree tree;
  std::vector<std::filesystem::path> files;
};

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void look_at(const qd1_test::fake_tree& tree) {
  qd1::machine_facts found = tree.find("/home/alice/file");
  fuzz::require(!qd1::describe(found).empty(), "a machine is described");
  nlohmann::json written;
  qd1::to_json(written, found);
  const auto text = written.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  qd1::from_json(nlohmann::json::parse(text), found);
  const auto counted = qd1::linux_system::count(tree.system(), found);
  static_cast<void>(counted - counted);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const made_machine machine;
  fuzz::input from(data, size);
  const std::filesystem::path& changed = machine.files[from.below(machine.files.size())];
  const std::string before = contents(changed);
  std::ofstream(changed, std::ios::binary) << from.rest();
  look_at(machine.tree);
  std::ofstream(changed, std::ios::binary) << before;
  return 0;
}
