# The unit tests once more as a debug build under the address and undefined-behaviour sanitizers: here the
# contracts (BULKSIM_EXPECT) are checked, which a release build leaves out. One executable of all test
# files and of what lies below the jobs, without MPI, CUDA and the program; not optimized, since
# compiling takes longer than running. Each test file is a test of its own: <name>.sanitized.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src/*.cpp)
list(FILTER sources INCLUDE REGEX
  "^src/(core|hdf5|comm|sparse|blocks|backend|formats|storage|cli|job/(config|input|plan))/|/(pair_output|pair_merge|progress)\\.cpp$")
list(FILTER sources EXCLUDE REGEX "/backend/cuda/.+/|/comm/nccl/|/(mpi_communicator|mpi_library|heartbeat)\\.cpp$")
list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/)
add_library(sanitized OBJECT ${sources})
target_include_directories(sanitized PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
  PRIVATE ${XXHASH_INCLUDE_DIR} ${ISAL_INCLUDE_DIR})
target_compile_definitions(sanitized
  PUBLIC BULKSIM_HAS_MPI=0 PRIVATE BULKSIM_HAS_CUDA=0 BULKSIM_HAS_XXHASH_DISPATCH=0)
target_compile_options(sanitized PUBLIC -ffp-contract=off -O0 -g1 -UNDEBUG
  -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
target_link_options(sanitized PUBLIC -fsanitize=address,undefined)
target_link_libraries(sanitized PUBLIC bulksim_options hwy::hwy hdf5::hdf5 nlohmann_json::nlohmann_json
  Boost::program_options simdjson::simdjson ZLIB::ZLIB ${ISAL_LIBRARY} Threads::Threads ${CMAKE_DL_LIBS})
target_precompile_headers(sanitized PRIVATE <algorithm> <array> <atomic> <chrono> <filesystem> <fstream>
  <functional> <iostream> <map> <memory> <mutex> <optional> <set> <span> <sstream> <string>
  <string_view> <thread> <unordered_map> <vector>)

# Left out: what needs the program or whole jobs, and what takes minutes without optimization.
set(sanitized_tests ${tests})
list(FILTER sanitized_tests EXCLUDE REGEX
  "/cli/|/(bad_inputs|block_sums|cpu_kernel|node_crash|pair_backend|storage_faults|synthetic_corpus)_test\\.cpp$")
add_executable(unit_tests_sanitized ${sanitized_tests})
target_include_directories(unit_tests_sanitized PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_compile_definitions(unit_tests_sanitized PRIVATE BULKSIM_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data"
  BULKSIM_CONFIGS="${PROJECT_SOURCE_DIR}/configs")
target_link_libraries(unit_tests_sanitized PRIVATE sanitized GTest::gmock GTest::gtest GTest::gtest_main)
target_precompile_headers(unit_tests_sanitized PRIVATE <gmock/gmock.h> <gtest/gtest.h> <algorithm> <cmath>
  <filesystem> <fstream> <functional> <memory> <random> <sstream> <string> <thread> <vector>)

foreach(path IN LISTS sanitized_tests)
  get_filename_component(name ${path} NAME_WE)
  file(STRINGS ${path} lines REGEX "^TEST(_F|_P)?\\(")
  if(NOT lines)
    message(FATAL_ERROR "${path} holds no TEST, TEST_F or TEST_P")
  endif()
  list(TRANSFORM lines REPLACE "^TEST[_FP]*\\(([A-Za-z0-9]+).*" "\\1.*:*/\\1.*")
  list(REMOVE_DUPLICATES lines)
  list(JOIN lines ":" filter)
  add_test(NAME ${name}.sanitized COMMAND unit_tests_sanitized --gtest_brief=1 "--gtest_filter=${filter}")
  set_tests_properties(${name}.sanitized PROPERTIES TIMEOUT 300)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
endforeach()
