// fork(2) in a program that has loaded and unloaded a plugin, which installs handlers for it.
#include "catch.hpp"
#include "child_process.hpp"
#include "descriptors.hpp"
#include "loaded_module.hpp"
#include "plugin.hpp"

TEST_CASE("a child process has no descriptor of a plugin's contexts, and the plugin may be unloaded") {
  const auto before = qio_test::anonymous_descriptors();
  const auto inherited = [] {
    return qio_test::in_child([] { return static_cast<int>(qio_test::anonymous_descriptors()); });
  };
  for (int round = 0; round < 3; ++round) {
    {
      const qio_test::loaded_module plugin(PLUGIN);
      REQUIRE(plugin.exists());
      REQUIRE(plugin.find<keep_context_function>("keep_context")() == 0);
      CHECK(inherited() == static_cast<int>(before));
    }
    CHECK(qio_test::anonymous_descriptors() == before);
    CHECK(inherited() == static_cast<int>(before));
  }
}
