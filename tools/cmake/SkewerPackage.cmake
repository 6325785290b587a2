# What find_package(Skewer) finds: in the build tree (Skewer_DIR = its folder cmake/Skewer) and installed.
include(CMakePackageConfigHelpers)

set(skewer_package ${CMAKE_BINARY_DIR}/cmake/Skewer)
set(skewer_package_install ${CMAKE_INSTALL_DATADIR}/cmake/Skewer)

add_executable(Skewer::skewer ALIAS skewer)
add_library(Skewer::libskewer ALIAS libskewer)
include(SkewerAddLibrary) # for the examples
set(SKEWER_CUDA_SOURCES ${CMAKE_SOURCE_DIR}/codegen/Runtime)

# The shared MLIR and LLVM need not be where the loader looks by itself.
set_target_properties(skewer PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS skewer EXPORT SkewerTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT skewer)
set_target_properties(skewer-opt PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS skewer-opt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT skewer)
install(EXPORT SkewerTargets NAMESPACE Skewer:: DESTINATION ${skewer_package_install} COMPONENT skewer)
export(EXPORT SkewerTargets NAMESPACE Skewer:: FILE ${skewer_package}/SkewerTargets.cmake)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SkewerConfig.cmake.in ${skewer_package}/SkewerConfig.cmake
                              INSTALL_DESTINATION ${skewer_package_install})
write_basic_package_version_file(${skewer_package}/SkewerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(${CMAKE_CURRENT_LIST_DIR}/SkewerAddLibrary.cmake ${skewer_package}/SkewerAddLibrary.cmake COPYONLY)
install(FILES ${skewer_package}/SkewerConfig.cmake ${skewer_package}/SkewerConfigVersion.cmake
              ${skewer_package}/SkewerAddLibrary.cmake
        DESTINATION ${skewer_package_install} COMPONENT skewer)

# The launcher's sources: in the tree, or installed.
file(WRITE ${skewer_package}/SkewerCuda.cmake "set(SKEWER_CUDA_SOURCES \"${CMAKE_SOURCE_DIR}/codegen/Runtime\")\n")
file(WRITE ${CMAKE_BINARY_DIR}/cmake/SkewerCuda.install.cmake
     "set(SKEWER_CUDA_SOURCES \"\${PACKAGE_PREFIX_DIR}/${CMAKE_INSTALL_DATADIR}/skewer/cuda\")\n")
install(FILES ${CMAKE_BINARY_DIR}/cmake/SkewerCuda.install.cmake RENAME SkewerCuda.cmake
        DESTINATION ${skewer_package_install} COMPONENT skewer)

# Plugins: the headers that a plugin's source includes. In the build tree they stand in two folders.
file(WRITE ${skewer_package}/SkewerHeaders.cmake
     "set(SKEWER_INCLUDE_DIRS \"${CMAKE_SOURCE_DIR}\" \"${CMAKE_BINARY_DIR}\")\n")
file(WRITE ${CMAKE_BINARY_DIR}/cmake/SkewerHeaders.install.cmake
     "set(SKEWER_INCLUDE_DIRS \"\${PACKAGE_PREFIX_DIR}/${CMAKE_INSTALL_INCLUDEDIR}/skewer\")\n")
install(FILES ${CMAKE_BINARY_DIR}/cmake/SkewerHeaders.install.cmake RENAME SkewerHeaders.cmake
        DESTINATION ${skewer_package_install} COMPONENT skewer)
configure_file(${CMAKE_CURRENT_LIST_DIR}/SkewerAddPlugin.cmake ${skewer_package}/SkewerAddPlugin.cmake COPYONLY)
install(FILES ${skewer_package}/SkewerAddPlugin.cmake DESTINATION ${skewer_package_install} COMPONENT skewer)
include(SkewerPluginHeaders)
foreach(header IN LISTS SKEWER_PLUGIN_HEADERS)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${CMAKE_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/skewer/${folder} COMPONENT skewer)
endforeach()
foreach(header IN LISTS SKEWER_PLUGIN_GENERATED_HEADERS ITEMS tools/plugins/Version.h)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES ${CMAKE_BINARY_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/skewer/${folder} COMPONENT skewer)
endforeach()
