#include "hdf5/attributes.hpp"

#include <algorithm>

namespace bulksim::h5 {

namespace {

using Value = std::variant<std::int64_t, double, std::string>;

/// Writes an attribute; one overload per type of value.
struct Writer {
  const File& file;
  const std::string& object;
  const std::string& name;

  void operator()(std::int64_t value) const { write(H5T_STD_I64LE, H5T_NATIVE_INT64, &value); }
  void operator()(double value) const { write(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value); }
  void operator()(const std::string& value) const {
    const Datatype type = text_type(value.size());
    write(type.get(), type.get(), value.c_str());
  }

  void write(hid_t file_type, hid_t memory_type, const void* value) const {
    const Dataspace scalar(H5Screate(H5S_SCALAR), "create a scalar dataspace");
    const Attribute attribute(
        H5Acreate_by_name(file.get(), object.c_str(), name.c_str(), file_type, scalar.get(),
                          H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
        "create the attribute '" + name + "'");
    check(H5Awrite(attribute.get(), memory_type, value), "write the attribute '" + name + "'");
  }
};

template <class T>
T read_number(const Attribute& attribute, hid_t memory_type, const std::string& what) {
  T value{};
  check(H5Aread(attribute.get(), memory_type, &value), "read " + what, ExitCode::kDataError);
  return value;
}

std::string read_string(const Attribute& attribute, const Datatype& type, const std::string& what) {
  std::string value(H5Tget_size(type.get()), '\0');
  check(H5Aread(attribute.get(), type.get(), value.data()), "read " + what, ExitCode::kDataError);
  value.resize(value.find_last_not_of('\0') + 1);
  return value;
}

Value read_value(const Attribute& attribute, const std::string& name, const std::string& path) {
  const std::string what = "the attribute '" + name + "' of '" + path + "'";
  const Dataspace space(H5Aget_space(attribute.get()), "inspect " + what, ExitCode::kDataError);
  const Datatype type(H5Aget_type(attribute.get()), "inspect " + what, ExitCode::kDataError);
  const bool scalar = H5Sget_simple_extent_type(space.get()) == H5S_SCALAR;
  const H5T_class_t kind = H5Tget_class(type.get());
  if (scalar && kind == H5T_INTEGER) {
    return read_number<std::int64_t>(attribute, H5T_NATIVE_INT64, what);
  }
  if (scalar && kind == H5T_FLOAT) {
    return read_number<double>(attribute, H5T_NATIVE_DOUBLE, what);
  }
  if (scalar && kind == H5T_STRING && H5Tis_variable_str(type.get()) == 0) {
    return read_string(attribute, type, what);
  }
  throw Error(ExitCode::kDataError, what + " is neither a scalar number nor a string");
}

std::string name_of(const Attribute& attribute, const std::string& path) {
  const ssize_t length = H5Aget_name(attribute.get(), 0, nullptr);
  check(length, "inspect the attributes of '" + path + "'", ExitCode::kDataError);
  std::string name(length, '\0');
  H5Aget_name(attribute.get(), name.size() + 1, name.data());
  return name;
}

}  // namespace

Datatype text_type(std::size_t bytes) {
  Datatype type(H5Tcopy(H5T_C_S1), "create a string type");
  check(H5Tset_size(type.get(), std::max<std::size_t>(bytes, 1)), "size a string type");
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "pad a string type");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "choose UTF-8");
  return type;
}

void write_attributes(const File& file, const Attributes& attributes) {
  const std::string root = ".";
  for (const auto& [name, value] : attributes)
    std::visit(Writer{file, root, name}, value);
}

void write_text_attribute(const File& file, const std::string& name, const std::string& attribute,
                          const std::string& value) {
  Writer{file, name, attribute}(value);
}

std::string read_text_attribute(const File& file, const std::string& name,
                                const std::string& attribute, const std::string& path) {
  const std::string what = "the attribute '" + attribute + "' of '" + name + "' in '" + path + "'";
  const htri_t there = H5Aexists_by_name(file.get(), name.c_str(), attribute.c_str(), H5P_DEFAULT);
  check(there, "look for " + what, ExitCode::kDataError);
  if (there == 0) return "";
  const Attribute found(
      H5Aopen_by_name(file.get(), name.c_str(), attribute.c_str(), H5P_DEFAULT, H5P_DEFAULT),
      "open " + what, ExitCode::kDataError);
  const Value value = read_value(found, attribute, path);
  const auto* text = std::get_if<std::string>(&value);
  return text == nullptr ? "" : *text;
}

Attributes read_attributes(const File& file, const std::string& path) {
  H5O_info_t info;
  check(H5Oget_info(file.get(), &info), "inspect '" + path + "'", ExitCode::kDataError);
  Attributes attributes;
  for (hsize_t i = 0; i < info.num_attrs; ++i) {
    const Attribute attribute(
        H5Aopen_by_idx(file.get(), ".", H5_INDEX_NAME, H5_ITER_INC, i, H5P_DEFAULT, H5P_DEFAULT),
        "open an attribute of '" + path + "'", ExitCode::kDataError);
    std::string name = name_of(attribute, path);
    Value value = read_value(attribute, name, path);
    attributes.emplace_back(std::move(name), std::move(value));
  }
  return attributes;
}

}  // namespace bulksim::h5
