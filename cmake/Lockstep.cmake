# Compiler settings and the three target kinds: lockstep_library, lockstep_test, lockstep_fuzz.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -g1")

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Objects are found again from another clone: paths are taken relative to the source root and the
  # working directory is left out of the key.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
endif()

if(LOCKSTEP_CUDA)
  # nvcc where the CUDA toolkit puts it, on PATH or not. Enabled here and not in device/cuda, so that
  # programs of other folders link the CUDA runtime.
  if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
  endif()
  set(CMAKE_CUDA_ARCHITECTURES 90a)
  enable_language(CUDA)
  # CMake before 3.26 does not know what nvcc calls it.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
endif()

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(absl REQUIRED)
find_package(OpenSSL REQUIRED)

add_library(lockstep_flags INTERFACE)
target_include_directories(lockstep_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
# -ffp-contract=off: every fused multiply-add is written by hand, or the bits would be the compiler's.
target_compile_options(lockstep_flags INTERFACE
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror -ffp-contract=off
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
target_link_libraries(lockstep_flags INTERFACE Threads::Threads)
if(LOCKSTEP_SANITIZE)
  target_compile_options(lockstep_flags INTERFACE
    -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
  # Its documentation says that sanitizers make this one fire falsely; plain builds keep it.
  target_compile_options(lockstep_flags INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
if(LOCKSTEP_FUZZ)
  target_compile_options(lockstep_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(LOCKSTEP_TESTS)
  enable_testing()
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# lockstep_library(name SOURCES ... LINKS ...): one a folder, target lockstep_<name>.
function(lockstep_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(lockstep_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(lockstep_${name} PUBLIC lockstep_flags ${ARG_LINKS})
endfunction()

# lockstep_test(name SOURCES ... LINKS ... [LABELS ...]): a GoogleTest program, run by ctest.
function(lockstep_test name)
  if(NOT LOCKSTEP_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS} GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
endfunction()

# lockstep_fuzz(name SOURCES ... LINKS ...): LLVMFuzzerTestOneInput over <folder>/corpus/<name>/. With
# LOCKSTEP_FUZZ a libFuzzer program; otherwise a program that replays the corpus once, run by ctest.
function(lockstep_fuzz name)
  if(NOT LOCKSTEP_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINKS})
  if(LOCKSTEP_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    target_sources(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz_replay.cc)
    target_link_libraries(${name} PRIVATE lockstep_flags)
    add_test(NAME ${name} COMMAND ${name} ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()
