# What find_package(Skewer) finds: in the build tree (Skewer_DIR = its folder cmake/Skewer) and installed.
include(CMakePackageConfigHelpers)

set(skewer_package ${CMAKE_BINARY_DIR}/cmake/Skewer)
set(skewer_package_install ${CMAKE_INSTALL_DATADIR}/cmake/Skewer)

add_executable(Skewer::skewer ALIAS skewer)
include(SkewerAddLibrary) # for the examples

# The shared MLIR and LLVM need not be where the loader looks by itself.
set_target_properties(skewer PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
install(TARGETS skewer EXPORT SkewerTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT skewer)
install(EXPORT SkewerTargets NAMESPACE Skewer:: DESTINATION ${skewer_package_install} COMPONENT skewer)
export(EXPORT SkewerTargets NAMESPACE Skewer:: FILE ${skewer_package}/SkewerTargets.cmake)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SkewerConfig.cmake.in ${skewer_package}/SkewerConfig.cmake
                              INSTALL_DESTINATION ${skewer_package_install})
write_basic_package_version_file(${skewer_package}/SkewerConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(${CMAKE_CURRENT_LIST_DIR}/SkewerAddLibrary.cmake ${skewer_package}/SkewerAddLibrary.cmake COPYONLY)
install(FILES ${skewer_package}/SkewerConfig.cmake ${skewer_package}/SkewerConfigVersion.cmake
              ${skewer_package}/SkewerAddLibrary.cmake
        DESTINATION ${skewer_package_install} COMPONENT skewer)
