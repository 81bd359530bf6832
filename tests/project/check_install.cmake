# Installs the build, moves the installed tree to another folder and uses it there: the program runs, and
# another project finds the library and calls it.
#
#   cmake -DBUILD=<build> -DWORK=<empty folder> -DGENERATOR=<generator> -DCXX=<compiler> -P check_install.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_VARIABLE output)
  set(output ${output} PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/first)
file(RENAME ${WORK}/first ${WORK}/moved)

run(${WORK}/moved/bin/bulksim --version)
if(NOT output MATCHES "^bulksim [0-9]+\\.")
  message(FATAL_ERROR "the moved program prints '${output}'")
endif()

file(WRITE ${WORK}/user/CMakeLists.txt "
  cmake_minimum_required(VERSION 3.25)
  project(user LANGUAGES C CXX)
  find_package(bulksim REQUIRED)
  add_executable(user user.cpp)
  target_link_libraries(user PRIVATE bulksim::bulksim)")
file(WRITE ${WORK}/user/user.cpp "
  #include <cstdio>
  #include \"bulksim/core/checksum.hpp\"
  int main() { std::puts(bulksim::digest_of({}).hex().c_str()); }")
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${WORK}/user -B ${WORK}/user/build
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/moved)
run(${CMAKE_COMMAND} --build ${WORK}/user/build)
run(${WORK}/user/build/user)
if(NOT output STREQUAL "99aa06d3014798d86001c324468d497f\n")  # XXH3-128 of nothing
  message(FATAL_ERROR "the library in another project returned '${output}'")
endif()
