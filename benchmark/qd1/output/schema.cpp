// SPDX-License-Identifier: BSL-1.0
#include "output/schema.hpp"

#include "fields/schema.hpp"
#include "report_fields.hpp"
#include "reproduce/reproduction_fields.hpp"

namespace qd1 {

using nlohmann::ordered_json;

namespace json_of {
template <>
template <>
ordered_json schemas<ordered_json>::of<embedded_report>() {
  return {{"$ref", "report.schema.json"}};
}
}  // namespace json_of

namespace {

ordered_json document(const char* title, const char* description) {
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", title},
          {"description", description},
          {"type", "object"}};
}

template <class T>
std::string finished(ordered_json schema, const char* key) {
  ordered_json definitions = ordered_json::object();
  schema["properties"][key] = json_of::schemas<ordered_json>(definitions).template of<T>();
  schema["required"].push_back(key);
  schema["$defs"] = std::move(definitions);
  return schema.dump(1) + '\n';
}

}  // namespace

std::string report_schema() {
  ordered_json schema = document(
      "A report of qd1", "fio's json+ (its jobs, bins in nanoseconds), and all that qd1 knows under the key qio.");
  schema["properties"]["fio version"] = {{"type", "string"}};
  schema["properties"]["jobs"] = {
      {"type", "array"}, {"items", {{"type", "object"}, {"required", {"jobname", "job options", "read", "write"}}}}};
  schema["required"] = {"fio version", "jobs"};
  return finished<report>(std::move(schema), "qio");
}

std::string experiment_schema() {
  ordered_json schema =
      document("A published experiment, repeated by qd1 reproduce",
               "The published figures beside this machine's, what repeats, and each measurement in full.");
  schema["additionalProperties"] = false;
  return finished<reproduction>(std::move(schema), "qio_experiment");
}

}  // namespace qd1
