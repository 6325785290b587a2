// What XLA calls a foreign function with, and how that says what is wrong: the part that is used here of the C API of
// XLA's FFI (openxla/xla, xla/ffi/api/c_api.h, version 0.1 and later), whose structs only ever grow at their ends.
// Written down here so that the package can be built where there is no JAX; frameworks/test_jax.py holds it to jaxlib's
// header.
#pragma once
#include <cstddef>
#include <cstdint>

namespace skewer::python::xla {

struct Extension {
  size_t size;
  int type; // 1: a question for metadata
  Extension *next;
};

struct Version {
  size_t size;
  Extension *extensions;
  int major, minor;
};

struct Error;
struct ErrorArguments {
  size_t size;
  Extension *extensions;
  const char *message;
  int code;
};
constexpr int kInvalidArgument = 3, kResourceExhausted = 8;

struct Api {
  size_t size;
  Extension *extensions;
  Version version;
  const void *internal;
  Error *(*createError)(ErrorArguments *);
};

constexpr int kS32 = 4; // of a buffer's elements: 32-bit integers

struct Buffer {
  size_t size;
  Extension *extensions;
  int type;
  void *data;
  int64_t rank;
  int64_t *shape;
};

/// Of arguments and of results: `types` are 1, a buffer.
struct Buffers {
  size_t size;
  Extension *extensions;
  int64_t count;
  int *types;
  Buffer **buffers;
};

struct Text {
  const char *begin;
  size_t length;
};

/// An attribute of type 1: numbers. XLA calls the type of 64-bit ones 5.
struct Numbers {
  int type;
  size_t count;
  int64_t *values;
};

struct Attributes {
  size_t size;
  Extension *extensions;
  int64_t count;
  int *types;
  Text **names; // sorted
  void **values;
};

struct CallFrame {
  size_t size;
  Extension *extensions;
  const Api *api;
  void *context;
  int stage;
  Buffers arguments, results;
  Attributes attributes;
};

struct Metadata {
  size_t size;
  Version version;
  uint32_t traits;
};

struct MetadataExtension {
  Extension base;
  Metadata *metadata;
};

} // namespace skewer::python::xla
