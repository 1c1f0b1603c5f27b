// A DLL that is loaded at run time, and unloaded again.
#pragma once

#include <qio/qio.hpp>

#include <filesystem>

namespace qio_test {

class loaded_module {
 public:
  explicit loaded_module(const char* path) : handle_(::LoadLibraryW(std::filesystem::path(path).c_str())) {}
  loaded_module(const loaded_module&) = delete;
  loaded_module& operator=(const loaded_module&) = delete;
  ~loaded_module() {
    if (handle_ != nullptr) ::FreeLibrary(handle_);
  }
  bool exists() const { return handle_ != nullptr; }

  template <class Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(reinterpret_cast<void*>(::GetProcAddress(handle_, name)));
  }

 private:
  HMODULE handle_;
};

}  // namespace qio_test
