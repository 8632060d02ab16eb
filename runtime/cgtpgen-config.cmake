# SPDX-License-Identifier: MIT
# cgtpgen-config.cmake - for CMake: products as libraries.
#
#     find_package(cgtpgen REQUIRED)
#     cgtpgen_add_product(layers SPEC specs/mace_large.yaml BACKEND c)
#     target_link_libraries(program PRIVATE layers)
#
# cgtpgen_add_product(TARGET SPEC file.. [BACKEND cuda|c] [ARCH sm_90] [NAME pattern] [OPTIONS option..])
#
# TARGET is a static library of all products of the specs, with their headers and the runtime (on the host and,
# for cuda, cgtp_graph.cu, whose CUDA language the project enables). NAME and OPTIONS are the generator's --name and
# further options. Its objects are compiled with -O3, after the project's flags and whatever its build type, those of C
# with OpenMP too where the compiler has it and CGTPGEN_OPENMP is not OFF. What replaces -O3 is a property of TARGET, or for
# all and the runtime a variable: set_target_properties(layers PROPERTIES CGTPGEN_CFLAGS "-O3;-march=native"), or
# CGTPGEN_CUDAFLAGS.
#
# Sources of the runtime, and of products in C, are C: the package enables that language where the project has not, so
# find_package stands outside of functions there.
#
# A library of yours that links products and is installed brings them along, with their headers:
#
#     install(TARGETS energy layers cgtpgen-runtime EXPORT energy PUBLIC_HEADER DESTINATION include)
#
# CGTPGEN_EXECUTABLE, in the cache, is the generator. CMake runs again when a spec changes, for that may change
# which files there are; sources that come out as they were are not compiled again.

cmake_policy(PUSH)
cmake_policy(VERSION 3.20)

find_program(CGTPGEN_EXECUTABLE cgtpgen HINTS "${CMAKE_CURRENT_LIST_DIR}/../../bin" "${CMAKE_CURRENT_LIST_DIR}/../build")
if(NOT CGTPGEN_EXECUTABLE)
    set(cgtpgen_FOUND FALSE)
    set(cgtpgen_NOT_FOUND_MESSAGE "there is no program cgtpgen; set CGTPGEN_EXECUTABLE")
endif()
get_property(_cgtpgen_languages GLOBAL PROPERTY ENABLED_LANGUAGES)
if(NOT "C" IN_LIST _cgtpgen_languages)
    enable_language(C)
endif()
unset(_cgtpgen_languages)
set(CGTPGEN_RUNTIME "${CMAKE_CURRENT_LIST_DIR}" CACHE INTERNAL "the folder of the runtime's sources")

# How objects of products are optimised. nvcc optimises kernels unasked, and warns where -O3 follows another level.
if(NOT DEFINED CGTPGEN_CFLAGS)
    set(CGTPGEN_CFLAGS -O3)
endif()
if(NOT DEFINED CGTPGEN_CUDAFLAGS)
    set(CGTPGEN_CUDAFLAGS -Xcompiler=-O3)
endif()
option(CGTPGEN_OPENMP "compile products in C with OpenMP, where the compiler has it" ON)

function(_cgtpgen_optimize target)
    set_target_properties(${target} PROPERTIES CGTPGEN_CFLAGS "${CGTPGEN_CFLAGS}" CGTPGEN_CUDAFLAGS "${CGTPGEN_CUDAFLAGS}")
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:$<TARGET_PROPERTY:CGTPGEN_CFLAGS>>"
                           "$<$<COMPILE_LANGUAGE:CUDA>:$<TARGET_PROPERTY:CGTPGEN_CUDAFLAGS>>")
endfunction()

# Its libraries by their paths: an imported target would be known in this folder of the project alone.
function(_cgtpgen_threads target)
    find_package(OpenMP QUIET COMPONENTS C)
    if(CGTPGEN_OPENMP AND OpenMP_C_FOUND)
        separate_arguments(flags UNIX_COMMAND "${OpenMP_C_FLAGS}")
        target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C>:${flags}>")
        target_link_libraries(${target} INTERFACE ${OpenMP_C_LIBRARIES})
    endif()
endfunction()

# A library of one source of the runtime, once in a project.
function(_cgtpgen_runtime target)
    if(NOT TARGET ${target})
        list(TRANSFORM ARGN PREPEND "${CGTPGEN_RUNTIME}/")
        add_library(${target} STATIC EXCLUDE_FROM_ALL ${ARGN})
        target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${CGTPGEN_RUNTIME}>" $<INSTALL_INTERFACE:include>)
        set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF PUBLIC_HEADER
            "${CGTPGEN_RUNTIME}/cgtp.h;${CGTPGEN_RUNTIME}/cgtp_check.h;${CGTPGEN_RUNTIME}/cgtp_call.h;${CGTPGEN_RUNTIME}/cgtp_ranks.h;${CGTPGEN_RUNTIME}/cgtp_device.h")
        _cgtpgen_optimize(${target})
    endif()
