// Exceptions after the DLL is gone whose handler was asked about them.
#include "catch.hpp"
#include "directory.hpp"
#include "loaded_module.hpp"
#include "plugin.hpp"

#include <fstream>

namespace {

constexpr DWORD own_exception = 0xe0516901;
unsigned handled = 0;

LONG CALLBACK continue_after(EXCEPTION_POINTERS* raised) {
  if (raised->ExceptionRecord->ExceptionCode != own_exception) return EXCEPTION_CONTINUE_SEARCH;
  ++handled;
  return EXCEPTION_CONTINUE_EXECUTION;
}

}  // namespace

TEST_CASE("after a DLL with a copy guard is unloaded, exceptions reach the other handlers") {
  const qio_test::directory where;
  std::ofstream(where / "file") << "contents";
  void* const handler = ::AddVectoredExceptionHandler(0, &continue_after);  // the last to be asked
  for (unsigned round = 1; round <= 3; ++round) {
    {
      const qio_test::loaded_module plugin(PLUGIN);
      REQUIRE(plugin.exists());
      REQUIRE(plugin.find<copy_from_file_function>("copy_from_file")((where / "file").c_str()) == 0);
    }
    REQUIRE(::GetModuleHandleW(std::filesystem::path(PLUGIN).filename().c_str()) == nullptr);
    ::RaiseException(own_exception, 0, 0, nullptr);
    CHECK(handled == round);
  }
  ::RemoveVectoredExceptionHandler(handler);
}
