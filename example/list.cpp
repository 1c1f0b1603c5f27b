// The ten largest files beneath a directory: walk() with file sizes, on a worker thread of a context.
#include <qio/qio.hpp>
#include <qio/tree.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace {

struct found_file {
  std::uint64_t bytes;
  std::string path;
};

bool is_larger(const found_file& one, const found_file& other) { return one.bytes > other.bytes; }

// Keeps the ten largest, the smallest of them first.
class largest {
 public:
  void add(const qio::walk_entry& entry) {
    if (entry.failure.exists()) return static_cast<void>(std::fprintf(stderr, "%s\n", entry.failure.message().c_str()));
    if (entry.type != qio::file_type::regular) return;
    const auto status = entry.status();
    if (!status) return;  // it has been removed meanwhile
    files_.push_back({status.value().bytes, std::string(entry.path)});
    std::push_heap(files_.begin(), files_.end(), is_larger);
    if (files_.size() <= 10) return;
    std::pop_heap(files_.begin(), files_.end(), is_larger);
    files_.pop_back();
  }
  std::vector<found_file> sorted() const {
    std::vector<found_file> all = files_;
    std::sort(all.begin(), all.end(), is_larger);
    return all;
  }

 private:
  std::vector<found_file> files_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string root = argc > 1 ? argv[1] : ".";
  auto context = qio::context::create().value();
  largest files;
  const auto walked = context.run(qio::async_walk(context, root, [&](const qio::walk_entry& e) { files.add(e); }));
  if (!walked) return std::fprintf(stderr, "%s\n", walked.error().message().c_str()), 1;
  for (const found_file& each : files.sorted())
    std::printf("%12llu  %s\n", static_cast<unsigned long long>(each.bytes), each.path.c_str());
}