endfunction()

function(cgtpgen_add_product target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "BACKEND;ARCH;NAME" "SPEC;OPTIONS")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "cgtpgen_add_product(${target}): unknown argument: ${arg_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT arg_SPEC)
        message(FATAL_ERROR "cgtpgen_add_product(${target}): SPEC is missing")
    endif()
    if(NOT arg_BACKEND)
        set(arg_BACKEND cuda)
    endif()
    if(NOT arg_ARCH)
        set(arg_ARCH sm_90)
    endif()
    set(options --backend=${arg_BACKEND} ${arg_OPTIONS})
    if(arg_BACKEND STREQUAL cuda)
        list(APPEND options --arch=${arg_ARCH})
        if(NOT CMAKE_CUDA_COMPILER)
            message(FATAL_ERROR "cgtpgen_add_product(${target}): BACKEND cuda needs enable_language(CUDA)")
        endif()
    endif()
    if(arg_NAME)
        list(APPEND options "--name=${arg_NAME}")
    endif()
    set(specs)
    foreach(spec IN LISTS arg_SPEC)
        get_filename_component(spec "${spec}" ABSOLUTE)
        list(APPEND specs "${spec}")
    endforeach()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${target}.cgtpgen")
    set(stamp "${folder}/stamp")
    string(REPLACE " " "\\ " target_of_rule "${stamp}")

    # Which files there will be, and at once whether the specs are right.
    execute_process(COMMAND "${CGTPGEN_EXECUTABLE}" ${options} --list -o "${folder}" ${specs}
                    OUTPUT_VARIABLE files ERROR_VARIABLE errors RESULT_VARIABLE status)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${specs} "${CGTPGEN_EXECUTABLE}")
    if(NOT status EQUAL 0)
        message("${errors}")
        message(FATAL_ERROR "cgtpgen_add_product(${target}): cgtpgen failed (${status})")
    endif()
    string(STRIP "${files}" files)
    string(REPLACE "\n" ";" files "${files}")

    # Files that do not change keep their times, so they are byproducts, and the stamp says that all is done.
    add_custom_command(
        OUTPUT "${stamp}"
        BYPRODUCTS ${files}
        COMMAND "${CGTPGEN_EXECUTABLE}" ${options} --prune -MD -MF "${folder}/stamp.d" -MT "${target_of_rule}"
                -o "${folder}" ${specs}
        COMMAND "${CMAKE_COMMAND}" -E touch "${stamp}"
        DEPENDS ${specs} "${CGTPGEN_EXECUTABLE}"
        DEPFILE "${folder}/stamp.d"
        COMMENT "Generating ${target}"
        VERBATIM)
    add_custom_target(${target}-generate DEPENDS "${stamp}")

    # Make does not look whether byproducts are there: one that was deleted is made again by a stamp that is missing.
    if(CMAKE_GENERATOR MATCHES Makefiles)
        string(REPLACE ";" "]==] [==[" listed "${files}")
        file(WRITE "${folder}.cmake" "foreach(file IN ITEMS [==[${listed}]==])
    if(NOT EXISTS \"\${file}\")
        file(REMOVE [==[${stamp}]==])
    endif()
endforeach()
")
        add_custom_target(${target}-present COMMAND "${CMAKE_COMMAND}" -P "${folder}.cmake" VERBATIM)
        add_dependencies(${target}-generate ${target}-present)
    endif()

    set(headers ${files})
    list(FILTER headers INCLUDE REGEX "\\.(h|hpp)$")
    list(FILTER files EXCLUDE REGEX "\\.(h|hpp)$")
    add_library(${target} STATIC ${files})
    add_dependencies(${target} ${target}-generate)
    target_include_directories(${target} PUBLIC "$<BUILD_INTERFACE:${folder}>" $<INSTALL_INTERFACE:include>)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON UNITY_BUILD OFF PUBLIC_HEADER "${headers}")
    _cgtpgen_optimize(${target})
    _cgtpgen_runtime(cgtpgen-runtime cgtp.c cgtp_check.c cgtp_ranks.c)
    target_link_libraries(${target} PUBLIC cgtpgen-runtime)
    if(arg_BACKEND STREQUAL cuda)
        string(REGEX REPLACE "^sm_" "" number "${arg_ARCH}")
        _cgtpgen_runtime(cgtpgen-runtime-graph cgtp_graph.cu)
        set_target_properties(${target} cgtpgen-runtime-graph PROPERTIES CUDA_ARCHITECTURES ${number} CUDA_STANDARD 17)
        target_link_libraries(${target} PUBLIC cgtpgen-runtime-graph)
    else()
        _cgtpgen_threads(${target})
    endif()
endfunction()

cmake_policy(POP)
