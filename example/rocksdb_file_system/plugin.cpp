// The file system as a library that registers itself with RocksDB when it is loaded, for programs that were not built
// with it: LD_PRELOAD=libqio_rocksdb.so db_bench --fs_uri=qio
#include "file_system.hpp"

#include <rocksdb/utilities/object_registry.h>

#include <memory>
#include <string>

namespace {

rocksdb::FileSystem* make(const std::string&, std::unique_ptr<rocksdb::FileSystem>* owner, std::string*) {
  *owner = std::make_unique<rocksdb_file_system::file_system>();
  return owner->get();
}

[[maybe_unused]] const auto& registered =
    rocksdb::ObjectLibrary::Default() -> AddFactory<rocksdb::FileSystem>("qio", make);

}  // namespace
