#include "comm/mpi_library.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

#include <mpi.h>

namespace bulksim::mpi {

void check(int status, const std::string& call) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw Error(ExitCode::kUnavailable, "MPI cannot " + call + ": " + text.data());
}

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

void require_built_in() {}

void start() {
  int provided = MPI_THREAD_SINGLE;
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "start");
  if (provided >= MPI_THREAD_SERIALIZED) return;
  MPI_Finalize();
  throw Error(ExitCode::kConfig,
              "this MPI (" + library_name() + ") does not support programs with threads");
}

void stop() {
  MPI_Finalize();
}

void abort(ExitCode code) {
  std::fflush(nullptr);
  MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

std::string library_name() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string whole(text.data());
  return whole.substr(0, whole.find_first_of(",\n"));
}

Place find_place() {
  MPI_Comm node = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
        "find the ranks of this host");
  Place place;
  MPI_Comm_rank(node, &place.node_rank);
  MPI_Comm_size(node, &place.node_size);
  MPI_Comm_free(&node);
  return place;
}

}  // namespace bulksim::mpi
