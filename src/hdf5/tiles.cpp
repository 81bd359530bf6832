#include "hdf5/tiles.hpp"

#include "hdf5/file.hpp"

namespace bulksim::h5 {

namespace {

hsize_t whole_chunks(hsize_t extent, hsize_t chunk) {
  return (extent + chunk - 1) / chunk * chunk;
}

Dataset create_dataset(const File& file, const std::string& name, ValueType type,
                       const Dataspace& space, const PropertyList& creation) {
  return {H5Dcreate2(file.get(), name.c_str(), type_of(type).get(), space.get(), H5P_DEFAULT,
                     creation.get(), H5P_DEFAULT),
          "create the dataset '" + name + "'"};
}

bool is_of(const Datatype& found, ValueType type) {
  return H5Tequal(found.get(), type_of(type).get()) > 0;
}

}  // namespace

Datatype type_of(ValueType type) {
  Datatype made(H5Tcopy(H5T_IEEE_F32LE), "create a type");
  if (type == ValueType::kFloat32) return made;
  // binary16: sign in bit 15, exponent in bits 10 to 14, fraction in bits 0 to 9
  check(H5Tset_fields(made.get(), 15, 10, 5, 0, 10), "create a type");
  check(H5Tset_size(made.get(), 2), "create a type");
  check(H5Tset_ebias(made.get(), 15), "create a type");
  return made;
}

Dataset create_tiles(const File& file, const std::string& name, ValueType type, Extent extent,
                     Extent chunk) {
  // HDF5 rejects a chunk larger than a fixed dimension, so the maximum dimensions are whole chunks.
  const Extent limit{whole_chunks(extent[0], chunk[0]), whole_chunks(extent[1], chunk[1])};
  const Dataspace space(H5Screate_simple(2, extent.data(), limit.data()),
                        "create a matrix dataspace");
  const PropertyList creation = dataset_creation();
  check(H5Pset_chunk(creation.get(), 2, chunk.data()), "set the chunk");
  check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), "allocate early");
  check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), "turn fill values off");
  return create_dataset(file, name, type, space, creation);
}

Dataset create_empty(const File& file, const std::string& name, ValueType type, Extent extent) {
  const Dataspace space(H5Screate_simple(2, extent.data(), nullptr), "create a matrix dataspace");
  return create_dataset(file, name, type, space, dataset_creation());
}

Dataset open_matrix(const File& file, const std::string& name, const std::string& path) {
  const std::string what = "open the dataset '" + name + "' of '" + path + "'";
  Dataset dataset(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), what, ExitCode::kDataError);
  const Dataspace space(H5Dget_space(dataset.get()), what, ExitCode::kDataError);
  const Datatype type(H5Dget_type(dataset.get()), what, ExitCode::kDataError);
  if (H5Sget_simple_extent_ndims(space.get()) != 2 ||
      !(is_of(type, ValueType::kFloat32) || is_of(type, ValueType::kFloat16))) {
    throw Error(ExitCode::kDataError,
                "the dataset '" + name + "' of '" + path + "' is not a float32 or float16 matrix");
  }
  return dataset;
}

ValueType value_type_of(const Dataset& dataset, const std::string& path) {
  const Datatype type(H5Dget_type(dataset.get()), "inspect '" + path + "'", ExitCode::kDataError);
  return is_of(type, ValueType::kFloat16) ? ValueType::kFloat16 : ValueType::kFloat32;
}

PropertyList creation_of(const Dataset& dataset, const std::string& path) {
  return {H5Dget_create_plist(dataset.get()), "inspect '" + path + "'", ExitCode::kDataError};
}

Extent extent_of(const Dataset& dataset, const std::string& path) {
  const Dataspace space(H5Dget_space(dataset.get()), "inspect '" + path + "'",
                        ExitCode::kDataError);
  Extent extent{};
  check(H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr), "inspect '" + path + "'",
        ExitCode::kDataError);
  return extent;
}

Extent chunk_of(const Dataset& dataset, const std::string& path) {
  const PropertyList creation = creation_of(dataset, path);
  Extent chunk{};
  if (H5Pget_layout(creation.get()) != H5D_CHUNKED || H5Pget_nfilters(creation.get()) != 0 ||
      H5Pget_chunk(creation.get(), 2, chunk.data()) != 2) {
    throw Error(ExitCode::kDataError,
                "'" + path + "' does not store the matrix in uncompressed chunks");
  }
  return chunk;
}

std::int64_t chunk_offset(const Dataset& dataset, Extent cell, const std::string& path) {
  unsigned filters = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  check(H5Dget_chunk_info_by_coord(dataset.get(), cell.data(), &filters, &address, &bytes),
        "find a chunk of '" + path + "'", ExitCode::kDataError);
  if (address == HADDR_UNDEF) {
    throw Error(ExitCode::kDataError, "'" + path + "' has a missing chunk");
  }
  return address;
}

}  // namespace bulksim::h5
