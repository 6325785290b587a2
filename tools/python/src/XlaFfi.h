// The data that XLA passes to a foreign function, and the way it reports errors: the used part of the C API of XLA's
// FFI (openxla/xla, xla/ffi/api/c_api.h, version 0.1 and later), whose structs only ever grow at their ends. It is
// copied here so that the package can be built without JAX. frameworks/test_jax.py compares it with jaxlib's header.
#pragma once
#include <cstddef>
#include <cstdint>

namespace skewer::python::xla {

struct Extension {
  size_t size;
  int type; // 1: a query for metadata
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

constexpr int kS32 = 4; // type of a buffer's elements: 32-bit integers

struct Buffer {
  size_t size;
  Extension *extensions;
  int type;
  void *data;
  int64_t rank;
  int64_t *shape;
};

/// Arguments or results; each of `types` is 1, a buffer.
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

/// An attribute of type 1: an array of numbers. XLA's number for the type of 64-bit integers is 5.
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
