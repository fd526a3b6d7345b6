# find_package(seqtune) gives seqtune::seqtune, the shared library, and seqtune::static. The folder may be moved.
get_filename_component(_seqtune_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET seqtune::seqtune)
    add_library(seqtune::seqtune SHARED IMPORTED)
    set_target_properties(seqtune::seqtune PROPERTIES
        IMPORTED_LOCATION "${_seqtune_prefix}/lib/libseqtune.so.0"
        IMPORTED_SONAME libseqtune.so.0
        INTERFACE_INCLUDE_DIRECTORIES "${_seqtune_prefix}/include")
endif()

if(NOT TARGET seqtune::static)
    add_library(seqtune::static STATIC IMPORTED)
    set_target_properties(seqtune::static PROPERTIES
        IMPORTED_LOCATION "${_seqtune_prefix}/lib/libseqtune.a"
        INTERFACE_INCLUDE_DIRECTORIES "${_seqtune_prefix}/include"
        INTERFACE_LINK_LIBRARIES "@STATIC_LIBS_CMAKE@")
endif()

unset(_seqtune_prefix)
