// Errors that come from another module: a plugin, which has copies of the library's objects, such as its categories.
#include "catch.hpp"
#include "directory.hpp"
#include "loaded_module.hpp"
#include "plugin.hpp"
#include <qio/qio.hpp>

#include <fstream>
#include <string>

using qio::errc;

namespace {

struct loaded_plugin : qio_test::loaded_module {
  loaded_plugin() : loaded_module(PLUGIN) { REQUIRE(exists()); }
};

struct foreign_category final : std::error_category {
  const char* name() const noexcept override { return "qio"; }
  std::string message(int) const override { return "foreign"; }
};

}  // namespace

TEST_CASE("an error of another module is the error that it would be of this one") {
  const loaded_plugin plugin;
  REQUIRE(plugin.find<address_of_category_function>("address_of_category")() != &qio::qio_category());
  qio::error own, of_system, of_deadline;
  plugin.find<make_errors_function>("make_errors")(&own, &of_system, &of_deadline);

  CHECK(own.is_qio());
  CHECK(own == errc::beyond_end);
  CHECK(own != errc::misaligned_offset);
  CHECK(own == qio::error(errc::beyond_end));
  CHECK(own == make_error_code(errc::beyond_end));
  CHECK(own == std::errc::invalid_argument);
  CHECK(own != std::errc::io_error);
  CHECK(own.given() == 8192);
  CHECK(own.needed() == 4096);
  CHECK(own.transferred() == 0);
  CHECK(own.message() == qio::error(errc::beyond_end, 8192, 4096).message());

  CHECK(!of_system.is_qio());
  CHECK(of_system == std::errc::no_such_file_or_directory);
  CHECK(of_system != std::errc::file_exists);
  CHECK(of_system == qio::cached_file::open("no such file, nor a directory").error());
  CHECK(of_system != own);

  CHECK(!of_deadline.is_qio());
  CHECK(of_deadline == std::errc::timed_out);
  CHECK(of_deadline == std::make_error_code(std::errc::timed_out));
  CHECK(of_deadline.message() == qio::error(std::make_error_code(std::errc::timed_out)).message());
}

TEST_CASE("a std::error_code of another module compares with qio::errc and std::errc") {
  const loaded_plugin plugin;
  std::error_code code;
  plugin.find<make_code_function>("make_code")(&code);
  CHECK(code == errc::beyond_end);
  CHECK(errc::beyond_end == code);
  CHECK(code != errc::misaligned_offset);
  CHECK(code == std::errc::invalid_argument);
  CHECK(qio::error(code).is_qio());
}

TEST_CASE("a category of the same name that is not a copy of the library's is another") {
  const foreign_category foreign;
  const std::error_code code(static_cast<int>(errc::beyond_end), foreign);
  CHECK(!qio::error(code).is_qio());
  CHECK(qio::error(code) != errc::beyond_end);
  CHECK(code != errc::beyond_end);
  CHECK(make_error_code(errc::beyond_end) != code);
}

TEST_CASE("a module that has made copies from a mapping can be unloaded") {
  const qio_test::directory where;
  std::ofstream(where / "file") << "contents";
  for (int round = 0; round < 3; ++round) {
    const loaded_plugin plugin;
    CHECK(plugin.find<copy_from_file_function>("copy_from_file")((where / "file").c_str()) == 0);
  }
}
